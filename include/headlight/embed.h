// Sentence embeddings: one vector per text, by encoders that were trained for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

// How the hidden states of the tokens are combined into one vector.
enum class Pooling : std::uint8_t { mean, first, max, last };  // first: that of [CLS]
[[nodiscard]] std::string_view name_of(Pooling pooling) noexcept;

struct EmbedOptions {
  std::optional<Pooling> pooling = std::nullopt;  // default: that of the model's files, else the mean
  std::optional<bool> normalise =
      std::nullopt;  // to length 1; default: that of the model's files, else false
};

struct Embeddings {
  Tensor vectors;  // [text, width]
  Pooling pooling = Pooling::mean;
  bool normalised = false;
  std::string source = {};         // the file with these settings; empty: options or defaults
  std::vector<Index> tokens = {};  // of each text
};

// Reads modules.json, 1_Pooling/config.json and sentence_bert_config.json (Sentence Transformers) if they are in the
// model's folder. Throws Error{usage} for models that are not encoders, Error{input} for unsupported modules and for texts
// longer than the context.
[[nodiscard]] Embeddings embed(Context& ctx, const Model& model, std::span<const std::string> texts,
                               const EmbedOptions& options = {}, const Progress& progress = {});

// Cosine similarity of every two rows: [row, row], f64. 0 where a row is all zeros.
[[nodiscard]] Tensor cosine_similarities(ConstTensorView vectors);

}  // namespace headlight

#pragma GCC visibility pop
