// The figures of headlight plan.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"
#include "measure/cluster_cost.h"

namespace headlight::cli {

// What one number of processes would take.
struct PlanRow {
  int ranks = 1;
  double memory = 0;
  measure::Cost token, prompt;
  struct Attention {
    measure::Cost cost;
    double memory = 0;
  };
  std::vector<Attention> attention = {};  // by measure::SequenceLayout; empty: not asked for
};

// Time and memory over processes, of tokens and prompts, or of attention over one sequence.
[[nodiscard]] draw::Drawing plan_figure(const std::string& title, const std::vector<PlanRow>& rows);

}  // namespace headlight::cli
