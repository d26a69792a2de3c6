// headlight lab playground --watch: trains a small model and redraws its heads in the same place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/figures.h"
#include "cli/terminal.h"
#include "headlight/tensor.h"
#include "io/outputs.h"

namespace headlight::cli {

struct WatchOrder {
  std::string preset;            // its first arm; empty: the usual settings
  std::vector<std::string> set;  // "layers=1"
  // Settings of a second, parallel run that differ; empty: no second run.
  std::vector<std::string> against;
  std::string probe, save;  // the user's probe; a folder for the model
  std::optional<Index> seed;
  int threads = 0;
  Color color = Color::automatic;
  FigureOptions figures;  // of the strip at the end
  io::Existing existing = io::Existing::refuse;
};
void watch_training(const WatchOrder& order);

}  // namespace headlight::cli
