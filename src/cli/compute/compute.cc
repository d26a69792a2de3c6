// headlight compute: attention for any language that can write a .npy file.
#include <CLI/App.hpp>
#include <cstdint>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/compute/inputs.h"
#include "cli/numbers.h"
#include "headlight/attention.h"
#include "headlight/reference.h"
#include "io/npy.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

enum class Implementation { fast, reference };

struct Settings {
  ComputeFiles files;
  bool causal = false;
  Visibility visible;
  std::optional<double> scale, softcap, dropout;
  Index seed = 0;
  Implementation implementation = Implementation::fast;
  ContextOptions context;
  Index threads = 0;
  std::optional<DType> dtype;
  std::string out, lse, max, entropy, weights, topk_index, topk_weight, received;
  std::string dq, dk, dv, dbias, dsinks;
  std::optional<Index> topk;
  bool force = false;

  [[nodiscard]] bool gradients() const {
    return !dq.empty() || !dk.empty() || !dv.empty() || !dbias.empty() || !dsinks.empty();
  }
};

// One result of the forward or the backward call: its place there and its file. What only the backward
// call wants to see has no file.
template <class Call>
struct Result {
  const std::string* path;
  TensorRef Call::*place;
  DType dtype;
  Shape shape;  // with all four (or three) axes
  Tensor tensor;
};
using Outcome = Result<AttentionOutputs>;
using Gradient = Result<AttentionGrads>;

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

std::vector<Outcome> list_results(const Settings& s, const ComputeInputs& in) {
  const DType dtype = in.q.dtype(), statistic = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Index batch = in.q_shape[0], heads = in.q_shape[1], queries = in.q_shape[2], keys = in.k_shape[2];
  const Shape row{batch, heads, queries}, top{batch, heads, queries, s.topk.value_or(1)};
  std::vector<Outcome> results;
  const auto add = [&](const std::string& path, TensorRef AttentionOutputs::*place, DType type,
                       const Shape& shape, bool needed = false) {
    if (!path.empty() || needed) results.push_back({&path, place, type, shape, {}});
  };
  add(s.out, &AttentionOutputs::out, dtype, {batch, heads, queries, in.v_shape[3]}, true);
  add(s.lse, &AttentionOutputs::lse, statistic, row, s.gradients());
  add(s.max, &AttentionOutputs::max, statistic, row);
  add(s.entropy, &AttentionOutputs::entropy, statistic, row);
  add(s.weights, &AttentionOutputs::weights, statistic, {batch, heads, queries, keys});
  add(s.topk_index, &AttentionOutputs::topk_index, DType::i64, top);
  add(s.topk_weight, &AttentionOutputs::topk_weight, statistic, top);
  add(s.received, &AttentionOutputs::received, statistic, {batch, heads, keys});
  return results;
}

std::vector<Gradient> list_gradients(const Settings& s, const ComputeInputs& in) {
  const DType dtype = in.q.dtype(), sum = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<Gradient> results;
  const auto add = [&](const std::string& path, TensorRef AttentionGrads::*place, DType type,
                       const Shape& shape) {
    if (!path.empty()) results.push_back({&path, place, type, shape, {}});
  };
  add(s.dq, &AttentionGrads::dq, dtype, in.q_shape);
  add(s.dk, &AttentionGrads::dk, dtype, in.k_shape);
  add(s.dv, &AttentionGrads::dv, dtype, in.v_shape);
  add(s.dbias, &AttentionGrads::dbias, sum, in.bias.shape());
  add(s.dsinks, &AttentionGrads::dsinks, sum, in.sinks.shape());
  return results;
}

// What the kernel would give out now without swapping or killing; nothing when it does not say.
std::optional<std::uint64_t> available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string unit; in >> key >> kib; std::getline(in, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

// Linux hands out more memory than it has and kills the process later: ask first.
void allocate(std::vector<Outcome>& results, std::vector<Gradient>& gradients) {
  std::uint64_t bytes = 0;
  const auto add = [&bytes](const auto& r) {
    bytes += static_cast<std::uint64_t>(r.shape.elements()) * size_of(r.dtype);
  };
  for (const Outcome& r : results) add(r);
  for (const Gradient& r : gradients) add(r);
  const std::optional<std::uint64_t> available = available_memory();
  if (available && bytes > *available) {
    throw Error(
        ErrorKind::resource, "compute.memory",
        concat("the results need ", bytes >> 20, " MiB of memory; ", *available >> 20, " MiB are available"));
  }
  for (Outcome& r : results) r.tensor = Tensor(r.shape, r.dtype);
  for (Gradient& r : gradients) r.tensor = Tensor(r.shape, r.dtype);
}

AttentionOptions options_of(const Settings& s, const ComputeInputs& in) {
  AttentionOptions options;
  options.scale = s.scale;
  options.visible = s.visible;
  // A prefix brings its own causal rule; right = 0 would hide the prefix from itself.
  if (s.causal && !s.visible.prefix) options.visible.right = 0;
  options.softcap = s.softcap.value_or(0);
  options.alibi_slopes = in.alibi;
  options.mask = in.mask;
  options.bias = in.bias;
  options.sinks = in.sinks;
  options.q_lengths = in.q_lengths;
  options.k_lengths = in.k_lengths;
  options.dropout = {.rate = s.dropout.value_or(0), .seed = static_cast<std::uint64_t>(s.seed)};
  return options;
}

void attend(const Settings& s, const ComputeInputs& in, std::vector<Outcome>& results,
            std::vector<Gradient>& gradients) {
  AttentionOutputs outputs;
  for (Outcome& r : results) outputs.*r.place = r.tensor;
  AttentionGrads grads;
  for (Gradient& r : gradients) grads.*r.place = r.tensor;
  const AttentionSaved saved{in.q_view(), in.k_view(), in.v_view(), outputs.out, outputs.lse};
  try {
    const AttentionOptions options = options_of(s, in);
    if (s.implementation == Implementation::reference) {
      reference::attention(saved.q, saved.k, saved.v, options, outputs);
      if (s.gradients()) reference::attention_backward(saved, in.dout_view(), options, grads);
    } else {
      Context context(s.context);
      attention_forward(context, saved.q, saved.k, saved.v, options, outputs);
      if (s.gradients()) attention_backward(context, saved, in.dout_view(), options, grads);
    }
  } catch (const Error& error) { throw with_files(error, s.files, in); }
}

template <class Call>
void write(const Result<Call>& r, int dropped, io::Outputs& outputs) {
  if (r.path->empty()) return;
  const Shape shape(
      std::span(r.shape.dims)
          .subspan(static_cast<std::size_t>(dropped), static_cast<std::size_t>(r.shape.rank - dropped)));
  if (r.dtype == DType::bf16) {  // every bf16 is an f32; .npy has only the latter
    io::write_npy(outputs, *r.path, converted(r.tensor, DType::f32), shape);
  } else {
    io::write_npy(outputs, *r.path, r.tensor, shape);
  }
}

void check(const Settings& s) {
  const bool files = !s.topk_index.empty() || !s.topk_weight.empty();
  if (s.topk && !files) need_option("--topk-index or --topk-weight with --topk");
  if (!s.topk && files) need_option("--topk with --topk-index or --topk-weight");
  if (s.softcap && *s.softcap < 0) refuse_option("--softcap", "a number above 0, or 0 for no softcap");
  if (s.dropout && !(*s.dropout >= 0 && *s.dropout < 1)) {
    refuse_option("--dropout", "a number from 0 to less than 1");
  }
  const bool dout = !s.files.dout.empty();
  if (s.out.empty() && !dout) need_option("--out");
  if (dout && !s.gradients()) need_option("One of --dq, --dk, --dv, --dbias, --dsinks with --dout");
  if (!dout && s.gradients()) need_option("--dout with --dq, --dk, --dv, --dbias or --dsinks");
  if (!s.dbias.empty() && s.files.bias.empty()) need_option("--bias with --dbias");
  if (!s.dsinks.empty() && s.files.sinks.empty()) need_option("--sinks with --dsinks");
}

void run(Settings& s) {
  check(s);
  s.context.threads = static_cast<int>(s.threads);
  io::Outputs outputs(s.force ? io::Existing::replace : io::Existing::refuse);
  for (const std::string* path : {&s.out, &s.lse, &s.max, &s.entropy, &s.weights, &s.topk_index,
                                  &s.topk_weight, &s.received, &s.dq, &s.dk, &s.dv, &s.dbias, &s.dsinks}) {
    if (!path->empty()) outputs.reserve(*path);
  }
  const ComputeInputs inputs = load_inputs(s.files, s.dtype);
  std::vector<Outcome> results = list_results(s, inputs);
  std::vector<Gradient> gradients = list_gradients(s, inputs);
  allocate(results, gradients);
  attend(s, inputs, results, gradients);
  for (const Outcome& r : results) write(r, inputs.dropped, outputs);
  for (const Gradient& r : gradients) {
    // The bias and the sinks have the axes of their own files.
    const bool own = r.path == &s.dbias || r.path == &s.dsinks;
    write(r, own ? 0 : inputs.dropped, outputs);
  }
  outputs.commit();
}

void add_inputs(CLI::App& command, ComputeFiles& files) {
  add_path(command, "--q", files.q, "Queries: [batch, head, token, dim], [head, token, dim] or [token, dim]")
      ->required();
  add_path(command, "--k", files.k, "Keys, with as many axes as q; may have fewer heads (GQA, MQA)")
      ->required();
  add_path(command, "--v", files.v, "Values")->required();
  for (const char* name : {"--q", "--k", "--v"}) command.get_option(name)->group("Inputs");
  const std::string group = "Visibility and scores";
  add_path(command, "--mask", files.mask,
           "bool, true = visible; NumPy broadcasting to [batch, head, query, key]")
      ->group(group);
  add_path(command, "--bias", files.bias, "Added to the scores; broadcast like --mask")->group(group);
  add_path(command, "--alibi", files.alibi, "ALiBi slopes [head]: score -= slope * |query - key|")
      ->group(group);
  add_path(command, "--sinks", files.sinks, "One additional score per row, without a value: [head]")
      ->group(group);
  add_path(command, "--q-lengths", files.q_lengths,
           "Queries per batch item without padding, i32 or i64 [batch]")
      ->group(group);
  add_path(command, "--k-lengths", files.k_lengths, "Keys per batch item without padding")->group(group);
}

void add_rules(CLI::App& command, Settings& s) {
  const std::string group = "Visibility and scores";
  add_switch(command, "--causal", s.causal, "Hide keys after the query")->group(group);
  command
      .add_option_function<std::string>(
          "--window", [&s](const std::string& text) { read_window(text, s.visible); },
          "Keys before and after the query that are visible; inf: all")
      ->type_name("LEFT,RIGHT")
      ->group(group);
  add_count(command, "--prefix", s.visible.prefix, "Causal, but the first N keys are visible to all queries")
      ->group(group);
  add_integer(command, "--offset", s.visible.offset,
              "Position of query 0 among the keys (default: keys - queries)")
      ->group(group);
  add_real(command, "--scale", s.scale, "Factor of q.k (default: 1/sqrt(dim))")->group(group);
  add_real(command, "--softcap", s.softcap, "score = X * tanh(score / X)")->group(group);
  add_real(command, "--dropout", s.dropout, "Dropout rate of the weights after the softmax")->group(group);
  add_count(command, "--seed", s.seed, "Seed of the dropout (default: 0)")->group(group);
}

void add_results(CLI::App& command, Settings& s) {
  const std::string group = "Results";
  add_path(command, "-o,--out", s.out, "The output, with the axes of q; required unless --dout is given")
      ->group(group);
  add_path(command, "--lse", s.lse, "Log-sum-exp of each row, nats: [batch, head, query]")->group(group);
  add_path(command, "--max", s.max, "Largest score of each row")->group(group);
  add_path(command, "--entropy", s.entropy, "Entropy of each row's weights, nats")->group(group);
  add_path(command, "--weights", s.weights, "All weights: [batch, head, query, key]")->group(group);
  add_count(command, "--topk", s.topk, "The N keys with the largest weights in each row, 1 to 32", {1, 32})
      ->group(group);
  add_path(command, "--topk-index", s.topk_index, "Their indices, i64 [batch, head, query, N]; -1: none")
      ->group(group);
  add_path(command, "--topk-weight", s.topk_weight, "Their weights")->group(group);
  add_path(command, "--received", s.received, "Weight that each key received: [batch, head, key]")
      ->group(group);
  add_switch(command, "--force", s.force, "Replace existing files (otherwise exit code 4)")->group(group);
}

void add_gradients(CLI::App& command, Settings& s) {
  const std::string group = "Gradients";
  add_path(command, "--dout", s.files.dout, "Gradient of a loss with respect to the output, same shape")
      ->group(group);
  add_path(command, "--dq", s.dq, "Gradient with respect to q, with the axes of q")->group(group);
  add_path(command, "--dk", s.dk, "The same for k")->group(group);
  add_path(command, "--dv", s.dv, "The same for v")->group(group);
  add_path(command, "--dbias", s.dbias, "The same for --bias, summed over broadcast axes")->group(group);
  add_path(command, "--dsinks", s.dsinks, "The same for --sinks: [head]")->group(group);
}

void add_arithmetic(CLI::App& command, Settings& s) {
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
      program,
      {.name = "compute",
       .what = "Compute attention from .npy files: softmax(q k^T * scale + bias) v",
       .usage = "headlight compute --q Q.npy --k K.npy --v V.npy -o OUT.npy [options]",
       .examples =
           "  headlight compute --q q.npy --k k.npy --v v.npy -o out.npy --causal\n"
           "  headlight compute --q q.npy --k k.npy --v v.npy -o out.npy --window 127,0 --lse lse.npy\n"
           "  headlight compute --q q.npy --k k.npy --v v.npy -o out.npy --mask m.npy --weights w.npy\n"
           "  headlight compute --q q.npy --k k.npy --v v.npy -o o.npy --impl reference --dtype f64\n"
           "  headlight compute --q q.npy --k k.npy --v v.npy --dout g.npy --dq dq.npy --dk dk.npy\n"});
  begin_group(*command, "Gradients", Detail::full);
  begin_group(*command, "Arithmetic", Detail::full);
  const auto settings = std::make_shared<Settings>();
  add_inputs(*command, settings->files);
  add_results(*command, *settings);
  add_gradients(*command, *settings);
  add_rules(*command, *settings);
  add_arithmetic(*command, *settings);
  keep_alive(*command, settings);
  on_run(*command, [settings] { run(*settings); });
}

}  // namespace headlight::cli
