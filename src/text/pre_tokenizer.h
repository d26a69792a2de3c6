// Splits normalized text into the words that the model sees one by one.
#pragma once

#include <vector>

#include "text/aligned_text.h"
#include "text/parts.h"
#include "text/pattern.h"

namespace headlight::text {

struct Words {
  AlignedText text;
  std::vector<Range> ranges;  // none empty, in order; removed text lies between them
};

class PreTokenizer {
 public:
  // Throws Error{input} for unusable patterns.
  explicit PreTokenizer(const std::vector<PreTokenizerStep>& steps);

  // `words` comes as one range over all of the text.
  void apply(Words& words) const;
  // The last step converts bytes to characters. It is left to the model, which reads the bytes instead.
  [[nodiscard]] bool ends_in_bytes() const noexcept { return ends_in_bytes_; }
  // Some step treats the start of the original text differently from other positions.
  [[nodiscard]] bool asks_for_start() const noexcept;

 private:
  struct Step {
    PreTokenizerStep settings;
    std::optional<Finder> finder;
  };
  void apply_one(const Step& step, Words& words, bool last) const;

  std::vector<Step> steps_;
  bool ends_in_bytes_ = false;
};

// Punctuation as in BERT: \p{P} and every ASCII symbol.
[[nodiscard]] bool is_bert_punctuation(char32_t code) noexcept;

}  // namespace headlight::text
