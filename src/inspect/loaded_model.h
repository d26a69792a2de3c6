// A model with its tokenizer, found by name or path and opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/tokenizer.h"
#include "models/recurrent.h"
#include "models/transformer.h"

namespace headlight::inspect {

struct LoadedModel {
  std::string name, folder;  // folder: the path of a folder or of a .gguf file
  std::unique_ptr<models::Transformer> model;
  std::unique_ptr<models::RecurrentModel> recurrent =
      nullptr;                         // set in place of `model`, if the caller accepts one
  std::vector<std::string> notices;    // notes about the files
  std::optional<Tokenizer> tokenizer;  // none: the folder has no tokenizer, and ids must be given

  [[nodiscard]] Index layers(Part part) const;
  [[nodiscard]] Index heads(Part part) const;
  [[nodiscard]] bool has(Part part) const;
  [[nodiscard]] Part usual_part() const;  // the part that the input text enters first
};

// The path of a model: a folder, a .gguf file, or a name, searched in `places` unchanged and as "headlight-NAME". Throws
// Error{file} if there is none. "NAME+ADAPTER" keeps its adapter.
[[nodiscard]] std::string find_model(const std::string& name, const std::vector<std::string>& places);
// "MODEL+ADAPTER" is a model with an adapter (models/adapter.h). The folder of an adapter stands for its base model with
// that adapter.
struct ModelPath {
  std::string model, adapter;
};
[[nodiscard]] ModelPath find_adapted_model(const std::string& name, const std::vector<std::string>& places);
// Recurrent models have no heads, so they are opened only if the caller accepts them.
enum class Accept : std::uint8_t { transformers, recurrent_too };
[[nodiscard]] LoadedModel open_model(const std::string& name, const std::vector<std::string>& places,
                                     Accept accept = Accept::transformers);

}  // namespace headlight::inspect
