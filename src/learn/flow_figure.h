// A drawing of boxes with text, connected by lines: a list of steps, or a tree.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "draw/drawing.h"

namespace headlight::learn {

struct FlowBox {
  std::string text, note = {};  // the note is below the text, in a muted colour
  double column = 0, row = 0;   // in boxes
  bool strong = false;
};
struct FlowLine {
  std::size_t from = 0, to = 0;  // from the bottom of one box to the top of the other
};
struct FlowSize {
  double box_width = 150, box_height = 34;  // points
};
[[nodiscard]] draw::Drawing flow_figure(const std::string& title, const std::vector<FlowBox>& boxes,
                                        const std::vector<FlowLine>& lines, const FlowSize& size = {});

}  // namespace headlight::learn
