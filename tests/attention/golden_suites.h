// Suites that any implementation must pass: instantiated for the reference beside their tests, for the
// fast path in golden_fast_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <tuple>

#include "support/implementation.h"
#include "support/shared_data.h"

namespace headlight::testing {

// The worked example of golden/journey.md.
class Journey : public ::testing::TestWithParam<Implementation> {};

// The cases of tests/golden/attention, and of golden/attention of the larger set: the file's path without its ending.
class Golden : public ::testing::TestWithParam<std::tuple<Implementation, std::string>> {};

inline constexpr const char* kGoldenCases[] = {"full",
                                               "causal",
                                               "causal_groups",
                                               "one_key_head",
                                               "decode",
                                               "window",
                                               "prefix",
                                               "offset_dead_rows",
                                               "lengths",
                                               "softcap",
                                               "alibi",
                                               "bias_of_heads",
                                               "bias_of_minus_infinity",
                                               "mask",
                                               "sinks",
                                               "sinks_and_window",
                                               "large_scores",
                                               "many_keys"};
inline constexpr const char* kLargerGoldenCases[] = {
    "alibi6",    "bias_neginf",      "big_logits", "chunked_prefill", "cross",    "cross_long",
    "dead_rows", "decode_one_query", "gqa_causal", "mha_causal",      "mha_full", "mqa_causal_hd128",
    "odd_dims",  "sliding",          "softcap",    "unscaled"};

inline std::string journey_name(const ::testing::TestParamInfo<Implementation>& row) {
  return row.param.name;
}
inline std::vector<std::string> golden_cases() {
  std::vector<std::string> cases;
  for (const char* name : kGoldenCases) cases.push_back((golden_folder("attention") / name).string());
  for (const char* name : kLargerGoldenCases)
    if (const auto shared = shared_data())
      cases.push_back((*shared / "golden" / "attention" / name).string());
  return cases;
}
inline std::string golden_case_name(
    const ::testing::TestParamInfo<std::tuple<Implementation, std::string>>& row) {
  const std::filesystem::path path(std::get<1>(row.param));
  const bool own = path.parent_path() == golden_folder("attention");
  return std::get<0>(row.param).name + "_" + path.filename().string() + (own ? "" : "_larger");
}

}  // namespace headlight::testing
