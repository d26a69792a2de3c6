// A worksheet on the terminal, or as pictures: one of the problems, one of the solutions.
#pragma once

#include <cstdint>

#include "cli/figures.h"
#include "io/outputs.h"

namespace headlight::cli {

struct SheetOrder {
  int chapter = 1;
  std::uint64_t seed = 1;
  const FigureOptions& figures;
  io::Existing existing = io::Existing::refuse;
  int width = 80;
};
// sheet.pdf and sheet-solutions.pdf, or text on standard output if no file is given.
void write_sheet(const SheetOrder& order);

}  // namespace headlight::cli
