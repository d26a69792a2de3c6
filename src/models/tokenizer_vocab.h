// Shared by all readers of tokenizer files: tokens, ids and merges, checked as they are read.
#pragma once

#include <string>
#include <string_view>

#include "io/json.h"
#include "text/parts.h"

namespace headlight::models {

// All throw Error{input} whose text starts with the file.
[[nodiscard]] TokenId read_token_id(const io::Json& json, std::string_view token);
void add_token(text::TokenTable& vocab, std::string_view token, TokenId id, const std::string& file);
// An object of tokens with their ids.
[[nodiscard]] text::TokenTable read_vocab(const io::Json& entries);

// The merge of two tokens, or of "a b"; both and the result must be in the vocabulary.
[[nodiscard]] text::BpeParts::Merge merge_of(std::string_view left, std::string_view right,
                                             const text::BpeParts& parts, const std::string& file);
[[nodiscard]] text::BpeParts::Merge merge_of(std::string_view both, const text::BpeParts& parts,
                                             const std::string& file);

// make_tokenizer() with the file's name at the start of its errors.
[[nodiscard]] Tokenizer make_named_tokenizer(text::TokenizerParts parts, const std::string& file);

}  // namespace headlight::models
