// All segmentations of a word into candidates of a unigram vocabulary: their probabilities, and the best one.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_trie.h"
#include "text/unicode.h"

namespace headlight::text {

struct Candidate {
  std::string text;
  double score = 0;  // log probability
};

inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b < a - 50 ? a : a + std::log1p(std::exp(b - a));
}

// All candidates within a word: from byte `begin` to `end`. Positions are bytes; those inside
// characters are never reached.
struct Edge {
  std::uint32_t begin = 0, end = 0, id = 0;
};

class Lattice {
 public:
  Lattice(const ByteTrie& trie, const std::vector<Candidate>& candidates)
      : trie_(trie), candidates_(candidates) {}

  void read(std::string_view word) {
    size_ = static_cast<std::uint32_t>(word.size());
    edges_.clear();
    for (std::uint32_t at = 0; at < size_; at += static_cast<std::uint32_t>(length_from(word[at]))) {
      ByteTrie::Node node = ByteTrie::kRoot;
      for (std::uint32_t end = at; end < size_;) {
        if (node = trie_.step(node, word[end++]); node == ByteTrie::kNowhere) break;
        if (trie_.value(node) != ByteTrie::kNoValue)
          edges_.push_back({at, end, static_cast<std::uint32_t>(trie_.value(node))});
      }
    }
  }

  // Adds each candidate's expected count to `expected`; returns the log probability of the word.
  double expect(double count, std::vector<double>& expected) {
    before_.assign(size_ + 1, kNever);
    behind_.assign(size_ + 1, kNever);
    before_[0] = behind_[size_] = 0;
    for (const Edge& e : edges_)
      if (before_[e.begin] > kNever) before_[e.end] = log_add(before_[e.end], before_[e.begin] + score(e));
    for (auto e = edges_.rbegin(); e != edges_.rend(); ++e)
      if (behind_[e->end] > kNever)
        behind_[e->begin] = log_add(behind_[e->begin], behind_[e->end] + score(*e));
    const double total = before_[size_];
    if (total <= kNever) return 0;  // characters that are not covered
    for (const Edge& e : edges_) {
      const double path = before_[e.begin] + score(e) + behind_[e.end] - total;
      if (before_[e.begin] > kNever && behind_[e.end] > kNever) expected[e.id] += count * std::exp(path);
    }
    return total * count;
  }

  // The best segmentation, optionally excluding the whole word as one candidate; false: there is none.
  bool best(bool whole_allowed, std::vector<std::uint32_t>& ids, double& total) {
    before_.assign(size_ + 1, kNever);
    last_.assign(size_ + 1, nullptr);
    before_[0] = 0;
    for (const Edge& e : edges_) {
      if (before_[e.begin] <= kNever || (!whole_allowed && e.begin == 0 && e.end == size_)) continue;
      const double sum = before_[e.begin] + score(e);
      if (last_[e.end] != nullptr && sum <= before_[e.end]) continue;
      before_[e.end] = sum;
      last_[e.end] = &e;
    }
    ids.clear();
    if (size_ == 0 || last_[size_] == nullptr) return false;
    for (std::uint32_t at = size_; at > 0; at = last_[at]->begin) ids.push_back(last_[at]->id);
    total = before_[size_];
    return true;
  }

 private:
  static constexpr double kNever = -1e30;
  [[nodiscard]] double score(const Edge& edge) const { return candidates_[edge.id].score; }

  const ByteTrie& trie_;
  const std::vector<Candidate>& candidates_;
  std::uint32_t size_ = 0;
  std::vector<Edge> edges_;  // by begin, then end: every edge after those that lead to it
  std::vector<double> before_, behind_;
  std::vector<const Edge*> last_;
};

}  // namespace headlight::text
