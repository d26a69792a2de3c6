// The inner loops behind limits.h, one per instruction set, chosen at run time: this file's functions
// carry target attributes, so the program itself needs no -march flag and never meets an instruction
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

// Those that this CPU can run, widest first; the last one is of single numbers.
[[nodiscard]] std::span<const FmaLoop> fma_loops();

// Adds up all words of an aligned block; `bytes` is a multiple of 256. Returns the sum so that the
// reads cannot be optimised away.
[[nodiscard]] std::uint64_t read_block(const std::byte* data, std::size_t bytes);

}  // namespace headlight::measure
