// A text as a model reads it: tokens with the words that people see, and how words are picked out of it.
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
  std::string label;               // shown text: that of the token, or its name
  std::size_t begin = 0, end = 0;  // bytes of the text
  bool added = false;              // put around the text, not found in it
  std::int32_t type = 0;           // 1 in the second of two texts, where models tell them apart
};

// Between two texts that are read together.
inline constexpr std::string_view kBetweenTexts = " / ";

struct EncodedText {
  std::string text;  // empty when ids were given; of two texts both
  std::vector<EncodedToken> tokens;
  Index second = 0;  // the first token of the second text; 0: there is one text
  // Sound features of a model that hears, [1, band, frame]; a token then stands for a position of its encoder.
  std::shared_ptr<const Tensor> features = nullptr;

  [[nodiscard]] Index size() const noexcept { return static_cast<Index>(tokens.size()); }
  [[nodiscard]] std::vector<std::int32_t> ids() const;
  [[nodiscard]] std::vector<std::string> labels() const;
};

// Throws Error{input} when the text has no token.
[[nodiscard]] EncodedText read_text(const Tokenizer& tokenizer, std::string_view text);
// Two texts for models that read pairs; spans are those in both together. Throws Error{input} when one has no token.
[[nodiscard]] EncodedText read_pair(const Tokenizer& tokenizer, std::string_view first,
                                    std::string_view second);
// Ids in place of text. Throws Error{input} for one outside 0 … vocabulary-1.
[[nodiscard]] EncodedText read_ids(const Tokenizer* tokenizer, const std::vector<std::int32_t>& ids,
                                   Index vocabulary);
// Sound features, [band, frame] of f32, two frames a token. Tokens are called by their time where a frame takes 10 ms,
// as it does for all published models.
[[nodiscard]] EncodedText read_features(const Tensor& features, Index positions);

// Tokens that a model wrote: the text they make together, and each one's part of it.
[[nodiscard]] EncodedText read_written(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids);

// Some neighbouring tokens with a name.
struct Word {
  std::string label;
  Range tokens;
};

// The text's words, as text/words.h cuts it: tokens that have a part of the same word belong together. A token is never
// cut, so that in scripts without spaces a token of several characters is one word. Tokens that were added are words of
// their own.
[[nodiscard]] std::vector<Word> words_of(const EncodedText& encoded);

// What somebody asked for by name, and what there is to say about it.
struct Pick {
  Word word;
  std::string note;  // "the" occurs 2 times: …
  Index others = 0;  // further places that were not taken
};
// "it", "Harry Potter" (neighbours), "the#2" (the second one) or "@5" (token number 5). Of several the first is
// used, with a note. Throws Error{usage} with the list of words.
[[nodiscard]] Pick pick(const EncodedText& encoded, std::string_view what);

}  // namespace headlight::inspect
