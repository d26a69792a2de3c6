// headlight compute: attention for any language that can write a .npy file.
#include <cstdint>
#include <fstream>

#include "cli/compute/settings.h"
#include "cli/numbers.h"
#include "headlight/attention.h"
#include "headlight/reference.h"
#include "io/json_writer.h"
#include "io/npy.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

// A result of the forward or backward call: its view and its file. Inputs that only the backward
// call needs have no file.
template <class Call>
struct Result {
  const char* name;
  const std::string* path;
  TensorRef Call::*place;
  DType dtype;
  Shape shape;  // with all four (or three) axes
  Tensor tensor;
};
using Outcome = Result<AttentionOutputs>;
using Gradient = Result<AttentionGrads>;

std::vector<Outcome> list_results(const ComputeSettings& s, const ComputeInputs& in) {
  const DType dtype = in.q.dtype(), statistic = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Index batch = in.q_shape[0], heads = in.q_shape[1], queries = in.q_shape[2], keys = in.k_shape[2];
  const Shape row{batch, heads, queries}, top{batch, heads, queries, s.topk.value_or(1)};
  std::vector<Outcome> results;
  const auto add = [&](const char* name, const std::string& path, TensorRef AttentionOutputs::*place,
                       DType type, const Shape& shape, bool needed = false) {
    if (!path.empty() || needed) results.push_back({name, &path, place, type, shape, {}});
  };
  add("out", s.out, &AttentionOutputs::out, dtype, {batch, heads, queries, in.v_shape[3]}, true);
  add("lse", s.lse, &AttentionOutputs::lse, statistic, row, s.gradients());
  add("max", s.max, &AttentionOutputs::max, statistic, row);
  add("entropy", s.entropy, &AttentionOutputs::entropy, statistic, row);
  add("weights", s.weights, &AttentionOutputs::weights, statistic, {batch, heads, queries, keys});
  add("topk_index", s.topk_index, &AttentionOutputs::topk_index, DType::i64, top);
  add("topk_weight", s.topk_weight, &AttentionOutputs::topk_weight, statistic, top);
  add("received", s.received, &AttentionOutputs::received, statistic, {batch, heads, keys});
  return results;
}

std::vector<Gradient> list_gradients(const ComputeSettings& s, const ComputeInputs& in) {
  const DType dtype = in.q.dtype(), sum = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<Gradient> results;
  const auto add = [&](const char* name, const std::string& path, TensorRef AttentionGrads::*place,
                       DType type, const Shape& shape) {
    if (!path.empty()) results.push_back({name, &path, place, type, shape, {}});
  };
  add("dq", s.dq, &AttentionGrads::dq, dtype, in.q_shape);
  add("dk", s.dk, &AttentionGrads::dk, dtype, in.k_shape);
  add("dv", s.dv, &AttentionGrads::dv, dtype, in.v_shape);
  add("dbias", s.dbias, &AttentionGrads::dbias, sum, in.bias.shape());
  add("dsinks", s.dsinks, &AttentionGrads::dsinks, sum, in.sinks.shape());
  return results;
}

// Memory that is available without swapping; none if the kernel does not report it.
std::optional<std::uint64_t> available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  for (std::string unit; in >> key >> kib; std::getline(in, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

// Linux overcommits memory and kills the process later: check first.
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

AttentionOptions options_of(const ComputeSettings& s, const ComputeInputs& in) {
  AttentionOptions options;
  options.scale = s.scale;
  options.visible = s.visible;
  // A prefix has its own causal rule; right = 0 would hide the prefix from itself.
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

void attend(const ComputeSettings& s, const ComputeInputs& in, std::vector<Outcome>& results,
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

// Writes a result, and its file name to the JSON.
template <class Call>
void write(const Result<Call>& r, int dropped, io::Outputs& outputs, io::JsonWriter& w) {
  if (r.path->empty()) return;
  const Shape shape(
      std::span(r.shape.dims)
          .subspan(static_cast<std::size_t>(dropped), static_cast<std::size_t>(r.shape.rank - dropped)));
  const DType stored = r.dtype == DType::bf16 ? DType::f32 : r.dtype;
  w.begin_object().field("name", r.name).field("file", *r.path).field("dtype", name_of(stored));
  w.field("shape", std::span(shape.dims).first(static_cast<std::size_t>(shape.rank))).end_object();
  if (r.dtype == DType::bf16) {  // bf16 as f32, because .npy has no bf16
    io::write_npy(outputs, *r.path, converted(r.tensor, DType::f32), shape);
  } else {
    io::write_npy(outputs, *r.path, r.tensor, shape);
  }
}

void check(const ComputeSettings& s) {
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

}  // namespace

void run_compute(ComputeSettings& s) {
  check(s);
  s.context.threads = static_cast<int>(s.threads);
  JsonOutput json(s.json);
  io::Outputs outputs(s.json.existing());
  for (const std::string* path : {&s.out, &s.lse, &s.max, &s.entropy, &s.weights, &s.topk_index,
                                  &s.topk_weight, &s.received, &s.dq, &s.dk, &s.dv, &s.dbias, &s.dsinks}) {
    if (!path->empty()) outputs.reserve(*path);
  }
  const ComputeInputs inputs = load_inputs(s.files, s.dtype);
  std::vector<Outcome> results = list_results(s, inputs);
  std::vector<Gradient> gradients = list_gradients(s, inputs);
  allocate(results, gradients);
  attend(s, inputs, results, gradients);
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).key("results").begin_list(io::JsonLayout::lines);
  for (const Outcome& r : results) write(r, inputs.dropped, outputs, w);
  for (const Gradient& r : gradients) {
    // The axes of the bias and the sinks are those of their files.
    const bool own = r.path == &s.dbias || r.path == &s.dsinks;
    write(r, own ? 0 : inputs.dropped, outputs, w);
  }
  outputs.commit();
  json.write(w.end_list().end_object().take_line());
}

}  // namespace headlight::cli
