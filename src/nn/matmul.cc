#include "nn/matmul.h"

#include "core/concat.h"
#include "core/thread_pool.h"
#include "headlight/error.h"

namespace headlight::nn {
namespace {

template <class T>
void multiply_rows(Context& ctx, const Product& p) {
  const bool a_plain = p.a_side == Side::plain, b_plain = p.b_side == Side::plain;
  const Index rows = p.c.dim(0), columns = p.c.dim(1), depth = p.a.dim(a_plain ? 1 : 0);
  const Index ai = p.a.stride(a_plain ? 0 : 1), ak = p.a.stride(a_plain ? 1 : 0);
  const Index bk = p.b.stride(b_plain ? 0 : 1), bj = p.b.stride(b_plain ? 1 : 0);
  ctx.pool().run(rows, ctx.threads(), [&](int, std::int64_t i) {
    for (Index j = 0; j < columns; ++j) {
      T sum = 0;
      for (Index k = 0; k < depth; ++k) sum += p.a.as<T>()[i * ai + k * ak] * p.b.as<T>()[k * bk + j * bj];
      T& to = p.c.as<T>()[i * p.c.stride(0) + j];
      if (p.accumulate) to += sum;
      else to = sum + (p.bias.empty() ? T{0} : p.bias.as<T>()[j]);
    }
  });
}

}  // namespace

void multiply(Context& ctx, const Product& p) {
  if (p.c.dtype() == DType::f64) multiply_rows<double>(ctx, p);
  else multiply_rows<float>(ctx, p);
}

}  // namespace headlight::nn
