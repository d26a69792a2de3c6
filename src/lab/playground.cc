// The claims of the playground's presets, each over five seeds.
#include <fmt/format.h>

#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "playground/presets.h"

namespace headlight::lab {
namespace {

using playground::ArmResult;
using playground::Preset;

struct Checked {
  const Preset* preset = nullptr;
  std::vector<std::vector<ArmResult>> runs;  // [seed][arm]
  int held = 0;                              // seeds for which the claim holds
};

Spread accuracy_of(const Checked& checked, std::size_t arm) {
  std::vector<double> all;
  for (const auto& run : checked.runs) all.push_back(run[arm].accuracy);
  return spread_of(all);
}

// Mean over the seeds that reached it; none: no seed did.
std::string learnt_text(const Checked& checked, std::size_t arm) {
  std::vector<double> steps;
  for (const auto& run : checked.runs)
    if (run[arm].learnt) steps.push_back(static_cast<double>(*run[arm].learnt));
  if (steps.empty()) return "never";
  const std::string mean = fmt::format("{:.0f}", spread_of(steps).mean);
  return steps.size() == checked.runs.size()
             ? mean
             : fmt::format("{} ({} of {})", mean, steps.size(), checked.runs.size());
}

std::string json_of(const std::vector<Checked>& all) {
  io::JsonWriter w;
  w.begin_list(io::JsonLayout::lines);
  for (const Checked& checked : all) {
    w.begin_object()
        .field("preset", checked.preset->name)
        .field("holds", checked.held)
        .key("arms")
        .begin_list();
    for (std::size_t arm = 0; arm < checked.preset->arms.size(); ++arm) {
      std::vector<double> accuracy, seconds;
      for (const auto& run : checked.runs) {
        accuracy.push_back(run[arm].accuracy);
        seconds.push_back(run[arm].seconds);
      }
      w.begin_object().field("label", checked.preset->arms[arm].label).field("accuracy", rounded(accuracy));
      w.field("seconds", rounded(seconds)).end_object();
    }
    w.end_list().end_object();
  }
  return w.end_list().take_line();
}

}  // namespace

Outcome run_playground(const LabOptions& options) {
  const auto& presets = playground::presets();
  const int seeds = options.quick ? 1 : 5;
  Context ctx({.threads = options.threads});
  const TensorRecycler recycler;
  std::vector<Checked> all;
  double done = 0, total = 0;
  for (std::size_t p = 0; p < presets.size(); ++p)
    if (!options.row || *options.row == static_cast<Index>(p + 1))
      total += seeds * static_cast<double>(presets[p].arms.size());
  for (std::size_t p = 0; p < presets.size(); ++p) {
    if (options.row && *options.row != static_cast<Index>(p + 1)) continue;
    Checked checked{.preset = &presets[p], .runs = {}};
    for (int i = 0; i < seeds; ++i) {
      std::vector<ArmResult> results;
      for (const playground::PresetArm& arm : presets[p].arms) {
        playground::ToySettings settings = arm.settings;
        settings.seed = options.seed + static_cast<std::uint64_t>(i);
        tell(options, done++, total, fmt::format("{}, {}", presets[p].name, arm.label));
        results.push_back(playground::run_arm(ctx, settings));
      }
      checked.held += playground::holds(presets[p], results) ? 1 : 0;
      checked.runs.push_back(std::move(results));
    }
    all.push_back(std::move(checked));
  }
  Outcome out;
  std::size_t held = 0;
  std::vector<TableRow> rows;
  for (const Checked& checked : all) {
    held += checked.held == seeds ? 1 : 0;
    out.holds = out.holds && checked.held == seeds;
    for (std::size_t arm = 0; arm < checked.preset->arms.size(); ++arm) {
      const Spread accuracy = accuracy_of(checked, arm);
      rows.push_back(
          {arm == 0 ? std::string(checked.preset->name) : "", std::string(checked.preset->arms[arm].label),
           fmt::format("{:.0f} ± {:.0f}", 100 * accuracy.mean, 100 * accuracy.deviation),
           fmt::format("{:.0f} to {:.0f}", 100 * accuracy.low, 100 * accuracy.high),
           learnt_text(checked, arm), arm == 0 ? fmt::format("{} of {}", checked.held, seeds) : ""});
    }
  }
  out.finding = fmt::format("{} of {} claims of the playground hold for every one of {} seed{}.", held,
                            all.size(), seeds, seeds == 1 ? "" : "s");
  out.text = with_note(table_text({"preset", "setting", "right, %", "range", "90 % at step", "holds"}, rows),
                       "right: correct answers on unseen cases at the end, mean and standard deviation over "
                       "the seeds; range: the "
                       "same, smallest to largest. 90 % at step: mean of the first steps with 90 % right, "
                       "with the number of seeds "
                       "that got there. holds: seeds for which the claim holds.",
                       options.width);
  out.json = json_of(all);
  return out;
}

}  // namespace headlight::lab
