#include "cli/lab/watch_text.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/map_look.h"
#include "core/concat.h"
#include "draw/atlas_text.h"

namespace headlight::cli {

using playground::ToyFrame;
using playground::ToyLook;
using playground::ToyRun;
using playground::ToySettings;

namespace {

std::string maps_text(const ToyRun& run, const playground::ToyCase& probe, const ToyLook& look, Color color) {
  MapLook map_look;
  if (color == Color::always) map_look.color = MapColor::always;
  if (color == Color::never) map_look.color = MapColor::shades;
  draw::TerminalStyle style = terminal_style(map_look);
  style.legend = false;
  const ToySettings& s = run.settings();
  const std::size_t n = probe.ids.size();
  std::vector<std::string> words;
  for (const std::int32_t id : probe.ids) words.push_back(run.task().words()[static_cast<std::size_t>(id)]);
  std::vector<draw::WeightMap> maps;
  for (Index layer = 0; layer < s.layers; ++layer)
    for (Index head = 0; head < s.heads; ++head) {
      draw::WeightMap map;
      map.short_name = fmt::format("{}.{}", layer, head);
      map.title = fmt::format("layer {}, head {}", layer, head);
      map.queries = map.keys = words;
      const std::uint8_t* first = look.maps.data() + static_cast<std::size_t>(layer * s.heads + head) * n * n;
      for (std::size_t i = 0; i < n * n; ++i) map.weights.push_back(static_cast<float>(first[i]) / 255.0F);
      if (s.mask)
        for (std::size_t i = 0; i < n * n; ++i) map.visible.push_back(i % n <= i / n ? 1 : 0);
      maps.push_back(std::move(map));
    }
  return draw::atlas_text(maps, s.heads, style);
}

// "|: c a b" and whether the model would write it.
std::string answers_text(const ToyRun& run, const playground::ToyCase& probe, const ToyLook& look) {
  std::string asked, said;
  for (std::size_t i = 0; i < probe.ids.size(); ++i) {
    if (probe.targets[i] == models::kIgnored) continue;
    asked += concat(" ", run.task().words()[static_cast<std::size_t>(probe.targets[i])]);
    said += concat(" ", run.task().words()[static_cast<std::size_t>(look.says[i])]);
  }
  if (asked.empty()) {
    for (const std::int32_t id : look.says)
      said += concat(" ", run.task().words()[static_cast<std::size_t>(id)]);
    return concat("expects next:", said, "\n");
  }
  return concat("right answers:", asked, "\nmodel's answers:", said, "\n");
}

}  // namespace

std::string status_line(const ToySettings& s, const ToyFrame& frame) {
  const std::string loss = std::isnan(frame.loss) ? "    -" : fmt::format("{:.3f}", frame.loss);
  return fmt::format("step {:>4} of {}   loss {}   right on unseen cases {:>3.0f} %   {:.1f} s\n", frame.step,
                     s.steps, loss, 100 * frame.accuracy, frame.seconds);
}

std::string look_text(const ToyRun& run, const playground::ToyCase& probe, const ToyLook& look, Color color) {
  return concat(maps_text(run, probe, look, color), "\n", answers_text(run, probe, look));
}

}  // namespace headlight::cli
