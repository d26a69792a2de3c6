#include "text/normalizer.h"

#include <algorithm>
#include <array>

#include "headlight/error.h"
#include "text/byte_characters.h"

namespace headlight::text {
namespace {

// The text again, each character as `change` wants it: change(rewriter, range of the character, code).
template <class Change>
void each_character(AlignedText& text, const Change& change) {
  Rewriter to(text);
  for (std::uint32_t at = 0; at < text.size();) {
    const Character c = character_at(text.text(), at);
    change(to, Range{at, at + c.length}, c.code);
    at += c.length;
  }
  text = to.finish();
}

template <class Keep>
void filter(AlignedText& text, const Keep& keep) {
  each_character(text, [&](Rewriter& to, Range range, char32_t code) {
    if (keep(code)) to.keep(range);
  });
}

constexpr std::array<char, 128> ascii_table(bool lower, bool spaces) {
  std::array<char, 128> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char c = static_cast<char>(i);
    table[i] = lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (spaces && (c == '\t' || c == '\n' || c == '\r')) table[i] = ' ';
  }
  return table;
}

void map_ascii(AlignedText& text, const std::array<char, 128>& table) {
  Rewriter to(text);
  to.map({0, text.size()}, table);
  text = to.finish();
}

void lowercase(AlignedText& text) {
  static constexpr std::array<char, 128> kLower = ascii_table(true, false);
  if (is_ascii(text.text())) return map_ascii(text, kLower);
  std::string lower;
  each_character(text, [&](Rewriter& to, Range range, char32_t code) {
    lower.clear();
    append_lowercase(lower, code);
    to.put(lower, text.origin(range.begin));
  });
}

bool is_chinese(char32_t c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

// Controls and formats. Of the private characters, the reference drops only the first and last of each
// range: its table was made from a list that names no others.
bool is_bert_control(char32_t c) noexcept {
  if (c == 0xE000 || c == 0xF8FF || c == 0xF0000 || c == 0xFFFFD || c == 0x100000 || c == 0x10FFFD)
    return true;
  return c != '\t' && c != '\n' && c != '\r' && is_one_of(c, kControl);
}

// Plain English needs no look at Unicode: spaces and small letters are all there is to do.
bool bert_clean_ascii(const BertCleaning& step, AlignedText& text) {
  static constexpr std::array<char, 128> kSpaces = ascii_table(false, true), kBoth = ascii_table(true, true);
  const auto control = [](char c) { return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F; };
  const std::string_view from = text.text();
  if (!step.clean_text || !is_ascii(from) || std::any_of(from.begin(), from.end(), control)) return false;
  map_ascii(text, step.lowercase ? kBoth : kSpaces);
  return true;
}

void bert_clean(const BertCleaning& step, AlignedText& text) {
  if (bert_clean_ascii(step, text)) return;
  if (step.clean_text) {
    each_character(text, [&](Rewriter& to, Range range, char32_t code) {
      if (code == 0 || code == kReplacement || is_bert_control(code)) return;
      if (is_one_of(code, kSpace)) to.put(" ", text.origin(range.begin));
      else to.keep(range);
    });
  }
  if (step.chinese && !is_ascii(text.text())) {
    each_character(text, [&](Rewriter& to, Range range, char32_t code) {
      if (!is_chinese(code)) return to.keep(range);
      // The space before belongs to the character before: at the start, to nothing.
      const std::uint32_t base = text.base();
      to.put(" ", range.begin == 0 ? Range{base, base} : text.origin(range.begin - 1));
      to.keep(range);
      to.put(" ", text.origin(range.begin));
    });
  }
  if (step.strip_accents.value_or(step.lowercase) && !is_ascii(text.text())) {
    apply_form(UnicodeForm::nfd, text);
    filter(text, [](char32_t c) { return !is_one_of(c, kNonspacing); });
  }
  if (step.lowercase) lowercase(text);
}

void nmt_clean(AlignedText& text) {
  each_character(text, [&](Rewriter& to, Range range, char32_t c) {
    if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F)
      return;
    const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == kReplacement;
    if (space) to.put(" ", text.origin(range.begin));
    else to.keep(range);
  });
}

void replace(const Replace& step, const Finder& finder, AlignedText& text, std::size_t limit) {
  std::vector<Found> found;
  finder.find(text.text(), {0, text.size()}, found);
  if (std::none_of(found.begin(), found.end(), [](const Found& f) { return f.match; })) return;
  Rewriter to(text);
  for (const auto& [range, match] : found) {
    const std::uint32_t base = text.base();
    if (!match) to.keep(range);
    else to.put(step.content, range.end == 0 ? Range{base, base} : text.origin(range.end - 1));
    if (to.size() > limit) break;
  }
  text = to.finish();
}

void prepend(const Prepend& step, AlignedText& text) {
  if (text.size() == 0) return;
  Rewriter to(text);
  to.put(step.text, text.origin(0U));
  to.keep({0, text.size()});
  text = to.finish();
}

void strip(const StripEnds& step, AlignedText& text) {
  const auto space_at = [&](std::uint32_t at) {
    return is_one_of(character_at(text.text(), at).code, kSpace);
  };
  std::uint32_t begin = 0, end = text.size();
  while (step.left && begin < end && space_at(begin)) begin += character_at(text.text(), begin).length;
  while (step.right && end > begin) {
    std::uint32_t last = end - 1;
    while (is_continuation(text.text()[last])) --last;
    if (!space_at(last)) break;
    end = last;
  }
  if (begin == 0 && end == text.size()) return;
  Rewriter to(text);
  to.keep({begin, end});
  text = to.finish();
}

void bytes_as_characters(AlignedText& text) {
  Rewriter to(text);
  for (std::uint32_t at = 0; at < text.size(); ++at)
    to.put(character_of(static_cast<unsigned char>(text.text()[at])), text.origin(at));
  text = to.finish();
}

}  // namespace

void refuse_growth() {
  throw Error(
      ErrorKind::input, "tokenizer.growth",
      "tokenizer: the normalizer makes this text more than 16 times as long; the file is damaged or hostile");
}

void Transformer::put(char32_t code, int change) {
  if (change > 0) {
    to_.put(code, at_ == 0 ? Range{from_.base(), from_.base()} : from_.origin(at_ - 1));
    return;
  }
  to_.put(code, at_ < from_.size() ? from_.origin(at_) : Range{});
  drop(1 - change);
}

void Transformer::drop(int characters) {
  for (; characters > 0 && at_ < from_.size(); --characters)
    at_ += static_cast<std::uint32_t>(length_from(from_.text()[at_]));
}

Normalizer::Normalizer(const std::vector<NormalizerStep>& steps) {
  for (const NormalizerStep& settings : steps) {
    Step step{settings, std::nullopt, nullptr};
    if (const auto* with = std::get_if<Replace>(&settings)) step.finder.emplace(with->pattern);
    if (const auto* map = std::get_if<Charsmap>(&settings))
      step.charsmap = std::make_shared<const CharsmapTable>(map->bytes);
    steps_.push_back(std::move(step));
  }
}

void Normalizer::apply(AlignedText& text, std::size_t& allowance) const {
  for (const Step& step : steps_) {
    const auto visit = [&](const auto& s) {
      using T = std::decay_t<decltype(s)>;
      if constexpr (std::is_same_v<T, UnicodeForm>) {
        apply_form(s, text);
      } else if constexpr (std::is_same_v<T, Lowercase>) {
        lowercase(text);
      } else if constexpr (std::is_same_v<T, StripAccents>) {
        filter(text, [](char32_t c) { return !is_one_of(c, kMark); });
      } else if constexpr (std::is_same_v<T, BertCleaning>) {
        bert_clean(s, text);
      } else if constexpr (std::is_same_v<T, Replace>) {
        replace(s, *step.finder, text, allowance);
      } else if constexpr (std::is_same_v<T, Prepend>) {
        prepend(s, text);
      } else if constexpr (std::is_same_v<T, StripEnds>) {
        strip(s, text);
      } else if constexpr (std::is_same_v<T, Charsmap>) {
        apply_charsmap(*step.charsmap, text, allowance);
      } else if constexpr (std::is_same_v<T, NmtCleaning>) {
        nmt_clean(text);
      } else {
        bytes_as_characters(text);
      }
    };
    std::visit(visit, step.settings);
    if (text.size() > allowance) refuse_growth();
  }
  allowance -= text.size();
}

std::string Normalizer::apply(std::string_view text) const {
  AlignedText aligned(text, 0, Origins::forget);
  std::size_t allowed = allowance(text.size());
  apply(aligned, allowed);
  return std::string(aligned.text());
}

}  // namespace headlight::text
