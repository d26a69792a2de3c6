// From three loops to the library's kernel: the same attention, each rung timed on this machine and compared with the first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "../examples/13_kernel_rungs.h"
#include "headlight/attention.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "lab/timing.h"
#include "measure/workloads.h"

namespace headlight::lab {
namespace {

constexpr float kAgree = 1e-5F;  // the largest difference that rounding explains

struct Rung {
  const char *name, *what;
  std::function<void(const rungs::Problem&)> run;
  double seconds = 0;
  float difference = 0;  // from the first rung
};

std::array<Rung, 4> ladder(Context& ctx) {
  const auto library = [&ctx](const rungs::Problem& p) {
    const Shape shape{1, 1, rungs::kTokens, rungs::kWidth};
    attention_forward(ctx, ConstTensorView(p.q, shape), ConstTensorView(p.k, shape),
                      ConstTensorView(p.v, shape), {.visible = Visibility::causal()},
                      TensorView(p.out, shape));
  };
  return {Rung{"three loops", "a table of all scores", rungs::three_loops},
          Rung{"one pass", "online softmax, no table", rungs::one_pass},
          Rung{"tiles", "64 keys at a time", rungs::tiles},
          Rung{"library", "tiles of queries too, vector registers", library}};
}

}  // namespace

Outcome run_ladder(const LabOptions& options) {
  const double at_least = options.quick ? 0.01 : 0.2;
  const Shape shape{1, 1, rungs::kTokens, rungs::kWidth};
  Tensor q(shape), k(shape), v(shape), first(shape), out(shape);
  measure::fill_normal(q, options.seed);
  measure::fill_normal(k, options.seed + 1);
  measure::fill_normal(v, options.seed + 2);
  Context ctx({.threads = 1});
  std::array<Rung, 4> all = ladder(ctx);
  Outcome outcome;
  for (std::size_t r = 0; r < all.size(); ++r) {
    tell(options, static_cast<double>(r), static_cast<double>(all.size()), all[r].name);
    Tensor& to = r == 0 ? first : out;
    const rungs::Problem problem{q.as<float>(), k.as<float>(), v.as<float>(), to.as<float>()};
    all[r].seconds = best_time([&] { all[r].run(problem); }, at_least);
    for (Index i = 0; i < shape.elements() && r > 0; ++i)
      all[r].difference = std::max(all[r].difference, std::abs(out.as<float>()[i] - first.as<float>()[i]));
    outcome.holds = outcome.holds && all[r].difference < kAgree;
  }
  std::vector<TableRow> rows;
  io::JsonWriter w;
  w.begin_object().field("tokens", rungs::kTokens).field("width", rungs::kWidth);
  w.key("rungs").begin_list(io::JsonLayout::lines);
  for (const Rung& rung : all) {
    rows.push_back({rung.name, fmt::format("{:.2f} ms", 1e3 * rung.seconds),
                    fmt::format("{:.1f}", all[0].seconds / rung.seconds),
                    fmt::format("{:.1e}", rung.difference), rung.what});
    w.begin_object().field("name", rung.name).field("seconds", rounded(rung.seconds));
    w.field("difference", rounded(rung.difference)).end_object();
  }
  outcome.json = w.end_list().end_object().take_line();
  outcome.finding = fmt::format(
      "The same attention four times: the library is {:.0f} times as fast as three loops, and the largest "
      "difference between rungs is {:.1e}.",
      all[0].seconds / all[3].seconds,
      std::max_element(all.begin(), all.end(), [](const Rung& a, const Rung& b) {
        return a.difference < b.difference;
      })->difference);
  outcome.text = with_note(
      table_text({"rung", "time", "times as fast", "difference", ""}, rows),
      fmt::format(
          "One causal head, {} tokens of width {}, f32, one thread; processor time of the fastest of many "
          "calls on this machine. Difference: the largest from the first rung.",
          rungs::kTokens, rungs::kWidth),
      options.width);
  return outcome;
}

}  // namespace headlight::lab
