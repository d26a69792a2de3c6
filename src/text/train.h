// Trains tokenizers on text. One pass over the texts, then everything works on counted words; the result
// depends only on the texts and the options.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "text/parts.h"

namespace headlight::text {

// Stores the next text in its argument; false at the end. Texts may be lines, documents or
// pieces of files: words never span two texts.
using TextSource = std::function<bool(std::string& text)>;

enum class TokenizerKind { bpe, unigram, word_piece, characters, bytes };

struct TokenizerTraining {
  TokenizerKind kind = TokenizerKind::bpe;
  std::int32_t vocab = 8192;  // ids, with special tokens; fewer if the text has no further candidates
  std::vector<std::string> special = {"<pad>", "<s>", "</s>", "<unk>", "<mask>"};  // ids 0, 1, 2 …
  std::string around = {};  // tokens that encode() adds around a text: "<s> $A </s>"; empty: none
  bool lowercase = false;
  bool elisions =
      false;  // bpe: what follows the apostrophe of a French elision is a word: "l'animal" is l' and animal
  std::int64_t min_frequency = 2;  // pairs, pieces and characters with fewer occurrences are not learned
  // Called now and then: the current step and its progress (0 … 1; below 0: unknown).
  std::function<void(std::string_view doing, double done)> progress = {};
};

// The special tokens that a kind of tokenizer usually has.
[[nodiscard]] std::vector<std::string> usual_special_tokens(TokenizerKind kind);

// Throws Error{usage} for impossible options, Error{input} for texts without content.
[[nodiscard]] Tokenizer train_tokenizer(const TextSource& texts, const TokenizerTraining& options);

// The same tokens for texts with separated elisions: see TokenizerTraining.
[[nodiscard]] Tokenizer with_elisions(const Tokenizer& tokenizer);

// The same tokenizer, which ends texts with the token `end` unless special tokens are omitted.
[[nodiscard]] Tokenizer with_end(const Tokenizer& tokenizer, TokenId end);

// A text and the number of its occurrences.
struct CountedWord {
  std::string word;
  std::int64_t count = 0;
};

// The three algorithms, on words in a fixed order (train_tokenizer sorts them).
// Ids 0 … special-1 are taken; the vocabulary of the result begins with them.
[[nodiscard]] BpeParts train_bpe(const std::vector<CountedWord>& words, const TokenizerTraining& options);
[[nodiscard]] WordPieceParts train_word_piece(const std::vector<CountedWord>& words,
                                              const TokenizerTraining& options);
[[nodiscard]] UnigramParts train_unigram(const std::vector<CountedWord>& words,
                                         const TokenizerTraining& options);

}  // namespace headlight::text
