#include "cli/learn/chapter_text.h"

#include <algorithm>
#include <cctype>

#include "cli/learn/code_lines.h"
#include "core/concat.h"
#include "draw/text.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kFence = "```", kExercise = "**Exercise ";

// "[text](address)" as its text.
std::string without_links(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('['), middle = text.find("](", open);
    const std::size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (close == std::string_view::npos) break;
    out += concat(text.substr(0, open), text.substr(open + 1, middle - open - 1));
    text.remove_prefix(close + 1);
  }
  return out + std::string(text);
}

class Writer {
 public:
  Writer(const learn::Chapter& chapter, const PageStyle& style) : chapter_(chapter), page_(style) {}

  std::vector<ChapterPiece> write() {
    std::string_view rest = chapter_.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line(rest.substr(0, end));
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    end_piece(false);
    return std::move(pieces_);
  }

 private:
  void line(std::string_view text) {
    if (text.starts_with(kFence)) {
      end_paragraph();
      in_code_ = !in_code_;
      language_ = text.substr(kFence.size());
      if (!in_code_) page_.line();
    } else if (in_code_) {
      code(text);
    } else if (text.starts_with("<details>")) {
      end_piece(false);
      hidden_ = true;
    } else if (text.starts_with("</details>")) {
      end_piece(true);
      hidden_ = false;
    } else if (text.empty() || text.starts_with("<!--")) {
      end_paragraph();
    } else if (text.starts_with('#')) {
      heading(text);
    } else if (text.starts_with("![")) {
      end_paragraph();
      page_.line(page_.dim(concat("   [picture: headlight learn ", chapter_.number, " --svg FILE]")));
      page_.line();
    } else if (!text.starts_with("Before: ") && !text.starts_with("Next: ")) {
      if (text.starts_with("- ")) end_paragraph();
      if (text.starts_with(kExercise)) ++exercise_;
      paragraph_ += concat(paragraph_.empty() ? "" : " ", text);
    }
  }

  void code(std::string_view text) {
    const std::string lines = code_lines(text, language_, page_.style().width - 4);
    for (std::string_view rest = lines;;) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      page_.line(concat("    ", rest.substr(0, end)));
      if (end == rest.size()) return;
      rest.remove_prefix(end + 1);
    }
  }

  void heading(std::string_view text) {
    end_paragraph();
    const bool title = text.starts_with("# ");
    text.remove_prefix(std::min(text.find_first_not_of("# "), text.size()));
    page_.line(page_.bold(text));
    if (title) page_.rule();
    page_.line();
  }

  void end_paragraph() {
    if (paragraph_.empty()) return;
    const bool item = paragraph_.starts_with("- ");
    const int indent = item ? 5 : 3;
    page_.line(concat("   ", draw::wrapped(plain_text(paragraph_), page_.style().width - 2, indent)));
    page_.line();
    paragraph_.clear();
  }

  void end_piece(bool hidden) {
    end_paragraph();
    const std::string& all = page_.text();
    if (all.size() == written_) return;
    pieces_.push_back({all.substr(written_), hidden && hidden_, hidden ? exercise_ : 0});
    written_ = all.size();
  }

  const learn::Chapter& chapter_;
  Page page_;
  std::vector<ChapterPiece> pieces_;
  std::string paragraph_, language_;
  std::size_t written_ = 0;
  int exercise_ = 0;
  bool in_code_ = false, hidden_ = false;
};

}  // namespace

// Words mentioned as words, in *asterisks*, get quotation marks: "the score of with and one" cannot be read. Emphasis, in
// _underscores_, and bold face lose their marks; underscores inside names stay.
std::string plain_text(std::string_view markdown) {
  const std::string text = without_links(markdown);
  const auto in_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool inside = i > 0 && in_word(i - 1) && in_word(i + 1);
    if (text.compare(i, 2, "**") == 0) ++i;
    else if (text[i] == '*') out += '"';
    else if (text[i] == '\n') out += ' ';
    else if (text[i] != '`' && (text[i] != '_' || inside)) out += text[i];
  }
  return out;
}

std::vector<ChapterPiece> chapter_pieces(const learn::Chapter& chapter, const PageStyle& style) {
  return Writer(chapter, style).write();
}

}  // namespace headlight::cli
