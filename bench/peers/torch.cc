// PyTorch's C++ library: attention written with three operators, and the function its modules call.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cmath>
#include <optional>

#include "peer.h"

namespace headlight::peers {
namespace {

at::Tensor wrap(ConstTensorView x) {
  return at::from_blob(const_cast<void*>(x.data()), {x.dim(0), x.dim(1), x.dim(2), x.dim(3)}, at::kFloat);
}

struct Problem {
  at::Tensor q, k, v, mask, out;  // mask: -inf above the diagonal, undefined when not causal
  Index group = 1;

  // What cannot share key heads repeats them, as its users do.
  [[nodiscard]] at::Tensor repeated(const at::Tensor& x) const {
    return group == 1 ? x : x.repeat_interleave(group, 1);
  }
};

ConstTensorView view_of(const at::Tensor& x) {
  return {x.data_ptr(),
          DType::f32,
          {x.size(0), x.size(1), x.size(2), x.size(3)},
          {x.stride(0), x.stride(1), x.stride(2), x.stride(3)}};
}

at::Tensor naive(const Problem& p) {
  at::Tensor scores = at::matmul(p.q, p.repeated(p.k).transpose(-2, -1));
  scores.mul_(1.0 / std::sqrt(static_cast<double>(p.q.size(3))));
  if (p.mask.defined()) scores.add_(p.mask);
  return at::matmul(at::softmax(scores, -1), p.repeated(p.v));
}

#if TORCH_VERSION_MAJOR >= 2
// Returns weights only without fusion.
at::Tensor library_function(const Problem& p, bool weights) {
  const bool causal = p.mask.defined();
  if (weights)
    return std::get<0>(
        at::_scaled_dot_product_attention_math(p.q, p.repeated(p.k), p.repeated(p.v), {}, 0.0, causal));
  return at::scaled_dot_product_attention(p.q, p.k, p.v, {}, 0.0, causal, std::nullopt, p.group > 1);
}
constexpr const char* kLibraryFunction = "scaled_dot_product_attention";
#else
at::Tensor library_function(const Problem& p, bool weights) {
  return std::get<0>(at::_scaled_dot_product_attention(p.q, p.repeated(p.k), p.repeated(p.v), {}, 0.0,
                                                       weights, p.mask.defined()));
}
constexpr const char* kLibraryFunction = "_scaled_dot_product_attention";
#endif

Peer make(measure::WorkloadData& data, int threads, const std::vector<std::string>&) {
  at::set_num_threads(threads);
  static const c10::NoGradGuard no_grad;
  static Problem p;
  const measure::Workload w = data.workload();
  p = {wrap(data.q()), wrap(data.k()), wrap(data.v()), {}, {}, w.heads / w.kv_heads};
  if (w.causal && !w.cache) p.mask = at::full({w.length, w.length}, -INFINITY).triu(1);
  // Its operators return fresh tensors; the check wants one place to look.
  static Tensor out;
  out = Tensor(data.q().shape());
  at::Tensor kept = wrap(out.view());
  const auto way = [&](const char* what, auto compute) {
    bool first = true;
    const auto run = [compute, kept, first]() mutable {
      const at::Tensor result = compute();
      if (first) kept.copy_(result);  // only the untimed call that is checked
      first = false;
    };
    return Way{what, run, view_of(kept)};
  };
  const bool weights = w.weights;
  return {"libtorch",
          TORCH_VERSION,
          {way("matmul, softmax, matmul", [] { return naive(p); }),
           way(kLibraryFunction, [weights] { return library_function(p, weights); })}};
}

}  // namespace
}  // namespace headlight::peers

int main(int argc, char** argv) {
  return headlight::peers::peer_main(argc, argv, "libtorch", headlight::peers::make);
}
