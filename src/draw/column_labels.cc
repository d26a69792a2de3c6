#include "draw/column_labels.h"

#include <algorithm>

#include "draw/terminal_line.h"
#include "draw/weight_map.h"

namespace headlight::draw {
namespace {

// A grid of characters. A wide character takes its cell and the next.
class Grid {
 public:
  Grid(int lines, int width)
      : lines_(static_cast<std::size_t>(lines),
               std::vector<std::string>(static_cast<std::size_t>(width), " ")) {}

  void put(int line, int column, const Cluster& c) {
    auto& row = lines_[static_cast<std::size_t>(line)];
    const auto place = static_cast<std::size_t>(column);
    if (place + static_cast<std::size_t>(c.width) > row.size()) return;
    row[place] = c.bytes;
    for (int i = 1; i < c.width; ++i) row[place + static_cast<std::size_t>(i)].clear();
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& row : lines_) {
      std::string line;
      for (const std::string& place : row) line += place;
      const std::size_t last = line.find_last_not_of(' ');
      out += line.substr(0, last == std::string::npos ? 0 : last + 1) + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> lines_;
};

// Each label starts above its cell and climbs one line with each character. Two labels never overlap: on
// one line they are as far apart as their cells.
std::string angled_lines(const std::vector<std::string>& labels, const ColumnLabels& form, int width) {
  Grid grid(form.height, width);
  for (std::size_t j = 0; j < labels.size(); ++j) {
    const int start = form.left + static_cast<int>(j) * form.cell_width;
    const int room = std::min(form.height, width - start);
    const std::vector<Cluster> all = clusters(shown(labels[j]));
    const bool cut = static_cast<int>(all.size()) > room;
    for (int i = 0; i < std::min(room, static_cast<int>(all.size())); ++i) {
      const bool last = cut && i == room - 1;
      grid.put(form.height - 1 - i, start + i, last ? Cluster{"…", 1} : all[static_cast<std::size_t>(i)]);
    }
  }
  return grid.text();
}

}  // namespace

std::string column_label_lines(const std::vector<std::string>& labels, const ColumnLabels& form,
                               const TerminalStyle& style) {
  if (form.form == LabelForm::angled) return angled_lines(labels, form, style.width);
  TerminalLine line;
  line.advance_to(form.left);
  for (const std::string& label : labels) line.text(left_aligned(shown(label), form.cell_width));
  return line.finish();
}

std::string column_number_line(std::size_t cells, std::int64_t in_cell, const ColumnLabels& form) {
  const std::string longest = std::to_string(static_cast<std::int64_t>(cells - 1) * in_cell);
  const int need = static_cast<int>(longest.size()) + 1;
  std::size_t step = 1;
  for (const std::size_t next : {1U, 2U, 5U, 10U, 20U, 50U, 100U, 200U, 500U}) {
    step = next;
    if (static_cast<int>(step) * form.cell_width >= need) break;
  }
  const int total = static_cast<int>(cells) * form.cell_width;
  TerminalLine line;
  for (std::size_t j = 0; j < cells; j += step) {
    const std::string number = std::to_string(static_cast<std::int64_t>(j) * in_cell);
    const int column = form.left + static_cast<int>(j) * form.cell_width, end = form.left + total;
    if (j > 0 && column + static_cast<int>(number.size()) > end) break;
    line.advance_to(column);
    line.text(number);
  }
  return line.finish();
}

}  // namespace headlight::draw
