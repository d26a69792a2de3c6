#include "text/aligned_text.h"

#include <algorithm>

namespace headlight::text {

Range AlignedText::origin(std::uint32_t at) const noexcept {
  if (!untouched_) return tracked_ ? origins_[at] : Range{};
  while (at > 0 && is_continuation(view_[at])) --at;
  const auto length = static_cast<std::uint32_t>(length_from(view_[at]));
  return {base_ + at, base_ + at + length};
}

AlignedText AlignedText::part(Range range) const {
  std::uint32_t base = base_ + range.begin;
  if (!untouched_) base = tracked_ ? origins_[range.begin].begin : std::max(base_, range.begin);
  AlignedText part(text(range), base, tracked_ ? Origins::track : Origins::forget);
  if (untouched_) return part;
  part.untouched_ = false;
  part.own_ = part.view_;
  if (tracked_) part.origins_.assign(origins_.begin() + range.begin, origins_.begin() + range.end);
  return part;
}

AlignedText well_formed(std::string_view bytes, Origins origins) {
  AlignedText from(bytes, 0, origins);
  if (is_well_formed(bytes)) return from;
  Rewriter to(from);
  for (std::uint32_t at = 0; at < bytes.size();) {
    const NextBytes next = next_bytes(bytes.substr(at));
    const auto end = at + static_cast<std::uint32_t>(next.length);
    if (next.well_formed) to.keep({at, end});
    else to.put(kReplacement, {at, end});
    at = end;
  }
  return to.finish();
}

Rewriter::Rewriter(const AlignedText& from) : from_(from), to_({}, from.base_, Origins::forget) {
  to_.untouched_ = false;
  to_.tracked_ = from.tracked_;
  to_.own_.reserve(from.size() + from.size() / 8 + 16);
  if (to_.tracked_) to_.origins_.reserve(to_.own_.capacity());
}

void Rewriter::keep(Range range) {
  to_.own_ += from_.text(range);
  if (!to_.tracked_) return;
  if (!from_.untouched_) {
    to_.origins_.insert(to_.origins_.end(), from_.origins_.begin() + range.begin,
                        from_.origins_.begin() + range.end);
    return;
  }
  std::size_t next = to_.origins_.size();
  to_.origins_.resize(next + range.size());
  for (std::uint32_t at = range.begin; at < range.end;) {
    const auto length = static_cast<std::uint32_t>(length_from(from_.view_[at]));
    for (std::uint32_t i = 0; i < length; ++i)
      to_.origins_[next++] = {from_.base_ + at, from_.base_ + at + length};
    at += length;
  }
}

std::uint32_t Rewriter::map(Range range, const std::array<char, 256>& table) {
  const auto mapped = [&](char c) { return table[static_cast<unsigned char>(c)]; };
  const std::string_view text = from_.text();
  std::uint32_t end = range.begin;
  while (end < range.end && mapped(text[end]) != 0) ++end;
  const std::size_t begin = to_.own_.size();
  keep({range.begin, end});
  char* const written = to_.own_.data();
  for (std::size_t i = begin, size = to_.own_.size(); i < size; ++i) written[i] = mapped(written[i]);
  return end;
}

void Rewriter::put(std::string_view text, Range origin) {
  to_.own_ += text;
  if (to_.tracked_) to_.origins_.insert(to_.origins_.end(), text.size(), origin);
}

void Rewriter::put(char32_t code, Range origin) {
  append(to_.own_, code);
  if (to_.tracked_) to_.origins_.resize(to_.own_.size(), origin);
}

}  // namespace headlight::text
