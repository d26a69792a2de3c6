#include "measure/train_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "headlight/nn.h"
#include "io/json_writer.h"
#include "measure/memory.h"
#include "measure/train_steps.h"
#include "measure/workloads.h"
#include "models/head.h"
#include "models/transformer_config.h"
#include "train/adamw.h"

namespace headlight::measure {
namespace {

constexpr Index kWidth = kGptStep.width, kLayers = kGptStep.layers, kHeads = kGptStep.heads,
                kVocabulary = kGptStep.vocabulary, kLength = kGptStep.context, kInner = 4 * kWidth;
constexpr Index kTokens = kGptStepRows * kLength;
constexpr int kLeastRuns = 4;
constexpr double kLeastSeconds = 0.2;

Tensor made_up(Index rows, Index columns, std::uint64_t seed) {
  Tensor x({rows, columns});
  fill_normal(x, seed);
  return x;
}

// Processor time of all threads, not wall time, so that other processes do not count and shares stay right.
double milliseconds(const std::function<void()>& call) {
  const auto seconds = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  };
  call();  // allocates scratch memory and touches pages
  double best = INFINITY, total = 0;
  for (int run = 0; run < kLeastRuns || total < kLeastSeconds; ++run) {
    const double begin = seconds();
    call();
    const double once = seconds() - begin;
    best = std::min(best, once);
    total += once;
  }
  return best * 1e3;
}

// Forward and backward of one dense layer.
double linear_ms(Context& ctx, Index in, Index out) {
  nn::Linear layer("layer", {.in = in, .out = out});
  fill_normal(layer.weight.value, 1);
  const Tensor x = made_up(kTokens, in, 2), dy = made_up(kTokens, out, 3);
  return milliseconds([&] {
    const Tensor y = layer.forward(ctx, x);
    const Tensor dx = layer.backward(ctx, x, dy);
  });
}
double linear_flops(Index in, Index out) { return 6.0 * static_cast<double>(kTokens * in * out); }

double attention_ms(Context& ctx) {
  WorkloadData data({.name = "gpt_step",
                     .batch = kGptStepRows,
                     .heads = kHeads,
                     .kv_heads = kHeads,
                     .length = kLength,
                     .dim = kWidth / kHeads,
                     .causal = true,
                     .train = true});
  return milliseconds([&] {
    attention_forward(ctx, data.q(), data.k(), data.v(), data.options(), data.outputs());
    attention_backward(ctx, data.saved(), data.dout(), data.options(), data.grads());
  });
}

double activation_ms(Context& ctx) {
  const Tensor x = made_up(kTokens, kInner, 1), dy = made_up(kTokens, kInner, 2);
  Tensor y({kTokens, kInner}), dx({kTokens, kInner});
  return milliseconds([&] {
    nn::activate(ctx, nn::Activation::gelu_tanh, x, y);
    nn::activate_backward(ctx, nn::Activation::gelu_tanh, x, dy, dx);
  });
}

// A norm with the addition before it, as blocks have it.
double norm_ms(Context& ctx) {
  nn::LayerNorm norm("norm", kWidth);
  const Tensor x = made_up(kTokens, kWidth, 1), add = made_up(kTokens, kWidth, 2),
               dy = made_up(kTokens, kWidth, 3);
  Tensor sum({kTokens, kWidth}), dx({kTokens, kWidth});
  return milliseconds([&] {
    nn::Norm::Saved saved;
    const Tensor y = norm.forward_sum(ctx, x, add, sum, &saved);
    norm.backward(ctx, sum, saved, dy, dx, add);
  });
}

double loss_ms(Context& ctx) {
  models::Head head(models::completed(models::gpt_config(kGptStep)));
  nn::Embedding table("embedding", kVocabulary, kWidth);
  fill_normal(table.weight.value, 1);
  const Tensor x = made_up(kTokens, kWidth, 2);
  std::vector<std::int32_t> targets;
  for (Index i = 0; i < kTokens; ++i) targets.push_back(static_cast<std::int32_t>(i * 7 % kVocabulary));
  return milliseconds([&] {
    Tensor dx;
    (void)head.learn(ctx, table, x, targets, {.scale = 1.0 / static_cast<double>(kTokens)}, dx);
  });
}

double optimizer_ms(Context& ctx, Index parameters) {
  Parameter all{.name = "all", .value = Tensor({parameters})};
  fill_normal(all.value, 1);
  train::AdamW adam({&all}, {});
  return milliseconds([&] {
    (void)adam.gradient_norm(ctx);
    adam.step(ctx, 1e-4, 1);
  });
}

// Rows of `width` that a block saves: its input, the results of two norms, the sum between its sublayers, queries, keys and
// values, the mixed values, and the wide layer before and after its activation.
double activations() {
  constexpr Index per_block = 1 + 2 + 1 + 3 + 1 + 2 * (kInner / kWidth);
  return static_cast<double>(kTokens * kWidth) * static_cast<double>(kLayers * per_block + 2) * sizeof(float);
}

}  // namespace

TrainProfile profile_step(Context& ctx, const std::function<void(std::string_view doing)>& progress) {
  TrainProfile result;
  result.threads = ctx.threads();
  const auto tell = [&](std::string_view doing) {
    if (progress) progress(doing);
  };
  const TensorRecycler recycler;
  tell("the whole step");
  Index parameters = 0;
  {
    const PeakMemory peak;
    const std::unique_ptr<TrainStep> step = make_train_step("gpt_step");
    result.step_ms = milliseconds([&] { step->run(ctx); });
    result.memory.grown_mb = peak.grown_mb();
    parameters = step->parameters();
  }
  const double mb = static_cast<double>(parameters) * sizeof(float) * 1e-6;
  result.memory.parameters_mb = 2 * mb;
  result.memory.optimizer_mb = 2 * mb;
  result.memory.activations_mb = activations() * 1e-6;

  const auto add = [&](std::string_view name, double ms, double flops) {
    ProfilePart& part = result.parts.emplace_back();
    part.name = name;
    part.ms = ms;
    part.gflops = flops > 0 ? flops / ms * 1e-6 : 0;
  };
  const double layers = kLayers;
  tell("attention");
  const Workload shape{.name = "",
                       .batch = kGptStepRows,
                       .heads = kHeads,
                       .kv_heads = kHeads,
                       .length = kLength,
                       .dim = kWidth / kHeads,
                       .causal = true,
                       .train = true};
  add("attention: scores, softmax, values", layers * attention_ms(ctx), layers * shape.flops());
  tell("projections");
  add("projections: q, k, v, out",
      layers * (linear_ms(ctx, kWidth, 3 * kWidth) + linear_ms(ctx, kWidth, kWidth)),
      layers * (linear_flops(kWidth, 3 * kWidth) + linear_flops(kWidth, kWidth)));
  tell("feed-forward layers");
  add("feed-forward products", layers * (linear_ms(ctx, kWidth, kInner) + linear_ms(ctx, kInner, kWidth)),
      2 * layers * linear_flops(kWidth, kInner));
  add("activations", layers * activation_ms(ctx), 0);
  tell("norms");
  add("norms and residual sums", (2 * layers + 1) * norm_ms(ctx), 0);
  tell("vocabulary");
  add("vocabulary: logits, softmax, loss", loss_ms(ctx), linear_flops(kWidth, kVocabulary));
  tell("optimizer");
  add("optimizer: AdamW, gradient norm", optimizer_ms(ctx, parameters), 0);
  return result;
}

std::string to_table(const TrainProfile& p) {
  std::string text =
      fmt::format("{:<36} {:>9} {:>7} {:>9}\n", "gpt_step, CPU time", "ms", "share", "GFLOP/s");
  double sum = 0;
  const auto line = [&](const std::string& name, double ms, double gflops) {
    text += fmt::format("{:<36} {:>9.1f} {:>5.1f} % {:>9}\n", name, ms, 100 * ms / p.step_ms,
                        gflops > 0 ? fmt::format("{:.1f}", gflops) : "");
  };
  for (const ProfilePart& part : p.parts) {
    sum += part.ms;
    line(part.name, part.ms, part.gflops);
  }
  line("embeddings and other", p.step_ms - sum, 0);
  line("the whole step", p.step_ms, 0);
  const StepMemory& m = p.memory;
  text += fmt::format(
      "\nmemory: parameters and gradients {:.0f} MB, optimizer {:.0f} MB, saved activations {:.0f} MB: "
      "{:.0f} MB\n",
      m.parameters_mb, m.optimizer_mb, m.activations_mb, m.needed_mb());
  if (m.grown_mb)
    text += fmt::format("peak resident memory: {:.0f} MB, {:.2f} times that\n", *m.grown_mb,
                        *m.grown_mb / m.needed_mb());
  return text;
}

std::string to_json(const TrainProfile& p) {
  const StepMemory& m = p.memory;
  io::JsonWriter w;
  w.begin_object().field("threads", p.threads).field("step_ms", io::decimals(p.step_ms, 3));
  w.key("parts").begin_list(io::JsonLayout::lines);
  for (const ProfilePart& part : p.parts) {
    w.begin_object().field("name", part.name).field("ms", io::decimals(part.ms, 3));
    w.field("gflops", io::decimals(part.gflops, 2)).end_object();
  }
  w.end_list().key("memory").begin_object().field("parameters_mb", io::decimals(m.parameters_mb, 1));
  w.field("optimizer_mb", io::decimals(m.optimizer_mb, 1));
  w.field("activations_mb", io::decimals(m.activations_mb, 1));
  w.field("grown_mb", m.grown_mb ? std::optional(io::decimals(*m.grown_mb, 1)) : std::nullopt);
  return w.end_object().end_object().take_line();
}

}  // namespace headlight::measure
