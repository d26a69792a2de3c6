#include "learn/chapter_html.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/concat.h"

namespace headlight::learn {
namespace {

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string inline_html(std::string_view text);

// Parses "[text](address)" at the start of `text`: the link and its length; 0: there is none.
std::size_t read_link(std::string_view text, std::string& out) {
  const std::size_t middle = text.find("]("),
                    close = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (close == std::string_view::npos) return 0;
  const std::string_view address = text.substr(middle + 2, close - middle - 2);
  const std::string words = inline_html(text.substr(1, middle - 1));
  // Chapters are files 01-….md; other documents are not part of the page.
  const bool chapter =
      address.size() > 3 && std::isdigit(static_cast<unsigned char>(address[0])) != 0 && address[2] == '-';
  if (chapter)
    out += concat("<a href=\"#learn=", std::stoi(std::string(address.substr(0, 2))), "\">", words, "</a>");
  else out += words;
  return close + 1;
}

// `code`, **bold**, *em*, _em_, [link](address).
std::string inline_html(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto span = [&](std::string_view mark, const char* tag) {
      const std::size_t end = rest.find(mark, mark.size());
      if (!rest.starts_with(mark) || end == std::string_view::npos || end == mark.size()) return false;
      const std::string_view inside = rest.substr(mark.size(), end - mark.size());
      if (mark == "_" && at > 0 && is_word(text[at - 1])) return false;
      if (inside.front() == ' ') return false;
      out += concat("<", tag, ">", mark == "`" ? escaped_html(inside) : inline_html(inside), "</", tag, ">");
      at += end + mark.size();
      return true;
    };
    if (span("`", "code") || span("**", "strong") || span("*", "em") || span("_", "em")) continue;
    if (rest.front() == '[') {
      if (const std::size_t used = read_link(rest, out); used > 0) {
        at += used;
        continue;
      }
    }
    out += escaped_html(rest.substr(0, 1));
    ++at;
  }
  return out;
}

// Converts headlight serve --model en --at "…" to an address of the page.
std::string view_link(std::string_view line) {
  const auto value_of = [&](std::string_view option) {
    const std::size_t begin = line.find(option);
    if (begin == std::string_view::npos) return std::string_view();
    std::string_view value = line.substr(begin + option.size());
    const char end = value.starts_with('"') ? '"' : ' ';
    if (end == '"') value.remove_prefix(1);
    return value.substr(0, value.find(end));
  };
  const std::string_view model = value_of("--model "), at = value_of("--at ");
  if (!line.starts_with("headlight serve") || at.empty()) return "";
  // The command line uses short names for the shipped models.
  const std::string name =
      model == "en" || model == "en-fr" ? concat("headlight-", model) : std::string(model);
  return concat("<p><a class=\"view-link\" data-view href=\"#",
                name.empty() ? "" : concat("m=", name, "&amp;"), escaped_html(at),
                "\">Open it in the viewer</a></p>");
}

// Converts headlight lab playground --watch --preset mask to an address of the page.
std::string story_link(std::string_view line) {
  constexpr std::string_view command = "headlight lab playground --watch --preset ";
  if (!line.starts_with(command)) return "";
  const std::string_view name = line.substr(command.size());
  return concat("<p><a class=\"story-link\" data-train href=\"#train=",
                escaped_html(name.substr(0, name.find(' '))), "\">Watch it learn in Train</a></p>");
}

class Converter {
 public:
  explicit Converter(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  }

  std::string run() {
    while (at_ < lines_.size()) block();
    close_exercise();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view line() const {
    return at_ < lines_.size() ? lines_[at_] : std::string_view();
  }

  void block() {
    const std::string_view now = line();
    if (now.empty() || now.starts_with("# ") || now.starts_with("<!--")) ++at_;
    else if (now.starts_with("## ")) heading();
    else if (now.starts_with("![")) picture();
    else if (now.starts_with("```")) code();
    else if (now.starts_with("<details>")) details();
    else if (now.starts_with("</details>")) end_details();
    else if (now.starts_with("|")) table();
    else if (now.starts_with("- ")) list();
    else paragraph();
  }

  void heading() {
    close_exercise();
    out_ += concat("<h3>", inline_html(line().substr(3)), "</h3>");
    ++at_;
  }
  void picture() {
    const std::string_view words = line().substr(2, line().find("](") - 2);
    out_ += concat("<figure data-picture aria-label=\"", escaped_html(words), "\"></figure>");
    ++at_;
  }
  void code() {
    const std::string_view language = line().substr(3);
    std::string text, links;
    for (++at_; at_ < lines_.size() && !line().starts_with("```"); ++at_) {
      text += concat(escaped_html(line()), "\n");
      if (language == "sh") links += view_link(line()) + story_link(line());
    }
    ++at_;
    out_ += concat("<pre tabindex=\"0\" class=\"", language.empty() ? "text" : language, "\"><code>", text,
                   "</code></pre>", links);
  }
  void details() {
    const std::string_view now = line();
    const std::size_t begin = now.find("<summary>") + 9, end = now.find("</summary>");
    out_ += concat("<details><summary>", escaped_html(now.substr(begin, end - begin)), "</summary>");
    ++at_;
  }
  void end_details() {
    out_ += "</details>";
    ++at_;
  }
  void list() {
    out_ += "<ul>";
    while (line().starts_with("- ")) {
      std::string item(line().substr(2));
      for (++at_; line().starts_with("  "); ++at_) item += concat(" ", line().substr(2));
      out_ += concat("<li>", inline_html(item), "</li>");
    }
    out_ += "</ul>";
  }
  void table() {
    out_ += "<div class=\"wide\"><table>";
    for (bool head = true; line().starts_with("|"); ++at_) {
      if (line().find_first_not_of("|-: ") == std::string_view::npos) continue;
      out_ += "<tr>";
      std::string_view rest = line().substr(1);
      while (rest.find('|') != std::string_view::npos) {
        const std::string_view cell = rest.substr(0, rest.find('|'));
        out_ += concat(head ? "<th>" : "<td>", inline_html(cell), head ? "</th>" : "</td>");
        rest.remove_prefix(cell.size() + 1);
      }
      out_ += "</tr>";
      head = false;
    }
    out_ += "</table></div>";
  }
  void paragraph() {
    std::string text;
    for (; at_ < lines_.size() && !ends_paragraph(line()); ++at_)
      text += concat(text.empty() ? "" : " ", line());
    if (is_question(text)) return;
    constexpr std::string_view exercise = "**Exercise ";
    if (text.starts_with(exercise)) {
      close_exercise();
      in_exercise_ = true;
      out_ += concat("<section data-exercise=\"",
                     text.substr(exercise.size(), text.find(".**") - exercise.size()), "\">");
    }
    if (text.starts_with("Before: ") || text.starts_with("Next: ")) return;  // shown by the page itself
    out_ += concat("<p>", inline_html(text), "</p>");
  }
  // The first paragraph, which is bold.
  bool is_question(std::string_view text) {
    const bool first = !asked_ && out_.empty() && text.starts_with("**") && text.ends_with("**");
    asked_ = asked_ || first;
    return first;
  }
  static bool ends_paragraph(std::string_view line) {
    return line.empty() || line.starts_with("```") || line.starts_with("<details>") ||
           line.starts_with("</details>") || line.starts_with("## ") || line.starts_with("|") ||
           line.starts_with("- ");
  }
  void close_exercise() {
    if (in_exercise_) out_ += "</section>";
    in_exercise_ = false;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::string out_;
  bool in_exercise_ = false, asked_ = false;
};

}  // namespace

std::string chapter_html(std::string_view markdown) { return Converter(markdown).run(); }

}  // namespace headlight::learn
