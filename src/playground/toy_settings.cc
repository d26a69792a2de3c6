#include "playground/toy_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::playground {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, "playground.setting", "playground: " + what);
}

double number_of(const ToyRange& range, std::string_view value, bool whole) {
  double x = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  const bool read = error == std::errc() && end == value.data() + value.size();
  if (!read || !(x >= range.least && x <= range.most) || (whole && x != std::floor(x)))
    refuse(fmt::format("{} is \"{}\"; need a{} number from {:g} to {:g}", range.name, escaped(value, 40),
                       whole ? " whole" : "", range.least, range.most));
  return x;
}

bool switch_of(std::string_view name, std::string_view value) {
  if (value == "on") return true;
  if (value == "off") return false;
  refuse(concat(name, " is \"", escaped(value, 40), "\"; need on or off"));
}

ToyKind kind_of(std::string_view value) {
  std::string names;
  for (const ToyKind kind : kToyKinds) {
    if (name_of(kind) == value) return kind;
    names += concat(names.empty() ? "" : ", ", name_of(kind));
  }
  refuse(concat("no task \"", escaped(value, 40), "\"; there are: ", names));
}

}  // namespace

const std::vector<ToyRange>& ranges() {
  static const std::vector<ToyRange> all = {
      {"layers", 1, 4}, {"heads", 1, 8},    {"width", 8, 128},  {"positions", 0, 1}, {"mask", 0, 1},
      {"scale", 0, 1},  {"residual", 0, 1}, {"steps", 1, 5000}, {"rate", 1e-5, 0.1}, {"seed", 0, 1e9}};
  return all;
}

void set(ToySettings& settings, std::string_view name, std::string_view value) {
  if (name == "task") {
    settings.task = kind_of(value);
    return;
  }
  std::string names = "task";
  for (const ToyRange& range : ranges()) {
    names += concat(", ", range.name);
    if (range.name != name) continue;
    const auto whole = [&] { return static_cast<Index>(number_of(range, value, true)); };
    if (name == "layers") settings.layers = whole();
    else if (name == "heads") settings.heads = whole();
    else if (name == "width") settings.width = whole();
    else if (name == "steps") settings.steps = whole();
    else if (name == "seed") settings.seed = static_cast<std::uint64_t>(whole());
    else if (name == "rate") settings.rate = number_of(range, value, false);
    else if (name == "positions") settings.positions = switch_of(name, value);
    else if (name == "mask") settings.mask = switch_of(name, value);
    else if (name == "scale") settings.scale = switch_of(name, value);
    else settings.residual = switch_of(name, value);
    return;
  }
  refuse(concat("no setting \"", escaped(name, 40), "\"; there are: ", names));
}

std::vector<std::pair<std::string, std::string>> written(const ToySettings& s) {
  const auto is_on = [](bool on) { return std::string(on ? "on" : "off"); };
  return {{"task", std::string(name_of(s.task))},
          {"layers", concat(s.layers)},
          {"heads", concat(s.heads)},
          {"width", concat(s.width)},
          {"positions", is_on(s.positions)},
          {"mask", is_on(s.mask)},
          {"scale", is_on(s.scale)},
          {"residual", is_on(s.residual)},
          {"steps", concat(s.steps)},
          {"rate", fmt::format("{:g}", s.rate)},
          {"seed", concat(s.seed)}};
}

void check(const ToySettings& s) {
  if (s.width % s.heads != 0)
    refuse(concat("a width of ", s.width, " cannot be split into ", s.heads, " heads; choose a multiple of ",
                  s.heads));
}

ToyTask task_of(const ToySettings& s) {
  return {s.task, s.seed, s.mask ? ToyTask::Evaluate::whole : ToyTask::Evaluate::prefixes};
}

// GPT-2's architecture, so that it can be saved. Matrices start with variance 1 / width: scores then have a variance of d,
// dividing by √d corrects.
std::unique_ptr<models::Transformer> model_of(const ToySettings& s, const ToyTask& task) {
  check(s);
  models::TransformerConfig c = models::gpt_config({.vocabulary = task.vocabulary(),
                                                    .width = s.width,
                                                    .layers = s.layers,
                                                    .heads = s.heads,
                                                    .context = task.longest_input()});
  c.initial_range = 1 / std::sqrt(static_cast<double>(s.width));
  models::each_layer(c, [&](nn::BlockConfig& block) {
    if (!s.mask) block.attention.visible = Visibility::all();
    if (!s.scale) block.attention.scale = 1;
    block.residual = s.residual;
  });
  auto model = std::make_unique<models::Transformer>(c);
  model->initialize(s.seed);
  if (!s.positions) {  // a constant table of zeros, so that the file still has GPT-2's format
    Parameter& table = model->stack(Part::decoder).positions.weight;
    table.value = Tensor(table.value.shape());
    table.trained = false;
  }
  return model;
}

double memory_of(const ToySettings& s) {
  constexpr double rows = 32, floats = 4;
  const auto width = static_cast<double>(s.width), layers = static_cast<double>(s.layers);
  const double tokens = rows * static_cast<double>(task_of(s).longest_input());
  const double parameters = layers * 12 * width * width + 2 * 128 * width;
  const double activations = layers * tokens * 20 * width + tokens * 128;
  return floats * (4 * parameters + 2 * activations);
}

}  // namespace headlight::playground
