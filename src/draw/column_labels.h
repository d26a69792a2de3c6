// Labels above a map's columns: flat, climbing to the right, or numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/terminal_style.h"

namespace headlight::draw {

enum class LabelForm : std::uint8_t { flat, angled, numbered };

struct ColumnLabels {
  LabelForm form = LabelForm::flat;
  int left = 0;        // the column where the first cell starts
  int cell_width = 1;  // columns
  int height = 1;      // lines, of angled ones
};

inline constexpr int kAngledLines = 9;  // angled labels are cut to this

// The lines above the cells, top to bottom, each with its newline.
[[nodiscard]] std::string column_label_lines(const std::vector<std::string>& labels, const ColumnLabels& form,
                                             const TerminalStyle& style);
// Numbers 0, step, 2·step … above every cell with space; each cell has `in_cell` keys.
[[nodiscard]] std::string column_number_line(std::size_t cells, std::int64_t in_cell,
                                             const ColumnLabels& form);

}  // namespace headlight::draw
