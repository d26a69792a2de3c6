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
#include "text/known_words.h"

namespace headlight::inspect {

struct LoadedModel {
  std::string name, folder;  // folder: or a .gguf file
  std::unique_ptr<models::Transformer> model;
  std::unique_ptr<models::RecurrentModel> recurrent = nullptr;  // in its place, if accepted
  std::vector<std::string> notices;                             // notes about the files
  std::optional<Tokenizer> tokenizer;  // none: the folder has no tokenizer, and ids must be given
  std::unique_ptr<text::KnownWords> words =
      nullptr;  // of known_words.txt, which a translator's folder may have

  [[nodiscard]] Index layers(Part part) const;
  [[nodiscard]] Index heads(Part part) const;
  [[nodiscard]] bool has(Part part) const;
  [[nodiscard]] Part usual_part() const;  // the first part that processes the text
};

// A folder or a .gguf file, or a name that is searched in `places`, unchanged and as "headlight-NAME". Throws Error{file}
// if it does not exist. "NAME+ADAPTER" keeps its adapter.
[[nodiscard]] std::string find_model(const std::string& name, const std::vector<std::string>& places);
// Names of the models in these folders, sorted, without "headlight-".
[[nodiscard]] std::vector<std::string> model_names(const std::vector<std::string>& places);
// "MODEL+ADAPTER" is a model with an adapter (models/adapter.h). The folder of an adapter alone means its base model
// with the adapter.
struct ModelPath {
  std::string model, adapter;
};
[[nodiscard]] ModelPath find_adapted_model(const std::string& name, const std::vector<std::string>& places);
// Recurrent models have no heads, so they are returned only on request.
enum class Accept : std::uint8_t { transformers, recurrent_too };
[[nodiscard]] LoadedModel open_model(const std::string& name, const std::vector<std::string>& places,
                                     Accept accept = Accept::transformers);

}  // namespace headlight::inspect
