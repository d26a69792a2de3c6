// The options of headlight compute.
#include <CLI/App.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/compute/settings.h"
#include "cli/numbers.h"

namespace headlight::cli {
namespace {

constexpr const char* kMore = " (more)";

void read_window(const std::string& text, Visibility& visible) {
  const auto side = [&](std::string_view part) -> Index {
    if (part == "inf") return Visibility::kUnbounded;
    const std::optional<Index> count = parse_integer(part);
    if (!count || *count < 0 || *count > CountLimits{}.most) {
      refuse_value("--window", text, "LEFT,RIGHT: integers of at least 0, or inf");
    }
    return *count;
  };
  const std::size_t comma = std::min(text.find(','), text.size());
  visible.left = side(std::string_view(text).substr(0, comma));
  visible.right = side(comma < text.size() ? std::string_view(text).substr(comma + 1) : std::string_view());
}

void add_inputs(CLI::App& command, ComputeFiles& files) {
  add_path(command, "--q", files.q, "Queries: [batch,head,token,dim], or without batch, head")->required();
  add_path(command, "--k", files.k, "Keys; may have fewer heads than q (GQA, MQA)")->required();
  add_path(command, "--v", files.v, "Values")->required();
  for (const char* name : {"--q", "--k", "--v"}) command.get_option(name)->group("Inputs");
  const std::string group = "Visibility and scores", more = group + kMore;
  add_path(command, "--mask", files.mask, "bool, true: visible; broadcast to [batch,head,query,key]")
      ->group(group);
  add_path(command, "--bias", files.bias, "Added to the scores; broadcast like --mask")->group(group);
  add_path(command, "--alibi", files.alibi, "ALiBi slopes [head]: score -= slope * |query - key|")
      ->group(more);
  add_path(command, "--sinks", files.sinks, "One additional score per row, without a value: [head]")
      ->group(more);
  add_path(command, "--q-lengths", files.q_lengths, "Queries per batch item without padding: [batch]")
      ->group(more);
  add_path(command, "--k-lengths", files.k_lengths, "Keys per batch item without padding")->group(more);
}

void add_rules(CLI::App& command, ComputeSettings& s) {
  const std::string group = "Visibility and scores", more = group + kMore;
  add_switch(command, "--causal", s.causal, "Hide keys after the query")->group(group);
  command
      .add_option_function<std::string>(
          "--window", [&s](const std::string& text) { read_window(text, s.visible); },
          "Visible keys before and after the query; inf: all")
      ->type_name("LEFT,RIGHT")
      ->group(group);
  add_count(command, "--prefix", s.visible.prefix, "Causal, but all queries see the first N keys")
      ->group(group);
  add_integer(command, "--offset", s.visible.offset, "Position of query 0 (default: keys - queries)")
      ->group(more);
  add_real(command, "--scale", s.scale, "Factor of q.k (default: 1/sqrt(dim))")->group(group);
  add_real(command, "--softcap", s.softcap, "score = X * tanh(score / X)")->group(group);
  add_real(command, "--dropout", s.dropout, "Dropout rate of the weights after the softmax")->group(more);
  add_count(command, "--seed", s.seed, "Seed of the dropout (default: 0)")->group(more);
}

void add_results(CLI::App& command, ComputeSettings& s) {
  const std::string group = "Results", more = group + kMore;
  add_path(command, "-o,--out", s.out, "The output; required unless --dout is given")->group(group);
  add_path(command, "--lse", s.lse, "Log-sum-exp of each row, nats: [batch, head, query]")->group(group);
  add_path(command, "--max", s.max, "Largest score of each row")->group(more);
  add_path(command, "--entropy", s.entropy, "Entropy of each row's weights, nats")->group(group);
  add_path(command, "--weights", s.weights, "All weights: [batch, head, query, key]")->group(group);
  add_count(command, "--topk", s.topk, "The N largest weights of each row, 1 to 32", {1, 32})->group(more);
  add_path(command, "--topk-index", s.topk_index, "Their indices, i64 [batch, head, query, N]; -1: none")
      ->group(more);
  add_path(command, "--topk-weight", s.topk_weight, "Their weights")->group(more);
  add_path(command, "--received", s.received, "Weight that each key received: [batch, head, key]")
      ->group(more);
}

void add_gradients(CLI::App& command, ComputeSettings& s) {
  const std::string group = "Gradients";
  add_path(command, "--dout", s.files.dout, "Gradient of a loss with respect to the output, same shape")
      ->group(group);
  add_path(command, "--dq", s.dq, "Gradient with respect to q, with the axes of q")->group(group);
  add_path(command, "--dk", s.dk, "The same for k")->group(group);
  add_path(command, "--dv", s.dv, "The same for v")->group(group);
  add_path(command, "--dbias", s.dbias, "The same for --bias, summed over broadcast axes")->group(group);
  add_path(command, "--dsinks", s.dsinks, "The same for --sinks: [head]")->group(group);
}

void add_arithmetic(CLI::App& command, ComputeSettings& s) {
  const std::string group = "Arithmetic";
  add_choice<std::optional<DType>>(
      command, "--dtype", s.dtype,
      {{"f32", DType::f32}, {"f64", DType::f64}, {"f16", DType::f16}, {"bf16", DType::bf16}},
      "Convert q, k, v and dout first (default: no conversion); bf16 is written as f32")
      ->group(group);
  add_choice<Implementation>(command, "--impl", s.implementation,
                             {{"fast", Implementation::fast}, {"reference", Implementation::reference}},
                             "fast: SIMD kernels (default); reference: plain float64 loops, one thread")
      ->group(group);
  add_count(command, "--threads", s.threads, "Threads of the fast implementation; 0: one per core", {0, 1024})
      ->group(group);
  command
      .add_option_function<std::string>(
          "--target", [&s](const std::string& text) { s.context.target = parse_simd_target(text); },
          "SIMD target of the fast implementation: auto, scalar, sse4, avx2, avx512, neon")
      ->type_name("NAME")
      ->group(group);
}

}  // namespace

void add_compute(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "compute",
                .what = "Compute attention from .npy files",
                .usage = "headlight compute --q Q.npy --k K.npy --v V.npy -o OUT.npy [options]",
                .examples = "  headlight compute --q q.npy --k k.npy --v v.npy -o out.npy --causal\n"
                            "  headlight compute --q q.npy --k k.npy --v v.npy -o o.npy --window 127,0\n"
                            "  headlight compute --q q.npy --k k.npy --v v.npy -o o.npy --weights w.npy\n"
                            "  headlight compute --q q.npy --k k.npy --v v.npy -o o.npy --impl reference\n"
                            "  headlight compute --q q.npy --k k.npy --v v.npy --dout g.npy --dq dq.npy\n"
                            "\n"
                            "  out = softmax(scale * q k^T + bias) v, for every batch item and head.\n"});
  for (const char* rare : {"Visibility and scores (more)", "Results (more)", "Gradients", "Arithmetic"})
    begin_group(*command, rare, Detail::full);
  const auto settings = std::make_shared<ComputeSettings>();
  add_inputs(*command, settings->files);
  add_results(*command, *settings);
  add_gradients(*command, *settings);
  add_rules(*command, *settings);
  add_arithmetic(*command, *settings);
  add_json(*command, settings->json);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run_compute(*settings); });
}

}  // namespace headlight::cli
