#include "cli/learn/walk.h"

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/learn/chapter_text.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "draw/text.h"
#include "headlight/error.h"
#include "learn/lesson.h"

namespace headlight::cli {
namespace {

class Reader {
 public:
  // The next line of input; nothing at its end.
  std::optional<std::string> line(const std::string& prompt) {
    print(prompt);
    while (waiting_.empty()) {
      std::vector<std::string> lines;
      if (!input_.read(lines)) return std::nullopt;
      waiting_.insert(waiting_.end(), lines.begin(), lines.end());
    }
    std::string first = waiting_.front();
    waiting_.pop_front();
    return first;
  }

 private:
  StandardLines input_;
  std::deque<std::string> waiting_;
};

std::string judged(const learn::Exercise& exercise, const std::string& given, bool& right) {
  try {
    const learn::Verdict verdict = learn::check_answer(exercise, given);
    right = verdict.right;
    return right ? "Right." : fmt::format("Not yet. {}", verdict.remark);
  } catch (const Error& error) { return error.what(); }  // not in the expected form: ask again
}

// Asks until the answer is right or the reader skips the question. False at the end of input.
bool ask_exercise(Reader& reader, const learn::Exercise& exercise, int width) {
  const std::string prompt =
      fmt::format("   Your answer ({}; empty to see it): ", learn::form_text(exercise.answer));
  for (bool right = false; !right;) {
    const std::optional<std::string> given = reader.line(prompt);
    if (!given) return false;
    if (given->find_first_not_of(" \t\r") == std::string::npos) return true;
    const std::string text = judged(exercise, *given, right);
    print(fmt::format("   {}\n{}", draw::wrapped(text, width, 3), right ? "\n" : ""));
  }
  return true;
}

std::string hidden_note(const learn::Chapter& chapter, int exercise, const learn::Answer* answer, int width) {
  if (answer == nullptr)
    return fmt::format("   [reveal: {} learn {} --reveal]\n\n", program_name(), chapter.number);
  const std::string form = learn::form_text(*answer);
  const std::string command =
      fmt::format("{} learn {} --exercise {} --check ANSWER]", program_name(), chapter.number, exercise);
  const bool fits = draw::display_width(form) + draw::display_width(command) + 6 <= width;
  return fmt::format("   [{}:{}{}\n\n", form, fits ? " " : "\n    ", command);
}

}  // namespace

bool walk_through(const learn::Chapter& chapter, const PageStyle& style, const Walk& walk) {
  const std::vector<learn::Exercise> exercises = learn::lesson(chapter.number).exercises();
  Reader reader;
  for (const ChapterPiece& piece : chapter_pieces(chapter, style)) {
    const bool known = piece.exercise >= 1 && static_cast<std::size_t>(piece.exercise) <= exercises.size();
    const learn::Exercise* exercise =
        known ? &exercises[static_cast<std::size_t>(piece.exercise - 1)] : nullptr;
    if (piece.hidden && walk.asks) {
      const bool go_on = exercise != nullptr ? ask_exercise(reader, *exercise, style.width - 2)
                                             : reader.line("   Your prediction: ").has_value();
      if (!go_on) return false;
    } else if (piece.hidden && !walk.reveal) {
      const learn::Answer* answer = exercise != nullptr ? &exercise->answer : nullptr;
      print(hidden_note(chapter, piece.exercise, answer, style.width));
      continue;
    }
    print(piece.text);
  }
  return true;
}

}  // namespace headlight::cli
