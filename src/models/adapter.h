// LoRA: low-rank matrices next to those of attention and feed-forward layers, trained while the model is frozen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/adapter_file.h"
#include "models/transformer.h"

namespace headlight::models {

// The matrices that can have an adapter: those of attention, cross-attention and feed-forward layers.
[[nodiscard]] std::vector<nn::Linear*> adaptable(Transformer& model);

// Adds the stored adapter to a model with matrices of any precision. Throws Error{input} that
// names the module which the model lacks or which has another size in it.
void load_adapter(const AdapterFile& file, Transformer& model);
// Merges the adapters into the matrices, which must be owned tensors.
void merge_adapters(Context& ctx, Transformer& model);

// A transformer of which only an adapter is trained and saved: its only parameters are the adapter's, and
// no other has a gradient.
class AdaptedTransformer : public Trainable {
 public:
  // Adapters that add zero. Throws Error{usage} for targets that the model does not have.
  AdaptedTransformer(std::unique_ptr<Transformer> model, const AdapterConfig& config, std::uint64_t seed);

  [[nodiscard]] const Transformer& base() const noexcept { return *model_; }
  [[nodiscard]] const AdapterConfig& adapter() const noexcept { return config_; }

  [[nodiscard]] Parameters parameters() override;
  Loss learn(Context& ctx, const Batch& batch, const LearnOptions& options) override {
    return model_->learn(ctx, batch, options);
  }
  [[nodiscard]] std::string why_not_by_tokens() const override { return model_->why_not_by_tokens(); }
  [[nodiscard]] Loss evaluate(Context& ctx, const Batch& batch) const override {
    return model_->evaluate(ctx, batch);
  }
  [[nodiscard]] double flops(const Batch& batch) const override { return model_->flops(batch); }
  [[nodiscard]] std::string config_json() const override;  // adapter_config.json
  [[nodiscard]] SavedFiles saved_files() const override { return {kAdapterConfig, kAdapterWeights}; }
  [[nodiscard]] std::string file_name(const Parameter& parameter) const override;
  void initialize(std::uint64_t seed) override;

 private:
  std::unique_ptr<Transformer> model_;
  AdapterConfig config_;
  std::vector<nn::Linear*> adapted_;
};

}  // namespace headlight::models
