// Texts as vectors, by encoders that were trained for it.
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

// How the vectors of a text's tokens become one.
enum class Pooling : std::uint8_t { mean, first, max, last };  // first: that of [CLS]
[[nodiscard]] std::string_view name_of(Pooling pooling) noexcept;

struct EmbedOptions {
  std::optional<Pooling> pooling = std::nullopt;  // default: as the model's files say, else the mean
  std::optional<bool> normalise = std::nullopt;   // to length 1; default: as the model's files say, else not
};

struct Embeddings {
  Tensor vectors;  // [text, width]
  Pooling pooling = Pooling::mean;
  bool normalised = false;
  std::string source = {};         // the file that said so; empty: none, or the options did
  std::vector<Index> tokens = {};  // of each text
};

// The model's folder may have modules.json, 1_Pooling/config.json and sentence_bert_config.json, as Sentence
// Transformers write them. Throws Error{usage} for models that are no encoders, Error{input} for modules that are not
// supported and for texts longer than the model reads.
[[nodiscard]] Embeddings embed(Context& ctx, const Model& model, std::span<const std::string> texts,
                               const EmbedOptions& options = {}, const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
