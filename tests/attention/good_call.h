// A call with nothing wrong, for tests that spoil one thing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "attention/problem.h"

namespace headlight {

// A good call of 2 sequences, 4 query heads on 2 key heads, 3 queries, 5 keys, dims 8 and 6, with
// room behind every pointer. Each row of the tables below spoils one thing.
struct GoodCall {
  alignas(64) float memory[1 << 15] = {};
  std::int64_t top[1024] = {};
  std::uint8_t seen[1024] = {};
  Index two[2] = {2, 3}, three[3] = {0, 1, 3}, five[3] = {0, 2, 5};
  float* at(int slot) { return memory + 1024 * slot; }

  ConstTensorView q{at(0), {2, 4, 3, 8}}, k{at(1), {2, 2, 5, 8}}, v{at(2), {2, 2, 5, 6}};
  AttentionOptions options;
  AttentionOutputs outputs{.out = TensorView(at(3), {2, 4, 3, 6})};

  // The same as one packed batch of two sequences.
  void pack() {
    q = ConstTensorView(at(0), {1, 4, 3, 8});
    k = ConstTensorView(at(1), {1, 2, 5, 8});
    v = ConstTensorView(at(2), {1, 2, 5, 6});
    outputs.out = TensorView(at(3), {1, 4, 3, 6});
    options.q_starts = three;
    options.k_starts = five;
  }
  void run() { check_outputs("attention", check_call("attention", q, k, v, options), outputs); }
};

inline void expect_code(const std::function<void()>& call, const char* code, const char* text) {
  try {
    call();
    FAIL() << "accepted; expected " << code;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

}  // namespace headlight
