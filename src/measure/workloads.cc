#include "measure/workloads.h"

#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "measure/memory.h"

namespace headlight::measure {
namespace {

// One query of 32:8 heads of 128 per item, as large models decode.
constexpr Workload decode(std::string_view name, Index length, KvType type) {
  return {
      .name = name, .heads = 32, .kv_heads = 8, .length = length, .dim = 128, .causal = true, .cache = type};
}
constexpr Workload decode_mixed() {
  Workload mixed = decode("decode_mixed", 4000, KvType::f32);
  mixed.batch = 16;
  mixed.mixed = true;
  return mixed;
}

constexpr std::array<Workload, 27> kWorkloads = {{
    {.name = "tiny", .length = 6, .dim = 3, .tiny = true},
    {.name = "full_512_64", .heads = 8, .kv_heads = 8, .length = 512, .dim = 64},
    {.name = "causal_512_64", .heads = 8, .kv_heads = 8, .length = 512, .dim = 64, .causal = true},
    {.name = "small_full", .batch = 32, .heads = 8, .kv_heads = 8, .length = 64, .dim = 64},
    {.name = "small_causal", .batch = 32, .heads = 8, .kv_heads = 8, .length = 64, .dim = 64, .causal = true},
    {.name = "weights_512_64", .heads = 12, .kv_heads = 12, .length = 512, .dim = 64, .weights = true},
    {.name = "full_1024_64", .heads = 12, .kv_heads = 12, .length = 1024, .dim = 64},
    {.name = "causal_1024_64", .heads = 12, .kv_heads = 12, .length = 1024, .dim = 64, .causal = true},
    {.name = "gqa_1024_128", .heads = 32, .kv_heads = 8, .length = 1024, .dim = 128, .causal = true},
    decode("decode_4096_f32", 4096, KvType::f32),
    decode("decode_4096_f16", 4096, KvType::f16),
    decode("decode_32768_f32", 32768, KvType::f32),
    decode("decode_32768_f16", 32768, KvType::f16),
    decode("decode_32768_int8", 32768, KvType::int8),
    decode_mixed(),
    {.name = "train_512_64",
     .batch = 4,
     .heads = 8,
     .kv_heads = 8,
     .length = 512,
     .dim = 64,
     .causal = true,
     .train = true},
    {.name = "train_2048_64",
     .heads = 8,
     .kv_heads = 8,
     .length = 2048,
     .dim = 64,
     .causal = true,
     .train = true},
    {.name = "full_4096_64", .heads = 8, .kv_heads = 8, .length = 4096, .dim = 64},
    {.name = "causal_4096_64", .heads = 8, .kv_heads = 8, .length = 4096, .dim = 64, .causal = true},
    {.name = "full_4096_128", .heads = 8, .kv_heads = 8, .length = 4096, .dim = 128},
    {.name = "causal_4096_128", .heads = 8, .kv_heads = 8, .length = 4096, .dim = 128, .causal = true},
    {.name = "full_16384_64", .length = 16384, .dim = 64},
    {.name = "causal_16384_64", .length = 16384, .dim = 64, .causal = true},
    {.name = "bf16_full_1024_64",
     .heads = 12,
     .kv_heads = 12,
     .length = 1024,
     .dim = 64,
     .dtype = DType::bf16},
    {.name = "bf16_causal_4096_64",
     .heads = 8,
     .kv_heads = 8,
     .length = 4096,
     .dim = 64,
     .causal = true,
     .dtype = DType::bf16},
    {.name = "bf16_full_4096_128",
     .heads = 8,
     .kv_heads = 8,
     .length = 4096,
     .dim = 128,
     .dtype = DType::bf16},
    {.name = "bf16_train_2048_64",
     .heads = 8,
     .kv_heads = 8,
     .length = 2048,
     .dim = 64,
     .causal = true,
     .train = true,
     .dtype = DType::bf16},
}};

constexpr std::array<Workload, 3> kSteps = {{
    {.name = "attention_layer", .train = true, .step = "width 512, 8 heads, B8 L256"},
    {.name = "gpt_step", .train = true, .step = "6 layers, width 384, B8 L256"},
    {.name = "translation_step", .train = true, .step = "6+6 layers, width 256"},
}};
constexpr std::string_view kAllSteps = "train", kAllModels = "models";

using Part = Workload::Part;
constexpr Workload model(std::string_view name, std::string_view what, std::string_view shape,
                         std::string_view stored, Part part) {
  return {.name = name, .step = what, .model = shape, .stored = stored, .part = part};
}
constexpr std::array<Workload, 14> kModels = {{
    model("llama_bf16_prefill", "1.04 B bf16, 512 tokens", "llama-1b", "bf16", Part::prefill),
    model("llama_bf16_decode", "1.04 B bf16, after 32–512", "llama-1b", "bf16", Part::decode),
    model("llama_q8_prefill", "1.04 B q8_0, 512 tokens", "llama-1b", "q8_0", Part::prefill),
    model("llama_q8_decode", "1.04 B q8_0, after 32–512", "llama-1b", "q8_0", Part::decode),
    model("llama_q6_k_prefill", "1.04 B q6_k, 512 tokens", "llama-1b", "q6_k", Part::prefill),
    model("llama_q6_k_decode", "1.04 B q6_k, after 32–512", "llama-1b", "q6_k", Part::decode),
    model("llama_q4_k_prefill", "1.04 B q4_k, 512 tokens", "llama-1b", "q4_k", Part::prefill),
    model("llama_q4_k_decode", "1.04 B q4_k, after 32–512", "llama-1b", "q4_k", Part::decode),
    model("gpt2_bf16_prefill", "152 M bf16, 512 tokens", "gpt2-small", "bf16", Part::prefill),
    model("gpt2_bf16_decode", "152 M bf16, after 32–512", "gpt2-small", "bf16", Part::decode),
    model("model_load", "to the first token", "given", "", Part::load),
    model("model_prefill", "a prompt of up to 512", "given", "", Part::prefill),
    model("model_decode", "after 32–512 tokens", "given", "", Part::decode),
    model("model_tokenize", "bytes of a text", "given", "", Part::tokenize),
}};

// A line for each kind.
std::string all_names() {
  const auto line = [](const auto& list, std::string_view all) {
    std::string text;
    for (const auto& one : list) text += concat(text.empty() ? "" : ", ", one.name);
    return concat(text, all.empty() ? "" : ", ", all);
  };
  std::string first, second;  // a line of a message has space for about half of them
  for (const Workload& workload : kWorkloads) {
    std::string& half = first.size() < 200 ? first : second;
    half += concat(half.empty() ? "" : ", ", workload.name);
  }
  return concat(first, "\n  ", second, "\n  ", line(kSteps, kAllSteps), "\n  ", line(kModels, kAllModels),
                "\n  ", line(memory_cases(), ""));
}

void check_name(const std::string& name) {
  for (const Workload& workload : kWorkloads) {
    if (workload.name == name) return;
  }
  for (const MemoryCase& what : memory_cases()) {
    if (what.name == name) return;
  }
  for (const Workload& workload : kSteps) {
    if (workload.name == name || name == kAllSteps) return;
  }
  for (const Workload& workload : kModels) {
    if (workload.name == name || name == kAllModels) return;
  }
  throw Error(ErrorKind::usage, "bench.name",
              concat("bench: unknown workload \"", escaped(name, 40), "\"\n  buckets: ", all_names()));
}

}  // namespace

double Workload::flops() const {
  const double whole = 4.0 * static_cast<double>(batch) * static_cast<double>(heads) *
                       static_cast<double>(length) * static_cast<double>(length) * static_cast<double>(dim);
  return (causal ? whole / 2 : whole) * (train ? 3.5 : 1);
}

Index Workload::item_length(Index item) const {
  return mixed ? 100 + (length - 100) * item / (batch - 1) : length;
}

double Workload::cache_bytes() const {
  Index tokens = 0;
  for (Index item = 0; item < batch; ++item) tokens += item_length(item);
  const double element = cache == KvType::f32 ? 4 : cache == KvType::int8 ? 1 : 2;
  return 2.0 * static_cast<double>(tokens * kv_heads * dim) * element;
}

std::string Workload::shape_text() const {
  if (!step.empty()) return std::string(step);
  std::string text = concat("B", batch, " H", heads);
  if (kv_heads != heads) text += concat(":", kv_heads);
  text += concat(mixed ? " L100…" : " L", length, " D", dim);
  if (cache) return concat(text, " ", headlight::name_of(*cache));
  if (dtype != DType::f32) text += concat(" ", headlight::name_of(dtype));
  if (causal) text += " causal";
  if (weights) text += " weights";
  if (train) text += " forward+backward";
  return text;
}

std::span<const Workload> workloads() { return kWorkloads; }
std::span<const Workload> step_workloads() { return kSteps; }
std::span<const Workload> model_workloads() { return kModels; }

std::vector<Workload> select_workloads(std::span<const std::string> names) {
  for (const std::string& name : names) check_name(name);
  std::vector<Workload> chosen;
  const auto named = [&](std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Workload& workload : kWorkloads)
    if (named(workload.name)) chosen.push_back(workload);
  for (const Workload& workload : kSteps)
    if (named(workload.name) || named(kAllSteps)) chosen.push_back(workload);
  for (const Workload& workload : kModels)
    if (!names.empty() && (named(workload.name) || named(kAllModels))) chosen.push_back(workload);
  return chosen;
}

void fill_normal(TensorView tensor, std::uint64_t seed) {
  // The sum of four 16-bit uniforms, centred and scaled to variance 1: close enough to normal, and
  // every step is exact, so the values do not depend on a library's random numbers.
  std::uint64_t state = seed * 2 + 1;
  auto* values = tensor.as<float>();
  const Index count = tensor.shape().elements();
  constexpr float kDeviation = 37837.2F;  // of the sum: 65536 · sqrt(4 / 12)
  for (Index i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t bits = state ^ (state >> 29);
    bits *= 0x9E3779B97F4A7C15ULL;
    const std::uint64_t sum =
        (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48);
    values[i] = (static_cast<float>(sum) - 131070.0F) / kDeviation;
  }
}

namespace {
Tensor converted(const Tensor& from, DType dtype) {
  if (from.empty()) return Tensor();  // an output that this workload lacks
  Tensor to(from.shape(), dtype);
  const float* x = from.as<float>();
  for (Index i = 0; i < from.shape().elements(); ++i) to.as<std::uint16_t>()[i] = to_bf16(x[i]).bits;
  return to;
}
}  // namespace

WorkloadData::WorkloadData(const Workload& w)
    : workload_(w),
      q_(Shape{w.batch, w.heads, w.cache ? 1 : w.length, w.dim}),
      k_(Shape{w.batch, w.kv_heads, w.length, w.dim}),
      v_(Shape{w.batch, w.kv_heads, w.length, w.dim}),
      out_(q_.shape()) {
  if (w.weights) weights_ = Tensor(Shape{w.batch, w.heads, w.length, w.length});
  if (w.train) {
    lse_ = Tensor(Shape{w.batch, w.heads, w.length});
    dout_ = Tensor(q_.shape());
    dq_ = Tensor(q_.shape());
    dk_ = Tensor(k_.shape());
    dv_ = Tensor(v_.shape());
    fill_normal(dout_, 4);
  }
  fill_normal(q_, 1);
  fill_normal(k_, 2);
  fill_normal(v_, 3);
  if (w.dtype == DType::f32) return;
  for (Tensor* tensor : {&q_, &k_, &v_, &out_, &dout_, &dq_, &dk_, &dv_})
    *tensor = converted(*tensor, w.dtype);
}

DecodeData::DecodeData(const Workload& w, const Context& context)
    : workload_(w),
      cache_(context,
             {.items = w.batch, .kv_heads = w.kv_heads, .dim = w.dim, .type = w.cache.value_or(KvType::f32)}),
      q_(Shape{w.batch, w.heads, 1, w.dim}),
      out_(Shape{w.batch, w.heads, 1, w.dim}) {
  fill_normal(q_, 1);
  for (Index item = 0; item < w.batch; ++item) {
    Tensor k(Shape{1, w.kv_heads, w.item_length(item), w.dim}), v(k.shape());
    fill_normal(k, 2);
    fill_normal(v, 3);
    cache_.append_to(item, k, v);
  }
}

AttentionOutputs WorkloadData::outputs() {
  AttentionOutputs outputs{.out = out_.view()};
  if (workload_.weights) outputs.weights = weights_.view();
  if (workload_.train) outputs.lse = lse_.view();
  return outputs;
}

AttentionOptions WorkloadData::options() const {
  return {.visible = workload_.causal ? Visibility::causal() : Visibility::all()};
}

}  // namespace headlight::measure
