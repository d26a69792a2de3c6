// BERT's normalizer. Its four steps are defined one after the other; nearly all texts take them in one pass,
// which copies runs of ASCII and looks at other characters one by one.
#include "text/normalizer.h"
#include "text/rewriting.h"

namespace headlight::text {
namespace {

bool is_chinese(char32_t c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

// Control and format characters. Of the private-use characters, the reference drops only the first and last of each
// range: its table was made from a list that names no others.
bool is_bert_control(char32_t c) noexcept {
  if (c == 0xE000 || c == 0xF8FF || c == 0xF0000 || c == 0xFFFFD || c == 0x100000 || c == 0x10FFFD)
    return true;
  return c != '\t' && c != '\n' && c != '\r' && is_one_of(c, kControl);
}

bool is_dropped(char32_t c) noexcept { return c == 0 || c == kReplacement || is_bert_control(c); }

bool strips(const BertCleaning& step) { return step.strip_accents.value_or(step.lowercase); }

void clean_step_by_step(const BertCleaning& step, AlignedText& text) {
  if (step.clean_text) {
    each_character(text, [&](Rewriter& to, Range range, char32_t code) {
      if (is_dropped(code)) return;
      if (is_one_of(code, kSpace)) to.put(" ", text.origin(range.begin));
      else to.keep(range);
    });
  }
  if (step.chinese && !is_ascii(text.text())) {
    each_character(text, [&](Rewriter& to, Range range, char32_t code) {
      if (!is_chinese(code)) return to.keep(range);
      // The inserted space belongs to the previous character; at the start, to none.
      const std::uint32_t base = text.base();
      to.put(" ", range.begin == 0 ? Range{base, base} : text.origin(range.begin - 1));
      to.keep(range);
      to.put(" ", text.origin(range.begin));
    });
  }
  if (strips(step) && !is_ascii(text.text())) {
    apply_form(UnicodeForm::nfd, text);
    keep_characters(text, [](char32_t c) { return !is_one_of(c, kNonspacing); });
  }
  if (step.lowercase) lowercase(text);
}

// All steps for each character at once. Returns false for the rare text in which remaining marks must first be
// reordered with their neighbours; nothing has changed then.
class OnePass {
 public:
  OnePass(const BertCleaning& step, const AlignedText& text) : step_(step), text_(text), to_(text) {}

  bool run() {
    static constexpr std::array<char, 256> kClean = ascii_table({.clean = true});
    static constexpr std::array<char, 256> kBoth = ascii_table({.lowercase = true, .clean = true});
    const std::uint32_t size = text_.size();
    for (std::uint32_t at = 0; at < size;) {
      const std::uint32_t end = to_.map({at, size}, step_.lowercase ? kBoth : kClean);
      if (end > at) before_ = text_.origin(end - 1);
      if (end == size) break;
      const Character c = character_at(text_.text(), end);
      if (!is_dropped(c.code)) {
        const Range origin = text_.origin(end);
        if (!put(c.code, origin)) return false;
        before_ = origin;
      }
      at = end + c.length;
    }
    return true;
  }
  [[nodiscard]] AlignedText finish() { return to_.finish(); }

 private:
  bool put(char32_t code, Range origin) {
    if (is_one_of(code, kSpace)) return to_.put(" ", origin), true;
    const bool alone = step_.chinese && is_chinese(code);
    if (alone) to_.put(" ", before_);
    parts_.clear();
    if (!strips(step_)) parts_.push_back(code);
    else if (!append_bare(code, parts_)) return false;
    new_.clear();
    for (const char32_t part : parts_) {
      if (step_.lowercase) append_lowercase(new_, part);
      else append(new_, part);
    }
    to_.put(new_, origin);
    if (alone) to_.put(" ", origin);
    return true;
  }

  const BertCleaning& step_;
  const AlignedText& text_;
  Rewriter to_;
  Range before_{text_.base(), text_.base()};  // of the last character that was kept
  std::vector<char32_t> parts_;
  std::string new_;
};

}  // namespace

void clean_for_bert(const BertCleaning& step, AlignedText& text) {
  if (step.clean_text) {
    OnePass pass(step, text);
    if (pass.run()) {
      text = pass.finish();
      return;
    }
  }
  clean_step_by_step(step, text);
}

}  // namespace headlight::text
