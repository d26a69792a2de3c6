#include "text/sentence_piece.h"

#include <algorithm>

#include "core/escape.h"
#include "text/byte_characters.h"
#include "text/normalizer.h"
#include "text/sentence_piece_model.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kSpaceSymbol = "\u2581";
using Type = SentencePieceParts::Type;

ByteTrie tokens_of_type(const SentencePieceParts& parts, Type type) {
  std::vector<std::pair<std::string, std::int32_t>> entries;
  for (TokenId id = 0; id < parts.vocab.size(); ++id)
    if (parts.types[static_cast<std::size_t>(id)] == type) entries.emplace_back(parts.vocab.token(id), id);
  return ByteTrie(std::move(entries));
}

// Bytes that were separate tokens.
std::string decode_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) append(text, kReplacement);
    else text += bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(1, length));
  }
  return text;
}

}  // namespace

SentencePiece::SentencePiece(const SentencePieceParts& parts)
    : parts_(parts), charsmap_(parts.charsmap), user_defined_(tokens_of_type(parts, Type::user_defined)) {
  const auto unknown = std::find(parts.types.begin(), parts.types.end(), Type::unknown);
  unknown_ = static_cast<TokenId>(unknown - parts.types.begin());
  bytes_.fill(unknown_);
  for (TokenId id = 0; id < parts.vocab.size(); ++id) {
    const auto byte = byte_named(parts.vocab.token(id));
    if (byte && parts.types[static_cast<std::size_t>(id)] == Type::byte) bytes_[*byte] = id;
  }
  for (unsigned char c = '!'; c < 0x7F; ++c) {
    const char letter = static_cast<char>(c);
    plain_[c] = user_defined_.step(ByteTrie::kRoot, letter) == ByteTrie::kNowhere &&
                !charsmap_.starts_rule_in_ascii(letter);
  }
  model_ = make_sentence_piece_model(parts, user_defined_, unknown_);
}

SentencePiece::~SentencePiece() = default;

// The longest rule of the table; else one character, or one byte of ill-formed text.
SentencePiece::Prefix SentencePiece::normalize_prefix(std::string_view bytes) const {
  std::size_t defined = 0;
  ByteTrie::Node node = ByteTrie::kRoot;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (node = user_defined_.step(node, bytes[i]); node == ByteTrie::kNowhere) break;
    if (user_defined_.value(node) != ByteTrie::kNoValue) defined = i + 1;
  }
  if (defined > 0) return {bytes.substr(0, defined), defined};
  if (const auto match = charsmap_.longest(bytes)) return {match->replacement, match->length};
  const std::size_t length = utf8_length(bytes);
  if (length == 0) return {"\uFFFD", 1};
  return {bytes.substr(0, length), length};
}

// Bytes at the start that no rule changes.
std::size_t SentencePiece::plain_run(std::string_view bytes) const {
  std::size_t length = 0;
  while (length < bytes.size() && plain_[static_cast<unsigned char>(bytes[length])]) ++length;
  const bool ascii_follows = length == bytes.size() || static_cast<unsigned char>(bytes[length]) < 0x80;
  return length > 0 && !ascii_follows ? length - 1 : length;
}

SentencePiece::Normalized SentencePiece::normalize(std::string_view bytes) const {
  const std::size_t limit = Normalizer::allowance(bytes.size());
  Normalized out;
  std::uint32_t consumed = 0;
  const auto put = [&](std::string_view text) {
    out.text += text;
    out.origins.insert(out.origins.end(), text.size(), consumed);
  };
  const std::string_view space = parts_.escape_spaces ? kSpaceSymbol : std::string_view(" ");
  const auto skip = [&](std::size_t count) {
    bytes.remove_prefix(count);
    consumed += static_cast<std::uint32_t>(count);
  };
  while (parts_.remove_extra_spaces && !bytes.empty()) {
    const Prefix prefix = normalize_prefix(bytes);
    if (prefix.text != " ") break;
    skip(prefix.consumed);
  }
  if (bytes.empty()) return {{}, {consumed}};
  out.text.reserve(bytes.size() + bytes.size() / 2);
  out.origins.reserve(bytes.size() + bytes.size() / 2);
  if (!parts_.space_as_suffix && parts_.add_dummy_prefix) put(space);
  bool after_space = parts_.remove_extra_spaces;
  while (!bytes.empty()) {
    if (const std::size_t run = plain_run(bytes); run > 0) {
      out.text += bytes.substr(0, run);
      for (std::size_t i = 0; i < run; ++i) out.origins.push_back(consumed + static_cast<std::uint32_t>(i));
      skip(run);
      after_space = false;
      continue;
    }
    const Prefix prefix = normalize_prefix(bytes);
    std::string_view text = prefix.text;
    while (after_space && text.starts_with(' ')) text.remove_prefix(1);
    if (!text.empty()) {
      for (const char c : text) put(c == ' ' ? space : std::string_view(&c, 1));
      after_space = text.ends_with(' ');
    }
    skip(prefix.consumed);
    if (out.text.size() > limit) refuse_growth();
    if (!parts_.remove_extra_spaces) after_space = false;
  }
  while (parts_.remove_extra_spaces && out.text.ends_with(space)) {
    const std::size_t length = out.text.size() - space.size();
    consumed = out.origins[length];
    out.text.erase(length);
    out.origins.resize(length);
  }
  if (parts_.space_as_suffix && parts_.add_dummy_prefix) put(space);
  out.origins.push_back(consumed);
  return out;
}

void SentencePiece::encode(std::string_view bytes, Origins origins, WordCache& cache, Encoded& out) const {
  const Normalized normalized = normalize(bytes);
  const std::string_view text = normalized.text;
  const bool cuts = model_->cuts_at_spaces();
  std::vector<Piece> pieces;
  float score = 0;
  bool unknown_before = false;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (cuts) {
      for (end = text.find(kSpaceSymbol, begin + 1); end != std::string_view::npos;
           end = text.find(kSpaceSymbol, end + kSpaceSymbol.size()))
        if (!text.substr(0, end).ends_with(kSpaceSymbol)) break;
      end = std::min(end, text.size());
    }
    pieces.clear();
    model_->encode(text.substr(begin, end - begin), score, cache, pieces);
    for (const Piece& piece : pieces) {
      const auto base = static_cast<std::uint32_t>(begin);
      const Range range{base + piece.begin, base + piece.end};
      const bool unknown = piece.id == unknown_ && !parts_.byte_fallback;
      if (unknown && unknown_before) {  // a run of unknown pieces is one token
        Token& last = out.tokens.back();
        last.origin.end = normalized.origins[range.end];
        if (last.surface >= 0) out.surfaces.back() += normalized.text.substr(range.begin, range.size());
      } else {
        add(normalized, range, piece.id, origins, out);
      }
      unknown_before = unknown;
    }
    begin = end;
  }
}

void SentencePiece::add(const Normalized& text, Range range, TokenId id, Origins origins,
                        Encoded& out) const {
  Token token{id, {text.origins[range.begin], text.origins[range.end]}, -1, 0, false};
  if (id != unknown_) {
    out.tokens.push_back(token);
    return;
  }
  const std::string_view piece = std::string_view(text.text).substr(range.begin, range.size());
  if (parts_.byte_fallback) {
    for (const char byte : piece) {
      token.id = bytes_[static_cast<unsigned char>(byte)];
      out.tokens.push_back(token);
    }
    return;
  }
  if (origins == Origins::track) out.set_surface(token, piece);
  out.tokens.push_back(token);
}

std::string SentencePiece::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  std::string text, bytes;
  bool at_start = true, start_seen = false;
  for (const TokenId id : ids) {
    if (!parts_.vocab.has(id)) continue;
    const Type type = parts_.types[static_cast<std::size_t>(id)];
    std::string_view piece = parts_.vocab.token(id);
    if (type == Type::byte) {
      bytes += static_cast<char>(byte_named(piece).value_or(0));
      continue;
    }
    text += decode_bytes(bytes);
    bytes.clear();
    if (start_seen || !text.empty()) at_start = false;
    start_seen = false;
    if (type == Type::control) {
      if (special == SpecialTokens::add) text += piece;
      continue;
    }
    if (type == Type::unknown) {
      text += parts_.unknown_surface;
      continue;
    }
    // Removes the space added before the first word, or all such spaces.
    if (at_start && (parts_.add_dummy_prefix || parts_.remove_extra_spaces) &&
        piece.starts_with(kSpaceSymbol)) {
      piece.remove_prefix(kSpaceSymbol.size());
      start_seen = !parts_.remove_extra_spaces;
    }
    for (std::size_t at = 0; at < piece.size();) {
      const bool is_space = piece.substr(at).starts_with(kSpaceSymbol);
      if (is_space) text += ' ';
      else text += piece[at];
      at += is_space ? kSpaceSymbol.size() : 1;
    }
  }
  return text + decode_bytes(bytes);
}

}  // namespace headlight::text
