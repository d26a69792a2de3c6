// Unicode's normal forms. Characters are decomposed, marks are sorted, and for NFC and NFKC composed
// again; each character records whether it replaces an original one or is inserted after it.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>

#include "text/normalizer.h"

namespace headlight::text {
namespace {

constexpr char32_t kHangulS = 0xAC00, kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7;
constexpr char32_t kHangulLs = 19, kHangulVs = 21, kHangulTs = 28,
                   kHangulSs = kHangulLs * kHangulVs * kHangulTs;

struct Mark {
  char32_t code = 0;
  int change = 0;
  int order = 0;  // canonical combining class; 0 for what begins a new character
};

int combining_class(char32_t code) {
  return code < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

// The composition of two characters, or 0.
char32_t composed(char32_t a, char32_t b) {
  if (a >= kHangulL && a < kHangulL + kHangulLs && b >= kHangulV && b < kHangulV + kHangulVs)
    return kHangulS + ((a - kHangulL) * kHangulVs + (b - kHangulV)) * kHangulTs;
  if (a >= kHangulS && a < kHangulS + kHangulSs && (a - kHangulS) % kHangulTs == 0 && b > kHangulT &&
      b < kHangulT + kHangulTs)
    return a + (b - kHangulT);
  if (b < 0x300) return 0;
  std::array<utf8proc_int32_t, 3> pair = {static_cast<utf8proc_int32_t>(a), static_cast<utf8proc_int32_t>(b),
                                          0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair.data(), 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

using Parts = std::array<utf8proc_int32_t, 32>;

// The decomposition of a character; itself if it has none. Valid as long as `parts`.
std::span<const utf8proc_int32_t> decomposed(char32_t code, bool compatible, Parts& parts) {
  int bounds = 0;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                                   parts.size(), options, &bounds);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    parts[0] = static_cast<utf8proc_int32_t>(code);
    count = 1;
  }
  return std::span(parts).first(static_cast<std::size_t>(count));
}

void decompose(char32_t code, bool compatible, std::vector<Mark>& out) {
  Parts parts{};
  int change = 0;
  for (const utf8proc_int32_t one : decomposed(code, compatible, parts)) {
    const auto part = static_cast<char32_t>(one);
    out.push_back({part, change, combining_class(part)});
    change = 1;
  }
}

// Marks between two starters, sorted by combining class; the order of equal ones is kept.
void order_marks(std::vector<Mark>& marks) {
  const auto by_order = [](const Mark& a, const Mark& b) { return a.order < b.order; };
  for (std::size_t i = 0; i < marks.size();) {
    std::size_t end = i + 1;
    while (end < marks.size() && marks[end].order != 0) ++end;
    const std::size_t begin = marks[i].order == 0 ? i + 1 : i;
    std::stable_sort(marks.begin() + static_cast<std::ptrdiff_t>(begin),
                     marks.begin() + static_cast<std::ptrdiff_t>(end), by_order);
    i = end;
  }
}

// Joins each mark to the last base character, unless a mark of its class or higher is between them.
void compose(std::vector<Mark>& marks) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t starter = kNone, out = 0;
  int last = 0;  // the class of the last character kept since the starter
  bool between = false;
  for (const Mark mark : marks) {
    if (starter != kNone && (!between || last < mark.order)) {
      if (const char32_t whole = composed(marks[starter].code, mark.code); whole != 0) {
        marks[starter].code = whole;
        marks[starter].change += mark.change - 1;
        continue;
      }
    }
    if (mark.order == 0) {
      starter = out;
      between = false;
    } else {
      between = starter != kNone;
      last = mark.order;
    }
    marks[out++] = mark;
  }
  marks.resize(out);
}

}  // namespace

bool append_bare(char32_t code, std::vector<char32_t>& parts) {
  Parts all{};
  const std::size_t first = parts.size();
  for (const utf8proc_int32_t one : decomposed(code, false, all)) {
    const auto part = static_cast<char32_t>(one);
    if (is_one_of(part, kNonspacing)) continue;
    if (combining_class(part) != 0) return parts.resize(first), false;
    parts.push_back(part);
  }
  return true;
}

void apply_form(UnicodeForm form, AlignedText& text) {
  if (is_ascii(text.text())) return;
  const bool compatible = form == UnicodeForm::nfkc || form == UnicodeForm::nfkd;
  const bool whole = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
  const std::string_view from = text.text();
  const auto high = [&](std::uint32_t at) { return static_cast<unsigned char>(from[at]) >= 0x80; };
  Rewriter to(text);
  std::vector<Mark> marks;
  for (std::uint32_t at = 0; at < text.size();) {
    // ASCII is unchanged; only its last character may combine with a mark.
    std::uint32_t plain = at;
    while (plain < text.size() && !high(plain)) ++plain;
    std::uint32_t end = plain;
    while (end < text.size() && high(end)) ++end;
    if (end > plain && plain > at) --plain;
    if (plain > at) to.keep({at, plain});
    marks.clear();
    for (std::uint32_t i = plain; i < end;) {
      const Character c = character_at(from, i);
      decompose(c.code, compatible, marks);
      i += c.length;
    }
    order_marks(marks);
    if (whole) compose(marks);
    Transformer transformer(text, to, plain);
    for (const Mark& mark : marks) transformer.put(mark.code, mark.change);
    at = end;
  }
  text = to.finish();
}

}  // namespace headlight::text
