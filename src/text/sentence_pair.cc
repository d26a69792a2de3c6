#include "text/sentence_pair.h"

#include <algorithm>

#include "text/byte_characters.h"

namespace headlight::text {
namespace {

constexpr std::string_view kSpaceSymbol = "\u2581";

// The bytes of ">>fra<<" at the start of a text, up to the last "<<" of its first line; 0 if there is none.
std::size_t language_code(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const std::size_t end = text.substr(0, text.find('\n')).rfind("<<");
  return end == std::string_view::npos || end < 3 ? 0 : end + 2;
}

}  // namespace

SentencePair::SentencePair(const SentencePairParts& parts)
    : parts_(parts), reads_(parts.encodes_target ? parts.target : parts.source), encoder_(reads_) {}

void SentencePair::encode(std::string_view text, Range part, WordCache& cache, Encoded& out) const {
  if (const std::size_t code = language_code(text.substr(part.begin, part.size())); code > 0) {
    const Range origin{part.begin, part.begin + static_cast<std::uint32_t>(code)};
    add(text.substr(origin.begin, origin.size()), origin, out);
    part.begin = origin.end;
  }
  Encoded pieces;
  // Tracked, because the surface of an unknown piece may have an id in the vocabulary.
  encoder_.encode(text.substr(part.begin, part.size()), Origins::track, cache, pieces);
  for (const Token& token : pieces.tokens) {
    const std::string_view piece = token.surface < 0
                                       ? reads_.vocab.token(token.id)
                                       : pieces.surfaces[static_cast<std::size_t>(token.surface)];
    add(piece, {part.begin + token.origin.begin, part.begin + token.origin.end}, out);
  }
}

void SentencePair::add(std::string_view piece, Range origin, Encoded& out) const {
  const auto id = parts_.vocab.find(piece);
  Token token{id.value_or(parts_.unknown), origin, -1, 0, false};
  if (!id) out.set_surface(token, piece);
  out.tokens.push_back(token);
}

// Pieces that the target model does not have are text as they are.
void SentencePair::add_piece(std::string_view piece, std::string& run) const {
  using Type = SentencePieceParts::Type;
  const auto known = parts_.target.vocab.find(piece);
  const Type type = known ? parts_.target.types[static_cast<std::size_t>(*known)] : Type::normal;
  if (type == Type::control) return;
  if (type == Type::byte) run += static_cast<char>(byte_named(piece).value_or(0));
  else if (type == Type::unknown) run += parts_.target.unknown_surface;
  else run += piece;
}

// Spaces for their symbols, except for the one that was added before the first word.
std::string SentencePair::finish(const std::string& run) {
  std::string text;
  for (std::size_t at = run.starts_with(kSpaceSymbol) ? kSpaceSymbol.size() : 0; at < run.size();) {
    const bool space = std::string_view(run).substr(at).starts_with(kSpaceSymbol);
    text += space ? ' ' : run[at];
    at += space ? kSpaceSymbol.size() : 1;
  }
  return text;
}

std::string SentencePair::trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

}  // namespace headlight::text
