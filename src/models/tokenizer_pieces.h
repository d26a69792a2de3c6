// SentencePiece models in folders: what their tokenizer class adds to the model, as far as it is known.
#pragma once

#include <optional>
#include <string>

#include "headlight/tokenizer.h"
#include "io/folder.h"
#include "io/json.h"

namespace headlight::models {

// tokenizer_config.json, if the folder has one.
[[nodiscard]] std::optional<io::Json> tokenizer_config(const io::Folder& folder);

// The model `name` of a folder with the special tokens that its class adds around a text. Nothing if the class gives pieces
// other ids than the model: `why_not` then says so.
[[nodiscard]] std::optional<Tokenizer> tokenizer_from_pieces(const io::Folder& folder,
                                                             const std::string& name, std::string& why_not);

// vocab.json with source.spm and target.spm.
[[nodiscard]] Tokenizer tokenizer_from_pair_files(const io::Folder& folder);

}  // namespace headlight::models
