// Whole models as workloads of `headlight bench`: a prompt, then decoding token by token.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/context.h"
#include "measure/cluster_cost.h"

namespace headlight::measure {

// Random parameters, or the model at `path` for the workloads whose name begins with "model_".
class ModelRun {
 public:
  virtual ~ModelRun() = default;
  // Reads a prompt of `length` tokens into an empty cache; returns the seconds.
  virtual double prefill(Context& ctx) = 0;
  // One token after `context` others; returns the seconds.
  virtual double decode(Context& ctx, std::int64_t context) = 0;
  [[nodiscard]] virtual std::int64_t length() const = 0;  // of the prompt
  // Multiplications and additions of a prompt, with logits for its last token only.
  [[nodiscard]] virtual double flops() const = 0;
  // Bytes of parameters and cache that one step after `context` tokens must read.
  [[nodiscard]] virtual double bytes(std::int64_t context) const = 0;
  [[nodiscard]] virtual DecoderCost cost() const = 0;
};
[[nodiscard]] std::unique_ptr<ModelRun> make_model_run(std::string_view shape, std::string_view type);
[[nodiscard]] std::unique_ptr<ModelRun> load_model_run(const std::string& path);

// Seconds from a cold start to the logits of a first token: files opened, mapped and read once.
[[nodiscard]] double time_to_first_token(Context& ctx, const std::string& path);
// Bytes per second of the tokenizer in a model's folder on a text.
[[nodiscard]] double tokenize_rate(const std::string& path, const std::string& text);

}  // namespace headlight::measure
