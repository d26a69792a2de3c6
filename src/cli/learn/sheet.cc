#include "cli/learn/sheet.h"

#include <fmt/format.h>

#include <string>

#include "cli/terminal.h"
#include "draw/text.h"
#include "learn/course.h"
#include "learn/worksheet.h"

namespace headlight::cli {
namespace {

constexpr double kSheetDpi = 150;

// sheet.pdf as sheet-solutions.pdf.
FigureOptions solutions_of(FigureOptions figures) {
  for (std::string* path : {&figures.png, &figures.svg, &figures.pdf}) {
    if (path->empty()) continue;
    const std::size_t name = path->rfind('/') == std::string::npos ? 0 : path->rfind('/') + 1;
    const std::size_t point = path->rfind('.');
    path->insert(point == std::string::npos || point <= name ? path->size() : point, "-solutions");
  }
  return figures;
}

std::string sheet_text(const SheetOrder& order, const std::string& heading,
                       const std::vector<learn::Problem>& problems) {
  std::string text = fmt::format("{}   (seed {})\n\n", heading, order.seed);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string question =
        fmt::format("{} [{}]", problems[i].question, learn::form_text(problems[i].answer));
    text += fmt::format("{}. {}\n\n", i + 1, draw::wrapped(question, order.width - 2, 3));
  }
  text += "Solutions\n\n";
  for (std::size_t i = 0; i < problems.size(); ++i)
    text += fmt::format("{}. {}\n", i + 1, learn::answer_text(problems[i].answer));
  return text;
}

}  // namespace

void write_sheet(const SheetOrder& order) {
  const std::vector<learn::Problem> problems = learn::worksheet(order.chapter, order.seed);
  const std::string heading =
      fmt::format("Worksheet {}: {}", order.chapter, learn::chapter(order.chapter).title);
  if (!order.figures.any()) return print(sheet_text(order, heading, problems));
  const FigureOptions solved = solutions_of(order.figures);
  io::Outputs outputs(order.existing);
  reserve_figures(outputs, order.figures);
  reserve_figures(outputs, solved);
  const std::string below =
      fmt::format("Seed {}. headlight learn {} explains how.", order.seed, order.chapter);
  write_figures(outputs, order.figures, learn::worksheet_page(problems, {heading, below, false}), kSheetDpi);
  write_figures(outputs, solved, learn::worksheet_page(problems, {heading + ", solutions", below, true}),
                kSheetDpi);
  outputs.commit();
}

}  // namespace headlight::cli
