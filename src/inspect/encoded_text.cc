#include "inspect/encoded_text.h"

#include <algorithm>
#include <span>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/words.h"

namespace headlight::inspect {
namespace {

// A token's text for display. Spaces and parts of a character are shown by their name in the vocabulary.
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

EncodedText as_read(std::string_view text, const std::vector<TokenPiece>& pieces) {
  EncodedText encoded;
  encoded.text = text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TokenPiece& piece = pieces[i];
    encoded.tokens.push_back(
        {piece.id, label_of(text, pieces, i), piece.begin, piece.end, piece.added, piece.type_id});
  }
  return encoded;
}

// For each token the range of words [first, last) that it overlaps. A token that covers no bytes, such as the first
// bytes of a character that later tokens complete, belongs to the word that begins at its position.
std::vector<Range> spans_of(const EncodedText& encoded, const std::vector<text::ByteSpan>& spans) {
  std::vector<Range> out;
  for (const EncodedToken& token : encoded.tokens) {
    const std::size_t end = std::max(token.end, token.begin + 1);
    const auto first = std::partition_point(spans.begin(), spans.end(),
                                            [&](const text::ByteSpan& s) { return s.end <= token.begin; });
    const auto last =
        std::partition_point(first, spans.end(), [&](const text::ByteSpan& s) { return s.begin < end; });
    out.push_back(token.added ? Range{} : Range{first - spans.begin(), last - spans.begin()});
  }
  return out;
}

// The text that the tokens cover. The last span extends to its end, over accents that the tokenizer removed.
std::string label_of(const EncodedText& encoded, Range tokens, std::size_t end) {
  const EncodedToken& first = encoded.tokens[static_cast<std::size_t>(tokens.begin)];
  const std::string_view text = encoded.text;
  const std::size_t begin = std::min(first.begin, text.size());
  const std::string_view whole = text::without_outer_spaces(text.substr(begin, std::max(begin, end) - begin));
  const bool longer = whole.size() > first.label.size() && whole.starts_with(first.label);
  return tokens.size() > 1 || longer ? std::string(whole) : first.label;
}

}  // namespace

std::vector<std::int32_t> EncodedText::ids() const {
  std::vector<std::int32_t> out;
  for (const EncodedToken& token : tokens) out.push_back(token.id);
  return out;
}

std::vector<std::string> EncodedText::labels() const {
  std::vector<std::string> out;
  for (const EncodedToken& token : tokens) out.push_back(token.label);
  return out;
}

EncodedText read_text(const Tokenizer& tokenizer, std::string_view text) {
  EncodedText encoded = as_read(text, tokenizer.encode_pieces(text));
  if (encoded.tokens.empty())
    throw Error(ErrorKind::input, "inspect.empty", "the text is empty; give a few words");
  return encoded;
}

EncodedText read_pair(const Tokenizer& tokenizer, std::string_view first, std::string_view second) {
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
  EncodedText encoded = as_read(concat(first, kBetweenTexts, second), pieces);
  encoded.second = static_cast<Index>(border);
  return encoded;
}

EncodedText read_features(const Tensor& features, Index positions) {
  EncodedText encoded;
  Tensor copy({1, features.dim(0), features.dim(1)}, features.dtype());
  std::copy_n(features.as<float>(), features.shape().elements(), copy.as<float>());
  encoded.features = std::make_shared<const Tensor>(std::move(copy));
  for (Index i = 0; i < positions; ++i) {
    const Index hundredths = 2 * i;  // of a second
    encoded.tokens.push_back({0, concat(hundredths / 100, ".", hundredths % 100 / 10, hundredths % 10, "s")});
  }
  return encoded;
}

EncodedText read_ids(const Tokenizer* tokenizer, const std::vector<std::int32_t>& ids, Index vocabulary) {
  EncodedText encoded;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      throw Error(ErrorKind::input, "inspect.id",
                  concat("token id ", id, " is not between 0 and ", vocabulary - 1));
    }
    std::string label = concat("#", id);
    if (tokenizer != nullptr && id < tokenizer->size()) {
      const std::string text = tokenizer->decode(std::vector<TokenId>{id});
      const std::string_view inner = text::without_outer_spaces(text);
      label = text.empty() ? std::string(tokenizer->token(id)) : std::string(inner.empty() ? text : inner);
    }
    encoded.tokens.push_back({id, std::move(label), 0, 0, false});
  }
  if (encoded.tokens.empty())
    throw Error(ErrorKind::input, "inspect.empty", "no token ids; give at least one");
  return encoded;
}

// A token's span is the text that it adds. Of the tokens that make up one character only the last adds text; special tokens
// add none.
EncodedText read_written(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  EncodedText encoded = read_ids(&tokenizer, ids, tokenizer.size());
  encoded.text = tokenizer.decode(ids);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string so_far = tokenizer.decode(std::span(ids).first(i + 1));
    const bool fits = so_far.size() >= begin && encoded.text.starts_with(so_far);
    EncodedToken& token = encoded.tokens[i];
    token.begin = begin;
    token.end = begin = fits ? so_far.size() : begin;
    token.added = token.begin == token.end && tokenizer.is_special(ids[i]);
  }
  return encoded;
}

std::vector<Word> words_of(const EncodedText& encoded) {
  const std::vector<text::ByteSpan> spans = text::word_spans(encoded.text);
  const std::vector<Range> parts = spans_of(encoded, spans);
  std::vector<Word> words;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first + 1;
    // Neighbouring tokens that overlap the same word are one word.
    while (last < parts.size() && parts[last - 1].size() > 0 && parts[last].size() > 0 &&
           parts[last].begin < parts[last - 1].end)
      ++last;
    const Range tokens{static_cast<Index>(first), static_cast<Index>(last)};
    const Range covered = parts[last - 1];
    const EncodedToken& end = encoded.tokens[last - 1];
    words.push_back({covered.size() == 0
                         ? encoded.tokens[first].label
                         : label_of(encoded, tokens,
                                    std::max(end.end, spans[static_cast<std::size_t>(covered.end - 1)].end)),
                     tokens});
    first = last;
  }
  return words;
}

}  // namespace headlight::inspect
