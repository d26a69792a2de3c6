// A terminal for tests: takes text with escape codes and knows what is on the screen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/color.h"
#include "draw/text.h"

namespace headlight::draw::testing {

class Screen {
 public:
  using Color = std::optional<Rgb>;  // none: the terminal's own
  struct Cell {
    std::string glyph;
    Color ink, ground;
    [[nodiscard]] Color upper() const {
      return glyph == "▀" ? ink : glyph == "▄" || glyph == " " ? ground : Color();
    }
    [[nodiscard]] Color lower() const {
      return glyph == "▄" ? ink : glyph == "▀" || glyph == " " ? ground : Color();
    }
  };

  explicit Screen(std::string_view text) {
    Color ink, ground;
    lines_.emplace_back();
    while (!text.empty()) {
      if (text.starts_with("\x1b[")) {
        const std::size_t end = text.find('m');
        apply(std::string(text.substr(2, end - 2)), ink, ground);
        text.remove_prefix(end + 1);
      } else if (text[0] == '\n') {
        lines_.emplace_back();
        text.remove_prefix(1);
      } else {
        const std::string_view run = text.substr(0, std::min(text.find_first_of("\x1b\n"), text.size()));
        for (const Cluster& c : clusters(run)) {
          lines_.back().push_back({c.bytes, ink, ground});
          for (int i = 1; i < c.width; ++i) lines_.back().push_back({"", ink, ground});
        }
        text.remove_prefix(run.size());
      }
    }
  }

  [[nodiscard]] const Cell& at(int line, int column) const {
    static const Cell nothing{" ", {}, {}};
    const auto& cells = lines_.at(static_cast<std::size_t>(line));
    return column < static_cast<int>(cells.size()) ? cells[static_cast<std::size_t>(column)] : nothing;
  }
  [[nodiscard]] int width() const {
    std::size_t widest = 0;
    for (const auto& line : lines_) widest = std::max(widest, line.size());
    return static_cast<int>(widest);
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& line : lines_) {
      for (const Cell& cell : line) out += cell.glyph;
      out += "\n";
    }
    return out;
  }
  // The first coloured half block, and how far it is to the second cell: to the column's next label or glyph.
  struct Place {
    int line = -1, column = 0, width = 1;
  };
  [[nodiscard]] Place first_cells() const {
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      for (std::size_t column = 0; column < lines_[line].size(); ++column) {
        if (lines_[line][column].glyph != "▀" || !lines_[line][column].ink) continue;
        // The bottom line of angled labels has a letter over each cell.
        const auto& labels = lines_[line - 1];
        std::size_t next = column + 1;
        while (next < labels.size() && labels[next].glyph == " ") ++next;
        return {static_cast<int>(line), static_cast<int>(column), static_cast<int>(next - column)};
      }
    }
    return {};
  }

 private:
  static void apply(const std::string& codes, Color& ink, Color& ground) {
    std::vector<int> numbers;
    for (std::size_t at = 0; at <= codes.size();) {
      const std::size_t end = std::min(codes.find(';', at), codes.size());
      numbers.push_back(end == at ? 0 : std::stoi(codes.substr(at, end - at)));
      at = end + 1;
    }
    const auto byte = [](int x) { return static_cast<std::uint8_t>(x); };
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] == 0) ink = ground = {};
      if (numbers[i] != 38 && numbers[i] != 48) continue;
      Color& layer = numbers[i] == 38 ? ink : ground;
      if (numbers[i + 1] == 5) {
        layer = xterm_rgb(numbers[i + 2]);
        i += 2;
      } else {
        layer = Rgb{byte(numbers[i + 2]), byte(numbers[i + 3]), byte(numbers[i + 4])};
        i += 4;
      }
    }
  }
  std::vector<std::vector<Cell>> lines_;
};

}  // namespace headlight::draw::testing
