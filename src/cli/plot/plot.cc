// headlight plot: the curves of one or more training runs as a picture.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/curves.h"
#include "headlight/error.h"
#include "io/gzip.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

enum class Quantity { loss, accuracy, learning_rate, gradient_norm };

struct PlotSettings {
  std::vector<std::string> runs;
  std::string out, title;
  Quantity quantity = Quantity::loss;
  JsonTarget json;
};

struct Columns {
  const char *name, *train, *valid, *label;
  bool higher_is_better;
};

Columns columns_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::loss: return {"loss", "smoothed", "valid_loss", "loss (nats per token)", false};
    case Quantity::accuracy: return {"accuracy", nullptr, "valid_accuracy", "accuracy", true};
    case Quantity::learning_rate: return {"learning-rate", "learning_rate", nullptr, "learning rate", false};
    case Quantity::gradient_norm:
      return {"gradient-norm", "gradient_norm", nullptr, "norm of the gradient", false};
  }
  return {};
}

draw::PictureFormat format_of(const std::string& path) {
  if (path.ends_with(".png")) return draw::PictureFormat::png;
  if (path.ends_with(".svg")) return draw::PictureFormat::svg;
  if (path.ends_with(".pdf")) return draw::PictureFormat::pdf;
  throw Error(ErrorKind::usage, "plot.format",
              concat(escaped(path), ": unknown format; choose a file name that ends in .png, .svg or .pdf"));
}

std::string run_name(const std::string& run) {
  std::filesystem::path path(run);
  if (path.filename().empty()) path = path.parent_path();
  return escaped(path.filename().string(), 60);
}

// An incomplete last line is ignored: a run can be plotted while it is running.
void read_run(const std::string& run, const Columns& columns, std::vector<draw::Point>& train,
              std::vector<draw::Point>& valid) {
  const std::string path = run + "/metrics.jsonl";
  const std::string text = io::read_text(path, std::uint64_t{1} << 30);
  std::string_view rest = text;
  for (int line = 1; rest.find('\n') != std::string_view::npos; ++line) {
    const std::size_t end = rest.find('\n');
    const io::Json json = io::Json::parse(rest.substr(0, end), fmt::format("{} (line {})", path, line));
    const auto step = static_cast<double>(json.integer("step"));
    if (columns.train != nullptr && json.find(columns.train) != nullptr)
      train.push_back({step, json.real(columns.train)});
    if (columns.valid != nullptr && json.find(columns.valid) != nullptr)
      valid.push_back({step, json.real(columns.valid)});
    rest.remove_prefix(end + 1);
  }
  if (train.empty() && valid.empty())
    throw Error(ErrorKind::input, "plot.empty",
                concat(escaped(path), ": has nothing to plot yet; train at least one step"));
}

// The points of one curve, for other programs to draw.
void write_curve(io::JsonWriter& w, const std::string& run, const char* set,
                 const std::vector<draw::Point>& points) {
  if (points.empty()) return;
  w.begin_object().field("run", run).field("set", set).key("points").begin_list();
  for (const draw::Point& point : points)
    w.begin_list().value(static_cast<std::int64_t>(point.x)).value(point.y).end_list();
  w.end_list().end_object();
}

void run(const PlotSettings& s) {
  if (s.out.empty() && s.json.path.empty()) need_option("--out, or --json for the points");
  const draw::PictureFormat format = s.out.empty() ? draw::PictureFormat::svg : format_of(s.out);
  JsonOutput output(s.json);
  io::Outputs outputs(s.json.existing());
  if (!s.out.empty()) outputs.reserve(s.out);
  const Columns columns = columns_of(s.quantity);
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("quantity", columns.name).field("label", columns.label);
  w.key("curves").begin_list(io::JsonLayout::lines);
  draw::CurveChart chart;
  chart.y_label = columns.label;
  chart.higher_is_better = columns.higher_is_better;
  for (std::size_t i = 0; i < s.runs.size(); ++i) {
    std::vector<draw::Point> train, valid;
    read_run(s.runs[i], columns, train, valid);
    write_curve(w, s.runs[i], "training", train);
    write_curve(w, s.runs[i], "validation", valid);
    const std::string name = s.runs.size() > 1 ? run_name(s.runs[i]) + ", " : "";
    if (!train.empty())
      chart.curves.push_back({name + "training", std::move(train), draw::curve_color(i), false});
    if (!valid.empty())
      chart.curves.push_back({name + "validation", std::move(valid), draw::curve_color(i), true});
  }
  chart.title = s.title;
  for (const std::string& one : s.runs) {
    if (!s.title.empty()) break;
    chart.title += (chart.title.empty() ? "" : " · ") + run_name(one);
  }
  output.write(w.end_list().end_object().take_line());
  if (s.out.empty()) return;
  const std::string picture = draw::encoded(draw::draw_curves(chart), format, 150);
  outputs.write(s.out, std::as_bytes(std::span(picture)));
  outputs.commit();
}

}  // namespace

void add_plot(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "plot",
                .what = "Draw the loss curves of training runs",
                .usage = "headlight plot RUN [RUN ...] -o FILE.png|svg|pdf [--show WHAT] [--title TEXT]\n"
                         "       headlight plot RUN [RUN ...] --json [FILE.json]",
                .examples = "  headlight plot runs/copy -o copy.png\n"
                            "  headlight plot runs/gpt runs/gru -o both.svg --title \"Two models\"\n"
                            "  headlight plot runs/copy -o rate.pdf --show learning-rate\n"
                            "  headlight plot runs/copy --json   # the points\n"});
  const auto settings = std::make_shared<PlotSettings>();
  add_words(*command, "RUN", settings->runs, "Folders written by headlight train")
      ->required()
      ->type_name("FOLDER");
  add_path(*command, "-o,--out", settings->out, "The figure: .png, .svg or .pdf");
  add_choice<Quantity>(*command, "--show", settings->quantity,
                       {{"loss", Quantity::loss},
                        {"accuracy", Quantity::accuracy},
                        {"learning-rate", Quantity::learning_rate},
                        {"gradient-norm", Quantity::gradient_norm}},
                       "Value to draw over the steps (default: loss)");
  add_text(*command, "--title", settings->title, "Heading (default: names of the runs)");
  add_json(*command, settings->json);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
