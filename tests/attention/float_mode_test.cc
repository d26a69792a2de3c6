// Attention gives the same bits whatever the caller's floating-point mode is: every function of the headers is called.
#include <gtest/gtest.h>

#include "support/attention_calls.h"
#include "support/entries.h"
#include "support/places.h"

namespace headlight::testing {
namespace {

TEST(FloatModes, AttentionGivesTheSameBits) {
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
  expect_same_bits_in_every_mode(attention_calls::all(), kTypes);
}

TEST(FloatModes, EveryFunctionOfAttentionIsCalled) {
  const std::string folder = source_folder() + "/include/headlight/";
  // Those that are given no Context and compute all the same.
  std::set<std::string> functions = {
      "attention",     "KvCache::append",      "KvCache::append_to",
      "KvCache::read", "reference::attention", "reference::attention_backward"};
  for (const char* header : {"attention.h", "kv_cache.h"})
    functions.merge(functions_on_a_context(folder + header));
  EXPECT_GE(functions.size(), 13U);
  expect_complete(attention_calls::all(), functions);
}

// The caller's mode comes back also when a call is refused.
TEST(FloatModes, SurviveAnError) {
  for (const FloatMode mode : kFloatModes) {
    const WithFloatMode caller(mode);
    const Tensor q({1, 3, 4, 8}), k({1, 2, 4, 8});
    EXPECT_THROW((void)attention(q, k, k), Error);
    EXPECT_EQ(read_float_mode(), mode);
  }
}

}  // namespace
}  // namespace headlight::testing
