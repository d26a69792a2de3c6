// Floats to quantised blocks, for the types that `headlight convert` writes. All numbers must be finite.
#pragma once

#include <cstddef>
#include <span>

namespace headlight::blocks {

// One block: 32 floats of q8_0, 256 of the others, to as many bytes as a block has. Scales are searched for the least
// squared error; the same floats always give the same bytes.
void to_q8_0(std::span<const float> x, std::byte* to);
void to_q4_k(std::span<const float> x, std::byte* to);
void to_q6_k(std::span<const float> x, std::byte* to);

}  // namespace headlight::blocks
