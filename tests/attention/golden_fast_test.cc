// The golden suites on the fast path: every SIMD target, f32 and f64.
#include <memory>

#include "attention/golden_suites.h"

namespace headlight::testing {
namespace {

std::vector<Implementation> fast_implementations() {
  std::vector<Implementation> list;
  for (const SimdTarget target : supported_targets()) {
    const auto ctx = std::make_shared<Context>(ContextOptions{.threads = 2, .target = target});
    for (const DType dtype : {DType::f32, DType::f64}) {
      list.push_back(
          {std::string(name_of(target)) + std::string(name_of(dtype)), dtype,
           [ctx](ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
                 const AttentionOutputs& outputs) { attention_forward(*ctx, q, k, v, options, outputs); },
           [ctx](const AttentionSaved& saved, ConstTensorView dout, const AttentionOptions& options,
                 const AttentionGrads& grads) { attention_backward(*ctx, saved, dout, options, grads); }});
    }
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Fast, Journey, ::testing::ValuesIn(fast_implementations()), journey_name);
INSTANTIATE_TEST_SUITE_P(Fast, Golden,
                         ::testing::Combine(::testing::ValuesIn(fast_implementations()),
                                            ::testing::ValuesIn(golden_cases())),
                         golden_case_name);

}  // namespace
}  // namespace headlight::testing
