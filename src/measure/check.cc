#include "measure/check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "attention/accuracy.h"
#include "core/concat.h"
#include "measure/workloads.h"

namespace headlight::measure {
namespace {

Tensor normal_tensor(const Shape& shape, DType dtype, std::uint64_t seed, double spread = 1) {
  Tensor values(shape, DType::f32);
  fill_normal(values, seed);
  std::vector<double> scaled(values.as<float>(), values.as<float>() + shape.elements());
  for (double& x : scaled) x *= spread;
  return Tensor::from(scaled, shape, dtype);
}

// A case with its numbers, which are equal for every target, so the exact answer is computed once.
class CaseData {
 public:
  CaseData(const CheckCase& c, DType dtype)
      : q_(normal_tensor({c.batch, c.heads, c.q_len, c.dim}, dtype, 11, c.spread)),
        k_(normal_tensor({c.batch, c.kv_heads, c.k_len, c.dim}, dtype, 12)),
        v_(normal_tensor({c.batch, c.kv_heads, c.k_len, c.value_dim}, dtype, 13)) {
    options_ = {.scale = c.scale, .visible = c.visible, .softcap = c.softcap};
    if (c.alibi) slopes_ = slopes(c.heads);
    if (c.bias) bias_ = normal_tensor({1, c.heads, c.q_len, c.k_len}, DType::f32, 14);
    if (c.sinks) sinks_ = normal_tensor({c.heads}, DType::f32, 15);
    if (c.mask) mask_ = mask(c);
    options_.alibi_slopes = slopes_.view();  // the view of an empty tensor is "not given"
    options_.bias = bias_.view();
    options_.sinks = sinks_.view();
    options_.mask = mask_.view();
    if (c.lengths) {
      for (Index b = 0; b < c.batch; ++b) {
        q_lengths_.push_back(std::max<Index>(0, c.q_len - 9 * b));
        k_lengths_.push_back(std::max<Index>(0, c.k_len - 13 * b));
      }
      options_.q_lengths = q_lengths_;
      options_.k_lengths = k_lengths_;
    }
    exact_ = std::make_unique<accuracy::Exact>(q_, k_, v_, options_);
  }
  // options_ borrows from the members.
  CaseData(const CaseData&) = delete;
  CaseData& operator=(const CaseData&) = delete;

  [[nodiscard]] const accuracy::Exact& exact() const { return *exact_; }
  [[nodiscard]] bool has_sinks() const { return !sinks_.empty(); }
  void run(Context& context, const AttentionOutputs& outputs) const {
    attention_forward(context, q_, k_, v_, options_, outputs);
  }
  [[nodiscard]] Shape out_shape() const { return {q_.dim(0), q_.dim(1), q_.dim(2), v_.dim(3)}; }
  [[nodiscard]] Shape row_shape() const { return {q_.dim(0), q_.dim(1), q_.dim(2)}; }
  [[nodiscard]] Shape weights_shape() const { return {q_.dim(0), q_.dim(1), q_.dim(2), k_.dim(2)}; }
  [[nodiscard]] DType dtype() const { return q_.dtype(); }

 private:
  static Tensor slopes(Index heads) {
    Tensor slopes(Shape{heads});
    for (Index h = 0; h < heads; ++h) slopes.view().set(h, 0.5 / static_cast<double>(h + 1));
    return slopes;
  }
  // Two of three keys are visible, and one row sees none.
  static Tensor mask(const CheckCase& c) {
    Tensor mask(Shape{c.batch, 1, c.q_len, c.k_len}, DType::boolean);
    for (Index b = 0; b < c.batch; ++b)
      for (Index i = 0; i < c.q_len; ++i)
        for (Index j = 0; j < c.k_len; ++j)
          mask.view().set(b, 0, i, j, i != 3 && (i * 7 + j * 5 + b) % 3 != 0 ? 1 : 0);
    return mask;
  }

  Tensor q_, k_, v_, slopes_, bias_, sinks_, mask_;
  std::vector<Index> q_lengths_, k_lengths_;
  AttentionOptions options_;
  std::unique_ptr<accuracy::Exact> exact_;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.as<std::byte>(), b.as<std::byte>(),
                     static_cast<std::size_t>(a.shape().elements()) * size_of(a.dtype())) == 0;
}

// A new output is filled with one bits (a NaN), so that elements that are not written are detected.
Tensor unwritten(const Shape& shape, DType dtype) {
  Tensor tensor(shape, dtype);
  std::memset(tensor.as<std::byte>(), 0xFF, static_cast<std::size_t>(shape.elements()) * size_of(dtype));
  return tensor;
}

struct Contexts {
  explicit Contexts(SimdTarget target)
      : one({.threads = 1, .target = target}), three({.threads = 3, .target = target}) {}
  Context one, three;
};

void check_case(const CheckCase& c, const CaseData& data, Contexts& contexts, CheckResult& result) {
  const auto fail = [&](const std::string& what) {
    if (result.failure.empty()) result.failure = concat(c.name, ": ", what);
  };
  const DType wide = data.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor plain = unwritten(data.out_shape(), data.dtype()), full = unwritten(data.out_shape(), data.dtype());
  Tensor weights = unwritten(data.weights_shape(), wide), sink = unwritten(data.row_shape(), wide);
  AttentionOutputs outputs{.out = full.view(), .weights = weights.view()};
  if (data.has_sinks()) outputs.sink_weight = sink.view();
  data.run(contexts.one, {.out = plain.view()});
  data.run(contexts.three, outputs);

  ++result.cases;
  const double error = data.exact().scaled_error(plain.view());
  if (result.worst_case.empty() || error > result.worst_error) {
    result.worst_error = error;
    result.worst_case = c.name;
  }
  if (!(error <= result.limit)) fail(concat("error E = ", error, ", at most ", result.limit, " is allowed"));
  const double row_sum = data.exact().row_sum_error(weights.view(), outputs.sink_weight);
  result.worst_row_sum = std::max(result.worst_row_sum, row_sum);
  if (!(row_sum <= 1)) fail(concat("weights do not sum to 1 (", row_sum, " times the limit)"));
  if (!same_bits(plain, full)) {
    result.same_bits = false;
    fail("bits differ between three threads with weights and one thread without");
  }
}

}  // namespace

std::vector<CheckResult> check_kernels(std::span<const SimdTarget> targets, const CheckProgress& progress) {
  constexpr std::array<DType, 4> kDtypes = {DType::f32, DType::f64, DType::bf16, DType::f16};
  std::vector<CheckResult> results;
  std::vector<std::unique_ptr<Contexts>> contexts;
  for (const SimdTarget target : targets) {
    contexts.push_back(std::make_unique<Contexts>(target));
    for (const DType dtype : kDtypes)
      results.push_back({.target = target, .dtype = dtype, .limit = accuracy::error_limit(dtype)});
  }
  for (std::size_t d = 0; d < kDtypes.size(); ++d) {
    for (const CheckCase& c : check_cases()) {
      const CaseData data(c, kDtypes[d]);
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (progress) progress(targets[t], kDtypes[d]);
        CheckResult& result = results[t * kDtypes.size() + d];
        try {
          check_case(c, data, *contexts[t], result);
        } catch (const Error& error) {
          if (result.failure.empty()) result.failure = concat(c.name, ": ", error.what());
        }
      }
    }
  }
  return results;
}

}  // namespace headlight::measure
