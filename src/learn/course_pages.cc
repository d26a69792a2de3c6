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

constexpr double kWidth = 595, kHeight = 842, kMargin = 54, kFont = 10, kCode = 8, kPitch = 5.1;  // points
constexpr double kLine = 1.45, kMostPicture = 300, kIndent = 8;
constexpr double kText = kWidth - 2 * kMargin;  // the width of a line
constexpr double kLeastCode = 0.78;             // code with long lines is set smaller, down to this share

// Removes Markdown's marks, which a printed page does not need. Words mentioned as words, in *asterisks*, get quotation
// marks; underscores inside names stay.
std::string without_marks(std::string_view text) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at] == '\n' ? ' ' : text[at];
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

// An item of the layout: a heading, a paragraph, a block of code, a note in small type.
struct LayoutItem {
  enum class Kind { heading, words, code, note } kind = Kind::words;
  std::vector<std::string> lines;  // one, except for code
};

class LayoutItems {
 public:
  static std::vector<LayoutItem> of(const Chapter& chapter) {
    LayoutItems items;
    std::string_view rest = chapter.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      items.line(rest.substr(0, end), concat("**", chapter.question, "**"));
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    items.end_paragraph();
    return std::move(items.all_);
  }

 private:
  void line(std::string_view text, const std::string& question) {
    if (text.starts_with("```")) {
      end_paragraph();
      in_code_ = !in_code_;
      if (in_code_ && !in_answer_) all_.push_back({LayoutItem::Kind::code, {}});
    } else if (in_code_) {
      if (!in_answer_) all_.back().lines.emplace_back(text);
    } else if (text.starts_with("<details>")) {
      end_paragraph();
      in_answer_ = true;  // answers and revealed texts are printed at the end of the book
      if (text.find("Reveal") != std::string_view::npos)
        all_.push_back({LayoutItem::Kind::note, {"(The end of the book reveals it.)"}});
    } else if (text.starts_with("</details>")) {
      in_answer_ = false;
    } else if (text.empty() || in_answer_ || text == question || is_left_out(text)) {
      end_paragraph();
    } else if (text.starts_with("## ")) {
      end_paragraph();
      all_.push_back({LayoutItem::Kind::heading, {without_marks(text.substr(3))}});
    } else {
      const bool item = text.starts_with("- ");
      if (item) end_paragraph();
      paragraph_ += concat(paragraph_.empty() ? "" : " ", item ? "• " : "", item ? text.substr(2) : text);
    }
  }
  static bool is_left_out(std::string_view text) {
    for (const std::string_view mark : {"# ", "![", "<", "Before: ", "Next: "})
      if (text.starts_with(mark)) return true;
    return false;
  }
  void end_paragraph() {
    if (!paragraph_.empty()) all_.push_back({LayoutItem::Kind::words, {without_marks(paragraph_)}});
    paragraph_.clear();
  }

  std::vector<LayoutItem> all_;
  std::string paragraph_;
  bool in_code_ = false, in_answer_ = false;
};

// Code in one font size for all its lines; a line that is too long even in small type is broken.
struct CodeLines {
  double share = 1;
  std::vector<std::string> lines;

  explicit CodeLines(const std::vector<std::string>& code) {
    int longest = 0;
    for (const std::string& line : code) longest = std::max(longest, draw::display_width(line));
    const double columns = (kText - kIndent) / kPitch;
    share = std::clamp(columns / std::max(longest, 1), kLeastCode, 1.0);
    const int most = static_cast<int>(columns / share);
    for (std::string_view line : code) {
      while (draw::display_width(line) > most) {
        const std::size_t end = end_of(line, most), space = line.substr(0, end).rfind(' ');
        const std::size_t cut = space != std::string_view::npos && space > end / 2 ? space + 1 : end;
        lines.emplace_back(line.substr(0, cut));
        line.remove_prefix(cut);
      }
      lines.emplace_back(line);
    }
  }
  [[nodiscard]] double pitch() const { return kLine * kCode * share; }  // from line to line

 private:
  // The end of the first `columns` columns, in bytes.
  static std::size_t end_of(std::string_view line, int columns) {
    std::size_t bytes = 0;
    for (const draw::Cluster& letter : draw::clusters(line)) {
      columns -= letter.width;
      if (columns < 0) break;
      bytes += letter.bytes.size();
    }
    return bytes;
  }
};

class Book {
 public:
  explicit Book(const ModelPictures& model_pictures) : model_pictures_(model_pictures) { new_page(""); }

  void chapter(const Chapter& chapter) {
    new_page(concat(chapter.number, ". ", chapter.title));
    first_pages_.push_back(pages_.size());
    words(concat(chapter.number, ". ", chapter.title), {.size = 18, .bold = true}, 6);
    words(without_marks(chapter.question), {.size = 13}, 8);
    picture(chapter.number);
    const std::vector<LayoutItem> items = LayoutItems::of(chapter);
    for (std::size_t i = 0; i < items.size(); ++i) {
      double together = height(items[i]);
      for (std::size_t j = i; j + 1 < items.size() && stays_with(items[j], items[j + 1]); ++j)
        together += height(items[j + 1]);
      need(together);
      set(items[i]);
    }
  }

  void answers() {
    new_page("Answers");
    first_pages_.push_back(pages_.size());
    words("Answers", {.size = 18, .bold = true}, 8);
    for (const Chapter& c : chapters()) {
      std::string list;
      const std::vector<Exercise> all = lesson(c.number).exercises();
      for (std::size_t i = 0; i < all.size(); ++i)
        list += concat("   (", i + 1, ") ", answer_text(all[i].answer));
      need(60);
      words(concat("Chapter ", c.number, ":", list), {.size = kFont, .bold = true}, 2);
      words(concat("The prediction: ", without_marks(c.reveal)), {.size = kFont}, 8);
    }
  }

  // The first page, drawn once the page numbers of chapters are known.
  std::vector<draw::Drawing> take() {
    std::vector<draw::Drawing> rest = std::move(pages_);
    pages_ = {rest.front()};
    y_ = kMargin + 60;
    words("Attention in sixteen chapters", {.size = 26, .bold = true}, 6);
    words("From the dot product to a translator, with numbers that can be done by hand", {.size = 13}, 30);
    for (std::size_t i = 0; i < first_pages_.size(); ++i) {
      const bool last = i == chapters().size();
      const std::string title = last ? "Answers" : concat(i + 1, ". ", chapters()[i].title);
      words(title, {.size = 11}, 3);
      pages_.back().add(draw::TextItem{
          {kWidth - kMargin, y_ - 3}, concat(first_pages_[i]), {.size = 11}, draw::Anchor::right});
    }
    y_ += 24;
    words(
        "Written by headlight learn --book. The program checks answers, draws other numbers for worksheets, "
        "and "
        "shows every step of a real model: headlight learn --help.",
        {.size = 9}, 0);
    rest.front() = std::move(pages_.front());
    return rest;
  }

 private:
  void new_page(const std::string& title) {
    title_ = title;
    draw::Drawing page{
        .width = kWidth, .height = kHeight, .title = "Headlight: attention in sixteen chapters"};
    const draw::TextLook look{.size = 8, .color = {110, 116, 126}};
    if (!title.empty()) {
      page.add(draw::TextItem{{kMargin, kHeight - 36}, title, look});
      page.add(draw::TextItem{
          {kWidth - kMargin, kHeight - 36}, concat(pages_.size() + 1), look, draw::Anchor::right});
    }
    pages_.push_back(std::move(page));
    y_ = kMargin;
  }
  void need(double height) {
    if (y_ + height > kHeight - kMargin && y_ > kMargin) new_page(title_);
  }
  void words(const std::string& text, const draw::TextLook& look, double after) {
    for (const std::string& line : setter_.wrapped(text, look, kText)) {
      need(kLine * look.size);
      y_ += kLine * look.size;
      pages_.back().add(draw::TextItem{{kMargin, y_}, line, look});
    }
    y_ += after;
  }

  static draw::TextLook look_of(LayoutItem::Kind kind) {
    if (kind == LayoutItem::Kind::heading) return {.size = 12, .bold = true};
    return {.size = kind == LayoutItem::Kind::note ? 8 : kFont};
  }
  // Keeps a heading with the next paragraph, a question with its note, a command with its output, "…:" with its command.
  static bool stays_with(const LayoutItem& item, const LayoutItem& next) {
    const bool is_command = item.kind == LayoutItem::Kind::code && item.lines.size() == 1;
    const bool announces = item.kind == LayoutItem::Kind::words && item.lines[0].ends_with(':');
    return item.kind == LayoutItem::Kind::heading || next.kind == LayoutItem::Kind::note ||
           ((is_command || announces) && next.kind == LayoutItem::Kind::code);
  }
  // At most a page of a code block.
  [[nodiscard]] double height(const LayoutItem& item) const {
    if (item.kind == LayoutItem::Kind::code) {
      const CodeLines code(item.lines);
      return std::min(8 + code.pitch() * static_cast<double>(code.lines.size()), kHeight - 2 * kMargin);
    }
    const draw::TextLook look = look_of(item.kind);
    const double lines = static_cast<double>(setter_.wrapped(item.lines[0], look, kText).size());
    return kLine * look.size * lines + 9;
  }
  void set(const LayoutItem& item) {
    if (item.kind == LayoutItem::Kind::code) return code(CodeLines(item.lines));
    if (item.kind == LayoutItem::Kind::heading) y_ += 6;
    words(item.lines[0], look_of(item.kind), item.kind == LayoutItem::Kind::heading ? 3 : 5);
  }
  // One column per character, so that tables of arithmetic line up.
  void code(const CodeLines& code) {
    y_ += 2;
    const double pitch = kPitch * code.share;
    for (const std::string& line : code.lines) {
      need(code.pitch());
      y_ += code.pitch();
      double x = kMargin + kIndent;
      for (const draw::Cluster& letter : draw::clusters(line)) {
        if (letter.bytes != " ")
          pages_.back().add(draw::TextItem{
              {x + pitch / 2, y_}, letter.bytes, {.size = kCode * code.share}, draw::Anchor::middle});
        x += pitch * letter.width;
      }
    }
    y_ += 6;
  }
  void picture(int number) {
    const Lesson& all = lesson(number);
    std::optional<draw::Drawing> drawn;
    if (all.picture) drawn = all.picture();
    else if (model_pictures_) drawn = model_pictures_(*all.model_picture);
    if (!drawn) return words(concat("(Picture: ", command_of(*all.model_picture), ")"), {.size = 8}, 6);
    const double scale = std::min({kText / drawn->width, kMostPicture / drawn->height, 1.3});
    need(drawn->height * scale + 10);
    draw::place(pages_.back(), *drawn, {kMargin, y_}, scale);
    y_ += drawn->height * scale + 10;
  }

  const ModelPictures& model_pictures_;
  draw::Typesetter setter_;
  std::vector<draw::Drawing> pages_;
  std::vector<std::size_t> first_pages_;  // page numbers of the chapters and the answers, from 1
  std::string title_;
  double y_ = 0;
};

}  // namespace

std::vector<draw::Drawing> course_pages(const ModelPictures& model_pictures) {
  Book book(model_pictures);
  for (const Chapter& c : chapters()) book.chapter(c);
  book.answers();
  return book.take();
}

}  // namespace headlight::learn
