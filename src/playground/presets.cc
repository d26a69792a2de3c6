#include "playground/presets.h"

#include <chrono>

#include "core/concat.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "playground/toy_run.h"

namespace headlight::playground {
namespace {

constexpr std::int64_t kEvery = 25;  // steps between evaluations
constexpr double kLearnt = 0.9;

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {.name = "induction",
       .title = "One layer cannot do induction, two can",
       .claim =
           "To continue a repeated piece, a head has to find what came after this letter last time. That "
           "takes two heads in a row: one marks each letter with the letter before it, the next looks for "
           "the mark.",
       .arms =
           {{"two layers", {.task = ToyKind::induction, .layers = 2, .steps = 800}, {0.9, 1}, {99, 97, 100}},
            {"one layer", {.task = ToyKind::induction, .layers = 1, .steps = 800}, {0, 0.6}, {43, 32, 49}}}},
      {.name = "order",
       .title = "Without positions it can sort, and cannot reverse",
       .claim = "Attention is a set operation. Sorting different digits needs no positions: the next digit "
                "follows from the set and the digits already written. Reversing a list does need them.",
       .arms = {{"reverse", {.task = ToyKind::reverse, .layers = 1, .steps = 800}, {0.7, 1}, {86, 76, 90}},
                {"reverse, no positions",
                 {.task = ToyKind::reverse, .layers = 1, .positions = false, .steps = 800},
                 {0, 0.4},
                 {32, 31, 36}},
                {"sort, no positions",
                 {.task = ToyKind::sort, .layers = 1, .positions = false, .steps = 400},
                 {0.95, 1},
                 {100, 100, 100}}}},
      {.name = "scale",
       .title = "With √d it learns in time, without it often does not",
       .claim =
           "Wide heads start with large scores. Without the division, the weights start on a few random "
           "keys, and training first has to spread them. For some seeds it does so within the same steps.",
       .arms =
           {{"divided by √d",
             {.task = ToyKind::recall, .layers = 1, .heads = 1, .width = 64, .steps = 600},
             {0.9, 1},
             {98, 93, 100}},
            {"not divided",
             {.task = ToyKind::recall, .layers = 1, .heads = 1, .width = 64, .scale = false, .steps = 600},
             {0, 1},
             {48, 27, 68}}},
       .first_leads = true},
      {.name = "agreement",
       .title = "A verb finds its subject by its place",
       .claim = "The noun beside the verb is often not its subject. With positions a head looks at the "
                "first noun; without, it cannot tell which noun came first.",
       .arms = {{"with positions",
                 {.task = ToyKind::agreement, .layers = 1, .heads = 2, .steps = 300},
                 {0.95, 1},
                 {100, 100, 100}},
                {"without",
                 {.task = ToyKind::agreement, .layers = 1, .heads = 2, .positions = false, .steps = 300},
                 {0, 0.9},
                 {74, 66, 83}}}},
      {.name = "mask",
       .title = "Without the mask it reads the answer",
       .claim =
           "A model that sees the next token in training copies it. Its loss falls, but when it writes there "
           "is no next token to copy, and its lists are often wrong.",
       .arms = {{"masked", {.task = ToyKind::copy, .layers = 2, .steps = 300}, {0.75, 1}, {86, 82, 89}},
                {"not masked",
                 {.task = ToyKind::copy, .layers = 2, .mask = false, .steps = 300},
                 {0, 0.6},
                 {44, 40, 48}}}},
      {.name = "heads",
       .title = "One head can look at two things at once",
       .claim = "It is often said that a layer needs two heads to look at two places. Here one head finds "
                "both facts and keeps their order.",
       .arms = {{"one head",
                 {.task = ToyKind::pairs, .layers = 1, .heads = 1, .steps = 400},
                 {0.95, 1},
                 {100, 100, 100}},
                {"two heads",
                 {.task = ToyKind::pairs, .layers = 1, .heads = 2, .steps = 400},
                 {0.95, 1},
                 {100, 100, 100}}}},
      {.name = "residual",
       .title = "Four layers need residual connections, two do not",
       .claim =
           "Without them, a part of a block replaces a word's vector instead of adding to it. Two layers "
           "still learn to reverse. Four layers pass on too little of the input and of the gradient, and "
           "learn much later.",
       .arms =
           {{"four layers", {.task = ToyKind::reverse, .layers = 4, .steps = 500}, {0.75, 1}, {94, 89, 99}},
            {"four layers, without",
             {.task = ToyKind::reverse, .layers = 4, .residual = false, .steps = 500},
             {0, 0.65},
             {40, 24, 55}},
            {"two layers, without",
             {.task = ToyKind::reverse, .layers = 2, .residual = false, .steps = 500},
             {0.85, 1},
             {99, 97, 100}}}},
  };
  return all;
}

const Preset& find_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw Error(ErrorKind::usage, "playground.preset", unknown_name_text("preset", name, names));
}

std::string measured_text(const Preset& preset) {
  std::string text;
  for (const PresetArm& arm : preset.arms) {
    const auto& [mean, low, high] = arm.measured;
    text += concat(text.empty() ? "" : ", ", arm.label, " ", mean, text.empty() ? " % right" : " %");
    if (low < high) text += concat(" (", low, " to ", high, " %)");
  }
  return concat("Measured with five seeds: ", text, ".");
}

ArmResult run_arm(Context& ctx, ToySettings settings) {
  ToyRun run(ctx, settings);
  ArmResult result;
  const auto begin = std::chrono::steady_clock::now();
  while (!run.finished()) {
    run.step();
    if (!result.learnt && run.steps() % kEvery == 0 && run.accuracy() >= kLearnt) result.learnt = run.steps();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.accuracy = run.accuracy();
  return result;
}

bool holds(const Preset& preset, const std::vector<ArmResult>& results) {
  for (std::size_t i = 0; i < preset.arms.size(); ++i) {
    const Bounds& bounds = preset.arms[i].bounds;
    if (results[i].accuracy < bounds.least || results[i].accuracy > bounds.most) return false;
  }
  return !preset.first_leads || results[0].accuracy >= results[1].accuracy;
}

}  // namespace headlight::playground
