// Colour options of all commands that draw weights, on the terminal and as figures.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/commands.h"
#include "cli/page.h"
#include "draw/figure_style.h"
#include "draw/terminal_style.h"

namespace headlight::cli {

// auto: depends on standard output; never: shades on a terminal, numbers in a pipe.
enum class MapColor : std::uint8_t { automatic, always, palette, shades, ascii, never };

struct MapLook {
  MapColor color = MapColor::automatic;
  draw::Transfer transfer = draw::Transfer::square_root;
  draw::Palette palette = draw::Palette::cividis;
  bool auto_range = false;           // the scale ends at the largest number shown, not at 1
  std::optional<draw::Theme> theme;  // dark on the terminal and light in figures unless given
  bool numbers = false;
};

// Adds --color, --color-scale, --palette, --theme and --numbers.
void add_map_look(CLI::App& command, MapLook& look);

// The style of text output for this terminal or pipe.
[[nodiscard]] draw::TerminalStyle terminal_style(const MapLook& look);
// The same for tables and sentences; a pipe is 120 columns wide.
[[nodiscard]] PageStyle page_style(const MapLook& look);
// For commands with no option but --color: between `least` and `most` columns.
[[nodiscard]] PageStyle page_style(Color color, int least, int most);

}  // namespace headlight::cli
