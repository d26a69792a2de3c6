#include "playground/toy_filmstrip.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::playground {
namespace {

constexpr double kMargin = 12, kFont = 8, kMap = 84, kGap = 10, kLabel = 26, kHead = 46;

}  // namespace

std::string short_text(const ToySettings& s) {
  std::string text = fmt::format("{} layer{} of {} head{}, width {}", s.layers, s.layers == 1 ? "" : "s",
                                 s.heads, s.heads == 1 ? "" : "s", s.width);
  const std::pair<bool, const char*> off[] = {
      {s.positions, "positions"}, {s.mask, "mask"}, {s.scale, "√d"}, {s.residual, "residual connections"}};
  for (const auto& [on, name] : off)
    if (!on) text += concat(", without ", name);
  return text;
}

std::vector<std::size_t> chosen_moments(const ToyRecord& record, std::size_t count) {
  std::vector<std::size_t> usable, chosen;
  for (std::size_t i = 0; i < record.frames.size(); ++i)
    if (record.frames[i].probe + 1 == record.probes.size()) usable.push_back(i);
  if (usable.empty()) return {};
  const auto last = static_cast<double>(record.frames[usable.back()].step);
  for (std::size_t k = 0; k < count; ++k) {
    const double wanted = count > 1 ? last * static_cast<double>(k) / static_cast<double>(count - 1) : last;
    const auto nearest = std::min_element(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(static_cast<double>(record.frames[a].step) - wanted) <
             std::abs(static_cast<double>(record.frames[b].step) - wanted);
    });
    if (chosen.empty() || chosen.back() != *nearest) chosen.push_back(*nearest);
  }
  return chosen;
}

draw::Drawing filmstrip_figure(const ToyRecord& record, const ToyTask& task,
                               const FilmstripOptions& options) {
  const std::vector<std::size_t> moments = chosen_moments(record, options.moments);
  if (moments.empty())
    throw Error(ErrorKind::usage, "playground.strip", "this run has no frame of its probe yet");
  const ToySettings& s = record.settings;
  std::vector<HeadPlace> heads;
  for (int layer = 0; layer < s.layers; ++layer)
    for (int head = 0; head < s.heads; ++head)
      if (!options.head || *options.head == HeadPlace{layer, head}) heads.push_back({layer, head});
  if (heads.empty()) throw Error(ErrorKind::usage, "playground.head", "there is no such head");

  const draw::PageColors colors = draw::page_colors(options.theme);
  const draw::ColorScale scale{.theme = options.theme, .palette = options.palette};
  const ToyCase& probe = record.probes.back();
  const std::size_t n = probe.ids.size();
  draw::Drawing drawing{.background = colors.background,
                        .title = concat("Heads of a model that learns \"", name_of(s.task), "\"")};
  drawing.width = 2 * kMargin + kLabel + static_cast<double>(moments.size()) * (kMap + kGap) - kGap;
  drawing.height = 2 * kMargin + kHead + static_cast<double>(heads.size()) * (kMap + kGap) - kGap;
  const auto text = [&](double x, double y, std::string words, bool bold,
                        draw::Anchor anchor = draw::Anchor::left) {
    drawing.add(draw::TextItem{{x, y},
                               std::move(words),
                               {.size = kFont, .color = bold ? colors.ink : colors.quiet, .bold = bold},
                               anchor});
  };
  text(kMargin, kMargin + kFont, concat(name_of(s.task), ": ", short_text(s)), true);
  text(kMargin, kMargin + 2.4 * kFont, task.text_of(probe.ids), false);
  for (std::size_t m = 0; m < moments.size(); ++m) {
    const ToyFrame& frame = record.frames[moments[m]];
    const double x = kMargin + kLabel + static_cast<double>(m) * (kMap + kGap);
    text(x, kMargin + kHead - 5, fmt::format("step {}, {:.0f} %", frame.step, 100 * frame.accuracy), false);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const double y = kMargin + kHead + static_cast<double>(h) * (kMap + kGap);
      if (m == 0) text(kMargin, y + kMap / 2, fmt::format("{}.{}", heads[h].layer, heads[h].head), true);
      draw::CellsItem cells;
      cells.box = {x, y, kMap, kMap};
      cells.rows = cells.columns = static_cast<Index>(n);
      const std::size_t first = static_cast<std::size_t>(heads[h].layer * s.heads + heads[h].head) * n * n;
      for (std::size_t i = 0; i < n * n; ++i)
        cells.colors.push_back(scale.color(frame.look.maps[first + i] / 255.0));
      drawing.add(std::move(cells));
    }
  }
  return drawing;
}

}  // namespace headlight::playground
