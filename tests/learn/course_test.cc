// The course: its text is cut rightly, its answers are computed and agree with published numbers, and wrong answers are
// told from right ones.
#include "learn/course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "draw/drawing.h"
#include "draw/text.h"
#include "headlight/error.h"
#include "learn/lesson.h"
#include "learn/sums.h"
#include "learn/worksheet.h"

namespace headlight::testing {
namespace {

using learn::Exercise;
using learn::kChapters;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The computed exercise K of a chapter, from 1.
Exercise exercise(int chapter, std::size_t number) {
  return learn::lesson(chapter).exercises().at(number - 1);
}

TEST(Course, HasAllChaptersInOrder) {
  ASSERT_EQ(learn::chapters().size(), static_cast<std::size_t>(kChapters));
  for (int n = 1; n <= kChapters; ++n) {
    const learn::Chapter& c = learn::chapters()[static_cast<std::size_t>(n - 1)];
    EXPECT_EQ(c.number, n);
    EXPECT_FALSE(c.title.empty()) << n;
    EXPECT_EQ(c.question.back(), '?') << n;
    EXPECT_THAT(c.text, StartsWith("# "));
    EXPECT_EQ(c.exercises.size(), learn::lesson(n).exercises().size()) << n;
  }
  EXPECT_THROW((void)learn::chapter(0), Error);
  EXPECT_THROW((void)learn::chapter(17), Error);
}

TEST(Course, AChapterIsCutAtItsMarks) {
  const learn::Chapter c = learn::read_chapter(
      "# 3. A title\n\n**Why?**\n\ntext\n\n**Exercise 1.** "
      "First\nquestion?\n\n<details><summary>Answer</summary>\n\n"
      "0.5: so.\n\n</details>\n\n**Exercise 2.** "
      "Second?\n\n<details><summary>Answer</summary>\n\nA\n\n</details>\n");
  EXPECT_EQ(c.number, 3);
  EXPECT_EQ(c.title, "A title");
  EXPECT_EQ(c.question, "Why?");
  ASSERT_EQ(c.exercises.size(), 2U);
  EXPECT_EQ(c.exercises[0].question, "First\nquestion?");
  EXPECT_EQ(c.exercises[0].solution, "0.5: so.");
  EXPECT_EQ(c.exercises[1].solution, "A");
  EXPECT_EQ(learn::read_chapter("# 1. T\n<details><summary>Reveal</summary>\n\nYes.\n\n</details>\n").reveal,
            "Yes.");
  EXPECT_TRUE(learn::read_chapter("").exercises.empty());
  EXPECT_TRUE(learn::read_chapter("# 1. T\n**Exercise 1.** no end").exercises[0].solution.empty());
}

// The text's solution begins with the computed answer; the answer is right, and nothing beside it is.
TEST(Course, EverySolutionIsTheComputedAnswer) {
  for (const learn::Chapter& c : learn::chapters()) {
    const std::vector<Exercise> computed = learn::lesson(c.number).exercises();
    for (std::size_t i = 0; i < computed.size(); ++i) {
      SCOPED_TRACE(c.title + ", exercise " + std::to_string(i + 1));
      const std::string answer = learn::answer_text(computed[i].answer);
      EXPECT_THAT(c.exercises[i].solution, StartsWith(answer));
      EXPECT_TRUE(learn::check_answer(computed[i], answer).right);
      EXPECT_FALSE(computed[i].hint.empty());
      if (computed[i].answer.numbers.empty()) continue;
      learn::Answer off = computed[i].answer;
      off.numbers[0] += off.decimals == 0 ? 1 : 3 * std::pow(10, -off.decimals);
      const learn::Verdict verdict = learn::check_answer(computed[i], learn::answer_text(off));
      EXPECT_FALSE(verdict.right);
      EXPECT_FALSE(verdict.remark.empty());
    }
  }
}

TEST(Course, KnownMistakesAreWrongAndExplained) {
  int mistakes = 0;
  for (int n = 1; n <= kChapters; ++n) {
    for (const Exercise& e : learn::lesson(n).exercises()) {
      for (const learn::Mistake& mistake : e.mistakes) {
        learn::Answer slip = e.answer;
        slip.numbers = mistake.numbers;
        const learn::Verdict verdict = learn::check_answer(e, learn::answer_text(slip));
        EXPECT_FALSE(verdict.right) << n << ": " << mistake.why;
        EXPECT_EQ(verdict.remark, mistake.why);
        ++mistakes;
      }
    }
  }
  EXPECT_GT(mistakes, 20);
}

// Numbers that others have printed for this sentence, or that follow from a formula.
TEST(Course, AnswersAgreeWithPublishedNumbers) {
  EXPECT_THAT(exercise(2, 1).answer.numbers, ElementsAre(DoubleNear(0.3474, 5e-5)));
  EXPECT_EQ(exercise(2, 2).answer.word, "starts");
  EXPECT_THAT(exercise(3, 2).answer.numbers, ElementsAre(DoubleNear(0.197491, 5e-7)));
  EXPECT_THAT(exercise(6, 1).answer.numbers, ElementsAre(DoubleNear(0.8808, 5e-5), DoubleNear(0.1192, 5e-5)));
  EXPECT_THAT(exercise(7, 2).answer.numbers, ElementsAre(DoubleNear(std::cos(2.0), 1e-12)));
  EXPECT_THAT(exercise(16, 3).answer.numbers, ElementsAre(256));
  EXPECT_THAT(learn::lesson(6).worked(), HasSubstr("0.1500   0.2264   0.2199   0.1311   0.0906   0.1820"));
  EXPECT_THAT(learn::lesson(6).worked(), HasSubstr("journey in context = (0.3061, 0.8210)"));
  EXPECT_THAT(learn::lesson(9).worked(), HasSubstr("Your     -0.4519 0.2216 0.4772 0.1063"));
}

TEST(Answers, AreReadLeniently) {
  const Exercise three = exercise(3, 1);
  for (const char* text :
       {"0.6652 0.2447 0.0900", "(0.6652, 0.2447, 0.09)", "0.6652;0.2447;9e-2", " .6652 .2447 .09 "})
    EXPECT_TRUE(learn::check_answer(three, text).right) << text;
  EXPECT_TRUE(learn::check_answer(exercise(2, 2), "Starts").right);
  EXPECT_TRUE(learn::check_answer(exercise(7, 1), "0.1411, \u22120.9900").right) << "as the texts print it";
  EXPECT_TRUE(learn::check_answer(exercise(2, 1), "0.3473").right)
      << "one unit of the last decimal is rounding";
  EXPECT_FALSE(learn::check_answer(exercise(2, 1), "0.3472").right);
  EXPECT_FALSE(learn::check_answer(exercise(1, 3), "1048577").right);
}

TEST(Answers, OfAnotherFormAreRefusedWithTheForm) {
  for (const char* text : {"", "abc", "nan", "inf", "1e999", "0.6652", "1 2 3 4", "0.5x 1 2", "1-2 3 4"}) {
    try {
      (void)learn::check_answer(exercise(3, 1), text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("3 numbers with 4 decimals")) << text;
    }
  }
  EXPECT_THROW((void)learn::check_answer(exercise(2, 2), "sat"), Error);
  EXPECT_THROW((void)learn::check_answer(exercise(2, 2), "one step"), Error);
}

// Indented in a terminal of 80 columns, no line of arithmetic is broken.
TEST(Lessons, AreNarrowEnough) {
  for (int n = 1; n <= kChapters; ++n) {
    std::istringstream lines(learn::lesson(n).worked());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(draw::display_width(line), 76) << n << ": " << line;
  }
}

TEST(Lessons, HavePictures) {
  for (int n = 1; n <= kChapters; ++n) {
    const learn::Lesson& lesson = learn::lesson(n);
    if (!lesson.picture) {
      ASSERT_TRUE(lesson.model_picture.has_value()) << n;
      EXPECT_THAT(learn::command_of(*lesson.model_picture), HasSubstr("--part cross --head 3.5 --svg")) << n;
      continue;
    }
    const std::string svg = draw::encoded(lesson.picture(), draw::PictureFormat::svg);
    EXPECT_THAT(svg, HasSubstr("</svg>")) << n;
    EXPECT_LT(svg.size(), 60000U) << n;
  }
}

TEST(Sums, AreThoseOfTheirNames) {
  const learn::Vector a = {3, 4}, b = {0, 0};
  EXPECT_EQ(learn::length(a), 5);
  EXPECT_EQ(learn::distance(a, b), 5);
  EXPECT_EQ(learn::times(a, {{1, 0, 2}, {0, 1, 1}}), (learn::Vector{3, 4, 10}));
  EXPECT_EQ(learn::normalized(learn::Vector{1, 1, 3, 3}), (learn::Vector{-1, -1, 1, 1}));
  EXPECT_EQ(learn::short_tuple(learn::Vector{0.5, -0.0, 1, 0.10004}), "(0.5, 0, 1, 0.1)");
  EXPECT_EQ(learn::tuple(learn::Vector{0.5, -0.25, 1}, 2), "(0.50, -0.25, 1.00)");
}

TEST(Worksheet, IsTheSameForASeedAndAnotherForTheNext) {
  for (int n = 1; n <= kChapters; ++n) {
    const std::vector<learn::Problem> first = learn::worksheet(n, 7), again = learn::worksheet(n, 7),
                                      other = learn::worksheet(n, 8);
    ASSERT_EQ(first.size(), static_cast<std::size_t>(learn::kProblems));
    bool differs = false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].question, again[i].question);
      EXPECT_EQ(first[i].answer.numbers, again[i].answer.numbers);
      differs = differs || first[i].question != other[i].question;
      for (const double x : first[i].answer.numbers)
        EXPECT_TRUE(std::isfinite(x)) << n << ": " << first[i].question;
      const Exercise as_exercise{first[i].answer, "hint"};
      EXPECT_TRUE(learn::check_answer(as_exercise, learn::answer_text(first[i].answer)).right);
    }
    EXPECT_TRUE(differs) << n;
  }
}

TEST(Worksheet, EverySeedGivesFiniteAnswers) {
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const learn::Problem& p : learn::worksheet(10, seed))
      for (const double x : p.answer.numbers) ASSERT_TRUE(std::isfinite(x)) << seed << ": " << p.question;
}

TEST(Worksheet, IsAPageOfA4) {
  const draw::Drawing page = learn::worksheet_page(learn::worksheet(9, 1), {"Worksheet 9", "Seed 1", true});
  EXPECT_NEAR(page.width / draw::kPointsPerMillimetre, 210, 0.5);
  EXPECT_NEAR(page.height / draw::kPointsPerMillimetre, 297, 0.5);
  for (const draw::DrawingItem& item : page.items) {
    if (const auto* text = std::get_if<draw::TextItem>(&item)) {
      EXPECT_LT(text->at.y, page.height - 20) << text->text;
    }
  }
  EXPECT_THAT(draw::encoded(page, draw::PictureFormat::pdf), StartsWith("%PDF"));
}

}  // namespace
}  // namespace headlight::testing
