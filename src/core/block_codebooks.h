// The codebooks of the IQ types: an index chooses eight numbers (of IQ3 four) at once. An entry holds indices into a
// short list of values, two bits each (of IQ3 three), starting at the lowest bits:
//
//   IQ2  8, 25, 43   IQ3_XXS  4, 12, 20, 28, 36, 44, 52, 62   IQ3_S  1, 3, 5, ... 15   IQ1  -1, 0, 1
#pragma once

#include <cstdint>

namespace headlight::blocks {

extern const std::uint16_t kIq2Xxs[256], kIq2Xs[512], kIq2S[1024], kIq3Xxs[256], kIq3S[512], kIq1[2048];

}  // namespace headlight::blocks
