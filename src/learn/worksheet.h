// Problems to solve on paper, in the manner of a chapter's exercises, with other numbers for every seed.
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
  bool solutions = false;      // instead of blank space to write in
};
// One page of A4.
[[nodiscard]] draw::Drawing worksheet_page(const std::vector<Problem>& problems, const SheetText& text);

}  // namespace headlight::learn
