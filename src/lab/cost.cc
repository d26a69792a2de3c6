// Time and memory against length: attention with a stored score matrix, fused attention, a recurrent layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/tensor_memory.h"
#include "draw/arrange.h"
#include "draw/curves.h"
#include "headlight/attention.h"
#include "headlight/recurrent.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "lab/timing.h"
#include "measure/unfused.h"
#include "measure/workloads.h"
#include "nn/matmul.h"

namespace headlight::lab {
namespace {

constexpr Index kDim = 64;

struct Setup {
  std::vector<Index> lengths = {128, 256, 512, 1024, 2048, 4096};
  int repeats = 3;
  double seconds = 0.4;  // of each measurement, at least
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.lengths = {256, 512, 1024, 2048}, .repeats = 2, .seconds = 0.02};
}

constexpr std::array<const char*, 3> kNames = {"unfused attention", "fused attention", "recurrent (GRU)"};

// One head of causal attention, or a layer of as many numbers; all three read and write [length, 64].
class Contest {
 public:
  Contest(Index length, std::uint64_t seed)
      : length_(length), q_({1, 1, length, kDim}), k_({1, 1, length, kDim}), v_({1, 1, length, kDim}) {
    measure::fill_normal(q_, seed);
    measure::fill_normal(k_, seed + 1);
    measure::fill_normal(v_, seed + 2);
    for (Linear* linear : {&gru_.input, &gru_.hidden}) {
      Tensor& w = linear->weight.value;
      measure::fill_normal(w, seed + 3);
      for (Index i = 0; i < w.shape().elements(); ++i) w.as<float>()[i] *= 0.05F;
    }
  }

  void run(std::size_t which, Context& ctx) const {
    if (which == 0) return run_unfused(ctx);
    if (which == 1) {
      Tensor out = Tensor::uninitialized(q_.shape());
      return attention_forward(ctx, q_, k_, v_, {.visible = Visibility::causal()}, out.view());
    }
    (void)gru_.forward(ctx, matrix(q_), {});
  }

 private:
  using Linear = nn::Linear;

  [[nodiscard]] ConstTensorView matrix(const Tensor& x) const { return {x.as<float>(), {length_, kDim}}; }

  // S = q·kᵀ, stored completely; softmax of its rows; S·v. Uses the products of the layers.
  void run_unfused(Context& ctx) const {
    Tensor scores = Tensor::uninitialized({length_, length_}),
           scaled = Tensor::uninitialized({length_, kDim}), out = Tensor::uninitialized({length_, kDim});
    const float scale = 1 / std::sqrt(static_cast<float>(kDim));
    for (Index i = 0; i < length_ * kDim; ++i) scaled.as<float>()[i] = scale * q_.as<float>()[i];
    nn::multiply(ctx, {.a = scaled, .b = matrix(k_), .c = scores, .b_form = nn::MatrixForm::transposed});
    measure::softmax_rows({scores.as<float>(), length_, true, length_}, 0, length_);
    nn::multiply(ctx, {.a = scores, .b = matrix(v_), .c = out});
  }

  Index length_;
  Tensor q_, k_, v_;
  nn::Gru gru_{"gru", kDim, kDim};
};

struct Cost {
  double seconds = 0, bytes = 0;
};

// All memory of a call except its inputs: tensors, kept by a recycler, and scratch memory.
double bytes_of(const std::function<void(Context&)>& call) {
  const TensorRecycler recycler;
  Context ctx({.threads = 1});
  call(ctx);
  return static_cast<double>(kept_memory() + ctx.scratch_bytes());
}

// The exponent of a power law through the upper half of the lengths, where fixed costs are small.
double exponent(const std::vector<Index>& lengths, const std::vector<double>& values) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = lengths.size() / 2 - 1; i < lengths.size(); ++i) {
    const double a = std::log(static_cast<double>(lengths[i])), b = std::log(values[i]);
    ++n, x += a, y += b, xx += a * a, xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

struct Series {
  std::vector<std::vector<double>> seconds;  // [length]; the same in every repeat
  std::vector<double> bytes;                 // [length]; the same every time

  [[nodiscard]] Spread time(std::size_t length) const {
    std::vector<double> all;
    for (const auto& repeat : seconds) all.push_back(repeat[length]);
    return spread_of(all);
  }
  [[nodiscard]] Spread time_exponent(const std::vector<Index>& lengths) const {
    std::vector<double> all;
    for (const auto& repeat : seconds) all.push_back(exponent(lengths, repeat));
    return spread_of(all);
  }
};

std::array<Series, 3> measure_all(const Setup& setup, const LabOptions& options) {
  std::array<Series, 3> all;
  const double total = static_cast<double>(setup.lengths.size()) * 3 * setup.repeats;
  double done = 0;
  for (int r = 0; r < setup.repeats; ++r) {
    Context ctx({.threads = 1});
    const TensorRecycler recycler;  // so that allocation by the system is not timed
    for (Series& series : all) series.seconds.emplace_back();
    for (const Index length : setup.lengths) {
      const Contest contest(length, options.seed + static_cast<std::uint64_t>(r) * 10);
      for (std::size_t which = 0; which < all.size(); ++which) {
        tell(options, done++, total, "measuring");
        all[which].seconds.back().push_back(best_time([&] { contest.run(which, ctx); }, setup.seconds));
      }
    }
  }
  for (const Index length : setup.lengths) {
    const Contest contest(length, options.seed);
    for (std::size_t which = 0; which < all.size(); ++which)
      all[which].bytes.push_back(bytes_of([&](Context& ctx) { contest.run(which, ctx); }));
  }
  return all;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.0f} µs", seconds * 1e6) : fmt::format("{:.2f} ms", seconds * 1e3);
}
std::string bytes_text(double bytes) {
  return bytes < 1e6 ? fmt::format("{:.0f} kB", bytes * 1e-3) : fmt::format("{:.1f} MB", bytes * 1e-6);
}

// An upper panel (time) and a lower one (memory). Both axes are logarithmic, so that a power of n is a straight line.
draw::Drawing figure_of(const Setup& setup, const std::array<Series, 3>& all) {
  draw::CurveChart time;
  time.title = "One causal head of width 64, one thread: time against length";
  time.x_label = "length (tokens)";
  time.y_label = "milliseconds";
  time.x_axis = time.y_axis = draw::AxisKind::logarithmic;
  time.name_best = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string label =
        fmt::format("{}: n^{:.2f}", kNames[k], all[k].time_exponent(setup.lengths).mean);
    draw::Curve curve{.label = label, .points = {}, .color = draw::curve_color(k), .strong = true};
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) {
      const Spread s = all[k].time(i);
      curve.points.push_back({static_cast<double>(setup.lengths[i]), s.mean * 1e3});
      curve.spread.push_back({s.low * 1e3, s.high * 1e3});
    }
    time.curves.push_back(std::move(curve));
  }
  for (const Index length : setup.lengths) time.x_ticks.push_back(static_cast<double>(length));
  draw::CurveChart memory = time;
  memory.title = "The same: memory without the inputs";
  memory.y_label = "megabytes";
  for (std::size_t k = 0; k < all.size(); ++k) {
    draw::Curve& curve = memory.curves[k];
    curve.label = fmt::format("{}: n^{:.2f}", kNames[k], exponent(setup.lengths, all[k].bytes));
    curve.spread.clear();
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) curve.points[i].y = all[k].bytes[i] * 1e-6;
  }
  return draw::below_each_other({draw::draw_curves(time), draw::draw_curves(memory)});
}

std::string table(const Setup& setup, const std::array<Series, 3>& all) {
  TableRow heading = {"length"};
  for (const char* name : kNames) heading.insert(heading.end(), {name, "memory"});
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < setup.lengths.size(); ++i) {
    TableRow row = {fmt::format("{}", setup.lengths[i])};
    for (const Series& series : all)
      row.insert(row.end(), {time_text(series.time(i).mean), bytes_text(series.bytes[i])});
    rows.push_back(std::move(row));
  }
  TableRow fitted = {"exponent"};
  for (const Series& series : all)
    fitted.insert(fitted.end(), {plus_minus(series.time_exponent(setup.lengths), 2),
                                 fmt::format("{:.2f}", exponent(setup.lengths, series.bytes))});
  rows.push_back(std::move(fitted));
  return table_text(heading, rows);
}

std::string json_of(const Setup& setup, const std::array<Series, 3>& all) {
  io::JsonWriter w;
  w.begin_object().field("dim", kDim).field("lengths", setup.lengths);
  w.key("series").begin_list(io::JsonLayout::lines);
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::vector<double> means;
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) means.push_back(all[k].time(i).mean);
    w.begin_object().field("name", kNames[k]).field("seconds", rounded(means));
    write(w.field("bytes", rounded(all[k].bytes)).key("time_exponent"), all[k].time_exponent(setup.lengths));
    w.field("memory_exponent", io::decimals(exponent(setup.lengths, all[k].bytes), 4)).end_object();
  }
  return w.end_list().end_object().take_line();
}

}  // namespace

Outcome run_cost(const LabOptions& options) {
  const Setup setup = setup_of(options);
  const std::array<Series, 3> all = measure_all(setup, options);
  const Spread unfused = all[0].time_exponent(setup.lengths), fused = all[1].time_exponent(setup.lengths),
               recurrent = all[2].time_exponent(setup.lengths);
  const double unfused_memory = exponent(setup.lengths, all[0].bytes),
               fused_memory = exponent(setup.lengths, all[1].bytes);
  const auto faster = [&]() -> std::string {
    for (std::size_t i = 0; i < setup.lengths.size(); ++i)
      if (all[1].time(i).mean > all[2].time(i).mean)
        return i == 0 ? fmt::format("the recurrent layer is faster from {} tokens on", setup.lengths[i])
                      : fmt::format("fused attention is faster than the recurrent layer up to {} tokens",
                                    setup.lengths[i - 1]);
    return fmt::format("fused attention is faster than the recurrent layer at every length up to {}",
                       setup.lengths.back());
  }();
  Outcome out;
  out.finding = fmt::format(
      "Time grows with the length to the power {:.2f} (with a score matrix), {:.2f} (fused) and {:.2f} "
      "(recurrent); memory to the power {:.2f}, {:.2f} and {:.2f}. Fused attention computes n² scores but "
      "never stores them all. “O(n) against O(n²)” ignores the width: it is n·d² against n²·d, and here, "
      "with d = 64, {}.",
      unfused.mean, fused.mean, recurrent.mean, unfused_memory, fused_memory,
      exponent(setup.lengths, all[2].bytes), faster);
  out.text = with_note(
      table(setup, all),
      fmt::format("One causal head of width {0}, f32, one thread; a GRU layer of width {0}. CPU times are "
                  "the best of many calls, mean of {1} repetitions. Exponents are fitted to the upper half "
                  "of the lengths, ± one standard deviation. Memory excludes the inputs.",
                  kDim, setup.repeats),
      options.width);
  out.json = json_of(setup, all);
  out.figure = figure_of(setup, all);
  // Times depend on the machine, so the claim is about the exponents, which noise cannot hide.
  out.holds = unfused_memory > 1.6 && fused_memory < 1.2 && unfused.mean > 1.4 && recurrent.mean < 1.4;
  return out;
}

}  // namespace headlight::lab
