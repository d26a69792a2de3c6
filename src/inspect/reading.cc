#include "inspect/reading.h"
#include "inspect/sides.h"

#include <span>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::inspect {
namespace {

// French puts spaces that do not break before "?" and "!"; other scripts have spaces of their own.
constexpr std::string_view kSpaces[] = {" ", "\t", "\n", "\r", "\u00a0", "\u2009", "\u202f", "\u3000"};

// Bytes of the space that the text begins or ends with; 0: none.
std::size_t space_in_front(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}
std::size_t space_behind(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.ends_with(space)) return space.size();
  return 0;
}

std::string_view trimmed(std::string_view text) {
  while (const std::size_t bytes = space_in_front(text)) text.remove_prefix(bytes);
  while (const std::size_t bytes = space_behind(text)) text.remove_suffix(bytes);
  return text;
}

// A piece's text as people see it. One that is a space or a part of a character goes by its name in the vocabulary.
std::string label_of(std::string_view text, const std::vector<TokenPiece>& pieces, std::size_t i) {
  const TokenPiece& piece = pieces[i];
  const auto shares = [&](std::size_t other) {
    return !pieces[other].added && pieces[other].begin == piece.begin && pieces[other].end == piece.end;
  };
  const bool part = (i > 0 && shares(i - 1)) || (i + 1 < pieces.size() && shares(i + 1));
  if (piece.added || piece.begin == piece.end || part) return piece.text;
  const std::string_view whole = text.substr(piece.begin, piece.end - piece.begin), inner = trimmed(whole);
  return std::string(inner.empty() ? whole : inner);
}

Reading as_read(std::string_view text, const std::vector<TokenPiece>& pieces) {
  Reading reading;
  reading.text = text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TokenPiece& piece = pieces[i];
    reading.tokens.push_back(
        {piece.id, label_of(text, pieces, i), piece.begin, piece.end, piece.added, piece.type_id});
  }
  return reading;
}

// Bytes up to the first space.
std::size_t until_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && space_in_front(text.substr(at)) == 0) ++at;
  return at;
}

// Is there a space between two neighbours, in front of the second, or at the end of the first? What no token stands
// for, such as an accent that the tokenizer takes off, is none.
bool space_between(const Reading& reading, std::size_t i) {
  const ReadToken &a = reading.tokens[i - 1], &b = reading.tokens[i];
  const std::string_view text = reading.text;
  if (b.begin > text.size() || a.end > text.size()) return b.begin > a.end;
  if (b.begin > a.end && until_space(text.substr(a.end)) < b.begin - a.end) return true;
  return space_in_front(text.substr(b.begin)) > 0 || space_behind(text.substr(a.begin, a.end - a.begin)) > 0;
}

// What tokens [begin, end) stand for, with what was taken off behind the last one.
std::string_view text_of(const Reading& reading, std::size_t begin, std::size_t end) {
  const std::string_view text = reading.text;
  const std::size_t from = reading.tokens[begin].begin, last = reading.tokens[end - 1].end;
  if (last >= text.size() || last < from) return text.substr(std::min(from, text.size()), last - from);
  std::size_t next = text.size();
  for (std::size_t i = end; i < reading.tokens.size() && next == text.size(); ++i)
    if (!reading.tokens[i].added) next = std::max(last, reading.tokens[i].begin);
  const std::size_t more = until_space(text.substr(last, next - last));
  return text.substr(from, last + more - from);
}

}  // namespace

bool is_punctuation(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    const std::string_view c = text.substr(0, length);
    text.remove_prefix(length);
    constexpr std::string_view ascii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
                               print = "«»“”‘’„…–—¿¡、。「」，！？：；";
    const bool one =
        length == 1 ? ascii.find(c) != std::string_view::npos : print.find(c) != std::string_view::npos;
    if (!one) return false;
  }
  return true;
}

std::vector<std::int32_t> Reading::ids() const {
  std::vector<std::int32_t> out;
  for (const ReadToken& token : tokens) out.push_back(token.id);
  return out;
}

std::vector<std::string> Reading::labels() const {
  std::vector<std::string> out;
  for (const ReadToken& token : tokens) out.push_back(token.label);
  return out;
}

Reading read_text(const Tokenizer& tokenizer, std::string_view text) {
  Reading reading = as_read(text, tokenizer.encode_pieces(text));
  if (reading.tokens.empty())
    throw Error(ErrorKind::input, "inspect.empty", "the text is empty: there is nothing to look at");
  return reading;
}

Reading read_pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second) {
  std::vector<TokenPiece> pieces = tokenizer.encode_pair(first, second);
  const std::size_t own = tokenizer.encode(first, SpecialTokens::leave_out).size();
  const std::size_t shift = first.size() + kBetweenTexts.size();
  std::size_t seen = 0, border = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].added || seen++ < own) continue;
    if (border == 0) border = i;
    pieces[i].begin += shift;
    pieces[i].end += shift;
  }
  if (own == 0 || border == 0)
    throw Error(ErrorKind::input, "inspect.empty", "one of the two texts is empty: give both, or one alone");
  Reading reading = as_read(concat(first, kBetweenTexts, second), pieces);
  reading.second = static_cast<Index>(border);
  return reading;
}

Reading read_ids(const Tokenizer* tokenizer, const std::vector<std::int32_t>& ids, Index vocabulary) {
  Reading reading;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      throw Error(ErrorKind::input, "inspect.id",
                  concat("token id ", id, " is not between 0 and ", vocabulary - 1));
    }
    std::string label = concat("#", id);
    if (tokenizer != nullptr && id < tokenizer->size()) {
      const std::string text = tokenizer->decode(std::vector<TokenId>{id});
      const std::string_view inner = trimmed(text);
      label = inner.empty() ? std::string(tokenizer->token(id)) : std::string(inner);
    }
    reading.tokens.push_back({id, std::move(label), 0, 0, false});
  }
  if (reading.tokens.empty())
    throw Error(ErrorKind::input, "inspect.empty", "no token ids: there is nothing to look at");
  return reading;
}

// A token's part is what the text gains by it. Pieces of a character gain nothing until the last one; special tokens
// nothing at all.
Reading read_written(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  Reading reading = read_ids(&tokenizer, ids, tokenizer.size());
  reading.text = tokenizer.decode(ids);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string so_far = tokenizer.decode(std::span(ids).first(i + 1));
    const bool fits = so_far.size() >= begin && reading.text.starts_with(so_far);
    ReadToken& token = reading.tokens[i];
    token.begin = begin;
    token.end = begin = fits ? so_far.size() : begin;
    token.added = token.begin == token.end && tokenizer.is_special(ids[i]);
  }
  return reading;
}

std::vector<Word> words_of(const Reading& reading) {
  const auto& tokens = reading.tokens;
  std::vector<Word> words;
  // Between spaces: [first, last).
  for (std::size_t first = 0; first < tokens.size();) {
    std::size_t last = first + 1;
    const bool alone = tokens[first].added || reading.text.empty();
    while (!alone && last < tokens.size() && !tokens[last].added && !space_between(reading, last)) ++last;
    const auto single = [&](std::size_t i) {
      words.push_back({tokens[i].label, {static_cast<Index>(i), static_cast<Index>(i) + 1}});
    };
    std::size_t begin = first, end = last;
    while (begin < end && is_punctuation(tokens[begin].label)) single(begin++);
    while (end > begin && is_punctuation(tokens[end - 1].label)) --end;
    if (begin < end) {
      std::string label = tokens[begin].label;
      if (!alone) {
        const std::string_view whole = trimmed(text_of(reading, begin, end));
        if (end - begin > 1 || (whole.size() > label.size() && whole.starts_with(label))) label = whole;
      }
      words.push_back({std::move(label), {static_cast<Index>(begin), static_cast<Index>(end)}});
    }
    for (std::size_t i = std::max(begin, end); i < last; ++i) single(i);
    first = last;
  }
  return words;
}

}  // namespace headlight::inspect
