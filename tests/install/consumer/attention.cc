#include <array>
#include <cstdio>

#include "headlight/headlight.h"

// Two equal keys share the weight, so the output is the mean of the two values: 2.5.
int main() {
  const std::array<float, 2> key = {1, 1}, value = {1, 4};
  const headlight::ConstTensorView k(key.data(), {1, 1, 2, 1}), v(value.data(), {1, 1, 2, 1});
  const headlight::ConstTensorView q(key.data(), {1, 1, 1, 1});
  const auto [out, lse] = headlight::attention(q, k, v);
  // An error of the library reaches the catch of its user.
  bool caught = false;
  try {
    (void)headlight::parse_simd_target("none");
  } catch (const headlight::Error&) { caught = true; }
  if (out.at(0, 0, 0, 0) != 2.5 || !caught) return 1;
  std::printf("consumed headlight %s\n", headlight::kVersion);
}
