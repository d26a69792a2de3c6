// Loads a transformer: from a Hugging Face folder (config.json with model.safetensors,
// or with model.safetensors.index.json and its shards), or a .gguf file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/model_files.h"
#include "models/recurrent.h"
#include "models/transformer.h"
#include "models/weights.h"

namespace headlight::models {

struct LoadedTransformer {
  std::unique_ptr<Transformer> model;
  std::vector<std::string> unused;   // buffers and copies among the files' tensors
  std::vector<std::string> notices;  // notes for the user
};
// `dtype` is the type of the computation. For inference, matrices are memory-mapped in the precision of the file; for
// training, or in f64, all parameters are owned tensors. Throws Error that names the file and the tensor.
struct LoadOptions {
  DType dtype = DType::f32;
  nn::Weights weights = nn::Weights::stored;
  std::string adapter = {};  // the folder of an adapter for this model: models/adapter.h
};
[[nodiscard]] LoadedTransformer load_transformer(const std::string& path, DType dtype = DType::f32,
                                                 nn::Weights weights = nn::Weights::stored);
[[nodiscard]] LoadedTransformer load_transformer(const ModelFiles& files, const TransformerConfig& config,
                                                 const LoadOptions& options = {});

// The contents of a path: one of the two models, and the tokenizer or the reason for its absence.
struct OpenedModel {
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<RecurrentModel> recurrent;
  std::optional<Tokenizer> tokenizer = std::nullopt;
  std::string no_tokenizer;  // why there is no tokenizer
  std::vector<std::string> notices;
};
[[nodiscard]] OpenedModel open_model(const std::string& path, const LoadOptions& options = {});

// A model with the shapes of its parameters and no values yet. Throws Error{input} if the files are too small for as
// many numbers, before memory is allocated.
[[nodiscard]] std::unique_ptr<Transformer> make_transformer(const TransformerConfig& config,
                                                            const WeightSource& weights);
[[nodiscard]] std::unique_ptr<RecurrentModel> make_recurrent(const RecurrentModelConfig& config,
                                                             const WeightSource& weights);

// The tensor of each parameter. Throws Error{input} that names the first tensor that is missing, or has
// another shape or a type that is not a float.
struct ParameterPlan {
  std::vector<std::pair<Parameter*, StoredTensor>> present;
  std::vector<Parameter*> absent;   // fixed numbers that files may omit
  std::vector<std::string> unused;  // tensors that no parameter uses
};
// Without `names`, files use the parameter names of the model.
[[nodiscard]] ParameterPlan plan_parameters(const WeightSource& weights, const Parameters& parameters,
                                            const Names* names = nullptr);

// Assigns the tensors to the parameters; returns the names of the unused ones.
std::vector<std::string> load_parameters(const WeightSource& weights, ParameterPlan plan);

}  // namespace headlight::models
