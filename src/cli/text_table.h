// A table of words and numbers with columns as wide as their contents.
#pragma once

#include <string>
#include <vector>

#include "cli/page.h"

namespace headlight::cli {

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string name;
    Align align = Align::right;
    int most = 1000;  // columns on the screen; wider cells are shortened
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void print(Page& page) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headlight::cli
