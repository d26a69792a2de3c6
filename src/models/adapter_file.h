// Adapters as PEFT stores them: a folder with adapter_config.json and adapter_model.safetensors, whose tensors are
// called base_model.model.MODULE.lora_A.weight and …lora_B.weight after the modules of the model they belong to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace headlight::models {

inline constexpr const char *kAdapterConfig = "adapter_config.json",
                            *kAdapterWeights = "adapter_model.safetensors";
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

// Whether this is the folder of an adapter.
[[nodiscard]] bool is_adapter(const std::string& path);

// Rank, scale and modules of an adapter.
struct AdapterConfig {
  Index rank = 0;
  double alpha = 0;  // the scale is alpha / rank
  // Parts ("attention", "feed_forward"), modules by their names in Headlight ("attention.query") or in the model's
  // files ("q_proj").
  std::vector<std::string> targets = {"attention", "feed_forward"};
  std::string base = {};  // the model it belongs to
};

// The adapter_config.json of an adapter with these modules, as files call them.
[[nodiscard]] std::string adapter_json(const AdapterConfig& config, const std::vector<std::string>& modules,
                                       bool transposed, std::string_view task);

class AdapterFile {
 public:
  struct Module {
    std::string name;  // "transformer.h.0.attn.c_attn"
    const io::SafetensorsEntry *a = nullptr, *b = nullptr;
    [[nodiscard]] Index rank() const { return a->shape[0]; }
    [[nodiscard]] Index in() const { return a->shape[1]; }
    [[nodiscard]] Index out() const { return b->shape[0]; }
  };

  // Throws Error that names the file: `file` when it does not exist, `input` for adapters of another kind and for
  // inconsistent tensors.
  explicit AdapterFile(const std::string& folder);

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] const std::string& base() const noexcept { return base_; }  // empty: not named
  [[nodiscard]] Index rank() const noexcept { return rank_; }
  [[nodiscard]] double alpha() const noexcept { return alpha_; }
  [[nodiscard]] bool transposed() const noexcept { return transposed_; }  // the matrices are [in, out]
  [[nodiscard]] double scale(const Module& module) const;
  [[nodiscard]] const std::vector<Module>& modules() const noexcept { return modules_; }
  [[nodiscard]] Tensor load(const io::SafetensorsEntry& entry, DType dtype) const {
    return weights_.load(entry, dtype);
  }
  // Whether `module` and a module named in another file are the same, with or without the prefix "transformer.".
  [[nodiscard]] static bool same_module(std::string_view module, std::string_view other);

 private:
  void read_config();
  void pair_tensors();

  std::string folder_, base_;
  Index rank_ = 0;
  double alpha_ = 0;
  bool by_root_ = false;  // alpha / sqrt(rank)
  bool transposed_ = false;
  io::Safetensors weights_;
  std::vector<Module> modules_;
};

}  // namespace headlight::models
