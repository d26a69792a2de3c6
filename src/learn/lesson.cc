#include "learn/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "lab/arithmetic.h"
#include "learn/course.h"

namespace headlight::learn {
namespace {

constexpr std::string_view kMinus = "\u2212";  // the minus sign that the texts print
constexpr double kUnits = 1.5;                 // of the last decimal: intermediate results were rounded too

std::vector<Lesson> all_lessons() {
  std::vector<Lesson> all;
  for (auto* part :
       {lessons_on_vectors, lessons_on_parameters, lessons_on_heads, lessons_on_models, lessons_on_training})
    for (Lesson& lesson : part()) all.push_back(std::move(lesson));
  return all;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Splits "0.44, 0.65 0.57" and "(0.44; 0.65)" at spaces, commas, semicolons and brackets.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  constexpr std::string_view between = " \t,;()[]";
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(between), text.size());
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    if (end > 0) pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

[[noreturn]] void refuse(const Answer& answer, std::string_view given) {
  throw Error(
      ErrorKind::usage, "learn.answer",
      concat("the answer \"", escaped(given, 60), "\" does not have the expected form: ", form_text(answer)));
}

std::vector<double> numbers_of(const Answer& answer, std::string_view given) {
  std::vector<double> numbers;
  for (std::string piece : pieces_of(given)) {
    if (piece.starts_with(kMinus)) piece.replace(0, kMinus.size(), "-");
    double x = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), x);
    if (error != std::errc() || end != piece.data() + piece.size() || !std::isfinite(x))
      refuse(answer, given);
    numbers.push_back(x);
  }
  if (numbers.size() != answer.numbers.size()) refuse(answer, given);
  return numbers;
}

bool close(const std::vector<double>& a, const std::vector<double>& b, int decimals) {
  const double room = decimals == 0 ? 0 : kUnits * std::pow(10.0, -decimals) * (1 + 1e-9);
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](double x, double y) { return std::abs(x - y) <= room; });
}

Verdict check_word(const Exercise& exercise, std::string_view given) {
  const std::vector<std::string> pieces = pieces_of(given);
  const std::vector<std::string>& choices = exercise.answer.choices;
  if (pieces.size() != 1) refuse(exercise.answer, given);
  const auto known = std::find_if(choices.begin(), choices.end(), [&](const std::string& choice) {
    return lower(choice) == lower(pieces[0]);
  });
  if (known == choices.end()) refuse(exercise.answer, given);
  if (*known == exercise.answer.word) return {true, ""};
  return {false, exercise.hint};
}

}  // namespace

const Lesson& lesson(int number) {
  static const std::vector<Lesson> all = all_lessons();
  const std::string& title = chapter(number).title;  // throws if there is none
  if (static_cast<std::size_t>(number) > all.size())
    throw Error(ErrorKind::input, "learn.lesson", concat("no lesson for \"", title, "\""));
  return all[static_cast<std::size_t>(number - 1)];
}

std::string command_of(const ModelPicture& picture) {
  return concat("headlight show \"", picture.text, "\" --model ", picture.model, " --part cross --head ",
                picture.layer, ".", picture.head, " --svg FILE");
}

std::string answer_text(const Answer& answer) {
  return answer.numbers.empty() ? answer.word : lab::digits(answer.numbers, answer.decimals);
}

std::string form_text(const Answer& answer) {
  if (answer.numbers.empty()) return fmt::format("one of: {}", fmt::join(answer.choices, ", "));
  const std::size_t count = answer.numbers.size();
  const std::string what = answer.decimals == 0
                               ? std::string(count == 1 ? "one whole number" : "whole numbers")
                               : fmt::format("{} with {} decimal{}", count == 1 ? "one number" : "numbers",
                                             answer.decimals, answer.decimals == 1 ? "" : "s");
  return count == 1 ? what : fmt::format("{} {}, separated by spaces", count, what);
}

Verdict check_answer(const Exercise& exercise, std::string_view given) {
  const Answer& answer = exercise.answer;
  if (answer.numbers.empty()) return check_word(exercise, given);
  const std::vector<double> numbers = numbers_of(answer, given);
  if (close(numbers, answer.numbers, answer.decimals)) return {true, ""};
  for (const Mistake& mistake : exercise.mistakes)
    if (close(numbers, mistake.numbers, answer.decimals)) return {false, mistake.why};
  return {false, exercise.hint};
}

}  // namespace headlight::learn
