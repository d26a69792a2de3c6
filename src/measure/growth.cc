#include "measure/growth.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "headlight/attention.h"
#include "io/json_writer.h"
#include "measure/memory.h"
#include "measure/model_runs.h"
#include "measure/timing.h"
#include "measure/train_steps.h"
#include "measure/workloads.h"
#include "models/random_model.h"

namespace headlight::measure {
namespace {

// Least squares on logarithms, over the larger half of the points: small sizes measure the cost of a call.
template <class Value>
std::optional<double> slope_of(const std::vector<GrowthPoint>& points, const Value& value) {
  std::vector<std::pair<double, double>> logs;
  for (std::size_t i = points.size() / 2; i < points.size(); ++i) {
    const std::optional<double> y = value(points[i]);
    if (y && *y > 0) logs.emplace_back(std::log(points[i].size), std::log(*y));
  }
  if (logs.size() < 2) return std::nullopt;
  double x0 = 0, y0 = 0, xx = 0, xy = 0;
  for (const auto& [x, y] : logs) x0 += x, y0 += y;
  x0 /= static_cast<double>(logs.size()), y0 /= static_cast<double>(logs.size());
  for (const auto& [x, y] : logs) xx += (x - x0) * (x - x0), xy += (x - x0) * (y - y0);
  return xy / xx;
}

// Short calls are timed until the best time repeats; a run of many seconds is timed once.
constexpr TimingPolicy kPolicy{.min_runs = 3, .min_seconds = 0.15, .max_seconds = 1};
template <class Call>
double seconds_of(const Call& call, bool once) {
  if (!once) return time_call(call, kPolicy).best;
  const double begin = now_seconds();
  call();
  return now_seconds() - begin;
}

class Growth {
 public:
  Growth(const GrowthOptions& options, const GrowthStep& step)
      : options_(options), step_(step), context_({.threads = options.threads, .target = options.target}) {}

  std::vector<GrowthCurve> run() {
    attention("attention, forward", false, options_.longest);
    attention("attention, forward and backward", true, std::min<Index>(options_.longest, 32768));
    decoding();
    steps("training step, by batch", "sequences", 1, {1, 2, 4, 8, 16}, [](Index n) {
      return make_gpt_step({512, 128, 2, 4, 128}, n);
    });
    steps("training step, by width", "width", 2, {64, 128, 256, 512, 1024}, [](Index n) {
      return make_gpt_step({512, n, 2, 4, 128}, 4);
    });
    loading();
    return std::move(curves_);
  }

 private:
  void attention(const char* name, bool train, Index longest) {
    GrowthCurve curve{.name = name, .unit = "tokens", .expected = 2, .points = {}};
    for (Index length = 64; length <= longest; length *= 2) {
      step_(curve.name, static_cast<double>(length));
      const MemoryResult memory = measure_memory(
          {.name = "growth", .length = length, .dim = 64, .train = train}, options_.threads, options_.target);
      WorkloadData data({.name = "growth", .length = length, .dim = 64, .causal = true, .train = train});
      const auto call = [&] {
        attention_forward(context_, data.q(), data.k(), data.v(), data.options(), data.outputs());
        if (train) attention_backward(context_, data.saved(), data.dout(), data.options(), data.grads());
      };
      constexpr Index kLong = 32768;  // measure_memory() has already made one call
      curve.points.push_back(
          {static_cast<double>(length), seconds_of(call, length >= kLong), memory.grown_mb});
    }
    curves_.push_back(std::move(curve));
  }

  void decoding() {
    GrowthCurve curve{.name = "decoding, one query", .unit = "cached tokens", .expected = 1, .points = {}};
    for (Index length = 64; length <= options_.longest; length *= 2) {
      step_(curve.name, static_cast<double>(length));
      DecodeData data(
          {.name = "growth", .heads = 8, .kv_heads = 2, .length = length, .dim = 64, .cache = KvType::f32},
          context_);
      curve.points.push_back(
          {static_cast<double>(length), seconds_of([&] { data.step(context_); }, false), {}});
    }
    curves_.push_back(std::move(curve));
  }

  template <class Make>
  void steps(const char* name, const char* unit, double expected, std::initializer_list<Index> sizes,
             const Make& make) {
    GrowthCurve curve{.name = name, .unit = unit, .expected = expected, .points = {}};
    for (const Index size : sizes) {
      step_(curve.name, static_cast<double>(size));
      const PeakMemory memory;
      const std::unique_ptr<TrainStep> made = make(size);
      const double seconds = seconds_of([&] { made->run(context_); }, false);
      curve.points.push_back({static_cast<double>(size), seconds, memory.grown_mb()});
    }
    curves_.push_back(std::move(curve));
  }

  // From opening the file to the first token, for models of one width and increasing numbers of layers.
  void loading() {
    GrowthCurve curve{
        .name = "opening a model to its first token", .unit = "MB", .expected = 1, .points = {}};
    const std::string folder = (std::filesystem::path(options_.folder) / "model").string();
    for (const Index layers : {1, 2, 4, 8, 16, 32}) {
      const models::TransformerConfig config = models::llama_config(
          {.vocabulary = 4096, .width = 512, .layers = layers, .heads = 8, .context = 128});
      const auto bytes = static_cast<double>(models::write_random_model(folder, config, StoredType::bf16));
      step_(curve.name, bytes * 1e-6);
      double best = time_to_first_token(context_, folder);
      for (int run = 0; run < 2; ++run) best = std::min(best, time_to_first_token(context_, folder));
      curve.points.push_back({bytes * 1e-6, best, {}});
      std::filesystem::remove_all(folder);
    }
    curves_.push_back(std::move(curve));
  }

  const GrowthOptions& options_;
  const GrowthStep& step_;
  Context context_;
  std::vector<GrowthCurve> curves_;
};

std::string slope_text(const char* what, const std::optional<double>& slope) {
  return slope ? fmt::format("{} ~ size^{:.2f}", what, *slope) : fmt::format("{}: too few points", what);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::optional<double> GrowthCurve::time_slope() const {
  return slope_of(points, [](const GrowthPoint& p) { return std::optional(p.seconds); });
}
std::optional<double> GrowthCurve::memory_slope() const {
  return slope_of(points, [](const GrowthPoint& p) { return p.memory_mb; });
}

std::vector<GrowthCurve> measure_growth(const GrowthOptions& options, const GrowthStep& step) {
  return Growth(options, step).run();
}

std::string to_table(const std::vector<GrowthCurve>& curves) {
  std::string text;
  for (const GrowthCurve& curve : curves) {
    text += fmt::format("{}{}: {} (expected {:g})", text.empty() ? "" : "\n", curve.name,
                        slope_text("time", curve.time_slope()), curve.expected);
    if (const auto slope = curve.memory_slope()) text += fmt::format(", {}", slope_text("memory", slope));
    text += fmt::format("\n{:>14} {:>12} {:>12}\n", curve.unit, "time", "memory");
    for (const GrowthPoint& point : curve.points) {
      const std::string time = time_text(point.seconds);
      const int missing = time.find("µ") != std::string::npos ? 13 : 12;  // µ has two bytes
      text += fmt::format("{:>14.6g} {:>{}} {:>12}\n", point.size, time, missing,
                          point.memory_mb ? fmt::format("{:.1f} MB", *point.memory_mb) : "-");
    }
  }
  return text;
}

std::string to_json(const std::vector<GrowthCurve>& curves) {
  io::JsonWriter w;
  const auto number = [](const std::optional<double>& x) {
    return x ? std::optional(io::significant(*x, 6)) : std::nullopt;
  };
  w.begin_object(io::JsonLayout::lines).key("growth").begin_list(io::JsonLayout::lines);
  for (const GrowthCurve& curve : curves) {
    w.begin_object().field("name", curve.name).field("unit", curve.unit);
    w.field("expected_slope", number(curve.expected)).field("time_slope", number(curve.time_slope()));
    w.field("memory_slope", number(curve.memory_slope())).key("points").begin_list();
    for (const GrowthPoint& point : curve.points) {
      w.begin_object().field("size", number(point.size)).field("seconds", number(point.seconds));
      w.field("memory_mb", number(point.memory_mb)).end_object();
    }
    w.end_list().end_object();
  }
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::measure
