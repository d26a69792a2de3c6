#include "inspect/reading.h"

#include <algorithm>
#include <span>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/words.h"

namespace headlight::inspect {
namespace {

// A piece's text as people see it. One that is a space or a part of a character goes by its name in the vocabulary.
std::string label_of(std::string_view text, const std::vector<TokenPiece>& pieces, std::size_t i) {
  const TokenPiece& piece = pieces[i];
  const auto shares = [&](std::size_t other) {
    return !pieces[other].added && pieces[other].begin == piece.begin && pieces[other].end == piece.end;
  };
  const bool part = (i > 0 && shares(i - 1)) || (i + 1 < pieces.size() && shares(i + 1));
  if (piece.added || piece.begin == piece.end || part) return piece.text;
  const std::string_view whole = text.substr(piece.begin, piece.end - piece.begin),
                         inner = text::without_outer_spaces(whole);
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

// The spans of the text's words that each token has a part of: [first, last). A token without bytes, such as the first
// bytes of a character that others complete, belongs to the span that begins where it is.
std::vector<Range> spans_of(const Reading& reading, const std::vector<text::ByteSpan>& spans) {
  std::vector<Range> out;
  for (const ReadToken& token : reading.tokens) {
    const std::size_t end = std::max(token.end, token.begin + 1);
    const auto first = std::partition_point(spans.begin(), spans.end(),
                                            [&](const text::ByteSpan& s) { return s.end <= token.begin; });
    const auto last =
        std::partition_point(first, spans.end(), [&](const text::ByteSpan& s) { return s.begin < end; });
    out.push_back(token.added ? Range{} : Range{first - spans.begin(), last - spans.begin()});
  }
  return out;
}

// What the tokens stand for. The last span goes on to its end, over accents that the tokenizer has taken off.
std::string label_of(const Reading& reading, Range tokens, std::size_t end) {
  const ReadToken& first = reading.tokens[static_cast<std::size_t>(tokens.begin)];
  const std::string_view text = reading.text;
  const std::size_t begin = std::min(first.begin, text.size());
  const std::string_view whole = text::without_outer_spaces(text.substr(begin, std::max(begin, end) - begin));
  const bool longer = whole.size() > first.label.size() && whole.starts_with(first.label);
  return tokens.size() > 1 || longer ? std::string(whole) : first.label;
}

}  // namespace

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
    throw Error(ErrorKind::input, "inspect.empty", "the text is empty; give a few words");
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
    throw Error(ErrorKind::input, "inspect.empty", "one of the two texts is empty; give both, or only one");
  Reading reading = as_read(concat(first, kBetweenTexts, second), pieces);
  reading.second = static_cast<Index>(border);
  return reading;
}

Reading read_features(const Tensor& features, Index positions) {
  Reading reading;
  Tensor copy({1, features.dim(0), features.dim(1)}, features.dtype());
  std::copy_n(features.as<float>(), features.shape().elements(), copy.as<float>());
  reading.features = std::make_shared<const Tensor>(std::move(copy));
  for (Index i = 0; i < positions; ++i) {
    const Index hundredths = 2 * i;  // seconds
    reading.tokens.push_back({0, concat(hundredths / 100, ".", hundredths % 100 / 10, hundredths % 10, "s")});
  }
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
      const std::string_view inner = text::without_outer_spaces(text);
      label = inner.empty() ? std::string(tokenizer->token(id)) : std::string(inner);
    }
    reading.tokens.push_back({id, std::move(label), 0, 0, false});
  }
  if (reading.tokens.empty())
    throw Error(ErrorKind::input, "inspect.empty", "no token ids; give at least one");
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
  const std::vector<text::ByteSpan> spans = text::word_spans(reading.text);
  const std::vector<Range> parts = spans_of(reading, spans);
  std::vector<Word> words;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first + 1;
    // Neighbours that share a span are one word.
    while (last < parts.size() && parts[last - 1].size() > 0 && parts[last].size() > 0 &&
           parts[last].begin < parts[last - 1].end)
      ++last;
    const Range tokens{static_cast<Index>(first), static_cast<Index>(last)};
    const Range covered = parts[last - 1];
    const ReadToken& end = reading.tokens[last - 1];
    words.push_back({covered.size() == 0
                         ? reading.tokens[first].label
                         : label_of(reading, tokens,
                                    std::max(end.end, spans[static_cast<std::size_t>(covered.end - 1)].end)),
                     tokens});
    first = last;
  }
  return words;
}

}  // namespace headlight::inspect
