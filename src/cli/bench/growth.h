// headlight bench --growth.
#pragma once

#include "cli/figures.h"
#include "cli/json_output.h"
#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::cli {

struct GrowthSettings {
  int threads = 1;
  SimdTarget target = SimdTarget::automatic;
  Index longest = 131072;
  FigureOptions figures;
  JsonTarget json;
};
void run_growth(const GrowthSettings& settings);

}  // namespace headlight::cli
