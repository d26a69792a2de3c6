// Recurrent layers, forward. Legend: w width, G gates (3 or 4); rows are sequences that are alive at a
// step, tokens are rows of the packed matrices.
//   gru    r = σ(xr + hr)   z = σ(xz + hz)   n = tanh(xn + r·hn)            h = (1 - z)·n + z·h
//   lstm   i = σ  f = σ  g = tanh  o = σ  of x + h      c = f·c + i·g       h = o·tanh(c)
#include "headlight/recurrent.h"

#include <cmath>

#include "nn/recurrent_steps.h"

namespace headlight::nn {

RecurrentLayer::RecurrentLayer(const std::string& name, const RecurrentConfig& config, DType dtype)
    : config_(config) {
  const Index gates = (gru() ? 3 : 4) * config.width;
  input = Linear(name + ".input", {config.in, gates}, dtype);
  hidden = Linear(name + ".hidden", {config.width, gates}, dtype);
  if (config.memory_width == 0) return;
  query = Linear(name + ".query", {config.width, config.width, true}, dtype);
  key = Linear(name + ".key", {config.memory_width, config.width, false}, dtype);
  found = Linear(name + ".found", {config.memory_width, gates, false}, dtype);
  score = {name + ".score", Tensor({config.width}, dtype), {}, false};
}

class RecurrentLayer::Forward {
 public:
  Forward(Context& ctx, const RecurrentLayer& layer, const RecurrentCall& call, const Steps& steps, Saved& s)
      : ctx_(ctx), layer_(layer), call_(call), steps_(steps), s_(s), w_(layer.config_.width) {}

  template <class T>
  void run(const Tensor& from_input, Tensor& state, Tensor& y) {
    const DType dtype = from_input.dtype();
    const Index gates = from_input.dim(1), rows = steps_.rows(), width = layer_.state_width();
    Tensor h = Tensor::uninitialized({rows, w_}, dtype),
           from_hidden = Tensor::uninitialized({rows, gates}, dtype);
    Tensor from_found, looked, asked;
    const bool looks = layer_.config_.memory_width > 0;
    if (looks) {
      from_found = Tensor::uninitialized({rows, gates}, dtype);
      looked = Tensor::uninitialized({rows, layer_.config_.memory_width}, dtype);
      asked = Tensor::uninitialized({rows, w_}, dtype);
    }
    for (Index t = 0; t < steps_.longest; ++t) {
      const Index n = steps_.alive(t);
      for (Index r = 0; r < n; ++r) copy(h.as<T>() + r * w_, state.as<T>() + r * width, w_);
      const ConstTensorView before = rows_of(h.view(), 0, n);
      layer_.hidden.forward(ctx_, before, rows_of(from_hidden.view(), 0, n));
      if (looks) {
        layer_.query.forward(ctx_, before, rows_of(asked.view(), 0, n));
        for_rows(ctx_, n, 64 * w_, [&](Index r) { look<T>(r, t, asked.as<T>() + r * w_, looked.as<T>()); });
        layer_.found.forward(ctx_, rows_of(looked.view(), 0, n), rows_of(from_found.view(), 0, n));
      }
      for_rows(ctx_, n, gates, [&](Index r) {
        const Index token = steps_.token(r, t);
        T* gate = s_.gates.as<T>() + token * gates;
        copy(gate, from_input.as<T>() + token * gates, gates);
        if (looks) kernels<T>().add(gate, from_found.as<T>() + r * gates, gate, gates);
        T* at = state.as<T>() + r * width;
        if (layer_.gru()) step_gru(token, from_hidden.as<T>() + r * gates, gate, at);
        else step_lstm(token, from_hidden.as<T>() + r * gates, gate, at);
        copy(y.as<T>() + token * w_, at, w_);
      });
    }
  }

 private:
  template <class T>
  [[nodiscard]] const kernels::ElementKernels<T>& kernels() const {
    return kernels::element_kernels_for(ctx_.target()).of<T>();
  }
  template <class T>
  void apply(kernels::Curve curve, T* x, Index n) const {
    kernels<T>().apply(curve, {1, n, x, 0, x, 0});
  }

  template <class T>
  void step_gru(Index token, const T* from_hidden, T* gate, T* state) const {
    const auto& k = kernels<T>();
    T *candidate = s_.extra.as<T>() + token * w_, *before = s_.before.as<T>() + token * w_;
    k.add(gate, from_hidden, gate, 2 * w_);
    apply(kernels::Curve::sigmoid, gate, 2 * w_);
    copy(candidate, from_hidden + 2 * w_, w_);
    copy(before, state, w_);
    T *reset = gate, *keep = gate + w_, *fresh = gate + 2 * w_;
    for (Index i = 0; i < w_; ++i) fresh[i] += reset[i] * candidate[i];
    apply(kernels::Curve::tanh, fresh, w_);
    for (Index i = 0; i < w_; ++i) state[i] = (T{1} - keep[i]) * fresh[i] + keep[i] * state[i];
  }

  template <class T>
  void step_lstm(Index token, const T* from_hidden, T* gate, T* state) const {
    const auto& k = kernels<T>();
    T *cell = s_.extra.as<T>() + token * w_, *at = state + w_;
    copy(s_.before.as<T>() + token * w_, state, w_);
    copy(s_.cell_before.as<T>() + token * w_, at, w_);
    k.add(gate, from_hidden, gate, 4 * w_);
    apply(kernels::Curve::sigmoid, gate, 2 * w_);
    apply(kernels::Curve::tanh, gate + 2 * w_, w_);
    apply(kernels::Curve::sigmoid, gate + 3 * w_, w_);
    for (Index i = 0; i < w_; ++i) cell[i] = gate[w_ + i] * at[i] + gate[i] * gate[2 * w_ + i];
    copy(at, cell, w_);
    apply(kernels::Curve::tanh, at, w_);
    for (Index i = 0; i < w_; ++i) state[i] = gate[3 * w_ + i] * at[i];
    copy(at, cell, w_);
  }

  // Additive attention: score_j = v · tanh(query + key_j); the mean of the memory by their softmax.
  template <class T>
  void look(Index row, Index step, const T* asked, T* looked) const {
    const Index token = steps_.token(row, step), width = layer_.config_.memory_width;
    const auto sequence = static_cast<std::size_t>(steps_.sequence(row));
    const Index first = call_.memory_starts[sequence], count = call_.memory_starts[sequence + 1] - first;
    T* weights = s_.weights.as<T>() + s_.weight_starts[static_cast<std::size_t>(token)];
    copy(s_.queries.as<T>() + token * w_, asked, w_);
    std::vector<T> match(static_cast<std::size_t>(w_));
    const T* v = layer_.score.value.as<T>();
    for (Index j = 0; j < count; ++j) {
      kernels<T>().add(asked, s_.keys.as<T>() + (first + j) * w_, match.data(), w_);
      apply(kernels::Curve::tanh, match.data(), w_);
      T sum = 0;
      for (Index i = 0; i < w_; ++i) sum += v[i] * match[static_cast<std::size_t>(i)];
      weights[j] = sum;
    }
    kernels::row_kernels_for(ctx_.target()).of<T>().log_softmax(weights, weights, count);
    T* mix = looked + row * width;
    std::fill_n(mix, width, T{0});
    for (Index j = 0; j < count; ++j) {
      weights[j] = std::exp(weights[j]);
      kernels<T>().scaled(weights[j], call_.memory.as<T>() + (first + j) * call_.memory.stride(0), mix, mix,
                          width);
    }
    copy(s_.found.as<T>() + token * width, mix, width);
  }

  Context& ctx_;
  const RecurrentLayer& layer_;
  const RecurrentCall& call_;
  const Steps& steps_;
  Saved& s_;
  Index w_;
};

RecurrentLayer::Result RecurrentLayer::forward(Context& ctx, ConstTensorView x, const RecurrentCall& given,
                                               Saved* saved) const {
  const CallScope scope(ctx);
  const DType dtype = input.weight.value.dtype();
  check_matrix(input.weight.name, "x", x, dtype, config_.in);
  const CompleteRecurrentCall complete(given, x.dim(0));
  const RecurrentCall& call = complete.call;
  const Steps steps(call.starts);
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  const Index tokens = x.dim(0), w = config_.width, gates = input.config().out;
  const Tensor from_input = input.forward(ctx, x);
  s.gates = Tensor::uninitialized({tokens, gates}, dtype);
  s.extra = Tensor::uninitialized({tokens, w}, dtype);
  s.before = Tensor::uninitialized({tokens, w}, dtype);
  if (!gru()) s.cell_before = Tensor::uninitialized({tokens, w}, dtype);
  if (config_.memory_width > 0) {
    check_matrix(key.weight.name, "memory", call.memory, dtype, config_.memory_width);
    s.keys = key.forward(ctx, call.memory);
    s.queries = Tensor::uninitialized({tokens, w}, dtype);
    s.found = Tensor::uninitialized({tokens, config_.memory_width}, dtype);
    s.weight_starts.assign(1, 0);
    for (std::size_t q = 0; q + 1 < call.starts.size(); ++q) {
      const Index keys = call.memory_starts[q + 1] - call.memory_starts[q];
      if (keys == 0 && call.starts[q + 1] > call.starts[q])
        throw Error(ErrorKind::input, "nn.memory",
                    concat(score.name, ": sequence ", q, " has an empty memory"));
      for (Index t = call.starts[q]; t < call.starts[q + 1]; ++t)
        s.weight_starts.push_back(s.weight_starts.back() + keys);
    }
    s.weights = Tensor::uninitialized({s.weight_starts.back()}, dtype);
  }
  Tensor state({steps.rows(), state_width()}, dtype), y = Tensor::uninitialized({tokens, w}, dtype);
  const std::size_t row_bytes = static_cast<std::size_t>(state_width()) * size_of(dtype);
  const auto row = [&](auto* base, Index r) { return base + static_cast<std::size_t>(r) * row_bytes; };
  if (!call.state.empty()) {
    check_matrix(hidden.weight.name, "state", call.state, dtype, state_width(), steps.rows());
    for (Index r = 0; r < steps.rows(); ++r) {
      const auto* from = call.state.as<std::byte>() +
                         steps.sequence(r) * call.state.stride(0) * static_cast<Index>(size_of(dtype));
      std::memcpy(row(state.as<std::byte>(), r), from, row_bytes);
    }
  }
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    Forward(ctx, *this, call, steps, s).run<T>(from_input, state, y);
  });
  Tensor last = Tensor::uninitialized(state.shape(), dtype);
  for (Index r = 0; r < steps.rows(); ++r)
    std::memcpy(row(last.as<std::byte>(), steps.sequence(r)), row(state.as<std::byte>(), r), row_bytes);
  return {std::move(y), std::move(last)};
}

void RecurrentLayer::collect(Parameters& list) {
  for (Linear* linear : {&input, &hidden, &query, &key, &found}) linear->collect(list);
  if (!score.value.empty()) list.push_back(&score);
}

}  // namespace headlight::nn
