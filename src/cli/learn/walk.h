// Presents a chapter with pauses for the reader's predictions and answers.
#pragma once

#include "cli/page.h"
#include "learn/course.h"

namespace headlight::cli {

struct Walk {
  bool asks = false;    // interactive: hidden parts wait for an answer
  bool reveal = false;  // hidden pieces are printed
};
// False when the reader ended the input before the chapter's end.
[[nodiscard]] bool walk_through(const learn::Chapter& chapter, const PageStyle& style, const Walk& walk);

}  // namespace headlight::cli
