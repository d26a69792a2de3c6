#include "draw/figure_labels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "draw/weight_map.h"

namespace headlight::draw {
namespace {

constexpr double kGap = 0.35;  // between labels and map, in font sizes

// Font sizes and steps for which lines of text `room` apart do not overlap.
void thin_out(AxisLabels& labels, double room) {
  const double size = labels.look.size;
  labels.look.size = std::max(std::min(size, kSmallestLabel), std::min(size, room / kTightHeight));
  labels.step =
      std::max<Index>(1, static_cast<Index>(std::ceil(labels.look.size * kTightHeight / room - 1e-9)));
}

// Shortens long labels and measures the result.
void fit_texts(const Typesetter& typesetter, AxisLabels& labels, const std::vector<std::string>& words,
               double limit) {
  labels.length = 0;
  labels.texts.clear();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_shown = i % static_cast<std::size_t>(labels.step) == 0;
    labels.texts.push_back(is_shown ? typesetter.fitted(shown(words[i]), labels.look, limit) : "");
    labels.length = std::max(labels.length, typesetter.width(labels.texts.back(), labels.look));
  }
}

}  // namespace

AxisLabels row_labels(const Typesetter& typesetter, const std::vector<std::string>& words,
                      const TextLook& look, double pitch, double limit) {
  AxisLabels labels{.texts = {}, .look = look};
  thin_out(labels, pitch);
  fit_texts(typesetter, labels, words, limit);
  return labels;
}

AxisLabels column_labels(const Typesetter& typesetter, const std::vector<std::string>& words,
                         const TextLook& look, double pitch, double limit) {
  AxisLabels labels{.texts = {}, .look = look};
  fit_texts(typesetter, labels, words, limit);
  if (labels.length <= pitch - 0.4 * look.size) return labels;
  const double slanted = pitch / std::numbers::sqrt2;  // between neighbours that lean
  labels.degrees = slanted >= look.size * kTightHeight ? 45 : 90;
  if (labels.degrees == 90) thin_out(labels, pitch);
  fit_texts(typesetter, labels, words, limit);
  return labels;
}

double height_of(const AxisLabels& columns) {
  const double size = columns.look.size;
  if (columns.degrees == 0) return (kTightHeight + kGap) * size;
  if (columns.degrees == 90) return columns.length + (kGap + 0.2) * size;
  return (columns.length + size) / std::numbers::sqrt2 + kGap * size;
}

double overhang(const Typesetter& typesetter, const AxisLabels& columns, std::size_t column) {
  const double length = typesetter.width(columns.texts[column], columns.look), size = columns.look.size;
  if (columns.degrees == 0) return length / 2;
  return columns.degrees == 90 ? 0.6 * size : (length + 0.4 * size) / std::numbers::sqrt2;
}

void add_row_labels(Drawing& drawing, const AxisLabels& labels, Point corner, double pitch) {
  const double size = labels.look.size;
  for (std::size_t i = 0; i < labels.texts.size(); ++i) {
    if (labels.texts[i].empty()) continue;
    const double middle = corner.y + (static_cast<double>(i) + 0.5) * pitch;
    drawing.add(TextItem{{corner.x - kGap * size, middle + size * kCapHeight / 2},
                         labels.texts[i],
                         labels.look,
                         Anchor::right});
  }
}

void add_column_labels(Drawing& drawing, const AxisLabels& labels, Point corner, double pitch) {
  const double size = labels.look.size, angle = labels.degrees * std::numbers::pi / 180;
  // Half a capital's height, from the line through the column's middle to the baseline.
  const Point shift{size * kCapHeight / 2 * std::sin(angle),
                    size * kCapHeight / 2 * (labels.degrees == 45 ? std::cos(angle) : 0)};
  for (std::size_t j = 0; j < labels.texts.size(); ++j) {
    if (labels.texts[j].empty()) continue;
    const double middle = corner.x + (static_cast<double>(j) + 0.5) * pitch;
    drawing.add(
        TextItem{{middle + (labels.degrees == 45 ? 0 : shift.x) + (labels.degrees == 45 ? shift.x * 0.3 : 0),
                  corner.y - kGap * size},
                 labels.texts[j],
                 labels.look,
                 labels.degrees == 0 ? Anchor::middle : Anchor::left,
                 labels.degrees});
  }
}

}  // namespace headlight::draw
