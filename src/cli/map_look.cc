#include "cli/map_look.h"

#include <algorithm>
#include <iterator>

#include "cli/numbers.h"

namespace headlight::cli {

void add_map_look(CLI::App& command, MapLook& look) {
  begin_group(command, "Colours", Detail::full);
  add_choice<MapColor>(command, "--color", look.color,
                       {{"auto", MapColor::automatic},
                        {"always", MapColor::always},
                        {"256", MapColor::palette},
                        {"shades", MapColor::shades},
                        {"ascii", MapColor::ascii},
                        {"never", MapColor::never}},
                       "auto: colours on a terminal unless NO_COLOR is set, numbers in a pipe");
  add_choice<draw::Transfer>(command, "--color-scale", look.transfer,
                             {{"linear", draw::Transfer::linear},
                              {"sqrt", draw::Transfer::square_root},
                              {"log", draw::Transfer::logarithm}},
                             "Scale from weights to colours (default: sqrt)");
  std::vector<std::pair<std::string, draw::Palette>> palettes;
  palettes.reserve(std::size(draw::kPalettes));
  for (const draw::Palette palette : draw::kPalettes) palettes.emplace_back(draw::name_of(palette), palette);
  add_choice<draw::Palette>(command, "--palette", look.palette, palettes,
                            "Palette for weights; grey is for print (default: cividis)");
  add_choice<std::optional<draw::Theme>>(
      command, "--theme", look.theme, {{"light", draw::Theme::light}, {"dark", draw::Theme::dark}},
      "Colours for a light or dark background (default: dark terminal, light figure)");
  add_switch(command, "--numbers", look.numbers, "Print the weights in the cells");
}

draw::TerminalStyle terminal_style(const MapLook& look) {
  draw::TerminalStyle style;
  style.theme = look.theme.value_or(draw::Theme::dark);
  style.transfer = look.transfer;
  style.palette = look.palette;
  style.numbers = look.numbers;
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = terminal_width();
  const draw::Look plain = output_is_utf8() ? draw::Look::shades : draw::Look::ascii;
  const auto colored = [](ColorDepth depth) {
    return depth == ColorDepth::full ? draw::Look::full_color : draw::Look::palette;
  };
  switch (look.color) {
    case MapColor::always: style.look = colored(color_depth(Color::always)); return style;
    case MapColor::palette: style.look = draw::Look::palette; return style;
    case MapColor::shades: style.look = plain; return style;
    case MapColor::ascii: style.look = draw::Look::ascii; return style;
    case MapColor::automatic:
    case MapColor::never: break;
  }
  if (!output_is_terminal()) {
    style.look = draw::Look::table;
    style.width = 0;  // data has no width limit
    return style;
  }
  const ColorDepth depth = look.color == MapColor::never ? ColorDepth::none : color_depth(Color::automatic);
  style.look = depth == ColorDepth::none ? plain : colored(depth);
  return style;
}

PageStyle page_style(const MapLook& look) {
  const draw::TerminalStyle terminal = terminal_style(look);
  PageStyle style;
  style.color = terminal.look == draw::Look::full_color ? ColorDepth::full
                : terminal.look == draw::Look::palette  ? ColorDepth::palette
                                                        : ColorDepth::none;
  style.glyphs = terminal.glyphs;
  style.width = terminal.width > 0 ? terminal.width : 120;  // a pipe has no width limit
  return style;
}

PageStyle page_style(Color color, int least, int most) {
  PageStyle style;
  style.color = color_depth(color);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = std::clamp(terminal_width(), least, most);
  return style;
}

}  // namespace headlight::cli
