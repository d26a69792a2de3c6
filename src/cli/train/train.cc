// headlight train: a model from a recipe.
#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/App.hpp>

#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/stop_signal.h"
#include "cli/train/display.h"
#include "headlight/version.h"
#include "measure/limits.h"
#include "train/recipe_paths.h"
#include "train/run.h"

namespace headlight::cli {
namespace {

struct Settings {
  std::string recipe, out;
  std::vector<std::string> assignments;
  Index threads = 0;
  bool resume = false, allow_data_change = false;
  Color color = Color::automatic;
};

DisplayStyle style_of(Color color) {
  DisplayStyle style;
  style.moving = output_is_terminal();
  style.color = color_depth(color) != ColorDepth::none;
  style.unicode = output_is_utf8();
  style.width = terminal_width();
  return style;
}

std::string peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return fmt::format("{:.0f} MB", static_cast<double>(usage.ru_maxrss) / 1024);
}

void introduce(TrainDisplay& display, const train::Run& run, const Context& ctx, double peak) {
  const train::ModelRecipe& model = run.recipe().model;
  display.say(fmt::format("headlight {}: {}, {} parameters, vocabulary {}", kVersion, model.kind,
                          short_count(static_cast<double>(run.parameters())), run.task().vocabulary()));
  std::string data = run.task().describe();
  display.say("data: " + data);
  display.say(fmt::format("{} {}, {}, peak {:.0f} GFLOP/s; writing to {}", ctx.threads(),
                          ctx.threads() == 1 ? "thread" : "threads", name_of(ctx.target()), peak * 1e-9,
                          run.folder()));
  if (run.resumed()) display.say(fmt::format("going on from step {}", run.progress().step));
}

void conclude(TrainDisplay& display, const train::Run& run, train::Ending ending, double seconds) {
  const train::Progress& p = run.progress();
  const char* how = ending == train::Ending::finished ? "done"
                    : ending == train::Ending::early  ? "stopped early: no better evaluation"
                                                      : "stopped by a signal, saved; --resume goes on";
  std::string line =
      fmt::format("{}: step {}, {}, peak memory {}", how, p.step, duration_text(seconds), peak_memory());
  if (p.best_step > 0)
    line +=
        fmt::format("; best valid loss {:.4f} at step {} ({}/best)", p.best_loss, p.best_step, run.folder());
  display.say(line);
}

void run(const Settings& s) {
  train::Settings settings = train::Settings::read(s.recipe);
  for (const std::string& assignment : s.assignments) settings.set(assignment);
  train::Recipe recipe = train::read_recipe(std::move(settings));
  train::resolve_paths(recipe, s.recipe);
  train::RunOptions options;
  options.resume = s.resume;
  options.allow_data_change = s.allow_data_change;
  options.folder = !s.out.empty() ? s.out : recipe.out;
  if (options.folder.empty()) options.folder = "runs/" + std::filesystem::path(s.recipe).stem().string();

  Context ctx({.threads = static_cast<int>(s.threads), .products = recipe.products});
  const double peak = measure::fma_peak(ctx.threads(), 3, 0.02).gflops * 1e9;
  TrainDisplay display(style_of(s.color), peak, recipe.trainer.log_every);
  options.progress = [&display](std::string_view what) { display.doing(what); };
  train::Run run(ctx, std::move(recipe), options, display);
  introduce(display, run, ctx, peak);
  // The first signal lets the step finish and a checkpoint be saved.
  std::atomic<int>& stop = catch_stop_signals();
  display.never_fail(stop);
  const auto begin = std::chrono::steady_clock::now();
  const train::Ending ending = run.go(stop);
  conclude(display, run, ending,
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (ending == train::Ending::signal) throw Stopped{stop};
}

}  // namespace

void add_train(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "train",
       .what = "Train a model from a recipe, with checkpoints that survive anything",
       .usage = "headlight train RECIPE.toml [--out FOLDER] [--resume] [--threads N] [--set KEY=VALUE]",
       .examples = "  headlight train recipes/copy.toml\n"
                   "  headlight train recipes/shakespeare.toml --set data.train=input.txt\n"
                   "  headlight train recipes/copy.toml --out runs/copy --resume\n"
                   "  headlight train recipes/copy.toml --set model.layers=1 --out runs/one-layer\n\n"
                   "  Files that a recipe names are looked for beside it, then in the working folder.\n"});
  const auto settings = std::make_shared<Settings>();
  add_path(*command, "RECIPE", settings->recipe, "The recipe: a TOML file (docs/guide/train.md)")->required();
  add_path(*command, "-o,--out", settings->out, "The run's folder (default: output.folder, or runs/NAME)");
  add_switch(*command, "--resume", settings->resume, "Go on from the newest checkpoint in the folder");
  add_threads(*command, settings->threads);
  command
      ->add_option_function<std::vector<std::string>>(
          "--set", [settings](const std::vector<std::string>& all) { settings->assignments = all; },
          "Override a setting of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  add_switch(*command, "--allow-data-change", settings->allow_data_change,
             "Go on although a data file has changed since the checkpoint");
  add_color(*command, settings->color);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
