#include "learn/course.h"

#include <algorithm>
#include <charconv>

#include "core/concat.h"
#include "headlight/error.h"

// The unchanged files, one after another. HEADLIGHT_LEARN is their folder, set by the build.
#define HEADLIGHT_CHAPTER(name) ".incbin \"" HEADLIGHT_LEARN "/" name ".md\"\n"
asm(".section .rodata\n"
    "headlight_course_begin:\n" HEADLIGHT_CHAPTER("01-words-as-vectors") HEADLIGHT_CHAPTER("02-dot-product")
        HEADLIGHT_CHAPTER("03-softmax") HEADLIGHT_CHAPTER("04-weighted-sum")
            HEADLIGHT_CHAPTER("05-query-key-value") HEADLIGHT_CHAPTER("06-scale")
                HEADLIGHT_CHAPTER("07-order") HEADLIGHT_CHAPTER("08-mask") HEADLIGHT_CHAPTER("09-heads")
                    HEADLIGHT_CHAPTER("10-block") HEADLIGHT_CHAPTER("11-cross-attention")
                        HEADLIGHT_CHAPTER("12-decoding") HEADLIGHT_CHAPTER("13-training")
                            HEADLIGHT_CHAPTER("14-what-heads-do") HEADLIGHT_CHAPTER("15-recurrence")
                                HEADLIGHT_CHAPTER("16-fast-attention") "headlight_course_end:\n"
                                                                       ".byte 0\n"
                                                                       ".previous\n");
extern "C" const char headlight_course_begin[], headlight_course_end[];  // NOLINT: labels of the assembler

namespace headlight::learn {
namespace {

constexpr std::string_view kExercise = "**Exercise ", kDetails = "<details>", kDetailsEnd = "</details>",
                           kReveal = "<summary>Reveal</summary>";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \n") - first + 1));
}

// The text between two markers; empty if one is missing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + from.size());
  const std::size_t end = text.find(to);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

WrittenExercise read_exercise(std::string_view text) {
  WrittenExercise exercise;
  text.remove_prefix(std::min(text.size(), text.find(".**") + 3));  // "**Exercise 1.**"
  exercise.question = trimmed(text.substr(0, text.find(kDetails)));
  exercise.solution = trimmed(between(text, "</summary>", kDetailsEnd));
  return exercise;
}

// "# 3. Softmax" starts a chapter.
bool begins_chapter(std::string_view line) {
  if (!line.starts_with("# ")) return false;
  line.remove_prefix(2);
  const std::size_t point = line.find(". ");
  return point != std::string_view::npos && point > 0 &&
         line.substr(0, point).find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<Chapter> read_course() {
  const std::string_view all(headlight_course_begin,
                             static_cast<std::size_t>(headlight_course_end - headlight_course_begin));
  std::vector<Chapter> course;
  std::size_t begin = 0;
  for (std::size_t line = 0; line < all.size();) {
    const std::size_t next = std::min(all.find('\n', line), all.size() - 1) + 1;
    const bool at_end = next == all.size();
    if (line > begin && begins_chapter(all.substr(line, next - line))) {
      course.push_back(read_chapter(all.substr(begin, line - begin)));
      begin = line;
    }
    if (at_end) course.push_back(read_chapter(all.substr(begin)));
    line = next;
  }
  return course;
}

}  // namespace

Chapter read_chapter(std::string_view markdown) {
  Chapter chapter;
  chapter.text = std::string(markdown);
  const std::string_view heading = between(markdown, "# ", "\n");
  const std::size_t point = std::min(heading.find(". "), heading.size());
  (void)std::from_chars(heading.data(), heading.data() + point, chapter.number);
  chapter.title = trimmed(heading.substr(std::min(heading.size(), point + 2)));
  chapter.question = trimmed(between(markdown, "\n**", "**\n"));
  const std::size_t reveal = std::min(markdown.find(kReveal), markdown.size());
  chapter.reveal = trimmed(between(markdown.substr(reveal), kReveal, kDetailsEnd));
  for (std::size_t at = markdown.find(kExercise); at != std::string_view::npos;) {
    const std::size_t next = markdown.find(kExercise, at + 1);
    chapter.exercises.push_back(read_exercise(markdown.substr(at, next - at)));
    at = next;
  }
  return chapter;
}

const std::vector<Chapter>& chapters() {
  static const std::vector<Chapter> course = read_course();
  return course;
}

const Chapter& chapter(int number) {
  for (const Chapter& c : chapters())
    if (c.number == number) return c;
  throw Error(ErrorKind::usage, "learn.chapter",
              concat("chapter ", number, " does not exist: the course has chapters 1 to ", kChapters));
}

}  // namespace headlight::learn
