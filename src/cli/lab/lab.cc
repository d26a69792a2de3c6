// headlight lab: experiments by name.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/lab/watch.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "draw/text.h"
#include "headlight/error.h"
#include "lab/experiment.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

constexpr double kFigureDpi = 150;

struct LabSettings {
  FigureOptions figures;
  std::string name, model;
  lab::LabOptions options;
  std::optional<Index> seed;
  Index threads = 0;
  bool markdown = false, watch = false;
  WatchOrder training;
  JsonTarget json;
};

constexpr int kListWidth = 80, kNames = 16;  // columns of the list, and of its names

void list_experiments() {
  std::string text = "Experiments: headlight lab NAME\n\n";
  for (const lab::Experiment& e : lab::experiments())
    text += fmt::format("  {:<14}{}\n", e.name, draw::wrapped(e.what, kListWidth, kNames));
  print(text);
}

// Options that the experiment does not use are rejected before it runs.
void check_settings(const LabSettings& s, const lab::Experiment& e) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    throw Error(ErrorKind::usage, "lab.option", concat(option, ": \"", s.name, "\" ", why, "; leave it out"));
  };
  if (s.markdown && s.options.row)
    throw Error(ErrorKind::usage, "lab.option", "--markdown prints all rows; leave out --row");
  if (s.options.quick && !e.can.repeats) refuse("--quick", "has no shorter version");
  if (s.seed && !e.can.repeats) refuse("--seed", "uses no random numbers");
  if (s.figures.any() && !e.can.draws) refuse("--png, --svg, --pdf", "has no figure");
  if (!s.model.empty() && e.can.model.empty()) refuse("--model", "does not use a model");
  if (s.options.row && !e.can.lists) refuse("--row", "has no rows");
  if (s.markdown && !e.can.lists) refuse("--markdown", "has no Markdown output");
  const WatchOrder& t = s.training;
  if (!t.preset.empty() || !t.set.empty() || !t.against.empty() || !t.probe.empty() || !t.save.empty())
    throw Error(ErrorKind::usage, "lab.option",
                "--preset, --set, --against, --probe and --save need --watch");
}

std::optional<Model> open_model(const LabSettings& s, const lab::Experiment& e) {
  if (e.can.model.empty()) return std::nullopt;
  const std::string name = s.model.empty() ? std::string(e.can.model) : s.model;
  if (s.model.empty() && !e.can.needs_model) {
    try {
      (void)inspect::find_model(name, model_places());
    } catch (const Error&) {
      return std::nullopt;  // the experiment reports skipped parts
    }
  }
  return cli::open_model(name);
}

void show_outcome(const LabSettings& s, const lab::Outcome& outcome, int width) {
  if (s.markdown) return print(outcome.markdown);
  std::string text;
  if (!outcome.finding.empty()) text = concat(draw::wrapped(outcome.finding, width, 0), "\n\n");
  print(text + outcome.text);
}

void watch(const LabSettings& s) {
  if (s.name != "playground")
    throw Error(ErrorKind::usage, "lab.option",
                "--watch needs the experiment playground: headlight lab playground --watch");
  if (s.markdown || s.options.row || s.options.quick || !s.model.empty() || !s.json.path.empty())
    throw Error(
        ErrorKind::usage, "lab.option",
        "--watch takes --preset, --set, --against, --probe, --save, --seed, --png, --svg and --pdf alone");
  WatchOrder order = s.training;
  order.seed = s.seed;
  order.threads = static_cast<int>(s.threads);
  order.figures = s.figures;
  order.existing = s.json.existing();
  watch_training(order);
}

void run(const LabSettings& s) {
  if (s.name.empty()) return list_experiments();
  const lab::Experiment& experiment = lab::find_experiment(s.name);
  if (s.watch) return watch(s);
  check_settings(s, experiment);
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  JsonOutput json(s.json);
  const std::optional<Model> model = open_model(s, experiment);

  ProgressBar bar;
  lab::LabOptions options = s.options;
  options.width = std::clamp(terminal_width(), 60, 110);
  options.threads = static_cast<int>(s.threads);
  if (s.seed) options.seed = static_cast<std::uint64_t>(*s.seed);
  options.model = model ? &model->state().loaded : nullptr;
  options.progress = [&](double done, double total, std::string_view what) {
    bar.show(what, total > 0 ? done / total : -1);
  };
  const lab::Outcome outcome = experiment.run(options);
  bar.clear();
  if (s.figures.any() && outcome.figure) write_figures(outputs, s.figures, *outcome.figure, kFigureDpi);
  outputs.commit();
  json.write(outcome.json);
  if (!s.json.to_stdout()) show_outcome(s, outcome, options.width);
  if (!outcome.holds)
    throw Error(ErrorKind::numeric, "lab.outcome",
                "lab " + s.name + ": the result does not support the claim; see above");
}

}  // namespace

void add_lab(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "lab",
       .what = "Test common claims about attention by experiment",
       .usage = "headlight lab [NAME] [--quick] [--seed N] [--png FILE] [options]",
       .examples = "  headlight lab                  lists the experiments\n"
                   "  headlight lab errata           wrong numbers in tutorials\n"
                   "  headlight lab seeds            all claims of five tutorials\n"
                   "  headlight lab seeds --row 32   one claim in full\n"
                   "  headlight lab playground --watch --set task=reverse\n"
                   "\n"
                   "  Experiments that train or measure are repeated with several seeds, from --seed on,\n"
                   "  and report the spread. --quick takes seconds.\n"});
  const auto s = std::make_shared<LabSettings>();
  add_text(*command, "NAME", s->name, "The experiment (default: list them)");
  add_count(*command, "--row", s->options.row, "Print one row of a list in full", {1, 1000});
  add_switch(*command, "--quick", s->options.quick, "A smaller version that takes seconds");
  add_count(*command, "--seed", s->seed, "First seed of the repetitions (default: 1)", {0, 1000000000});
  add_text(*command, "--model", s->model, "Use another model: name, folder or .gguf file")
      ->type_name("NAME|PATH");
  add_figures(*command, s->figures, Layout::fixed);
  begin_group(*command, "Output");
  add_switch(*command, "--markdown", s->markdown, "Print a Markdown page");
  begin_group(*command, "Watching a model learn");
  add_switch(*command, "--watch", s->watch, "Train a small model, draw its heads live");
  add_text(*command, "--preset", s->training.preset, "Begin with the settings of a preset")
      ->type_name("NAME");
  const auto add_settings = [&](const char* name, std::vector<std::string>& list, const char* what) {
    command
        ->add_option_function<std::vector<std::string>>(
            name, [&list](const std::vector<std::string>& given) { list = given; }, what)
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_settings("--set", s->training.set, "A setting: task=copy, layers=1, mask=off");
  add_settings("--against", s->training.against, "A setting of a second model beside it");
  add_text(*command, "--probe", s->training.probe, "Draw the heads for these words")->type_name("WORDS");
  add_text(*command, "--save", s->training.save, "Save the model as a folder")->type_name("FOLDER");
  add_color(*command, s->training.color);
  add_threads(*command, s->threads);
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
