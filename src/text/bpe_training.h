// Learning merges: the most frequent pair of neighbours becomes a symbol, again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/parts.h"

namespace headlight::text {

class MergeLearner {
 public:
  // Symbols are ids of a vocabulary that the caller keeps.
  void add_word(const std::vector<TokenId>& symbols, std::int64_t count);

  struct Pair {
    TokenId left = 0, right = 0;
    std::int64_t count = 0;
  };
  // The most frequent pair, the one with the smallest ids among equals; a count of 0 when none is left.
  [[nodiscard]] Pair best();
  // Replaces that pair by `result` everywhere.
  void merge(const Pair& pair, TokenId result);
  // Never merges that pair.
  void forget(const Pair& pair) { uses_.erase(key_of(pair.left, pair.right)); }

 private:
  struct Uses {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // words that contain the pair, or did once
  };
  struct Candidate {
    std::int64_t count = 0;
    std::uint64_t pair = 0;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };
  struct Word {
    std::vector<TokenId> symbols;
    std::int64_t count = 0;
  };
  [[nodiscard]] static std::uint64_t key_of(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  void change(TokenId left, TokenId right, std::int64_t by, std::uint32_t word);

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Uses> uses_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> grown_;  // pairs that a merge has made more frequent
};

}  // namespace headlight::text
