// A transformer from a folder as Hugging Face has them: config.json and model.safetensors, or
// model.safetensors.index.json with its shards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "models/transformer.h"

namespace headlight::models {

struct LoadedTransformer {
  std::unique_ptr<Transformer> model;
  std::vector<std::string> unused;  // tensors of the files that this model has no use for
};
// `dtype` is what to compute in. A model to be run has its matrices as the files store them, mapped and not
// copied; one to be trained, or one in f64, has all parameters as tensors of its own. Throws Error that names
// the file and the tensor.
[[nodiscard]] LoadedTransformer load_transformer(const std::string& folder, DType dtype = DType::f32,
                                                 nn::Weights weights = nn::Weights::stored);

// Tensors by name, wherever in a folder they are.
class WeightFiles {
 public:
  explicit WeightFiles(const std::string& folder);
  struct Place {
    const io::Safetensors* file = nullptr;
    const io::SafetensorsEntry* entry = nullptr;
  };
  [[nodiscard]] Place find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] double elements() const;  // of all tensors
  [[nodiscard]] const std::vector<io::Safetensors>& files() const noexcept { return files_; }

 private:
  std::vector<io::Safetensors> files_;
};

// Gives the tensors to the parameters; returns the names of those that were left over.
std::vector<std::string> load_parameters(const WeightFiles& files, const std::string& folder,
                                         Transformer& model);

}  // namespace headlight::models
