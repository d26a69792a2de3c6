#include "cli/bench/growth.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "draw/arrange.h"
#include "draw/curves.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "measure/growth.h"
#include "measure/machine.h"

namespace headlight::cli {
namespace {

constexpr double kDpi = 150;

// A temporary folder, removed in the destructor.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "headlight-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(ErrorKind::file, "bench.folder", path_ + ": cannot create a temporary folder");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Curves over tokens: on logarithmic axes a power is a straight line.
draw::Drawing figure_of(const std::vector<measure::GrowthCurve>& curves) {
  draw::CurveChart time, memory;
  time.title = "Time of attention against length";
  memory.title = "Memory of the same calls, tensors included";
  time.y_label = "milliseconds", memory.y_label = "megabytes";
  for (draw::CurveChart* chart : {&time, &memory}) {
    chart->x_label = "tokens";
    chart->x_axis = chart->y_axis = draw::AxisKind::logarithmic;
    chart->name_best = false;
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const measure::GrowthCurve& curve = curves[i];
    if (curve.unit.find("tokens") == std::string::npos) continue;
    const auto add = [&](draw::CurveChart& chart, const std::optional<double>& slope, const auto& value) {
      if (!slope) return;
      draw::Curve drawn{.label = fmt::format("{}: n^{:.2f}", curve.name, *slope),
                        .points = {},
                        .color = draw::curve_color(i),
                        .strong = true};
      for (const measure::GrowthPoint& point : curve.points)
        drawn.points.push_back({point.size, value(point)});
      chart.curves.push_back(std::move(drawn));
    };
    add(time, curve.time_slope(), [](const measure::GrowthPoint& p) { return p.seconds * 1e3; });
    add(memory, curve.memory_slope(), [](const measure::GrowthPoint& p) { return p.memory_mb.value_or(0); });
  }
  if (memory.curves.empty()) return draw::draw_curves(time);
  return draw::below_each_other({draw::draw_curves(time), draw::draw_curves(memory)});
}

}  // namespace

void run_growth(const GrowthSettings& s) {
  JsonOutput json(s.json);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  const ScratchFolder folder;
  const measure::GrowthOptions options{
      .threads = s.threads, .target = s.target, .longest = s.longest, .folder = folder.path()};
  std::vector<measure::GrowthCurve> curves;
  {
    ProgressBar bar;
    curves = measure::measure_growth(options, [&](std::string_view curve, double size) {
      bar.show(fmt::format("{}, {:g}", curve, size), -1);
    });
  }
  if (!s.json.to_stdout()) {
    print(fmt::format("headlight {}, {}, {} {}\n\n", kVersion, measure::title(measure::describe_machine()),
                      s.threads, s.threads == 1 ? "thread" : "threads"));
    print(measure::to_table(curves));
  }
  if (s.figures.any()) write_figures(outputs, s.figures, figure_of(curves), kDpi);
  outputs.commit();
  json.write(measure::to_json(curves));
}

}  // namespace headlight::cli
