// Tensors that hub files carry beside a model's parameters: masks, position numbers and rotary frequencies that the
// exporting framework kept as buffers. They follow from config.json, so a loader computes them and reads none.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace headlight::models {

inline constexpr std::string_view kBufferEndings[] = {
    ".attn.bias",
    ".attn.masked_bias",  // GPT-2: the causal mask and the score of a hidden key
    ".attention.bias",
    ".attention.masked_bias",   // GPT-Neo, GPT-NeoX: the same
    ".rotary_emb.inv_freq",     // Llama and others: frequencies of the rotation
    "embeddings.position_ids",  // BERT, RoBERTa, DistilBERT: 0, 1, 2, …
};

[[nodiscard]] inline bool is_buffer(std::string_view tensor) {
  return std::any_of(std::begin(kBufferEndings), std::end(kBufferEndings),
                     [tensor](std::string_view ending) { return tensor.ends_with(ending); });
}

}  // namespace headlight::models
