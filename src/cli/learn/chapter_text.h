// A chapter of the course for the terminal: Markdown as plain text, divided at the questions to the reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/page.h"
#include "learn/course.h"

namespace headlight::cli {

struct ChapterPiece {
  std::string text;
  bool hidden = false;  // hidden until the reader has answered
  int exercise = 0;     // for a hidden piece: the exercise that it solves; 0: the prediction
};
[[nodiscard]] std::vector<ChapterPiece> chapter_pieces(const learn::Chapter& chapter, const PageStyle& style);

// One paragraph without its Markdown, in one line.
[[nodiscard]] std::string plain_text(std::string_view markdown);

}  // namespace headlight::cli
