// headlight bench: measures the speed of attention as a share of the machine's peak.
#include "measure/bench.h"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <memory>

#include "cli/bench/growth.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "inspect/model_run.h"
#include "io/gzip.h"
#include "measure/machine.h"
#include "measure/train_profile.h"

namespace headlight::cli {
namespace {

struct BenchSettings {
  std::vector<std::string> only;
  std::vector<int> threads;
  std::vector<SimdTarget> targets;
  std::string model, text, link;
  bool profile = false, growth = false, dist = false;
  GrowthSettings growing;  // threads, target and JSON are filled in from the others
  JsonTarget json;
};

std::vector<std::string> split_list(const std::string& names, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (parts.back().empty()) refuse_value(names, text, "a list without empty items, such as A,B");
    begin = end + 1;
  }
  return parts;
}

std::vector<int> read_threads(const std::string& text) {
  constexpr Index kMost = 1024;
  std::vector<int> threads;
  for (const std::string& part : split_list("--threads", text)) {
    const std::optional<Index> count = parse_integer(part);
    if (!count || *count < 1 || *count > kMost)
      refuse_value("--threads", text, "a list of numbers from 1 to 1024");
    threads.push_back(static_cast<int>(*count));
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  return threads;
}

// Each once, in the order given.
std::vector<SimdTarget> read_targets(const std::string& text) {
  std::vector<SimdTarget> targets;
  for (const std::string& part : split_list("--target", text)) {
    const SimdTarget target = Context({.threads = 1, .target = parse_simd_target(part)}).target();
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  }
  return targets;
}

std::string names_of(const std::vector<SimdTarget>& targets) {
  std::string text = targets.size() == 1 ? "SIMD target " : "SIMD targets ";
  for (const SimdTarget target : targets)
    text += fmt::format("{}{}", target == targets.front() ? "" : ", ", name_of(target));
  return text;
}

std::string doing_text(const measure::BenchStep& step) {
  return fmt::format("[{}/{}] {}, {}", step.number, step.count, step.name,
                     step.threads == 1 ? "1 thread" : fmt::format("{} threads", step.threads));
}

std::string limits_line(const measure::BenchReport& report) {
  std::string text = "limits:";
  const char* comma = " ";
  for (const auto& [target, peaks] : report.target_peaks) {
    for (const auto& [threads, gflops] : peaks) {
      text += fmt::format("{}{:.1f} GFLOP/s{} and {:.1f} GB/s on {} {}", comma, gflops,
                          report.target_peaks.size() > 1 ? fmt::format(" ({})", name_of(target)) : "",
                          report.dram_gbs.at(threads), threads, threads == 1 ? "thread" : "threads");
      comma = ", ";
    }
  }
  const bool one = report.target_peaks.size() == 1;
  return text + fmt::format(" ({}reading {} MB in ordinary pages)\n",
                            one ? fmt::format("FMA loop: {}; ", report.peak_loop) : "",
                            report.dram_bytes >> 20);
}

// Profile of a training step, on the largest requested number of threads.
void run_profile(const BenchSettings& s) {
  if (!s.only.empty() || !s.model.empty() || !s.text.empty())
    throw Error(ErrorKind::usage, "bench.profile",
                "--profile measures gpt_step only; leave out the other options");
  JsonOutput json(s.json);
  Context context({.threads = s.threads.empty() ? 0 : s.threads.back(),
                   .target = s.targets.empty() ? SimdTarget::automatic : s.targets.front()});
  measure::TrainProfile profile;
  {
    ProgressBar bar;
    profile = measure::profile_step(context, [&](std::string_view doing) { bar.show(doing, -1); });
  }
  json.write(measure::to_json(profile));
  if (s.json.to_stdout()) return;
  print(fmt::format("headlight {}, {}, SIMD target {}, {} {}\n\n", kVersion,
                    measure::title(measure::describe_machine()), name_of(context.target()), context.threads(),
                    context.threads() == 1 ? "thread" : "threads"));
  print(measure::to_table(profile));
}

void start_growth(const BenchSettings& s) {
  if (!s.only.empty() || !s.model.empty() || !s.text.empty() || s.profile)
    throw Error(ErrorKind::usage, "bench.growth",
                "--growth uses its own workloads; leave out --only, --model, --text and --profile");
  GrowthSettings growing = s.growing;
  growing.threads = s.threads.empty() ? 1 : s.threads.back();
  growing.target = s.targets.empty() ? SimdTarget::automatic : s.targets.front();
  growing.json = s.json;
  run_growth(growing);
}

void run(const BenchSettings& s) {
  if (s.dist && processes() == nullptr)
    throw Error(ErrorKind::usage, "bench.dist",
                "bench --dist compares several processes with one; start it with mpirun -n 2");
  if (s.dist) return processes()->bench(s.model, s.link);
  if (!s.link.empty()) throw Error(ErrorKind::usage, "bench.link", "--link is for --dist; give both");
  if (team() != nullptr)
    throw Error(ErrorKind::usage, "bench.ranks",
                "bench: runs as one process; bench --dist compares several with one");
  if (!s.growth && s.growing.figures.any())
    throw Error(ErrorKind::usage, "bench.svg",
                "--png, --svg and --pdf draw the curves of --growth; give --growth too");
  if (s.growth) return start_growth(s);
  if (s.profile) return run_profile(s);
  JsonOutput json(s.json);
  const std::vector<measure::Workload> workloads = measure::select_workloads(s.only);
  const auto wanted = [&](std::string_view name) {
    return s.only.empty() || std::find(s.only.begin(), s.only.end(), name) != s.only.end();
  };
  const measure::Machine machine = measure::describe_machine();
  measure::BenchOptions options{
      .workloads = workloads,
      .memory = {},
      .threads = s.threads,
      .targets = s.targets.empty() ? std::vector{Context({.threads = 1}).target()} : s.targets};
  for (const measure::MemoryCase& what : measure::memory_cases()) {
    if (wanted(what.name)) options.memory.push_back(what);
  }
  if (!s.model.empty()) options.model = inspect::find_model(s.model, model_places());
  if (!s.text.empty()) options.text = io::read_text(s.text);
  if (options.threads.empty()) options.threads = {1};
  if (s.threads.empty() && machine.cores > 1) options.threads.push_back(machine.cores);
  measure::BenchReport report;
  {
    ProgressBar bar;
    report =
        measure::run_bench(options, [&](const measure::BenchStep& step) { bar.show(doing_text(step), -1); });
  }
  if (!s.json.to_stdout()) {
    print(
        fmt::format("headlight {}, {}, {}\n", kVersion, measure::title(machine), names_of(options.targets)));
    if (!report.buckets.empty()) {
      print(limits_line(report));
      print(fmt::format("unfused path: {}\n", report.cblas.empty()
                                                  ? "no ratios to the unfused baseline: no CBLAS found, or "
                                                    "too little memory (Debian: libopenblas0-pthread)"
                                                  : report.cblas));
    }
    print("\n");
    print(measure::to_table(report));
    for (const std::string& note : report.notes) print("note: " + note + "\n");
  }
  json.write(measure::to_json(report));
}

}  // namespace

void add_bench(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "bench",
       .what = "Measure attention against the peak of the CPU",
       .usage = "headlight bench [--only NAMES] [--threads LIST] [--target NAMES] [--growth] [options]",
       .examples = "  headlight bench\n"
                   "  headlight bench --only full_512_64,causal_512_64 --threads 1\n"
                   "  headlight bench --threads 1,2 --json bench.json\n"
                   "  headlight bench --only full_1024_64 --target avx2,avx512\n"
                   "  headlight bench --only models --model stories15M\n"
                   "  headlight bench --growth --longest 16384 --svg growth.svg\n"
                   "  mpirun -n 2 headlight bench --dist --model llama-1b-bf16\n"});
  const auto settings = std::make_shared<BenchSettings>();
  std::string names;
  for (const measure::Workload& workload : measure::workloads())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", workload.name);
  for (const measure::Workload& workload : measure::step_workloads())
    names += fmt::format(", {}", workload.name);
  names += ", train (the last three)";
  for (const measure::Workload& workload : measure::model_workloads())
    names += fmt::format(", {}", workload.name);
  names += ", models (the last ten)";
  for (const measure::MemoryCase& what : measure::memory_cases()) names += fmt::format(", {}", what.name);
  command
      ->add_option_function<std::string>(
          "--only", [settings](const std::string& text) { settings->only = split_list("--only", text); },
          "Workloads to run, separated by commas (default: all but the models): " + names)
      ->type_name("NAMES");
  command
      ->add_option_function<std::string>(
          "--threads", [settings](const std::string& text) { settings->threads = read_threads(text); },
          "Thread counts (default: 1 and one per core)")
      ->type_name("LIST");
  command
      ->add_option_function<std::string>(
          "--target", [settings](const std::string& text) { settings->targets = read_targets(text); },
          "SIMD targets to compare: auto (default), scalar, sse4, avx2, avx512, neon")
      ->type_name("NAMES");
  add_path(*command, "--model", settings->model, "A decoder for the workloads model_*")
      ->type_name("NAME|PATH");
  add_path(*command, "--text", settings->text, "A text for the workload model_tokenize")->type_name("FILE");
  add_switch(*command, "--profile", settings->profile, "Time and memory of the parts of a training step");
  add_switch(*command, "--growth", settings->growth, "Growth with length, batch, width and file size");
  command
      ->add_option_function<std::string>(
          "--longest",
          [settings](const std::string& text) {
            const std::optional<Index> tokens = parse_integer(text);
            if (!tokens || *tokens < 64 || *tokens > (Index{1} << 20))
              refuse_value("--longest", text, "a number of tokens from 64 to 1048576");
            settings->growing.longest = *tokens;
          },
          "With --growth: tokens at most (default: 131072)")
      ->type_name("N");
  add_switch(*command, "--dist", settings->dist, "Under mpirun: all processes against one");
  add_text(*command, "--link", settings->link, "With --dist: a slower network to emulate, as 1Gbit/1ms")
      ->type_name("RATE/TIME");
  add_figures(*command, settings->growing.figures, Layout::fixed);
  begin_group(*command, "Output");
  add_json(*command, settings->json);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
