#include "text/normalizer.h"

#include <algorithm>
#include <array>

#include "headlight/error.h"
#include "text/byte_characters.h"
#include "text/rewriting.h"

namespace headlight::text {

void lowercase(AlignedText& text) {
  static constexpr std::array<char, 256> kLower = ascii_table({.lowercase = true});
  Rewriter to(text);
  std::string lower;
  for (std::uint32_t at = 0; (at = to.map({at, text.size()}, kLower)) < text.size();) {
    const Character c = character_at(text.text(), at);
    lower.clear();
    append_lowercase(lower, c.code);
    to.put(lower, text.origin(at));
    at += c.length;
  }
  text = to.finish();
}

namespace {

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
        keep_characters(text, [](char32_t c) { return !is_one_of(c, kMark); });
      } else if constexpr (std::is_same_v<T, BertCleaning>) {
        clean_for_bert(s, text);
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
