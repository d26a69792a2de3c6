#include "cli/lab/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cli/app.h"
#include "cli/map_look.h"
#include "cli/stop_signal.h"
#include "core/concat.h"
#include "draw/atlas_text.h"
#include "headlight/error.h"
#include "playground/presets.h"
#include "playground/toy_strip.h"

namespace headlight::cli {
namespace {

using Clock = std::chrono::steady_clock;
using playground::ToyFrame;
using playground::ToyRecord;
using playground::ToyRun;
using playground::ToySettings;

constexpr double kStripDpi = 150;
constexpr std::int64_t kMoments = 20;
constexpr std::chrono::milliseconds kRedraw{200},
    kLine{2000};  // in place on a terminal; line by line elsewhere

ToySettings settings_of(const WatchOrder& order) {
  ToySettings settings;
  if (!order.preset.empty()) settings = playground::find_preset(order.preset).arms.front().settings;
  for (const std::string& one : order.set) {
    const std::size_t equal = one.find('=');
    if (equal == std::string::npos)
      throw Error(ErrorKind::usage, "playground.set",
                  concat("--set \"", one, "\": need NAME=VALUE, such as layers=1"));
    playground::set(settings, one.substr(0, equal), one.substr(equal + 1));
  }
  if (order.seed) settings.seed = static_cast<std::uint64_t>(*order.seed);
  return settings;
}

// Whether lines can be overwritten: a terminal with cursor control.
bool redraws() {
  const char* term = std::getenv("TERM");
  return output_is_terminal() && term != nullptr && std::string_view(term) != "dumb" && *term != '\0';
}

std::string status_line(const ToySettings& s, const ToyFrame& frame) {
  const std::string loss = std::isnan(frame.loss) ? "    -" : fmt::format("{:.3f}", frame.loss);
  return fmt::format("step {:>4} of {}   loss {}   right on unseen cases {:>3.0f} %   {:.1f} s\n", frame.step,
                     s.steps, loss, 100 * frame.accuracy, frame.seconds);
}

std::string maps_text(const ToyRun& run, const playground::ToyCase& probe, const ToyFrame& frame,
                      Color color) {
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
      const std::uint8_t* first =
          frame.look.maps.data() + static_cast<std::size_t>(layer * s.heads + head) * n * n;
      for (std::size_t i = 0; i < n * n; ++i) map.weights.push_back(static_cast<float>(first[i]) / 255.0F);
      if (s.mask)
        for (std::size_t i = 0; i < n * n; ++i) map.visible.push_back(i % n <= i / n ? 1 : 0);
      maps.push_back(std::move(map));
    }
  return draw::atlas_text(maps, s.heads, style);
}

// "|: c a b" and whether the model would write it.
std::string answers_text(const ToyRun& run, const playground::ToyCase& probe, const ToyFrame& frame) {
  std::string asked, said;
  for (std::size_t i = 0; i < probe.ids.size(); ++i) {
    if (probe.targets[i] == models::kIgnored) continue;
    asked += concat(" ", run.task().words()[static_cast<std::size_t>(probe.targets[i])]);
    said += concat(" ", run.task().words()[static_cast<std::size_t>(frame.look.says[i])]);
  }
  if (asked.empty()) {
    for (const std::int32_t id : frame.look.says)
      said += concat(" ", run.task().words()[static_cast<std::size_t>(id)]);
    return concat("expects next:", said, "\n");
  }
  return concat("right answers:", asked, "\nmodel's answers:", said, "\n");
}

class Screen {
 public:
  explicit Screen(bool redraws) : redraws_(redraws) {}
  void show(const std::string& text) {
    std::string out;
    if (redraws_ && lines_ > 0) out = fmt::format("\x1b[{}A\x1b[J", lines_);
    lines_ = std::count(text.begin(), text.end(), '\n');
    print(out + text);
  }

 private:
  bool redraws_;
  std::ptrdiff_t lines_ = 0;
};

void save_model(ToyRun& run, const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
  std::error_code problem;
  std::filesystem::create_directories(parent, problem);
  run.save(parent, path.filename().string());
  print(fmt::format("Saved. See it: {} serve --model {}\n", program_name(), folder));
}

}  // namespace

void watch_training(const WatchOrder& order) {
  const ToySettings settings = settings_of(order);
  io::Outputs outputs(order.existing);
  reserve_figures(outputs, order.figures);
  Context ctx({.threads = order.threads});
  const TensorRecycler recycler;
  ToyRun run(ctx, settings);
  const playground::ToyCase probe =
      order.probe.empty() ? run.task().unseen_case(0) : run.task().parse(order.probe);
  ToyRecord record{.settings = settings};
  record.probes.push_back(probe);
  print(fmt::format("{}: {}\n{}; {} parameters. Ctrl-C stops.\nprobe: {}\n\n",
                    playground::name_of(settings.task), playground::what_of(settings.task),
                    playground::short_text(settings), run.parameters(), run.task().text_of(probe.ids)));
  std::atomic<int>& stop = catch_stop_signals();
  const bool in_place = redraws();
  Screen screen(in_place);
  double seconds = 0, loss = NAN;
  const auto look = [&] {
    const double fresh = run.take_loss();
    if (!std::isnan(fresh)) loss = fresh;
    record.frames.push_back({run.steps(), seconds, loss, run.accuracy(), 0, run.look(probe)});
  };
  const auto show = [&](bool whole) {
    const ToyFrame& frame = record.frames.back();
    std::string text = status_line(settings, frame);
    if (whole)
      text += "\n" + maps_text(run, probe, frame, order.color) + "\n" + answers_text(run, probe, frame);
    screen.show(text);
  };
  look();
  show(in_place);
  Clock::time_point shown = Clock::now();
  while (!run.finished() && stop == 0) {
    const Clock::time_point begin = Clock::now();
    run.step();
    const Clock::time_point now = Clock::now();
    seconds += std::chrono::duration<double>(now - begin).count();
    // Enough moments for the strip, however fast the run is; drawn less often.
    if (run.steps() % std::max<std::int64_t>(1, settings.steps / kMoments) == 0) look();
    if (now - shown < (in_place ? kRedraw : kLine)) continue;
    shown = now;
    if (record.frames.back().step != run.steps()) look();
    show(in_place);
  }
  if (record.frames.back().step != run.steps()) look();
  show(true);
  if (order.figures.any())
    write_figures(outputs, order.figures, playground::strip_figure(record, run.task(), {}), kStripDpi);
  outputs.commit();
  if (!order.save.empty()) save_model(run, order.save);
  if (stop != 0) throw Stopped{stop};
}

}  // namespace headlight::cli
