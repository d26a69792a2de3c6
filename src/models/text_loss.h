// Loss of a language model on a text: cross-entropy per byte, so that models with different tokenizers can be
// compared.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "headlight/tokenizer.h"
#include "models/transformer.h"

namespace headlight::models {

struct TextLoss {
  double nats = 0;  // sum over all tokens of the texts
  Index tokens = 0, bytes = 0, documents = 0;
  [[nodiscard]] double per_token() const { return tokens > 0 ? nats / static_cast<double>(tokens) : 0; }
  [[nodiscard]] double per_byte() const { return bytes > 0 ? nats / static_cast<double>(bytes) : 0; }
  [[nodiscard]] double bits_per_byte() const;
};

struct TextLossOptions {
  Index context = 0;  // tokens that a prediction may depend on; 0: the context of the model
  // Called in every layer of every batch with the fraction done, from 0 to 1; false stops.
  std::function<bool(double)> on_progress = {};
};

// Each document starts like the training texts of the model: after its begin token, or after its end token when it
// has no other. A document longer than the context is read in windows that overlap by half: every token except the
// first few is predicted from at least half a context. The end token is not evaluated. Throws Error{usage} for models
// that do not predict the next token. Returns nothing if on_progress stopped it.
[[nodiscard]] std::optional<TextLoss> text_loss(Context& ctx, const Transformer& model,
                                                const Tokenizer& tokenizer,
                                                std::span<const std::string> documents,
                                                const TextLossOptions& options = {});

}  // namespace headlight::models
