// --show of generate and translate: one line with the attention of each new token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "draw/row_text.h"
#include "headlight/run.h"
#include "inspect/last_row.h"

namespace headlight::cli {

struct RowSettings {
  bool show = false;
  std::vector<HeadPlace> heads;  // at most one
};
// Adds --show and --head L.H.
void add_rows(CLI::App& command, RowSettings& settings);
// Throws Error{usage} if there is no such head, or if several were given.
[[nodiscard]] inspect::RowChoice chosen_row(const Model& model, Part part, const RowSettings& settings);

// Prints the lines of one text.
class RowPrinter {
 public:
  // `bars` as in draw::RowLayout: if the number of keys grows, space for as many as fit.
  RowPrinter(const Model& model, const inspect::RowChoice& choice, int bars = 0);
  // The header, printed before the first line.
  [[nodiscard]] std::string heading() const;
  [[nodiscard]] std::string line(const std::string& query, const std::vector<std::string>& keys,
                                 const std::vector<float>& weights) const;

 private:
  std::string title_;
  bool exact_;
  int bars_;
  draw::TerminalStyle style_;
};

}  // namespace headlight::cli
