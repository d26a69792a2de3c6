#include "text/sentence_piece_model.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

#include "text/unicode.h"

namespace headlight::text {
namespace {

using Type = SentencePieceParts::Type;
constexpr std::string_view kMetaspace = "\u2581";

std::uint32_t symbol_length(std::string_view text, const ByteTrie& user_defined, bool* frozen = nullptr) {
  std::size_t length = 0;
  ByteTrie::Node node = ByteTrie::kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (node = user_defined.step(node, text[i]); node == ByteTrie::kNowhere) break;
    if (user_defined.value(node) != ByteTrie::kNoValue) length = i + 1;
  }
  if (frozen != nullptr) *frozen = length > 0;
  return static_cast<std::uint32_t>(length > 0 ? length : length_from(text[0]));
}

// Merges the pair that gives the piece with the highest score, the leftmost of equals.
class BpeWord : public WordModel {
 public:
  BpeWord(const SentencePieceParts& parts, const ByteTrie& user_defined, TokenId unknown)
      : parts_(parts), user_defined_(user_defined), unknown_(unknown) {}

  void encode(std::string_view word, std::vector<Piece>& out) const override {
    constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();
    struct Symbol {
      std::uint32_t before = 0, after = 0, begin = 0, end = 0;  // empty once it is merged into another
      bool frozen = false;
    };
    struct Pair {
      float score = 0;
      std::uint32_t left = 0, right = 0, size = 0;
      bool operator<(const Pair& other) const {
        return score != other.score ? score < other.score : left > other.left;
      }
    };
    std::vector<Symbol> symbols;
    for (std::uint32_t at = 0, size = static_cast<std::uint32_t>(word.size()); at < size;) {
      Symbol symbol;
      const auto index = static_cast<std::uint32_t>(symbols.size());
      symbol.before = index == 0 ? kEnd : index - 1;
      symbol.begin = at;
      at += symbol_length(word.substr(at), user_defined_, &symbol.frozen);
      symbol.end = at;
      symbol.after = at == size ? kEnd : index + 1;
      symbols.push_back(symbol);
    }
    std::priority_queue<Pair> queue;
    std::unordered_map<std::string_view, std::uint32_t> halves;  // unused pieces: the end of their left half
    const auto wait = [&](std::uint32_t left, std::uint32_t right) {
      if (left == kEnd || right == kEnd || symbols[left].frozen || symbols[right].frozen) return;
      const std::string_view text =
          word.substr(symbols[left].begin, symbols[right].end - symbols[left].begin);
      const auto id = find(text);
      if (!id) return;
      queue.push({parts_.scores[static_cast<std::size_t>(*id)], left, right,
                  static_cast<std::uint32_t>(text.size())});
      if (parts_.types[static_cast<std::size_t>(*id)] == Type::unused)
        halves[text] = symbols[left].end - symbols[left].begin;
    };
    for (std::uint32_t i = 1; i < symbols.size(); ++i) wait(i - 1, i);
    while (!queue.empty()) {
      const Pair top = queue.top();
      queue.pop();
      Symbol &left = symbols[top.left], &right = symbols[top.right];
      if (left.begin == left.end || right.begin == right.end || right.end - left.begin != top.size ||
          left.after != top.right)
        continue;
      left.end = right.end;
      left.after = right.after;
      if (right.after != kEnd) symbols[right.after].before = top.left;
      right.begin = right.end;
      wait(left.before, top.left);
      wait(top.left, left.after);
    }
    for (std::uint32_t i = 0; i != kEnd; i = symbols[i].after)
      cut(word, symbols[i].begin, symbols[i].end, halves, out);
  }

 private:
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const {
    const auto id = parts_.vocab.find(text);
    return id && is_text(parts_.types[static_cast<std::size_t>(*id)]) ? id : std::nullopt;
  }
  // Pieces marked as unused are replaced by the halves they were merged from.
  void cut(std::string_view word, std::uint32_t begin, std::uint32_t end,
           const std::unordered_map<std::string_view, std::uint32_t>& halves, std::vector<Piece>& out) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{begin, end}};
    while (!todo.empty()) {
      const auto [from, to] = todo.back();
      todo.pop_back();
      const std::string_view text = word.substr(from, to - from);
      const TokenId id = parts_.vocab.find(text).value_or(unknown_);
      const auto half = halves.find(text);
      if (parts_.types[static_cast<std::size_t>(id)] != Type::unused || half == halves.end()) {
        out.push_back({id, from, to});
        continue;
      }
      todo.emplace_back(from + half->second, to);
      todo.emplace_back(from, from + half->second);
    }
  }

  const SentencePieceParts& parts_;
  const ByteTrie& user_defined_;
  TokenId unknown_;
};

// Looks up every symbol, or every word from ▁ to ▁, unchanged.
class LookUpWord : public WordModel {
 public:
  LookUpWord(const SentencePieceParts& parts, const ByteTrie& user_defined, TokenId unknown)
      : parts_(parts), user_defined_(user_defined), unknown_(unknown) {}

  void encode(std::string_view word, std::vector<Piece>& out) const override {
    const auto size = static_cast<std::uint32_t>(word.size());
    for (std::uint32_t at = 0, end = 0; at < size; at = end) {
      if (parts_.kind == SentencePieceParts::Kind::characters) {
        end = at + symbol_length(word.substr(at), user_defined_);
      } else {
        const std::size_t next = word.find(kMetaspace, at + 1);
        end = static_cast<std::uint32_t>(std::min(next, word.size()));
      }
      out.push_back({parts_.vocab.find(word.substr(at, end - at)).value_or(unknown_), at, end});
    }
  }

 private:
  const SentencePieceParts& parts_;
  const ByteTrie& user_defined_;
  TokenId unknown_;
};

template <class Word>
class CachedModel : public SentencePieceModel {
 public:
  CachedModel(const SentencePieceParts& parts, const ByteTrie& user_defined, TokenId unknown)
      : word_(parts, user_defined, unknown), cuts_(can_cut_at_spaces(parts)) {}
  [[nodiscard]] bool cuts_at_spaces() const override { return cuts_; }
  void encode(std::string_view stretch, float&, WordCache& cache, std::vector<Piece>& out) const override {
    const std::span<const Piece> pieces = cache.pieces(stretch, word_);
    out.insert(out.end(), pieces.begin(), pieces.end());
  }

 private:
  Word word_;
  bool cuts_;
};

}  // namespace

// No piece has ▁ behind another character.
bool can_cut_at_spaces(const SentencePieceParts& parts) {
  if (parts.space_as_suffix || !parts.escape_spaces) return false;
  for (TokenId id = 0; id < parts.vocab.size(); ++id) {
    if (!is_text(parts.types[static_cast<std::size_t>(id)])) continue;
    const std::string_view token = parts.vocab.token(id);
    for (std::size_t at = token.find(kMetaspace, 1); at != std::string_view::npos;
         at = token.find(kMetaspace, at + 1))
      if (!token.substr(0, at).ends_with(kMetaspace)) return false;
  }
  return true;
}

std::unique_ptr<SentencePieceModel> make_sentence_piece_model(const SentencePieceParts& parts,
                                                              const ByteTrie& user_defined, TokenId unknown) {
  switch (parts.kind) {
    case SentencePieceParts::Kind::unigram: return make_sentence_piece_unigram(parts, unknown);
    case SentencePieceParts::Kind::bpe:
      return std::make_unique<CachedModel<BpeWord>>(parts, user_defined, unknown);
    case SentencePieceParts::Kind::words:
    case SentencePieceParts::Kind::characters: break;
  }
  return std::make_unique<CachedModel<LookUpWord>>(parts, user_defined, unknown);
}

}  // namespace headlight::text
