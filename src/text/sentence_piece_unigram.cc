// SentencePiece's unigram model, with its rounding.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "text/sentence_piece_model.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

using Type = SentencePieceParts::Type;
constexpr float kUnknownPenalty = 10;
// Memory for words up to this size is kept between words; for longer ones it is freed.
constexpr std::uint32_t kKeptPlaces = 4096;

// Words from the cache are right only if no other segmentation is so close to the best one that rounding could
// prefer it. SentencePiece adds scores as floats along the whole text, so the effect of rounding depends
// on the sum so far. The last piece that encode() appends is no token: it stores the word's margin (the difference
// to the second best segmentation) and its score.
class UnigramWord : public WordModel {
 public:
  static constexpr TokenId kNumbers = -2;

  UnigramWord(const SentencePieceParts& parts, TokenId unknown) : parts_(parts), unknown_(unknown) {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    float least = FLT_MAX, most = FLT_MIN;
    for (TokenId id = 0; id < parts.vocab.size(); ++id) {
      const Type type = parts.types[static_cast<std::size_t>(id)];
      if (type == Type::normal) {
        least = std::min(least, score_of(id));
        most = std::max(most, score_of(id));
      }
      if (type == Type::normal || type == Type::user_defined) entries.emplace_back(parts.vocab.token(id), id);
    }
    trie_ = ByteTrie(std::move(entries));
    unknown_score_ = least - kUnknownPenalty;
    largest_ = most;
  }

  void encode(std::string_view word, std::vector<Piece>& out) const override {
    const auto size = static_cast<std::uint32_t>(word.size());
    static thread_local std::vector<Best> kept;
    std::vector<Best> large;
    std::vector<Best>& best = size < kKeptPlaces ? kept : large;
    best.assign(size + 1, {});
    best[0].first = 0;
    each_edge(word, [&](std::uint32_t begin, std::uint32_t end, double score, TokenId id) {
      const double first = best[begin].first + score, second = best[begin].second + score;
      Best& target = best[end];
      if (first > target.first) {
        target.second = std::max(target.first, second);
        target.first = first;
        target.begin = begin;
        target.id = id;
      } else {
        target.second = std::max(target.second, first);
      }
    });
    trace(out, size, [&](std::uint32_t end) { return std::pair(best[end].begin, best[end].id); });
    const auto margin = static_cast<float>(best[size].first - best[size].second);
    out.push_back({kNumbers, std::bit_cast<std::uint32_t>(margin),
                   std::bit_cast<std::uint32_t>(static_cast<float>(best[size].first))});
  }

  // As SentencePiece does it: totals are floats and candidates doubles, so that of two equal sums the later wins
  // where the total was rounded down. An unknown character's candidate is a float already and wins no such tie.
  float encode_from(std::string_view word, float start, std::vector<Piece>& out) const {
    struct Node {
      float score = 0;
      std::uint32_t begin = 0;
      TokenId id = -1;
    };
    const auto size = static_cast<std::uint32_t>(word.size());
    static thread_local std::vector<Node> kept;
    std::vector<Node> large;
    std::vector<Node>& nodes = size < kKeptPlaces ? kept : large;
    nodes.assign(size + 1, {});
    nodes[0].score = start;
    each_edge(word, [&](std::uint32_t begin, std::uint32_t end, double score, TokenId id) {
      const double sum = score + nodes[begin].score;
      const double candidate = id == unknown_ ? static_cast<double>(static_cast<float>(sum)) : sum;
      Node& target = nodes[end];
      if (target.id < 0 || candidate > target.score) target = {static_cast<float>(candidate), begin, id};
    });
    trace(out, size, [&](std::uint32_t end) { return std::pair(nodes[end].begin, nodes[end].id); });
    return nodes[size].score;
  }

  // The sum of scores after the best pieces.
  [[nodiscard]] float add_scores(float start, std::span<const Piece> pieces) const {
    for (const Piece& piece : pieces)
      start = static_cast<float>(edge_score(piece.id, piece.end - piece.begin) + start);
    return start;
  }

 private:
  struct Best {
    double first = -std::numeric_limits<double>::infinity(),
           second = -std::numeric_limits<double>::infinity();
    std::uint32_t begin = 0;
    TokenId id = -1;
  };
  [[nodiscard]] float score_of(TokenId id) const { return parts_.scores[static_cast<std::size_t>(id)]; }
  [[nodiscard]] double edge_score(TokenId id, std::uint32_t length) const {
    if (id == unknown_) return unknown_score_;
    // A user-defined symbol is always taken.
    if (parts_.types[static_cast<std::size_t>(id)] == Type::user_defined)
      return static_cast<float>(length) * largest_ - 0.1;
    return score_of(id);
  }

  template <class Use>
  void each_edge(std::string_view word, const Use& use) const {
    const auto size = static_cast<std::uint32_t>(word.size());
    for (std::uint32_t at = 0, next = 0; at < size; at = next) {
      next = at + static_cast<std::uint32_t>(length_from(word[at]));
      bool single = false;
      ByteTrie::Node node = ByteTrie::kRoot;
      for (std::uint32_t end = at; end < size;) {
        if (node = trie_.step(node, word[end++]); node == ByteTrie::kNowhere) break;
        const TokenId id = trie_.value(node);
        if (id == ByteTrie::kNoValue) continue;
        use(at, end, edge_score(id, end - at), id);
        single = single || end == next;
      }
      if (!single) use(at, next, unknown_score_, unknown_);
    }
  }
  template <class Step>
  static void trace(std::vector<Piece>& out, std::uint32_t size, const Step& step) {
    const std::size_t first = out.size();
    for (std::uint32_t end = size; end > 0;) {
      const auto [begin, id] = step(end);
      out.push_back({id, begin, end});
      end = begin;
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }

  const SentencePieceParts& parts_;
  TokenId unknown_;
  ByteTrie trie_;
  float unknown_score_ = 0, largest_ = 0;
};

class UnigramModel : public SentencePieceModel {
 public:
  UnigramModel(const SentencePieceParts& parts, TokenId unknown)
      : word_(parts, unknown), cuts_(can_cut_at_spaces(parts)) {}
  [[nodiscard]] bool cuts_at_spaces() const override { return cuts_; }

  void encode(std::string_view stretch, float& score, WordCache& cache,
              std::vector<Piece>& out) const override {
    if (stretch.size() <= WordCache::kLongestWord) {
      const std::span<const Piece> cached = cache.pieces(stretch, word_);
      const std::span<const Piece> pieces = cached.first(cached.size() - 1);
      const auto margin = std::bit_cast<float>(cached.back().begin),
                 total = std::bit_cast<float>(cached.back().end);
      // Each of two segmentations adds at most one score per byte, each with half a unit in the last place.
      const double steps = static_cast<double>(stretch.size()) + 2;
      const double doubt = 2 * steps * FLT_EPSILON *
                           (std::abs(static_cast<double>(score)) + std::abs(static_cast<double>(total)));
      if (margin > doubt) {
        out.insert(out.end(), pieces.begin(), pieces.end());
        score = word_.add_scores(score, pieces);
        return;
      }
    }
    score = word_.encode_from(stretch, score, out);
  }

 private:
  UnigramWord word_;
  bool cuts_;
};

}  // namespace

std::unique_ptr<SentencePieceModel> make_sentence_piece_unigram(const SentencePieceParts& parts,
                                                                TokenId unknown) {
  return std::make_unique<UnigramModel>(parts, unknown);
}

}  // namespace headlight::text
