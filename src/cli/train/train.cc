// headlight train: a model from a recipe.
#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/App.hpp>

#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/stop_signal.h"
#include "cli/train/display.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "inspect/loaded_model.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "measure/limits.h"
#include "train/fine_tune.h"
#include "train/recipe_paths.h"
#include "train/run.h"

namespace headlight::cli {
namespace {

struct TrainSettings {
  std::string recipe, out, start;
  std::vector<std::string> data, valid;
  bool all_parameters = false;
  std::vector<std::string> assignments;
  Index threads = 0;
  bool resume = false, allow_data_change = false;
  Color color = Color::automatic;
  JsonTarget json;
};

DisplayStyle style_of(Color color, bool to_error) {
  DisplayStyle style;
  style.to_error = to_error;
  style.moving = !to_error && output_is_terminal();
  style.color = !to_error && color_depth(color) != ColorDepth::none;
  style.unicode = output_is_utf8();
  style.width = terminal_width();
  return style;
}

std::int64_t peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string peak_memory() { return fmt::format("{:.0f} MB", static_cast<double>(peak_kilobytes()) / 1024); }

void introduce(TrainDisplay& display, const train::Run& run, const Context& ctx, double peak) {
  const train::ModelRecipe& model = run.recipe().model;
  const auto trained = static_cast<double>(run.parameters()),
             all = static_cast<double>(run.model_parameters());
  display.say(fmt::format("headlight {}: {}, {} parameters, vocabulary {}", kVersion, model.kind,
                          short_count(all), run.task().vocabulary()));
  if (run.recipe().lora.rank > 0)
    display.say(fmt::format("adapter of rank {} for {}: {} parameters are trained, {:.2f} %",
                            run.recipe().lora.rank, model.start, short_count(trained), 100 * trained / all));
  std::string data = run.task().describe();
  display.say("data: " + data);
  const std::string processes =
      team() != nullptr ? fmt::format("{} processes of ", team()->size()) : std::string();
  display.say(fmt::format("{}{} {}, {}, peak {:.0f} GFLOP/s; writing to {}", processes, ctx.threads(),
                          ctx.threads() == 1 ? "thread" : "threads", name_of(ctx.target()), peak * 1e-9,
                          run.folder()));
  if (run.resumed()) display.say(fmt::format("resuming from step {}", run.progress().step));
}

void conclude(TrainDisplay& display, const train::Run& run, train::Ending ending, double seconds) {
  const train::TrainingState& p = run.progress();
  const char* how = ending == train::Ending::finished ? "done"
                    : ending == train::Ending::early
                        ? "stopped early: no improvement in evaluations"
                        : "stopped by a signal, checkpoint saved; --resume continues";
  std::string line =
      fmt::format("{}: step {}, {}, peak memory {}", how, p.step, duration_text(seconds), peak_memory());
  if (p.best_step > 0)
    line +=
        fmt::format("; best valid loss {:.4f} at step {} ({}/best)", p.best_loss, p.best_step, run.folder());
  display.say(line);
}

const char* ending_name(train::Ending ending) {
  switch (ending) {
    case train::Ending::finished: return "finished";
    case train::Ending::early: return "early";
    case train::Ending::signal: return "signal";
  }
  return "";
}

// The result of the run; its history is in metrics.jsonl and metrics.csv in the folder.
std::string json(const train::Run& run, train::Ending ending, double seconds) {
  const train::TrainingState& p = run.progress();
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("folder", run.folder()).field("ending", ending_name(ending));
  w.field("step", p.step).field("tokens", p.tokens).field("seconds", io::significant(seconds, 6));
  w.field("parameters", run.model_parameters()).field("trained_parameters", run.parameters());
  w.field("vocabulary", run.task().vocabulary()).field("resumed", run.resumed());
  const bool evaluated = p.best_step > 0;
  w.field("best_loss", evaluated ? std::optional(p.best_loss) : std::nullopt);
  w.field("best_step", evaluated ? std::optional(p.best_step) : std::nullopt);
  w.field("best", evaluated ? std::optional(run.folder() + "/best") : std::nullopt);
  return w.field("peak_memory_bytes", peak_kilobytes() * 1024).end_object().take_line();
}

// A name or a path. A resumed run of all parameters does not need it any more.
std::string start_of(const std::string& name, bool resume) {
  try {
    return inspect::find_model(name, model_places());
  } catch (const Error& error) {
    if (!resume || error.kind() != ErrorKind::file) throw;
    return name;
  }
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? ", " : "") + io::json_quoted(text);
  return list + "]";
}

// A recipe, or the default recipe of fine-tuning; options of the command line override it.
train::Recipe recipe_of(const TrainSettings& s) {
  train::Settings settings;
  if (s.recipe.empty()) {
    if (s.start.empty() || s.data.empty())
      throw Error(ErrorKind::usage, "train.recipe",
                  "train: give a recipe, or --start MODEL and --data FILE to fine-tune without one");
    FineTuneOptions options{.train = s.data, .valid = s.valid};
    if (s.all_parameters) options.rank = 0;
    settings = train::fine_tune_settings(s.start, options);
  } else {
    if (s.all_parameters)
      throw Error(ErrorKind::usage, "train.recipe",
                  "--all-parameters is for training without a recipe; in a recipe set lora.rank = 0");
    settings = train::Settings::read(s.recipe);
    if (!s.start.empty()) settings.set("model.start=" + io::json_quoted(s.start));
    if (!s.data.empty()) settings.set("data.train=" + quoted_list(s.data));
    if (!s.valid.empty()) settings.set("data.valid=" + quoted_list(s.valid));
  }
  for (const std::string& assignment : s.assignments) settings.set(assignment);
  train::Recipe recipe = train::read_recipe(std::move(settings));
  if (!s.recipe.empty()) train::resolve_paths(recipe, s.recipe);
  if (!recipe.model.start.empty()) recipe.model.start = start_of(recipe.model.start, s.resume);
  return recipe;
}

std::string run_name(const TrainSettings& s) {
  namespace fs = std::filesystem;
  if (!s.recipe.empty()) return fs::path(s.recipe).stem().string();
  return fs::path(s.start).lexically_normal().filename().string() + "-tuned";
}

// Ranks that read other recipes or data would not notice until the losses differ.
void check_same_run(const train::Run& run) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [name, value] : run.recipe().facts) facts.emplace_back("the recipe's " + name, value);
  for (const train::DataFile& file : run.data())
    facts.emplace_back(file.path, fmt::format("{} bytes, checksum {}", file.bytes, file.hash));
  facts.emplace_back("the step to resume from", fmt::format("{}", run.progress().step));
  check_same(facts);
}

void run(const TrainSettings& s) {
  JsonOutput output(s.json);
  train::Recipe recipe = recipe_of(s);
  train::RunOptions options;
  options.resume = s.resume;
  options.allow_data_change = s.allow_data_change;
  options.folder = !s.out.empty() ? s.out : recipe.out;
  if (options.folder.empty()) options.folder = "runs/" + run_name(s);

  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads), .products = recipe.products}));
  const double ranks = team() != nullptr ? team()->size() : 1;
  const double peak = ranks * measure::fma_peak(ctx.threads(), 3, 0.02).gflops * 1e9;
  TrainDisplay display(style_of(s.color, s.json.to_stdout()), peak, recipe.trainer.log_every);
  ProgressBar bar;
  options.progress.report = bar.reporter();
  // Rank 0 prepares the folder and the tokens, which the others read.
  options.follows = team() != nullptr && team()->rank() > 0;
  if (options.follows) meet_ranks();
  train::Run run(ctx, std::move(recipe), options, display);
  if (!options.follows) meet_ranks();
  bar.clear();
  check_same_run(run);
  introduce(display, run, ctx, peak);
  // The first signal lets the step finish and a checkpoint be saved.
  std::atomic<int>& stop = catch_stop_signals();
  display.never_fail(stop);
  const auto begin = std::chrono::steady_clock::now();
  const train::Ending ending = run.go(stop);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  conclude(display, run, ending, seconds);
  if (!options.follows) output.write(json(run, ending, seconds));
  if (ending != train::Ending::signal) return;
  meet_ranks();  // the first one to leave ends the others, and rank 0 has a checkpoint to write
  throw Stopped{stop};
}

void add_files(CLI::App& command, const std::string& name, std::vector<std::string>& files,
               const std::string& description) {
  command
      .add_option_function<std::vector<std::string>>(
          name, [&files](const std::vector<std::string>& all) { files = all; }, description)
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
}

}  // namespace

void add_train(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "train",
       .what = "Train or fine-tune a model, with resumable checkpoints",
       .usage = "headlight train RECIPE.toml [--out FOLDER] [--resume] [--set KEY=VALUE]\n"
                "       headlight train --start MODEL --data FILE [--out FOLDER] [options]",
       .examples =
           "  headlight train recipes/copy.toml\n"
           "  headlight train recipes/shakespeare.toml --set data.train=input.txt\n"
           "  headlight train recipes/copy.toml --out runs/copy --resume\n"
           "  headlight train recipes/copy.toml --set model.layers=1 --out runs/one-layer\n"
           "  headlight train --start en --data my.txt --out runs/mine\n"
           "  headlight generate 'Once' --model runs/mine/best\n"
           "\n"
           "  Without a recipe a LoRA adapter of rank 4 is trained; the model itself is not changed.\n"
           "  Files in a recipe are looked up relative to the recipe, then to the working folder.\n"});
  const auto settings = std::make_shared<TrainSettings>();
  add_path(*command, "RECIPE", settings->recipe, "The recipe: a TOML file (docs/guide/train.md)");
  add_text(*command, "--start,--model", settings->start, "The model to fine-tune")->type_name("NAME|PATH");
  add_files(*command, "--data", settings->data, "Training file: .txt, .tsv, .jsonl or .gz; repeatable");
  add_files(*command, "--valid", settings->valid, "Validation file (default: the last tenth of --data)");
  add_switch(*command, "--all-parameters", settings->all_parameters,
             "Without a recipe: train the model, not an adapter");
  add_path(*command, "-o,--out", settings->out, "Run folder (default: output.folder, or runs/NAME)")
      ->type_name("FOLDER");
  add_switch(*command, "--resume", settings->resume, "Continue from the newest checkpoint in the folder");
  command
      ->add_option_function<std::vector<std::string>>(
          "--set", [settings](const std::vector<std::string>& all) { settings->assignments = all; },
          "Override a setting of the recipe; repeatable")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  add_switch(*command, "--allow-data-change", settings->allow_data_change,
             "Continue even if data changed since the checkpoint");
  add_json(*command, settings->json, "Replace existing files, but never a run folder");
  add_threads(*command, settings->threads);
  add_color(*command, settings->color);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
