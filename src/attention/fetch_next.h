// Prefetching of what is needed next: rows of inputs are too short for the hardware to find a pattern in time.
#pragma once

#include "attention/block.h"
#include "attention/problem.h"
#include "kernels/attention_tile.h"

namespace headlight {

// The outputs of unit `number`, and the inputs of the worker's probable next one.
[[nodiscard]] inline kernels::FetchAhead fetch_next(const Problem& problem, const AttentionOutputs& outputs,
                                                    Index number, Index next) {
  kernels::FetchAhead ahead;
  if (problem.packed || problem.cache != nullptr) return ahead;
  const auto add = [&](const ConstTensorView& view, Index unit) {
    constexpr Index kMost = 32 << 10;
    const auto size = static_cast<Index>(size_of(view.dtype()));
    const Index row = view.dim(3) * size, batch = unit / problem.kv_heads, head = unit % problem.kv_heads;
    if (row == 0 || view.dim(2) == 0 || row * view.dim(2) > kMost) return;
    ahead.regions[ahead.size++] = {
        reinterpret_cast<const char*>(row_at(view, batch, head, 0)), view.stride(2) * size,
        static_cast<int>(view.dim(2)),
        static_cast<int>((row + kernels::FetchAhead::kLine - 1) / kernels::FetchAhead::kLine)};
  };
  if (problem.group == 1 && !outputs.out.empty()) add(outputs.out, number);
  if (next >= problem.sequences * problem.kv_heads) return ahead;
  add(problem.k, next);
  if (problem.group == 1) add(problem.q, next);
  add(problem.v, next);
  return ahead;
}

// The queries of rows first … end-1 of a unit.
inline void fetch_queries(const Problem& problem, const Unit& unit, Index first, Index end) {
  const Index bytes = problem.dim * static_cast<Index>(size_of(problem.dtype));
  for (Index r = first; r < std::min(end, unit.rows()); ++r) {
    const std::byte* row = row_at(problem.q, unit.sequence.batch, unit.first_head + r % unit.heads,
                                  unit.sequence.q_start + r / unit.heads);
    for (Index i = 0; i < bytes; i += kernels::FetchAhead::kLine) __builtin_prefetch(row + i, 0, 2);
  }
}

}  // namespace headlight
