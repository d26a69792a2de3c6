#include "cli/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/escape.h"
#include "draw/text.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

// Two alternating backgrounds, so that neighbours differ; special tokens have a third.
constexpr std::array<int, 2> kTurns = {24, 58};
constexpr int kSpecial = 90;

std::string painted(std::string_view text, int background) {
  return fmt::format("\x1b[38;5;231;48;5;{}m{}\x1b[0m", background, text);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The text itself, token by token. Bytes of one character may be several tokens: they share its colour.
std::string painted_text(std::string_view text, const std::vector<TokenPiece>& pieces, const Page& page) {
  const bool color = page.style().color != ColorDepth::none;
  std::string line;
  std::size_t done = 0, turn = 0;
  const auto put = [&](std::string_view part, int background) {
    // Line breaks are kept, outside the colour.
    while (!part.empty()) {
      const std::size_t end = std::min(part.find('\n'), part.size());
      if (end > 0)
        line += color && background >= 0 ? painted(escaped(part.substr(0, end), 4096), background)
                                         : escaped(part.substr(0, end), 4096);
      if (end < part.size()) line += '\n';
      part.remove_prefix(std::min(end + 1, part.size()));
    }
  };
  for (const TokenPiece& piece : pieces) {
    if (piece.added) {
      put(piece.text, kSpecial);
    } else if (piece.end > done) {
      const std::size_t begin = std::max(piece.begin, done);
      if (begin > done) put(text.substr(done, begin - done), -1);
      if (!color && !line.empty() && line.back() != '\n') line += page.glyph("│", "|");
      put(text.substr(begin, piece.end - begin), kTurns[turn++ % kTurns.size()]);
      done = piece.end;
    }
  }
  if (done < text.size()) put(text.substr(done), -1);
  return line;
}

}  // namespace

std::size_t CharacterCounter::at(std::size_t byte) {
  if (byte < byte_) byte_ = characters_ = 0;
  while (byte_ < byte) {
    const bool ascii = static_cast<unsigned char>(text_[byte_]) < 0x80;
    byte_ += ascii ? 1 : std::max<std::size_t>(1, utf8_length(text_.substr(byte_)));
    ++characters_;
  }
  return characters_;
}

std::string tokens_text(std::string_view text, const std::vector<TokenPiece>& pieces,
                        const Tokenizer& tokenizer, const PageStyle& style) {
  Page page(style);
  page.line(painted_text(text, pieces, page));
  page.line();
  CharacterCounter begins(text), ends(text), counter(text);  // each only moves forward, so time is linear
  const std::size_t length = counter.at(text.size());
  page.line(page.dim(fmt::format(
      "{} for {} ({:.2f} characters per token)", counted(pieces.size(), "token"),
      counted(length, "character"),
      static_cast<double>(length) / static_cast<double>(std::max<std::size_t>(1, pieces.size())))));
  page.line();
  int width = 5;
  for (const TokenPiece& piece : pieces)
    width = std::max(width, draw::display_width(escaped(piece.text, 40)));
  width = std::min(width, 40);
  page.line(page.bold(
      fmt::format("{:>8}  {}  {:>12}  {}", "id", draw::left_aligned("token", width), "characters", "text")));
  for (const TokenPiece& piece : pieces) {
    const std::string place =
        piece.added ? "" : fmt::format("{}-{}", begins.at(piece.begin), ends.at(piece.end));
    const std::string part =
        piece.added ? "" : escaped(text.substr(piece.begin, piece.end - piece.begin), 60);
    const std::string token = draw::left_aligned(escaped(piece.text, 60), width);
    page.line(fmt::format(
        "{:>8}  {}  {:>12}  {}{}", piece.id, tokenizer.is_special(piece.id) ? page.dim(token) : token, place,
        part.empty() ? "" : page.glyph("“", "\""), part.empty() ? "" : part + page.glyph("”", "\"")));
  }
  return page.text();
}

std::string tokens_json(std::string_view text, const std::vector<TokenPiece>& pieces,
                        const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  ids.reserve(pieces.size());
  for (const TokenPiece& piece : pieces) ids.push_back(piece.id);
  io::JsonWriter w;
  w.begin_object().field("ids", ids).key("tokens").begin_list();
  for (const TokenPiece& piece : pieces) w.value(piece.text);
  w.end_list().key("offsets").begin_list();
  CharacterCounter begins(text), ends(text);
  for (const TokenPiece& piece : pieces)
    w.begin_list().value(begins.at(piece.begin)).value(ends.at(piece.end)).end_list();
  w.end_list().field("decoded", tokenizer.decode(ids, SpecialTokens::add));
  return w.end_object().take();
}

}  // namespace headlight::cli
