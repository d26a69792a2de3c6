// Problems to solve on paper, similar to a chapter's exercises, with different numbers for every seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/drawing.h"
#include "learn/lesson.h"

namespace headlight::learn {

struct Problem {
  std::string question;
  Answer answer;
};

inline constexpr int kProblems = 6;

// The same chapter and seed give the same problems everywhere.
[[nodiscard]] std::vector<Problem> worksheet(int chapter, std::uint64_t seed);

struct SheetText {
  std::string heading, below;  // "Worksheet 3: Softmax", "Seed 7"
  bool solutions = false;      // with solutions instead of blank space
};
// One A4 page.
[[nodiscard]] draw::Drawing worksheet_page(const std::vector<Problem>& problems, const SheetText& text);

}  // namespace headlight::learn
