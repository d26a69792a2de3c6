#include "dist/widened.h"

namespace headlight::dist {
namespace {

// Calls use(row of a, row of b) for two 4-axis views of one shape.
template <class Use>
void each_pair(const ConstTensorView& a, const ConstTensorView& b, const Use& use) {
  const auto at = [](const ConstTensorView& x, Index n, Index h, Index t) {
    return const_cast<std::byte*>(x.as<std::byte>()) +
           (n * x.stride(0) + h * x.stride(1) + t * x.stride(2)) * static_cast<Index>(size_of(x.dtype()));
  };
  for (Index n = 0; n < a.dim(0); ++n)
    for (Index h = 0; h < a.dim(1); ++h)
      for (Index t = 0; t < a.dim(2); ++t) use(at(a, n, h, t), at(b, n, h, t));
}

template <class From, class To, class Convert>
void convert_rows(const ConstTensorView& from, const TensorView& to, const Convert& convert) {
  each_pair(from, to, [&](const std::byte* a, std::byte* b) {
    const auto* x = reinterpret_cast<const From*>(a);
    auto* y = reinterpret_cast<To*>(b);
    for (Index d = 0; d < from.dim(3); ++d) y[d] = convert(x[d]);
  });
}

template <class T>
void add_typed(const TensorView& to, const ConstTensorView& from) {
  each_pair(to, from, [&](std::byte* a, const std::byte* b) {
    auto* x = reinterpret_cast<T*>(a);
    const auto* y = reinterpret_cast<const T*>(b);
    for (Index d = 0; d < to.dim(3); ++d) x[d] += y[d];
  });
}

}  // namespace

void widen(const ConstTensorView& from, const TensorView& to) {
  if (from.dtype() == DType::f16) convert_rows<F16, float>(from, to, [](F16 x) { return to_float(x); });
  else convert_rows<BF16, float>(from, to, [](BF16 x) { return to_float(x); });
}

void narrow(const ConstTensorView& from, const TensorView& to) {
  if (to.dtype() == DType::f16) convert_rows<float, F16>(from, to, [](float x) { return to_f16(x); });
  else if (to.dtype() == DType::bf16) convert_rows<float, BF16>(from, to, [](float x) { return to_bf16(x); });
  else if (to.dtype() == DType::f64) convert_rows<double, double>(from, to, [](double x) { return x; });
  else convert_rows<float, float>(from, to, [](float x) { return x; });
}

void add_rows(const TensorView& to, const ConstTensorView& from) {
  if (to.dtype() == DType::f64) add_typed<double>(to, from);
  else add_typed<float>(to, from);
}

}  // namespace headlight::dist
