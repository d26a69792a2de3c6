// The inner loops for limits.h, one per instruction set, chosen at run time: these functions
// have target attributes, so the program needs no -march flag and executes no instruction
// that the CPU lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headlight::measure {

struct FmaLoop {
  const char* name;
  int bits;  // of a register
  double flops_per_iteration;
  float (*run)(std::int64_t iterations);
};

// The loops that this CPU supports, widest first; the last one is scalar.
[[nodiscard]] std::span<const FmaLoop> fma_loops();

// Sums all words of an aligned block; `bytes` is a multiple of 256. Returns the sum so that the
// reads cannot be optimised away.
[[nodiscard]] std::uint64_t read_block(const std::byte* data, std::size_t bytes);

}  // namespace headlight::measure
