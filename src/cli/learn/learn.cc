// headlight learn: the course in the terminal, chapter by chapter, with answers that are checked.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/learn/bookmark.h"
#include "cli/learn/chapter_text.h"
#include "cli/learn/model_picture.h"
#include "cli/learn/sheet.h"
#include "cli/learn/walk.h"
#include "cli/model_input.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "draw/pages.h"
#include "draw/text.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "learn/chapter_html.h"
#include "learn/course.h"
#include "learn/course_pages.h"
#include "learn/lesson.h"
#include "serve/page.h"

namespace headlight::cli {
namespace {

constexpr int kWrongAnswer = 1;  // the exit code

struct LearnSettings {
  std::optional<Index> place, chapter, exercise, worksheet, seed;
  std::optional<std::string> answer;
  bool list = false, reveal = false, numbers = false;
  std::string html, book;  // the whole course as a page, or as a PDF to print
  FigureOptions figures;
  Color color = Color::automatic;
  JsonTarget json;

  [[nodiscard]] std::optional<int> number() const {
    if (place) return static_cast<int>(*place);
    if (chapter) return static_cast<int>(*chapter);
    return std::nullopt;
  }
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "learn.option", message);
}

// Options that exclude each other are refused, not ignored.
void check_settings(const LearnSettings& s) {
  if ((!s.html.empty() || !s.book.empty()) && (s.number() || s.list || s.numbers || s.worksheet || s.answer))
    refuse("--html and --book write the whole course; leave the other options out");
  if (s.place && s.chapter) refuse("give the chapter once: headlight learn 4, or --chapter 4");
  const int modes = (s.list ? 1 : 0) + (s.numbers ? 1 : 0) + (s.worksheet ? 1 : 0) + (s.answer ? 1 : 0);
  if (modes > 1) refuse("--list, --numbers, --worksheet and --check cannot be combined");
  if (s.seed && !s.worksheet) refuse("--seed needs --worksheet N: it selects the numbers");
  if (s.worksheet && s.number()) refuse("--worksheet N selects the chapter; leave out the other number");
  if (s.exercise && (s.list || s.numbers || s.worksheet))
    refuse("--exercise needs --check, or a chapter without other options");
  if (s.figures.any() && (s.list || s.numbers || s.exercise || s.answer))
    refuse("--svg, --png and --pdf need a chapter or --worksheet N to draw");
  const bool needs_chapter = s.answer || s.exercise || s.numbers || s.figures.any();
  if (needs_chapter && !s.number() && !s.worksheet)
    refuse("no chapter given; add its number, as in headlight learn 4");
}

PageStyle page_style(const LearnSettings& s) {
  PageStyle style;
  style.color = color_depth(s.color);
  style.glyphs = output_is_utf8() ? draw::Glyphs::unicode : draw::Glyphs::ascii;
  style.width = std::clamp(terminal_width(), 40, 100);
  return style;
}

void list_chapters() {
  constexpr int kIndent = 35;
  const int next = bookmark(), width = std::clamp(terminal_width(), 60, 120);
  std::string text;
  for (const learn::Chapter& c : learn::chapters()) {
    const std::string title = draw::left_aligned(draw::shortened(c.title, 27), 28);
    text += fmt::format("{} {:>2}  {} {}\n", c.number == next ? ">" : " ", c.number, title,
                        draw::wrapped(plain_text(c.question), width, kIndent));
  }
  print(text);
}

learn::Exercise find_exercise(int chapter, Index number) {
  const std::vector<learn::Exercise> all = learn::lesson(chapter).exercises();
  if (number > static_cast<Index>(all.size()))
    refuse(concat("--exercise ", number, ": chapter ", chapter, " has exercises 1 to ", all.size()));
  return all[static_cast<std::size_t>(number - 1)];
}

void show_exercise(const LearnSettings& s) {
  const int chapter = *s.number();
  const learn::Exercise exercise = find_exercise(chapter, *s.exercise);
  const learn::WrittenExercise& written =
      learn::chapter(chapter).exercises.at(static_cast<std::size_t>(*s.exercise - 1));
  std::string text = concat(draw::wrapped(plain_text(written.question), page_style(s).width - 2, 0), "\n\n");
  text += concat("Answer: ", learn::form_text(exercise.answer), "\nCheck:  ", program_name(), " learn ",
                 chapter, " --exercise ", *s.exercise, " --check ANSWER\n");
  if (s.reveal)
    text += concat("\n", draw::wrapped(plain_text(written.solution), page_style(s).width - 2, 0), "\n");
  print(text);
}

void check_exercise(const LearnSettings& s) {
  const int chapter = *s.number();
  const Index number = s.exercise.value_or(1);
  const learn::Exercise exercise = find_exercise(chapter, number);
  const learn::Verdict verdict = [&] {
    try {
      return learn::check_answer(exercise, *s.answer);
    } catch (const Error& error) {  // possibly the answer to another exercise
      if (s.exercise) throw;
      refuse(concat(error.what(), "\n  This is exercise 1; --exercise K checks another one."));
    }
  }();
  const std::string which = fmt::format("chapter {}, exercise {}", chapter, number);
  if (verdict.right)
    return print(fmt::format("Right: {} ({})\n", learn::answer_text(exercise.answer), which));
  print(fmt::format("Not yet ({}). {}\nExpected form: {}\n", which, verdict.remark,
                    learn::form_text(exercise.answer)));
  throw Ended{kWrongAnswer};
}

void draw_picture(const LearnSettings& s) {
  const int number = *s.number();
  const learn::Lesson& lesson = learn::lesson(number);
  constexpr double kDpi = 150;
  io::Outputs outputs(s.json.existing());
  reserve_figures(outputs, s.figures);
  write_figures(outputs, s.figures, lesson.picture ? lesson.picture() : model_picture(*lesson.model_picture),
                kDpi);
  outputs.commit();
}

// The chapter's exercises with their answers, for programs.
std::string chapter_json(const learn::Chapter& chapter) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines);
  w.key("chapter")
      .value(chapter.number)
      .key("title")
      .value(chapter.title)
      .key("question")
      .value(chapter.question);
  w.key("exercises").begin_list(io::JsonLayout::lines);
  const std::vector<learn::Exercise> computed = learn::lesson(chapter.number).exercises();
  for (std::size_t i = 0; i < computed.size() && i < chapter.exercises.size(); ++i) {
    const learn::Answer& answer = computed[i].answer;
    w.begin_object().key("question").value(plain_text(chapter.exercises[i].question));
    w.key("form").value(learn::form_text(answer)).key("answer").value(learn::answer_text(answer));
    w.key("numbers").value(answer.numbers).end_object();
  }
  w.end_list().end_object();
  return w.take_line();
}

void show_chapter(const LearnSettings& s, int number) {
  const learn::Chapter& chapter = learn::chapter(number);
  if (!s.json.path.empty()) {
    JsonOutput json(s.json);
    json.write(chapter_json(chapter));
    if (s.json.to_stdout()) return;
  }
  const bool asks = output_is_terminal() && ::isatty(STDIN_FILENO) == 1 && !s.reveal;
  if (!walk_through(chapter, page_style(s), {.asks = asks, .reveal = s.reveal}))
    return;  // stopped before the end
  const int next = std::min(number + 1, learn::kChapters);
  (void)set_bookmark(next);
  if (number < learn::kChapters)
    print(
        fmt::format("Next: {} learn   (chapter {}: {})\n", program_name(), next, learn::chapter(next).title));
}

// If the model is not installed, the course is printed without its picture.
std::optional<draw::Drawing> picture_if_found(const learn::ModelPicture& wanted) {
  try {
    return model_picture(wanted);
  } catch (const Error& error) {
    print_notes({concat("a picture is missing: ", error.what())});
    return std::nullopt;
  }
}

// The whole course as one file: a page that needs no server, or a PDF for printing.
void write_course(const LearnSettings& s) {
  io::Outputs outputs(s.json.existing());
  for (const std::string* path : {&s.html, &s.book})
    if (!path->empty()) outputs.reserve(*path);
  if (!s.html.empty()) {
    std::string json = learn::course_json();
    json.append((4 - json.size() % 4) % 4, ' ');
    const auto length = std::bit_cast<std::array<char, 4>>(static_cast<std::uint32_t>(json.size()));
    const std::string page = serve::page_with_data(std::string(length.data(), length.size()) + json);
    outputs.write(s.html, std::as_bytes(std::span(page)));
  }
  if (!s.book.empty()) {
    const std::string pages = draw::encoded_pages(learn::course_pages(picture_if_found));
    outputs.write(s.book, std::as_bytes(std::span(pages)));
  }
  outputs.commit();
}

void run(const LearnSettings& s) {
  check_settings(s);
  if (!s.html.empty() || !s.book.empty()) return write_course(s);
  if (s.list) return list_chapters();
  if (s.worksheet)
    return write_sheet({static_cast<int>(*s.worksheet), static_cast<std::uint64_t>(s.seed.value_or(1)),
                        s.figures, s.json.existing(), page_style(s).width});
  if (s.answer) return check_exercise(s);
  if (s.exercise) return show_exercise(s);
  if (s.numbers) return print(learn::lesson(*s.number()).worked());
  if (s.figures.any()) return draw_picture(s);
  const int number = s.number().value_or(bookmark());
  if (s.json.path.empty() || !s.json.to_stdout()) (void)set_bookmark(number);
  show_chapter(s, number);
}

}  // namespace

void add_learn(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "learn",
       .what = "Take a course on attention in sixteen chapters",
       .usage = "headlight learn [CHAPTER] [--exercise K] [--check ANSWER] [options]",
       .examples = "  headlight learn                     the next chapter\n"
                   "  headlight learn --list              all chapters\n"
                   "  headlight learn 2 --check 0.3474    check an answer to exercise 1\n"
                   "  headlight learn 2 --exercise 3 --check 0.8456\n"
                   "  headlight learn --worksheet 3 --seed 7 --pdf sheet.pdf\n\n"
                   "  --check ends with exit code 0 for a right answer, 1 for a wrong one and 2 for\n"
                   "  an answer in another form, such as a word instead of a number. The chapter\n"
                   "  where you stopped is stored in $XDG_STATE_HOME/headlight/learn (default:\n"
                   "  ~/.local/state/headlight/learn). --pdf without a file name writes learn.pdf;\n"
                   "  with --worksheet also learn-solutions.pdf.\n"});
  const auto s = std::make_shared<LearnSettings>();
  add_count(*command, "CHAPTER", s->place, "The chapter to read (default: where you stopped)",
            {1, learn::kChapters});
  add_count(*command, "--chapter", s->chapter, "The same, as an option", {1, learn::kChapters});
  add_switch(*command, "--list", s->list, "List the chapters; > marks the next one");
  add_switch(*command, "--reveal", s->reveal, "Show predictions and exercises with their answers");
  add_switch(*command, "--numbers", s->numbers, "Print only the arithmetic of the chapter");
  begin_group(*command, "Exercises");
  add_count(*command, "--exercise", s->exercise, "Number of the exercise (default with --check: 1)", {1, 9});
  add_reader(
      *command, "--check", [s](const std::string& text) { s->answer = text; },
      "Check an answer: a number, quoted numbers, or a word")
      ->type_name("ANSWER");
  add_count(*command, "--worksheet", s->worksheet, "Print new problems for chapter N, and their solutions",
            {1, learn::kChapters});
  add_count(*command, "--seed", s->seed, "Choose the worksheet's numbers (default: 1)", {0, 1000000000});
  add_figure_files(*command, s->figures, "learn.pdf");
  add_text(*command, "--html", s->html, "Write the course as one offline page")->type_name("FILE");
  add_text(*command, "--book", s->book, "Write the course as a PDF to print")->type_name("FILE");
  add_figure_style(*command, s->figures, Layout::fixed);
  add_json(*command, s->json);
  add_color(*command, s->color);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
