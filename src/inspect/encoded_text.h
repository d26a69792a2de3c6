// A text as a model reads it: tokens with their spans of the text, grouped into words, and selection of words by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/tokenizer.h"

namespace headlight::inspect {

struct EncodedToken {
  TokenId id = 0;
  std::string label;               // text for display: that of the token, or its name
  std::size_t begin = 0, end = 0;  // bytes of the text
  bool added = false;              // a special token added around the text
  std::int32_t type = 0;           // 1 in the second of two texts, where models tell them apart
};

// Separates two texts that are read together.
inline constexpr std::string_view kBetweenTexts = " / ";

struct EncodedText {
  std::string text;  // empty when ids were given; of two texts both
  std::vector<EncodedToken> tokens;
  Index second = 0;  // the first token of the second text; 0: there is one text
  // Sound features of a speech model, [1, band, frame]; each token is then a position of its encoder.
  std::shared_ptr<const Tensor> features = nullptr;

  [[nodiscard]] Index size() const noexcept { return static_cast<Index>(tokens.size()); }
  [[nodiscard]] std::vector<std::int32_t> ids() const;
  [[nodiscard]] std::vector<std::string> labels() const;
};

// Throws Error{input} if the text has no token.
[[nodiscard]] EncodedText read_text(const Tokenizer& tokenizer, std::string_view text);
// Two texts for models that read pairs; spans count bytes of the joined text. Throws Error{input} if one has no token.
[[nodiscard]] EncodedText read_pair(const Tokenizer& tokenizer, std::string_view first,
                                    std::string_view second);
// Token ids in place of text. Throws Error{input} for an id outside 0 … vocabulary-1.
[[nodiscard]] EncodedText read_ids(const Tokenizer* tokenizer, const std::vector<std::int32_t>& ids,
                                   Index vocabulary);
// Sound features, [band, frame] of f32, two frames per token. Tokens are labelled with their time, for frames of 10 ms as
// in all published models.
[[nodiscard]] EncodedText read_features(const Tensor& features, Index positions);

// Tokens that a model wrote, with their joined text and each token's span of it.
[[nodiscard]] EncodedText read_written(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids);

// A run of tokens with a label.
struct Word {
  std::string label;
  Range tokens;
};

// Groups the tokens by the text's words (text/words.h). Tokens are never split, so in scripts without spaces a token of
// several characters is one word. Each added token is a word by itself.
[[nodiscard]] std::vector<Word> words_of(const EncodedText& encoded);

// Words selected by name, and a note for the user if the name was ambiguous.
struct Pick {
  Word word;
  std::string note;  // "the" occurs 2 times: …
  Index others = 0;  // further occurrences that were not used
};
// "it", "Harry Potter" (adjacent words), "the#2" (the second occurrence) or "@5" (token number 5). Of several occurrences
// the first is used, with a note. If there is none, throws Error{usage} with the list of words.
[[nodiscard]] Pick pick(const EncodedText& encoded, std::string_view what);

}  // namespace headlight::inspect
