// Reads and writes tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "io/folder.h"
#include "io/gguf.h"
#include "io/json.h"

namespace headlight::models {

// The tokenizer of a model with its end tokens, or the reason why there is none.
struct FoundTokenizer {
  std::optional<Tokenizer> tokenizer = std::nullopt;
  std::vector<TokenId> ends = {};
  std::string why_not = {};
};
// Of a folder: the first of tokenizer.json, tokenizer.model, spiece.model, the only *.model, vocab.json with merges.txt,
// vocab.json with source.spm and target.spm, vocab.txt. Throws Error{input} if that one is invalid.
[[nodiscard]] FoundTokenizer find_tokenizer(const io::Folder& folder);
[[nodiscard]] FoundTokenizer find_tokenizer(const io::Gguf& file);

// From a file: tokenizer.json (or any .json), a SentencePiece .model, a vocab.txt, a .gguf; or from a folder, as
// above. Throws Error: file when it cannot be read, input when it is refused or there is none.
[[nodiscard]] Tokenizer load_tokenizer(const std::string& path);

// Throws Error{input} if the tokenizer has tokens without a row in the model's embedding.
void check_vocabulary(const Tokenizer& tokenizer, std::int64_t rows, const std::string& name);

// FOLDER/tokenizer.json; creates the folder if it is missing. `existing`: refuse or replace the file.
enum class ExistingTokenizer { refuse, replace };
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder, ExistingTokenizer existing);

// Converts a tokenizer to the text of its tokenizer.json, and back.
[[nodiscard]] std::string tokenizer_to_json(const Tokenizer& tokenizer);
[[nodiscard]] Tokenizer tokenizer_from_json(const io::Json& json);

// From the bytes of a SentencePiece model. `name` is for messages.
[[nodiscard]] Tokenizer tokenizer_from_sentence_piece(std::string_view bytes, const std::string& name);

// The three files of opus-mt: vocab.json has the ids of the pieces of source.spm and target.spm.
[[nodiscard]] Tokenizer tokenizer_from_sentence_pair(const io::Json& vocab, std::string_view source,
                                                     std::string_view target);

// BERT's vocabulary, one token per line.
[[nodiscard]] Tokenizer tokenizer_from_vocab_txt(std::string_view text, const std::string& name,
                                                 bool lowercase);
// GPT-2's two files: tokens with ids, and one merge per line.
[[nodiscard]] Tokenizer tokenizer_from_vocab_and_merges(const io::Json& vocab, std::string_view merges,
                                                        const std::string& name);

}  // namespace headlight::models
