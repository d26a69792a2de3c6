// The fast path of units whose keys fit in one tile: see kernels/short_unit.h.
#pragma once

#include "attention/block.h"
#include "kernels/short_unit.h"

namespace headlight {

template <class T>
class ShortUnits {
 public:
  ShortUnits(const Context& ctx, const Problem& problem, const AttentionOutputs& outputs);

  [[nodiscard]] bool usable() const { return kernel_ != nullptr; }
  // Writes out and lse. False if a number is not finite: the outputs are then undefined.
  [[nodiscard]] bool run(const Unit& unit, const KeySource<T>& source, kernels::FetchAhead* ahead) const;

 private:
  // The keys that each row of a unit sees.
  struct Runs {
    std::int32_t begin[kBlockRows], end[kBlockRows];
  };
  void find_runs(const Unit& unit, Runs& runs) const;

  const Problem& problem_;
  const AttentionOutputs& outputs_;
  kernels::ShortKernel<T> kernel_ = nullptr;
  bool alike_ = false;  // all units have the runs of the first
  Runs runs_;
};

}  // namespace headlight
