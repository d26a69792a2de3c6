// The text of docs/learn, which is embedded in the program, split into chapters and exercises.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::learn {

inline constexpr int kChapters = 16;

// An exercise in the text, in Markdown.
struct WrittenExercise {
  std::string question, solution;
};

struct Chapter {
  int number = 0;
  std::string title;     // "The dot product"
  std::string question;  // "How well do two words match?"
  std::string text;      // the whole chapter in Markdown
  std::string reveal;    // text revealed after the prediction, in Markdown
  std::vector<WrittenExercise> exercises;
};

// Chapter 1 to kChapters, in order.
[[nodiscard]] const std::vector<Chapter>& chapters();
// Throws Error{usage} if there is no such chapter.
[[nodiscard]] const Chapter& chapter(int number);

// Parses the text of one chapter, as chapters() does.
[[nodiscard]] Chapter read_chapter(std::string_view markdown);

}  // namespace headlight::learn
