// What `headlight show` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/figure_files.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "draw/figure_style.h"
#include "draw/terminal_style.h"
#include "headlight/figure.h"
#include "inspect/recorder.h"

namespace headlight::cli {

// auto: by what standard output is; never: shades on a terminal, numbers in a pipe.
enum class MapColor : std::uint8_t { automatic, always, palette, shades, ascii, never };

struct ShowSettings : ModelInput, FigureFiles {
  std::optional<Part> part;
  std::optional<Index> layer;
  std::vector<inspect::HeadPlace> heads;
  bool all = false;
  MeanOver mean = MeanOver::none;
  bool rollout = false;

  Range from = {}, to = {};  // a part of a long text: these queries, these keys
  std::string query, key;
  bool by_head = false;
  Index top = 0;
  bool exclude_self = false, mute_first = false, mute_special = false, renormalize = false, words = false;
  inspect::MapOf of = inspect::MapOf::weights;

  MapColor color = MapColor::automatic;
  draw::Transfer transfer = draw::Transfer::square_root;
  draw::Palette palette = draw::Palette::cividis;
  bool auto_range = false;           // the scale ends at the largest number shown, not at 1
  std::optional<draw::Theme> theme;  // dark on the terminal and light in figures unless given
  bool numbers = false;

  std::string html;
  double max_megabytes = 25;  // of the HTML file
  draw::FigureStyle figure;
  std::optional<std::string> caption;
  JsonTarget json;
  std::string npy;
  inspect::ArrayRequest what;
  bool experts = false;
  Index threads = 0;
};

// Which part of a run they show.
[[nodiscard]] ViewRequest view_request(const ShowSettings& settings);

// Options of colours, and of figures: other commands draw the same way.
void add_looks(CLI::App& command, ShowSettings& settings);
void add_figure(CLI::App& command, ShowSettings& settings);

// Does it all (src/cli/show/show.cc); the options are read in src/cli/show/options.cc.
void run_show(const ShowSettings& settings);
// With --experts (src/cli/show/experts.cc).
void run_show_experts(const ShowSettings& settings);

// The text look for this terminal or pipe.
[[nodiscard]] draw::TerminalStyle terminal_style(const ShowSettings& settings);

}  // namespace headlight::cli
