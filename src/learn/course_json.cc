// The course as JSON for the page.
#include <utility>

#include "io/json_writer.h"
#include "learn/chapter_html.h"
#include "learn/course.h"
#include "learn/lesson.h"

namespace headlight::learn {
namespace {

void write_head(io::JsonWriter& w, const Chapter& chapter) {
  std::string question;  // shown as plain text: *words* mentioned as words get quotation marks
  bool inside = false;
  for (const char c : chapter.question) {
    if (c != '*') question += c;
    else question += std::exchange(inside, !inside) ? "”" : "“";
  }
  w.field("number", chapter.number).field("title", chapter.title).field("question", question);
}

void write_exercise(io::JsonWriter& w, const Exercise& exercise) {
  const Answer& answer = exercise.answer;
  w.begin_object().field("form", form_text(answer)).field("numbers", answer.numbers);
  w.field("decimals", answer.decimals).field("word", answer.word).field("choices", answer.choices);
  w.field("hint", exercise.hint).key("mistakes").begin_list();
  for (const Mistake& mistake : exercise.mistakes)
    w.begin_object().field("numbers", mistake.numbers).field("why", mistake.why).end_object();
  w.end_list().end_object();
}

}  // namespace

std::string chapter_json(int number) {
  const Chapter& c = chapter(number);
  io::JsonWriter w;
  write_head(w.begin_object(), c);
  w.field("html", chapter_html(c.text))
      .field("picture", chapter_picture(number))
      .key("exercises")
      .begin_list();
  for (const Exercise& exercise : lesson(number).exercises()) write_exercise(w, exercise);
  w.end_list();
  if (lesson(number).slider) {
    const Slider slider = lesson(number).slider();
    w.key("slider").begin_object().field("words", slider.words).field("scores", slider.scores).end_object();
  }
  return w.end_object().take_line();
}

std::string course_list_json() {
  io::JsonWriter w;
  w.begin_object().key("chapters").begin_list();
  for (const Chapter& c : chapters()) {
    write_head(w.begin_object(), c);
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string course_json() {
  io::JsonWriter w;
  w.begin_object().key("chapters").begin_list();
  for (const Chapter& c : chapters()) w.value(io::JsonText{chapter_json(c.number)});
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::learn
