#include "learn/flow_figure.h"

#include <algorithm>

#include "draw/color.h"

namespace headlight::learn {
namespace {

constexpr double kMargin = 10, kTitle = 20, kGapAcross = 16, kGapDown = 18, kFont = 9;

draw::Box box_of(const FlowBox& box, const FlowSize& size) {
  return {kMargin + box.column * (size.box_width + kGapAcross),
          kMargin + kTitle + box.row * (size.box_height + kGapDown), size.box_width, size.box_height};
}

void add_box(draw::Drawing& drawing, const FlowBox& box, const FlowSize& size) {
  const draw::PageColors colors = draw::page_colors(draw::Theme::light);
  const draw::Box place = box_of(box, size);
  drawing.add(draw::RectangleItem{place, box.strong ? draw::Rgb{255, 236, 179} : draw::Rgb{238, 242, 247}});
  const double middle = place.x + place.width / 2;
  const double base = place.y + place.height / 2 + (box.note.empty() ? 0.35 * kFont : -0.15 * kFont);
  drawing.add(draw::TextItem{{middle, base},
                             box.text,
                             {.size = kFont, .color = colors.ink, .bold = box.strong},
                             draw::Anchor::middle});
  if (box.note.empty()) return;
  drawing.add(draw::TextItem{{middle, base + 1.3 * kFont},
                             box.note,
                             {.size = 0.85 * kFont, .color = colors.quiet},
                             draw::Anchor::middle});
}

}  // namespace

draw::Drawing flow_figure(const std::string& title, const std::vector<FlowBox>& boxes,
                          const std::vector<FlowLine>& lines, const FlowSize& size) {
  const draw::PageColors colors = draw::page_colors(draw::Theme::light);
  draw::Drawing drawing{.title = title};
  for (const FlowBox& box : boxes) {
    drawing.width = std::max(drawing.width, box_of(box, size).right() + kMargin);
    drawing.height = std::max(drawing.height, box_of(box, size).bottom() + kMargin);
  }
  drawing.add(
      draw::TextItem{{kMargin, kMargin + kFont}, title, {.size = kFont, .color = colors.ink, .bold = true}});
  for (const FlowLine& line : lines) {
    const draw::Box from = box_of(boxes[line.from], size), to = box_of(boxes[line.to], size);
    drawing.add(draw::LineItem{
        {{from.x + from.width / 2, from.bottom()}, {to.x + to.width / 2, to.y}}, colors.quiet, 1});
  }
  for (const FlowBox& box : boxes) add_box(drawing, box, size);
  return drawing;
}

}  // namespace headlight::learn
