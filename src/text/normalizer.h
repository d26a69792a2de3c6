// Normalizers: convert a text to the form that the vocabulary was trained on. Every step tracks the origin of its
// characters like Hugging Face's tokenizers, so that offsets agree.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/aligned_text.h"
#include "text/charsmap.h"
#include "text/parts.h"
#include "text/pattern.h"

namespace headlight::text {

class Normalizer {
 public:
  // Throws Error{input} for unusable patterns and tables.
  explicit Normalizer(const std::vector<NormalizerStep>& steps);

  // The limit of a text's growth, in bytes, over all its parts: 16 times, and a megabyte.
  [[nodiscard]] static std::size_t allowance(std::size_t size) noexcept {
    return 16 * size + (std::size_t{1} << 20);
  }
  // Subtracts the length of the new text from `allowance`; throws Error{input} if it is used up.
  void apply(AlignedText& text, std::size_t& allowance) const;
  [[nodiscard]] std::string apply(std::string_view text) const;
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }

 private:
  struct Step {
    NormalizerStep settings;
    std::optional<Finder> finder;
    std::shared_ptr<const CharsmapTable> charsmap;
  };
  std::vector<Step> steps_;
};

// Writes characters in place of others. `change` 0: in place of the next one; -n: of the next
// one, and n more are dropped; 1: inserted after the previous one.
class Transformer {
 public:
  explicit Transformer(const AlignedText& from, Rewriter& to, std::uint32_t at = 0)
      : from_(from), to_(to), at_(at) {}
  void put(char32_t code, int change);
  void drop(int characters);

 private:
  const AlignedText& from_;
  Rewriter& to_;
  std::uint32_t at_;
};

void lowercase(AlignedText& text);
// All steps of BERT's normalizer.
void clean_for_bert(const BertCleaning& step, AlignedText& text);
// One of Unicode's four forms.
void apply_form(UnicodeForm form, AlignedText& text);
// The NFD form of a character without nonspacing marks. Returns false, and appends nothing, for characters
// with a remaining mark whose position depends on the neighbouring characters.
[[nodiscard]] bool append_bare(char32_t code, std::vector<char32_t>& parts);
// SentencePiece's table, grapheme by grapheme. Stops once the text exceeds `limit` bytes.
void apply_charsmap(const CharsmapTable& table, AlignedText& text, std::size_t limit);
// Throws Error{input}: the text has grown too much.
[[noreturn]] void refuse_growth();

}  // namespace headlight::text
