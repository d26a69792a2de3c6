// Backward pass of recurrent layers. The terms of parameter gradients are kept per token, so that
// each matrix needs one product at the end instead of one per step.
#include "nn/recurrent_steps.h"

namespace headlight::nn {

class RecurrentLayer::Backward {
 public:
  Backward(Context& ctx, RecurrentLayer& layer, const RecurrentCall& call, const Steps& steps, const Saved& s)
      : ctx_(ctx), layer_(layer), call_(call), steps_(steps), s_(s), w_(layer.config_.width) {
    const DType dtype = s.gates.dtype();
    const Index tokens = s.gates.dim(0);
    dinput = Tensor::uninitialized(s.gates.shape(), dtype);
    if (layer.gru()) dhidden = Tensor::uninitialized(s.gates.shape(), dtype);
    if (layer.config_.memory_width == 0) return;
    dquery = Tensor::uninitialized({tokens, w_}, dtype);
    dkeys = Tensor(s.keys.shape(), dtype);
    dmemory = Tensor({call.memory.dim(0), layer.config_.memory_width}, dtype);
    dscore = Tensor({steps.rows(), w_}, dtype);
  }

  // dstate: [row, state_width], in the order of the rows; in: of the last states, out: of the first.
  template <class T>
  void run(const ConstTensorView& dy, Tensor& dstate) {
    const DType dtype = s_.gates.dtype();
    const Index gates = s_.gates.dim(1), rows = steps_.rows(), width = layer_.state_width();
    Tensor dgates = Tensor::uninitialized({rows, gates}, dtype),
           back = Tensor::uninitialized({rows, w_}, dtype);
    Tensor dgates_in, dfound, dasked;
    const bool looks = layer_.config_.memory_width > 0;
    if (looks) {
      dgates_in = Tensor::uninitialized({rows, gates}, dtype);
      dfound = Tensor::uninitialized({rows, layer_.config_.memory_width}, dtype);
      dasked = Tensor::uninitialized({rows, w_}, dtype);
    }
    for (Index t = steps_.longest; t-- > 0;) {
      const Index n = steps_.alive(t);
      for_rows(ctx_, n, gates, [&](Index r) {
        const Index token = steps_.token(r, t);
        T* d = dstate.as<T>() + r * width;
        kernels<T>().add(d, dy.as<T>() + token * dy.stride(0), d, w_);
        T *in = dinput.as<T>() + token * gates, *to_hidden = in;
        if (layer_.gru()) {
          to_hidden = dhidden.as<T>() + token * gates;
          back_gru(token, d, in, to_hidden);
        } else {
          back_lstm(token, d, in);
        }
        copy(dgates.as<T>() + r * gates, to_hidden, gates);
        if (looks) copy(dgates_in.as<T>() + r * gates, in, gates);
      });
      layer_.hidden.backward_input(ctx_, rows_of(dgates.view(), 0, n), rows_of(back.view(), 0, n));
      if (looks) {
        layer_.found.backward_input(ctx_, rows_of(dgates_in.view(), 0, n), rows_of(dfound.view(), 0, n));
        for_rows(ctx_, n, 64 * w_,
                 [&](Index r) { look_back<T>(r, t, dfound.as<T>(), dasked.as<T>() + r * w_); });
        layer_.query.backward_input(ctx_, rows_of(dasked.view(), 0, n), rows_of(back.view(), 0, n),
                                    Linear::Write::add);
      }
      for (Index r = 0; r < n; ++r) {
        T* d = dstate.as<T>() + r * width;
        kernels<T>().add(d, back.as<T>() + r * w_, d, w_);
      }
    }
  }

  // The products over all tokens; returns dx.
  [[nodiscard]] Tensor finish(const ConstTensorView& x, const TensorView& dmemory_out) {
    const Tensor& d = layer_.gru() ? dhidden : dinput;
    layer_.hidden.backward_weight(ctx_, s_.before, d);
    layer_.hidden.backward_bias(ctx_, d);
    if (layer_.config_.memory_width > 0) {
      layer_.found.backward_weight(ctx_, s_.found, dinput);
      layer_.query.backward_weight(ctx_, s_.before, dquery);
      layer_.query.backward_bias(ctx_, dquery);
      layer_.key.backward_weight(ctx_, call_.memory, dkeys);
      with_type(dinput.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* grad = grad_of(layer_.score).as<T>();
        kernels<T>().sum_rows(dscore.as<T>(), w_, steps_.rows(), w_, grad);
      });
      if (!dmemory_out.empty()) {
        add_to(ctx_, dmemory, dmemory_out);
        layer_.key.backward_input(ctx_, dkeys, dmemory_out, Linear::Write::add);
      }
    }
    return layer_.input.backward(ctx_, x, dinput);
  }

 private:
  template <class T>
  [[nodiscard]] const kernels::ElementKernels<T>& kernels() const {
    return kernels::element_kernels_for(ctx_.target()).of<T>();
  }

  // d: in: gradient of the state after the token; out: the part of the previous state's gradient that bypasses the gates.
  template <class T>
  void back_gru(Index token, T* d, T* in, T* to_hidden) const {
    const T* gate = s_.gates.as<T>() + token * 3 * w_;
    const T *reset = gate, *keep = gate + w_, *fresh = gate + 2 * w_;
    const T *candidate = s_.extra.as<T>() + token * w_, *before = s_.before.as<T>() + token * w_;
    for (Index i = 0; i < w_; ++i) {
      const T dfresh = d[i] * (T{1} - keep[i]) * (T{1} - fresh[i] * fresh[i]);
      const T dkeep = d[i] * (before[i] - fresh[i]) * keep[i] * (T{1} - keep[i]);
      const T dreset = dfresh * candidate[i] * reset[i] * (T{1} - reset[i]);
      in[i] = to_hidden[i] = dreset;
      in[w_ + i] = to_hidden[w_ + i] = dkeep;
      in[2 * w_ + i] = dfresh;
      to_hidden[2 * w_ + i] = dfresh * reset[i];
      d[i] *= keep[i];
    }
  }

  template <class T>
  void back_lstm(Index token, T* d, T* in) const {
    const T* gate = s_.gates.as<T>() + token * 4 * w_;
    const T *cell = s_.extra.as<T>() + token * w_, *cell_before = s_.cell_before.as<T>() + token * w_;
    copy(in, cell, w_);
    kernels<T>().apply(kernels::Curve::tanh, {1, w_, in, 0, in, 0});
    for (Index i = 0; i < w_; ++i) {
      const T input_gate = gate[i], forget = gate[w_ + i], fresh = gate[2 * w_ + i], open = gate[3 * w_ + i];
      const T shown = in[i];
      const T dcell = d[w_ + i] + d[i] * open * (T{1} - shown * shown);
      in[i] = dcell * fresh * input_gate * (T{1} - input_gate);
      in[w_ + i] = dcell * cell_before[i] * forget * (T{1} - forget);
      in[2 * w_ + i] = dcell * input_gate * (T{1} - fresh * fresh);
      in[3 * w_ + i] = d[i] * shown * open * (T{1} - open);
      d[w_ + i] = dcell * forget;
      d[i] = 0;
    }
  }

  template <class T>
  void look_back(Index row, Index step, const T* dfound, T* dasked) {
    const Index token = steps_.token(row, step), width = layer_.config_.memory_width;
    const auto sequence = static_cast<std::size_t>(steps_.sequence(row));
    const Index first = call_.memory_starts[sequence], count = call_.memory_starts[sequence + 1] - first;
    const T* weights = s_.weights.as<T>() + s_.weight_starts[static_cast<std::size_t>(token)];
    const T *d = dfound + row * width, *asked = s_.queries.as<T>() + token * w_,
            *v = layer_.score.value.as<T>();
    std::vector<T> dweight(static_cast<std::size_t>(count)), match(static_cast<std::size_t>(w_));
    T along = 0;
    for (Index j = 0; j < count; ++j) {
      const T* m = call_.memory.as<T>() + (first + j) * call_.memory.stride(0);
      T sum = 0;
      for (Index i = 0; i < width; ++i) sum += d[i] * m[i];
      dweight[static_cast<std::size_t>(j)] = sum;
      along += weights[j] * sum;
      T* dm = dmemory.as<T>() + (first + j) * width;
      kernels<T>().scaled(weights[j], d, dm, dm, width);
    }
    std::fill_n(dasked, w_, T{0});
    T* dv = dscore.as<T>() + row * w_;
    for (Index j = 0; j < count; ++j) {
      const T ds = weights[j] * (dweight[static_cast<std::size_t>(j)] - along);
      kernels<T>().add(asked, s_.keys.as<T>() + (first + j) * w_, match.data(), w_);
      kernels<T>().apply(kernels::Curve::tanh, {1, w_, match.data(), 0, match.data(), 0});
      T* dkey = dkeys.as<T>() + (first + j) * w_;
      for (Index i = 0; i < w_; ++i) {
        const T m = match[static_cast<std::size_t>(i)], g = ds * v[i] * (T{1} - m * m);
        dv[i] += ds * m;
        dasked[i] += g;
        dkey[i] += g;
      }
    }
    copy(dquery.as<T>() + token * w_, dasked, w_);
  }

  Context& ctx_;
  RecurrentLayer& layer_;
  const RecurrentCall& call_;
  const Steps& steps_;
  const Saved& s_;
  Index w_;
  Tensor dinput, dhidden;  // of the gates' two sums, per token
  Tensor dquery, dkeys, dmemory, dscore;
};

Tensor RecurrentLayer::backward(Context& ctx, ConstTensorView x, const RecurrentCall& given,
                                const Saved& saved, ConstTensorView dy, ConstTensorView dlast,
                                const Grads& grads) {
  const CallScope scope(ctx);
  const DType dtype = input.weight.value.dtype();
  check_matrix(input.weight.name, "dy", dy, dtype, config_.width, x.dim(0));
  const CompleteRecurrentCall complete(given, x.dim(0));
  const RecurrentCall& call = complete.call;
  const Steps steps(call.starts);
  const Index width = state_width();
  const std::size_t bytes = static_cast<std::size_t>(width) * size_of(dtype);
  Tensor dstate({steps.rows(), width}, dtype);
  const auto row = [&](Tensor& t, Index r) {
    return t.as<std::byte>() + static_cast<std::size_t>(r) * bytes;
  };
  const auto element = static_cast<Index>(size_of(dtype));
  if (!dlast.empty()) {
    check_matrix(hidden.weight.name, "dlast", dlast, dtype, width, steps.rows());
    for (Index r = 0; r < steps.rows(); ++r)
      std::memcpy(row(dstate, r), dlast.as<std::byte>() + steps.sequence(r) * dlast.stride(0) * element,
                  bytes);
  }
  Backward work(ctx, *this, call, steps, saved);
  with_type(dtype, [&](auto zero) { work.run<decltype(zero)>(dy, dstate); });
  if (!grads.dstate.empty()) {
    check_matrix(hidden.weight.name, "dstate", grads.dstate, dtype, width, steps.rows());
    for (Index r = 0; r < steps.rows(); ++r)
      std::memcpy(grads.dstate.as<std::byte>() + steps.sequence(r) * grads.dstate.stride(0) * element,
                  row(dstate, r), bytes);
  }
  return work.finish(x, grads.dmemory);
}

}  // namespace headlight::nn
