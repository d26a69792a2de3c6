// Suites that any implementation must pass: instantiated for the reference beside their tests, for the
// fast path in golden_fast_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <tuple>

#include "support/implementation.h"

namespace headlight::testing {

// The worked example of golden/journey.md.
class Journey : public ::testing::TestWithParam<Implementation> {};

// The cases of golden/attention, by name.
class Golden : public ::testing::TestWithParam<std::tuple<Implementation, const char*>> {};

inline constexpr const char* kGoldenCases[] = {"alibi6",     "bias_neginf", "big_logits", "chunked_prefill",
                                               "cross",      "cross_long",  "dead_rows",  "decode_one_query",
                                               "gqa_causal", "mha_causal",  "mha_full",   "mqa_causal_hd128",
                                               "odd_dims",   "sliding",     "softcap",    "unscaled"};

inline std::string journey_name(const ::testing::TestParamInfo<Implementation>& row) {
  return row.param.name;
}
inline std::string golden_name(const ::testing::TestParamInfo<std::tuple<Implementation, const char*>>& row) {
  return std::get<0>(row.param).name + "_" + std::get<1>(row.param);
}

}  // namespace headlight::testing
