#include "draw/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/escape.h"

namespace headlight::draw {
namespace {

struct Character {
  std::string_view bytes;
  int width = 1;
};

Character first_character(std::string_view text) {
  const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
  std::uint32_t code = static_cast<std::uint8_t>(text[0]);
  if (length > 1) {
    code &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i)
      code = (code << 6) | (static_cast<std::uint8_t>(text[i]) & 0x3FU);
  }
  // A terminal gives a single control character or an invalid byte at most one column.
  const bool known = length > 1 || code < 0x80;
  return {text.substr(0, length), known ? utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)) : 1};
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    width += c.width;
    text.remove_prefix(c.bytes.size());
  }
  return width;
}

std::vector<Cluster> clusters(std::string_view text) {
  std::vector<Cluster> out;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.width == 0 && !out.empty()) out.back().bytes += c.bytes;
    if (c.width > 0) out.push_back({std::string(c.bytes), c.width});
    text.remove_prefix(c.bytes.size());
  }
  return out;
}

std::string shortened(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  std::string out;
  for (int used = 0; !text.empty();) {
    const Character c = first_character(text);
    used += c.width;
    if (used > width - 1) break;
    out += c.bytes;
    text.remove_prefix(c.bytes.size());
  }
  return width > 0 ? out + "…" : std::string();
}

std::string left_aligned(std::string_view text, int width) {
  std::string out = shortened(text, width);
  return out.append(static_cast<std::size_t>(std::max(0, width - display_width(out))), ' ');
}

std::string right_aligned(std::string_view text, int width) {
  std::string out = shortened(text, width);
  return out.insert(0, static_cast<std::size_t>(std::max(0, width - display_width(out))), ' ');
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string out;
  int column = indent;
  bool fresh = true;  // nothing on this line yet
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (word.empty()) continue;
    const int length = display_width(word);
    if (!fresh && column + 1 + length > width) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent), ' ');
      column = indent;
      fresh = true;
    }
    if (!fresh) out += ' ';
    column += length + (fresh ? 0 : 1);
    out += word;
    fresh = false;
  }
  return out;
}

std::string flowed(const std::vector<std::string>& items, int width, int indent) {
  std::string out;
  int column = indent;
  for (const std::string& item : items) {
    const int length = display_width(item);
    if (column > indent && column + 2 + length > width) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent), ' ');
      column = indent;
    }
    if (column > indent) out += "  ";
    column += length + (column > indent ? 2 : 0);
    out += item;
  }
  return out;
}

std::string bar(double part, int cells, Glyphs glyphs) {
  const double length = std::clamp(part, 0.0, 1.0) * cells;
  if (glyphs == Glyphs::ascii) return std::string(static_cast<std::size_t>(std::lround(length)), '#');
  constexpr std::array<std::string_view, 8> part_of_cell = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(length * 8));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out.append(part_of_cell[eighths % 8]);
}

}  // namespace headlight::draw
