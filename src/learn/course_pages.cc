#include "learn/course_pages.h"

#include <algorithm>
#include <cctype>

#include "core/concat.h"
#include "draw/pages.h"
#include "draw/text.h"
#include "draw/typesetter.h"
#include "learn/course.h"
#include "learn/lesson.h"

namespace headlight::learn {
namespace {

constexpr double kWidth = 595, kHeight = 842, kMargin = 62, kFont = 10, kCode = 8, kPitch = 5.1;  // points
constexpr double kLine = 1.45, kMostPicture = 300;

// Markdown's marks taken away: a printed page needs none of them. Words that are spoken of, in *stars*, get quotation
// marks; underscores inside names stay.
std::string without_marks(std::string_view text) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '`' || (c == '_' && !(at > 0 && in_word(at - 1) && in_word(at + 1)))) continue;
    if (c == '*') {
      if (text.substr(at, 2) == "**") ++at;
      else out += '"';
      continue;
    }
    if (c == '[' || c == ']') {
      if (c == ']' && at + 1 < text.size() && text[at + 1] == '(')
        at = std::min(text.find(')', at), text.size() - 1);
      continue;
    }
    out += c;
  }
  return out;
}

class Book {
 public:
  void chapter(const Chapter& chapter) {
    new_page(concat(chapter.number, ". ", chapter.title));
    words(concat(chapter.number, ". ", chapter.title), {.size = 18, .bold = true}, 6);
    words(without_marks(chapter.question), {.size = 13}, 8);
    picture(chapter.number);
    body(chapter);
  }

  void answers() {
    new_page("Answers");
    words("Answers", {.size = 18, .bold = true}, 8);
    for (const Chapter& c : chapters()) {
      std::string list;
      const std::vector<Exercise> all = lesson(c.number).exercises();
      for (std::size_t i = 0; i < all.size(); ++i)
        list += concat("   (", i + 1, ") ", answer_text(all[i].answer));
      words(concat("Chapter ", c.number, ":", list), {.size = kFont}, 2);
      words(without_marks(c.reveal), {.size = kFont}, 6);
    }
  }

  std::vector<draw::Drawing> take() { return std::move(pages_); }

 private:
  void new_page(const std::string& title) {
    title_ = title;
    draw::Drawing page{
        .width = kWidth, .height = kHeight, .title = "Headlight: attention in sixteen chapters"};
    const draw::Rgb grey{110, 116, 126};
    page.add(draw::TextItem{{kMargin, kHeight - 36}, title, {.size = 8, .color = grey}});
    page.add(draw::TextItem{{kWidth - kMargin, kHeight - 36},
                            concat(pages_.size() + 1),
                            {.size = 8, .color = grey},
                            draw::Anchor::right});
    pages_.push_back(std::move(page));
    y_ = kMargin;
  }
  void need(double height) {
    if (y_ + height > kHeight - kMargin) new_page(title_);
  }
  void words(const std::string& text, const draw::TextLook& look, double after) {
    for (const std::string& line : setter_.wrapped(text, look, kWidth - 2 * kMargin)) {
      need(kLine * look.size);
      y_ += kLine * look.size;
      pages_.back().add(draw::TextItem{{kMargin, y_}, line, look});
    }
    y_ += after;
  }
  // Every character has its own column, because the arithmetic is set in tables.
  void code(std::string_view line) {
    need(kLine * kCode);
    y_ += kLine * kCode;
    double x = kMargin + 8;
    for (const draw::Cluster& letter : draw::clusters(line)) {
      if (letter.bytes != " ")
        pages_.back().add(
            draw::TextItem{{x + kPitch / 2, y_}, letter.bytes, {.size = kCode}, draw::Anchor::middle});
      x += kPitch * letter.width;
    }
  }
  void picture(int number) {
    const Lesson& all = lesson(number);
    if (!all.picture) {
      words(concat("(Picture: ", all.picture_command, " FILE)"), {.size = 8}, 6);
      return;
    }
    const draw::Drawing drawn = all.picture();
    const double scale = std::min({(kWidth - 2 * kMargin) / drawn.width, kMostPicture / drawn.height, 1.6});
    need(drawn.height * scale + 10);
    draw::place(pages_.back(), drawn, {kMargin, y_}, scale);
    y_ += drawn.height * scale + 10;
  }
  void body(const Chapter& chapter) {
    std::string_view rest = chapter.text;
    std::string paragraph;
    bool in_code = false, in_answer = false;
    const auto flush = [&] {
      if (!paragraph.empty() && paragraph != concat("**", chapter.question, "**"))
        words(without_marks(paragraph), {.size = kFont, .bold = false}, 5);
      paragraph.clear();
    };
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(rest.size(), end + 1));
      if (line.starts_with("```")) {
        flush();
        in_code = !in_code;
        y_ += 4;
      } else if (in_code) {
        if (!in_answer) code(line);
      } else if (line.starts_with("<details>")) {
        flush();
        in_answer = true;  // answers and revealed texts are printed at the end of the book
        if (line.find("Reveal") != std::string_view::npos)
          words("(The end of the book reveals it.)", {.size = 8}, 5);
      } else if (line.starts_with("</details>")) {
        in_answer = false;
      } else if (in_answer || line.starts_with("# ") || line.starts_with("![") || line.starts_with("<") ||
                 line.starts_with("Before: ")) {
        flush();
      } else if (line.starts_with("## ")) {
        flush();
        need(60);
        y_ += 6;
        words(without_marks(line.substr(3)), {.size = 12, .bold = true}, 3);
      } else if (line.empty()) {
        flush();
      } else {
        if (line.starts_with("- ")) flush();
        paragraph += concat(paragraph.empty() ? "" : " ",
                            line.starts_with("- ") ? concat("• ", line.substr(2)) : std::string(line));
      }
    }
    flush();
  }

  draw::Typesetter setter_;
  std::vector<draw::Drawing> pages_;
  std::string title_;
  double y_ = 0;
};

}  // namespace

std::vector<draw::Drawing> course_pages() {
  Book book;
  for (const Chapter& c : chapters()) book.chapter(c);
  book.answers();
  return book.take();
}

}  // namespace headlight::learn
