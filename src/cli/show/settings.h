// Options of `headlight show`.
#pragma once

#include <string>

#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/map_look.h"
#include "cli/model_input.h"
#include "headlight/figure.h"
#include "inspect/recorder.h"

namespace headlight::cli {

struct ShowSettings {
  InputOptions input;
  std::string corpus;  // texts instead of a single one
  Index limit = 0;
  ViewRequest view;
  Index top = 0;
  MapLook look;
  FigureOptions figures;
  std::string html;
  double max_megabytes = 25;  // of the HTML file
  JsonTarget json;
  std::string npy;
  inspect::ArrayRequest what;
  bool experts = false;
  Index threads = 0;
};

// Runs the command (src/cli/show/show.cc); options are read in src/cli/show/options.cc.
void run_show(const ShowSettings& settings);
// With --experts (src/cli/show/experts.cc).
void run_show_experts(const ShowSettings& settings);

}  // namespace headlight::cli
