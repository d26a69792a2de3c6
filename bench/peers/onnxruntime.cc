// ONNX Runtime: its three attention operators that run on a CPU, each as a model of one node.
//
//   peer_onnxruntime causal_1024_64 2 path/to/libonnxruntime.so.1
#include <dlfcn.h>

#include <memory>
#include <numeric>

#include "onnx_model.h"
#include "ort_api.h"
#include "peer.h"

namespace headlight::peers {
namespace {

using Shape64 = std::vector<std::int64_t>;

class Runtime {
 public:
  explicit Runtime(const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw Error(ErrorKind::file, "peer.library", library + " cannot be loaded");
    const auto base = reinterpret_cast<const ort::ApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
    if (base == nullptr) throw Error(ErrorKind::input, "peer.library", library + " is not ONNX Runtime");
    version_ = base()->version_text();
    api_ = base()->get_api(ort::kApiVersion);
    if (api_ == nullptr)
      throw Error(ErrorKind::input, "peer.library", version_ + " has no such interface version");
    check(call<ort::CreateEnv>(ort::kCreateEnv)(ort::kLogErrors, "bench", &env_));
    check(call<ort::CreateCpuMemoryInfo>(ort::kCreateCpuMemoryInfo)(ort::kDeviceAllocator,
                                                                    ort::kDefaultMemory, &memory_));
  }

  [[nodiscard]] const std::string& version() const { return version_; }

  [[nodiscard]] ort::Session* session(const std::string& model, int threads) const {
    ort::SessionOptions* options = nullptr;
    check(call<ort::CreateSessionOptions>(ort::kCreateSessionOptions)(&options));
    check(call<ort::SetIntraOpNumThreads>(ort::kSetIntraOpNumThreads)(options, threads));
    ort::Session* session = nullptr;
    check(call<ort::CreateSessionFromArray>(ort::kCreateSessionFromArray)(env_, model.data(), model.size(),
                                                                          options, &session));
    return session;
  }

  // A tensor on the caller's memory: neither inputs nor outputs are copied.
  [[nodiscard]] ort::Value* value(const void* data, std::size_t bytes, const OnnxValue& like) const {
    ort::Value* value = nullptr;
    check(call<ort::CreateTensorWithData>(ort::kCreateTensorWithData)(memory_, const_cast<void*>(data), bytes,
                                                                      like.shape.data(), like.shape.size(),
                                                                      like.element_type, &value));
    return value;
  }

  void check(ort::Status* status) const {
    if (status == nullptr) return;
    throw Error(ErrorKind::input, "peer.call", call<ort::GetErrorMessage>(ort::kGetErrorMessage)(status));
  }

  template <class Function>
  [[nodiscard]] Function call(ort::Slot slot) const {
    return reinterpret_cast<Function>(const_cast<void*>(api_[slot]));
  }

 private:
  const void* const* api_ = nullptr;
  std::string version_;
  ort::Env* env_ = nullptr;
  ort::MemoryInfo* memory_ = nullptr;
};

// A session with its tensors, ready to run. Never destroyed: the program ends soon enough.
struct Model {
  const Runtime& runtime;
  OnnxNode node;
  ort::Session* session = nullptr;
  std::vector<const char*> input_names = {}, output_names = {};
  std::vector<ort::Value*> inputs = {}, outputs = {};
  std::vector<Tensor> owned = {};

  void add_input(const OnnxValue& value, const void* data) {
    node.inputs.push_back(value);
    if (value.name.empty()) return;
    inputs.push_back(runtime.value(data, bytes(value), value));
  }
  float* add_output(const OnnxValue& value) {
    owned.emplace_back(Shape(std::span<const Index>(value.shape)));
    node.outputs.push_back(value);
    outputs.push_back(runtime.value(owned.back().as<float>(), bytes(value), value));
    return owned.back().as<float>();
  }
  void open(int threads) {
    for (const OnnxValue& value : node.inputs) {
      if (!value.name.empty()) input_names.push_back(value.name.c_str());
    }
    for (const OnnxValue& value : node.outputs) output_names.push_back(value.name.c_str());
    session = runtime.session(onnx_model(node), threads);
  }
  void run() {
    runtime.check(runtime.call<ort::Run>(ort::kRun)(session, nullptr, input_names.data(), inputs.data(),
                                                    inputs.size(), output_names.data(), outputs.size(),
                                                    outputs.data()));
  }
  static std::size_t bytes(const OnnxValue& value) {
    return 4 * static_cast<std::size_t>(std::accumulate(value.shape.begin(), value.shape.end(),
                                                        std::int64_t{1}, std::multiplies<>()));
  }
};

// The contrib operators take [batch, token, head · dim]; the copy is made once, outside the timing.
Tensor tokens_first(ConstTensorView x) {
  Tensor copy(Shape{x.dim(0), x.dim(2), x.dim(1), x.dim(3)});
  for (Index b = 0; b < x.dim(0); ++b)
    for (Index h = 0; h < x.dim(1); ++h)
      for (Index t = 0; t < x.dim(2); ++t)
        for (Index d = 0; d < x.dim(3); ++d) copy.view().set(b, t, h, d, x.at(b, h, t, d));
  return copy;
}

struct Problem {
  measure::Workload w;
  ConstTensorView q, k, v;
  Tensor q_tokens, k_tokens, v_tokens;
  std::vector<std::int32_t> last_key, total;
  int threads;
};

Way finish(const char* what, const std::shared_ptr<Model>& model, int threads, ConstTensorView out) {
  model->open(threads);
  return {what, [model] { model->run(); }, out};
}

Shape64 heads_first(const measure::Workload& w, Index heads) { return {w.batch, heads, w.length, w.dim}; }
Shape64 queries_first(const Problem& p) { return {p.w.batch, p.w.heads, p.q.dim(2), p.w.dim}; }
Shape64 tokens_wide(const measure::Workload& w, Index heads) { return {w.batch, w.length, heads * w.dim}; }

ConstTensorView tokens_view(const float* data, const measure::Workload& w) {
  const Index row = w.heads * w.dim;
  return {data, DType::f32, {w.batch, w.heads, w.length, w.dim}, {w.length * row, w.dim, row, 1}};
}

Way attention_23(const Runtime& runtime, const Problem& p) {
  auto model = std::make_shared<Model>(Model{runtime, {.op = "Attention", .domain = ""}});
  model->node.attributes = {{"is_causal", p.w.causal && !p.w.cache ? 1 : 0}};  // one query sees all keys
  model->add_input({"q", ort::kFloat, queries_first(p)}, p.q.data());
  model->add_input({"k", ort::kFloat, heads_first(p.w, p.w.kv_heads)}, p.k.data());
  model->add_input({"v", ort::kFloat, heads_first(p.w, p.w.kv_heads)}, p.v.data());
  const float* out = model->add_output({"out", ort::kFloat, queries_first(p)});
  if (p.w.weights) {
    // Outputs 1 and 2 would be the cache; the weights are the fourth, mode 3: after the softmax.
    model->add_output({"present_k", ort::kFloat, heads_first(p.w, p.w.kv_heads)});
    model->add_output({"present_v", ort::kFloat, heads_first(p.w, p.w.kv_heads)});
    model->add_output({"weights", ort::kFloat, {p.w.batch, p.w.heads, p.w.length, p.w.length}});
    model->node.attributes.emplace_back("qk_matmul_output_mode", 3);
  }
  return finish("Attention-23", model, p.threads, {out, p.q.shape()});
}

Way multi_head_attention(const Runtime& runtime, const Problem& p) {
  auto model =
      std::make_shared<Model>(Model{runtime, {.op = "MultiHeadAttention", .domain = "com.microsoft"}});
  model->node.attributes = {{"num_heads", p.w.heads}, {"unidirectional", p.w.causal ? 1 : 0}};
  model->add_input({"q", ort::kFloat, tokens_wide(p.w, p.w.heads)}, p.q_tokens.as<float>());
  model->add_input({"k", ort::kFloat, tokens_wide(p.w, p.w.heads)}, p.k_tokens.as<float>());
  model->add_input({"v", ort::kFloat, tokens_wide(p.w, p.w.heads)}, p.v_tokens.as<float>());
  const float* out = model->add_output({"out", ort::kFloat, tokens_wide(p.w, p.w.heads)});
  return finish("MultiHeadAttention", model, p.threads, tokens_view(out, p.w));
}

Way group_query_attention(const Runtime& runtime, const Problem& p) {
  auto model =
      std::make_shared<Model>(Model{runtime, {.op = "GroupQueryAttention", .domain = "com.microsoft"}});
  model->node.attributes = {{"num_heads", p.w.heads}, {"kv_num_heads", p.w.kv_heads}};
  model->add_input({"q", ort::kFloat, tokens_wide(p.w, p.w.heads)}, p.q_tokens.as<float>());
  model->add_input({"k", ort::kFloat, tokens_wide(p.w, p.w.kv_heads)}, p.k_tokens.as<float>());
  model->add_input({"v", ort::kFloat, tokens_wide(p.w, p.w.kv_heads)}, p.v_tokens.as<float>());
  model->add_input({}, nullptr);  // no cache before this call
  model->add_input({}, nullptr);
  model->add_input({"last_key", ort::kInt32, {p.w.batch}}, p.last_key.data());
  model->add_input({"total", ort::kInt32, {1}}, p.total.data());
  const float* out = model->add_output({"out", ort::kFloat, tokens_wide(p.w, p.w.heads)});
  model->add_output({"present_k", ort::kFloat, heads_first(p.w, p.w.kv_heads)});
  model->add_output({"present_v", ort::kFloat, heads_first(p.w, p.w.kv_heads)});
  return finish("GroupQueryAttention", model, p.threads, tokens_view(out, p.w));
}

Peer make(measure::WorkloadData& data, int threads, const std::vector<std::string>& arguments) {
  static const Runtime runtime(arguments.empty() ? "libonnxruntime.so.1" : arguments[0]);
  static Problem p;
  p = {data.workload(),        data.q(), data.k(), data.v(), tokens_first(data.q()), tokens_first(data.k()),
       tokens_first(data.v()), {},       {},       threads};
  p.last_key.assign(static_cast<std::size_t>(p.w.batch), static_cast<std::int32_t>(p.w.length - 1));
  p.total = {static_cast<std::int32_t>(p.w.length)};
  Peer peer{"onnxruntime", runtime.version(), {}};
  const auto add = [&](const char* what, auto way) {
    try {
      peer.ways.push_back(way(runtime, p));
    } catch (const Error& error) { peer.ways.push_back({what, {}, {}, error.what()}); }
  };
  add("Attention-23", attention_23);
  // The two others cannot return weights, and each knows only some of the masks and head counts; a cache they want
  // in a form of their own.
  if (p.w.cache) return peer;
  if (!p.w.weights && p.w.heads == p.w.kv_heads) add("MultiHeadAttention", multi_head_attention);
  if (!p.w.weights && p.w.causal) add("GroupQueryAttention", group_query_attention);
  return peer;
}

}  // namespace
}  // namespace headlight::peers

int main(int argc, char** argv) {
  return headlight::peers::peer_main(argc, argv, "onnxruntime", headlight::peers::make);
}
