// Text inside a tokenizer, with the origin of each byte. Unchanged text is a view
// of the original; the first change makes a copy with one origin per byte.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace headlight::text {

struct Range {
  std::uint32_t begin = 0, end = 0;  // bytes
  [[nodiscard]] std::uint32_t size() const noexcept { return end - begin; }
  bool operator==(const Range&) const = default;
};

enum class Origins { track, forget };  // forget: offsets are not needed

class AlignedText {
 public:
  AlignedText() = default;
  // `text` is at offset `base` of the original and must outlive this.
  AlignedText(std::string_view text, std::uint32_t base, Origins origins)
      : view_(text), base_(base), tracked_(origins == Origins::track) {}

  [[nodiscard]] std::string_view text() const noexcept { return untouched_ ? view_ : std::string_view(own_); }
  [[nodiscard]] std::string_view text(Range range) const noexcept {
    return text().substr(range.begin, range.size());
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(text().size()); }
  [[nodiscard]] bool tracked() const noexcept { return tracked_; }
  // Its position in the original; for changed, untracked text only 0 at the start and more elsewhere.
  [[nodiscard]] std::uint32_t base() const noexcept { return base_; }

  // The original bytes of the byte at `at`, always whole characters. Unknown if not tracked.
  [[nodiscard]] Range origin(std::uint32_t at) const noexcept;
  // The original bytes of a range that is not empty.
  [[nodiscard]] Range origin(Range range) const noexcept {
    return {origin(range.begin).begin, origin(range.end - 1).end};
  }

  // A part as a separate text. It must not outlive this one.
  [[nodiscard]] AlignedText part(Range range) const;

 private:
  friend class Rewriter;
  std::string_view view_ = {};
  std::string own_ = {};
  std::vector<Range> origins_ = {};
  std::uint32_t base_ = 0;
  bool untouched_ = true, tracked_ = false;
};

// Builds the next text from left to right, from pieces of the last one and new characters.
class Rewriter {
 public:
  explicit Rewriter(const AlignedText& from);

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(to_.own_.size()); }
  // The bytes of `range`, unchanged.
  void keep(Range range);
  // The bytes of `range`, each mapped by `table`, up to the first that the table maps to 0; returns its position.
  // The table maps all bytes beyond ASCII to 0.
  [[nodiscard]] std::uint32_t map(Range range, const std::array<char, 256>& table);
  // New text that replaces the original bytes `origin`.
  void put(std::string_view text, Range origin);
  void put(char32_t code, Range origin);

  [[nodiscard]] AlignedText finish() { return std::move(to_); }

 private:
  const AlignedText& from_;
  AlignedText to_;
};

// Any bytes as well-formed text: ill-formed ones become U+FFFD and keep their origin.
[[nodiscard]] AlignedText well_formed(std::string_view bytes, Origins origins);

}  // namespace headlight::text
