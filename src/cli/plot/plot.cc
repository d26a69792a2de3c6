// headlight plot: the curves of one or more training runs as a picture.
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/numbers.h"
#include "core/escape.h"
#include "draw/curves.h"
#include "io/json_writer.h"
#include "io/outputs.h"
#include "train/run_metrics.h"

namespace headlight::cli {
namespace {

constexpr double kDpi = 150;

struct PlotSettings {
  std::vector<std::string> runs;
  std::string out;
  const train::Metric* metric = &train::metrics().front();
  FigureOptions figures;
  JsonTarget json;
};

// --out stands for --png, --svg or --pdf, by file extension.
FigureOptions figures_of(const PlotSettings& s) {
  FigureOptions figures = s.figures;
  if (s.out.empty()) return figures;
  const draw::PictureFormat format = draw::picture_format(s.out);
  std::string& path = format == draw::PictureFormat::png   ? figures.png
                      : format == draw::PictureFormat::svg ? figures.svg
                                                           : figures.pdf;
  if (!path.empty()) refuse_option("--out", "names a second file of one format");
  path = s.out;
  return figures;
}

std::string run_name(const std::string& run) {
  std::filesystem::path path(run);
  if (path.filename().empty()) path = path.parent_path();
  return escaped(path.filename().string(), 60);
}

// The points of one curve, for other programs to draw.
void write_curve(io::JsonWriter& w, const std::string& run, const char* set,
                 const std::vector<train::MetricPoint>& points) {
  if (points.empty()) return;
  w.begin_object().field("run", run).field("set", set).key("points").begin_list();
  for (const train::MetricPoint& point : points)
    w.begin_list().value(static_cast<std::int64_t>(point.step)).value(point.value).end_list();
  w.end_list().end_object();
}

draw::Curve curve_of(const std::string& label, const std::vector<train::MetricPoint>& points,
                     std::size_t number, bool strong) {
  draw::Curve curve{label, {}, draw::curve_color(number), strong};
  for (const train::MetricPoint& point : points) curve.points.push_back({point.step, point.value});
  return curve;
}

// For --width and --font-size the chart is laid out again: all its letters have the same size in points.
void fit(draw::CurveChart& chart, const draw::FigureStyle& style) {
  if (style.width_mm <= 0 || style.font_size <= 0) return;
  const double ratio = chart.height / chart.width;
  chart.width = style.width() * draw::kCurveLetters / style.font_size;
  chart.height = ratio * chart.width;
}

void run(const PlotSettings& s) {
  FigureOptions figures = figures_of(s);
  if (!figures.any() && s.json.path.empty())
    need_option("--png, --svg, --pdf or --out, or --json for the points");
  JsonOutput output(s.json);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, figures);
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("quantity", s.metric->name).field("label", s.metric->label);
  w.key("curves").begin_list(io::JsonLayout::lines);
  draw::CurveChart chart;
  chart.title = std::exchange(figures.style.title, "");
  chart.y_label = s.metric->label;
  chart.higher_is_better = s.metric->higher_is_better;
  std::string names;
  for (std::size_t i = 0; i < s.runs.size(); ++i) {
    const train::MetricCurves curves = read_metric(s.runs[i], *s.metric);
    write_curve(w, s.runs[i], "training", curves.train);
    write_curve(w, s.runs[i], "validation", curves.valid);
    const std::string name = run_name(s.runs[i]), prefix = s.runs.size() > 1 ? name + ", " : "";
    if (!curves.train.empty()) chart.curves.push_back(curve_of(prefix + "training", curves.train, i, false));
    if (!curves.valid.empty()) chart.curves.push_back(curve_of(prefix + "validation", curves.valid, i, true));
    names += (names.empty() ? "" : " · ") + name;
  }
  if (chart.title.empty()) chart.title = names;
  output.write(w.end_list().end_object().take_line());
  if (!figures.any()) return;
  fit(chart, figures.style);
  write_figures(outputs, figures, draw::draw_curves(chart), kDpi);
  outputs.commit();
}

}  // namespace

void add_plot(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "plot",
                .what = "Draw the loss curves of training runs",
                .usage = "headlight plot RUN [RUN ...] --png FILE [--show WHAT] [options]\n"
                         "       headlight plot RUN [RUN ...] --json [FILE.json]",
                .examples = "  headlight plot runs/copy --png copy.png\n"
                            "  headlight plot runs/gpt runs/gru --svg both.svg --title \"Two models\"\n"
                            "  headlight plot runs/copy --pdf rate.pdf --width 85mm --show learning-rate\n"
                            "  headlight plot runs/copy --json   # the points\n"});
  const auto settings = std::make_shared<PlotSettings>();
  add_words(*command, "RUN", settings->runs, "Folders written by headlight train")
      ->required()
      ->type_name("FOLDER");
  Choices<const train::Metric*> choices;
  for (const train::Metric& metric : train::metrics()) choices.emplace_back(metric.name, &metric);
  add_choice<const train::Metric*>(*command, "--show", settings->metric, choices,
                                   "Value to draw over the steps (default: loss)");
  add_figures(*command, settings->figures, Layout::fixed);
  begin_group(*command, "Output");
  add_path(*command, "-o,--out", settings->out, "The same; the file extension selects the format");
  add_json(*command, settings->json);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
