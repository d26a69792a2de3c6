// The computed parts of a chapter: the arithmetic in its text, a picture, and the answers to its exercises. No answer is
// stored; each is computed when needed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/drawing.h"

namespace headlight::learn {

struct Answer {
  std::vector<double> numbers = {};  // one number or several; none: the answer is a word
  int decimals = 4;                  // decimals that the text asks for; 0: integers
  std::string word = {};
  std::vector<std::string> choices = {};  // the words to choose from
};
// A wrong answer that results from a common mistake, with a hint.
struct Mistake {
  std::vector<double> numbers;
  std::string why;
};
struct Exercise {
  Answer answer;
  std::string hint;
  std::vector<Mistake> mistakes = {};
};

// Words and their scores, whose weights the page shows at a temperature that the reader chooses.
struct Slider {
  std::vector<std::string> words;
  std::vector<double> scores;
};

// A picture of a model: one head of a translator's cross-attention.
struct ModelPicture {
  std::string_view model, text;
  int layer = 0, head = 0;
};
// headlight show "…" --model … --svg FILE draws the same picture.
[[nodiscard]] std::string command_of(const ModelPicture& picture);

struct Lesson {
  std::function<std::string()> worked;  // the arithmetic of the section "By hand"
  std::function<std::vector<Exercise>()> exercises;
  std::function<draw::Drawing()> picture = nullptr;          // null: the picture shows a model
  std::optional<ModelPicture> model_picture = std::nullopt;  // the model's picture
  std::function<Slider()> slider = nullptr;                  // null: the chapter has none
};
// Throws Error{usage} if there is no such chapter.
[[nodiscard]] const Lesson& lesson(int chapter);

[[nodiscard]] std::string answer_text(const Answer& answer);  // "0.3474", "0.44 0.65 0.57", "starts"
[[nodiscard]] std::string form_text(const Answer& answer);    // "one number with 4 decimals"

struct Verdict {
  bool right = false;
  std::string remark;  // for a wrong answer: the hint for that mistake, or the exercise's hint
};
// Accepts numbers within 1.5 units of the last decimal. Throws Error{usage} with the expected
// form if `given` has another one.
[[nodiscard]] Verdict check_answer(const Exercise& exercise, std::string_view given);

// The lessons, in files by subject.
[[nodiscard]] std::vector<Lesson> lessons_on_vectors();     // 1 to 4
[[nodiscard]] std::vector<Lesson> lessons_on_parameters();  // 5 and 6
[[nodiscard]] std::vector<Lesson> lessons_on_heads();       // 7 to 9
[[nodiscard]] std::vector<Lesson> lessons_on_models();      // 10 to 12
[[nodiscard]] std::vector<Lesson> lessons_on_training();    // 13 to 16

}  // namespace headlight::learn
