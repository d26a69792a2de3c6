#include "text/unigram.h"

#include <algorithm>
#include <limits>

#include "headlight/error.h"
#include "text/byte_characters.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

// Memory for words up to this size is reused for the next word; for longer ones it is freed.
constexpr std::uint32_t kKeptPlaces = 4096;
constexpr double kUnknownPenalty = 10;  // below the worst token

struct Best {
  double score = 0;
  std::uint32_t begin = 0;
  TokenId id = -1;  // -1: not reached yet
};

}  // namespace

ByteTrie trie_of(const TokenTable& vocab, Symbols symbols) {
  std::vector<std::pair<std::string, std::int32_t>> entries;
  entries.reserve(vocab.count());
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.token(id);
    if (token.empty()) continue;
    if (symbols == Symbols::characters) entries.emplace_back(token, id);
    else if (auto bytes = characters_to_bytes(token)) entries.emplace_back(std::move(*bytes), id);
  }
  return ByteTrie(std::move(entries));
}

Unigram::Unigram(const UnigramParts& parts, Symbols symbols)
    : parts_(parts), symbols_(symbols), trie_(trie_of(parts.vocab, symbols)) {
  if (!parts.scores.empty())
    unknown_score_ = *std::min_element(parts.scores.begin(), parts.scores.end()) - kUnknownPenalty;
  for (unsigned byte = 0; byte < 256; ++byte)
    fallback_[byte] = parts.byte_fallback
                          ? parts.vocab.find(name_of_byte(static_cast<unsigned char>(byte))).value_or(-1)
                          : -1;
}

void Unigram::encode(std::string_view word, std::vector<Piece>& out) const {
  constexpr TokenId kUnknown = std::numeric_limits<TokenId>::max();
  const auto size = static_cast<std::uint32_t>(word.size());
  static thread_local std::vector<Best> kept;
  std::vector<Best> large;
  std::vector<Best>& best = size < kKeptPlaces ? kept : large;
  best.assign(size + 1, {});
  const auto offer = [&](std::uint32_t begin, std::uint32_t end, double score, TokenId id) {
    const double total = score + best[begin].score;
    if (best[end].id < 0 || total > best[end].score) best[end] = {total, begin, id};
  };
  for (std::uint32_t at = 0, next = 0; at < size; at = next) {
    next = at + (symbols_ == Symbols::bytes ? 1 : static_cast<std::uint32_t>(length_from(word[at])));
    bool single = false;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (std::uint32_t end = at; end < size;) {
      if (node = trie_.step(node, word[end++]); node == ByteTrie::kNowhere) break;
      const std::int32_t id = trie_.value(node);
      if (id == ByteTrie::kNoValue) continue;
      offer(at, end, parts_.scores[static_cast<std::size_t>(id)], id);
      single = single || end == next;
    }
    if (!single) offer(at, next, unknown_score_, kUnknown);
  }
  const std::size_t first = out.size();
  for (std::uint32_t end = size; end > 0;) {
    const Best& node = best[end];
    const bool unknown = node.id == kUnknown || node.id == parts_.unknown;
    const TokenId id = unknown ? kUnknown : node.id;
    if (unknown && out.size() > first && out.back().id == kUnknown) out.back().begin = node.begin;
    else out.push_back({id, node.begin, end});
    end = node.begin;
  }
  std::vector<Piece> pieces(out.rbegin(), out.rend() - static_cast<std::ptrdiff_t>(first));
  out.resize(first);
  for (const Piece& piece : pieces) add(word, piece, out);
}

// Unknown pieces become bytes where every byte has its token.
void Unigram::add(std::string_view word, Piece piece, std::vector<Piece>& out) const {
  if (piece.id != std::numeric_limits<TokenId>::max()) {
    out.push_back(piece);
    return;
  }
  const std::string_view text = word.substr(piece.begin, piece.end - piece.begin);
  const ByteTrie::Node node = trie_.walk(ByteTrie::kRoot, text);
  if (node != ByteTrie::kNowhere && trie_.value(node) != ByteTrie::kNoValue) {
    out.push_back({trie_.value(node), piece.begin, piece.end});
    return;
  }
  const auto missing = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)] < 0; };
  if (parts_.byte_fallback && std::none_of(text.begin(), text.end(), missing)) {
    for (const char byte : text)
      out.push_back({fallback_[static_cast<unsigned char>(byte)], piece.begin, piece.end});
    return;
  }
  if (!parts_.unknown)
    throw Error(
        ErrorKind::input, "tokenizer.unknown",
        "tokenizer: the text has characters that the vocabulary lacks, and there is no unknown token");
  out.push_back({*parts_.unknown, piece.begin, piece.end});
}

}  // namespace headlight::text
