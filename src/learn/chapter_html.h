// A chapter as HTML for the page: a small, fixed part of Markdown, everything else shown verbatim. All text is
// escaped; the only addresses are those of chapters and views of the page itself.
#pragma once

#include <string>
#include <string_view>

namespace headlight::learn {

// Without the heading and the question, which are separate fields, and with <figure data-picture> instead of the
// picture. Exercises are <section data-exercise="1"> with the solution in <details>. A command that opens
// the viewer is followed by <a data-view href="#…">.
[[nodiscard]] std::string chapter_html(std::string_view markdown);

// One chapter for the page: number, title, question, HTML, picture and the answers of its exercises.
[[nodiscard]] std::string chapter_json(int number);
// All chapters without their text: numbers, titles and questions; or with it, for a file.
[[nodiscard]] std::string course_list_json();
[[nodiscard]] std::string course_json();

// The picture of a chapter in docs/learn/pictures.
[[nodiscard]] std::string_view chapter_picture(int number);

}  // namespace headlight::learn
