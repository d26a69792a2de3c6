#include "text/aligned_text.h"

namespace headlight::text {

Range AlignedText::origin(std::uint32_t at) const noexcept {
  if (!untouched_) return tracked_ ? origins_[at] : Range{};
  while (at > 0 && is_continuation(view_[at])) --at;
  const auto length = static_cast<std::uint32_t>(length_from(view_[at]));
  return {base_ + at, base_ + at + length};
}

AlignedText AlignedText::part(Range range) const {
  AlignedText part(text(range), untouched_ ? base_ + range.begin : origin(range.begin).begin,
                   tracked_ ? Origins::track : Origins::forget);
  if (untouched_) return part;
  part.untouched_ = false;
  part.own_ = part.view_;
  if (tracked_) part.origins_.assign(origins_.begin() + range.begin, origins_.begin() + range.end);
  else if (range.begin > 0) part.base_ = 1;  // all that is asked of it: not the start
  return part;
}

AlignedText well_formed(std::string_view bytes, Origins origins) {
  const AlignedText from(bytes, 0, origins);
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
  for (std::uint32_t at = range.begin; at < range.end;) {
    const auto length = static_cast<std::uint32_t>(length_from(from_.view_[at]));
    if (length == 1) {
      to_.origins_.push_back({from_.base_ + at, from_.base_ + at + 1});
      ++at;
      continue;
    }
    to_.origins_.insert(to_.origins_.end(), length, {from_.base_ + at, from_.base_ + at + length});
    at += length;
  }
}

void Rewriter::map(Range range, const std::array<char, 128>& table) {
  const std::size_t begin = to_.own_.size();
  keep(range);
  for (std::size_t i = begin; i < to_.own_.size(); ++i)
    to_.own_[i] = table[static_cast<unsigned char>(to_.own_[i])];
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
