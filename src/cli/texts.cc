// Texts from files, and their words and tokens for display.
#include "cli/model_input.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/write.h"
#include "io/gzip.h"
#include "session/state.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

std::string shown_name(const std::string& path) { return path == "-" ? "standard input" : escaped(path); }

}  // namespace

std::string read_text_file(const std::string& path) {
  std::string text = path == "-" ? read_standard_input() : io::read_text(path);
  const std::string name = shown_name(path);
  if (text.empty()) throw Error(ErrorKind::input, "data.form", concat(name, ": is empty"));
  if (!text::is_well_formed(text)) {
    const std::vector<std::string_view> lines = text::lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) text::check_utf8({name, i + 1}, "data.form", lines[i]);
  }
  return text;
}

std::vector<std::string> read_corpus(const std::string& path, Index limit) {
  const std::string bytes = read_text_file(path);
  std::vector<std::string> texts;
  const auto full = [&] { return limit > 0 && static_cast<Index>(texts.size()) >= limit; };
  if (bytes.find(kEndOfText) != std::string::npos) {
    for (std::string& document : split_documents(bytes, kEndOfText))
      if (!full()) texts.push_back(std::move(document));
  } else {
    for (const std::string_view line : text::lines_of(bytes))
      if (const std::string_view text = text::trimmed(line); !text.empty() && !full())
        texts.emplace_back(text);
  }
  if (texts.empty())
    throw Error(ErrorKind::input, "corpus.empty",
                concat(shown_name(path), ": has no text; need one text per line"));
  return texts;
}

std::vector<std::string> labels_of(const TokenizedText& text) {
  std::vector<std::string> labels;
  for (const Token& token : text.tokens) labels.push_back(token.text);
  return labels;
}

Range picked(const TokenizedText& text, const std::string& words, std::vector<std::string>& notes) {
  const inspect::Pick pick = inspect::pick(session::encoded_text(text), words);
  if (!pick.note.empty()) notes.push_back(pick.note);
  return pick.word.tokens;
}

std::string row_axis(Part part) { return part == Part::cross ? "query (writing)" : "query (from)"; }

std::string place_text(const HeadPlace& place) { return concat(place.layer, ".", place.head); }

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error(concat("note: ", note, "\n"));
}

}  // namespace headlight::cli
