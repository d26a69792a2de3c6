#include "cli/text_table.h"

#include <algorithm>

namespace headlight::cli {

void TextTable::print(Page& page) const {
  std::vector<int> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int width = draw::display_width(columns_[c].name);
    for (const auto& row : rows_) width = std::max(width, draw::display_width(row[c]));
    widths.push_back(std::min(width, columns_[c].most));
  }
  const auto cell = [&](const std::string& text, std::size_t c) {
    const std::string padded = columns_[c].align == Align::left ? draw::left_aligned(text, widths[c])
                                                                : draw::right_aligned(text, widths[c]);
    return (c == 0 ? "" : "  ") + padded;
  };
  std::string head;
  for (std::size_t c = 0; c < columns_.size(); ++c) head += cell(columns_[c].name, c);
  head.resize(head.find_last_not_of(' ') + 1);
  page.line(page.dim(head));
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) line += cell(row[c], c);
    page.line(line);
  }
}

}  // namespace headlight::cli
