#include <algorithm>
#include <unordered_map>

#include "text/translation_score.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLongest = 6;

using Counts = std::unordered_map<std::u32string_view, std::int64_t>;

// Of runs of one length.
struct Shares {
  std::int64_t translation = 0, reference = 0, both = 0;
};
using AllShares = std::array<Shares, kLongest>;

std::u32string characters_of(std::string_view text) {
  const std::string clean = to_well_formed(text);
  std::u32string out;
  for (std::size_t at = 0; at < clean.size();) {
    const Character c = character_at(clean, at);
    if (!is_one_of(c.code, kSpace)) out += c.code;
    at += c.length;
  }
  return out;
}

std::array<Counts, kLongest> runs_of(const std::u32string& text) {
  std::array<Counts, kLongest> counts;
  const std::u32string_view all = text;
  for (std::size_t n = 1; n <= kLongest; ++n)
    for (std::size_t at = 0; at + n <= all.size(); ++at) ++counts[n - 1][all.substr(at, n)];
  return counts;
}

std::int64_t total(const Counts& counts) {
  std::int64_t sum = 0;
  for (const auto& [run, count] : counts) sum += count;
  return sum;
}

AllShares compare(const std::array<Counts, kLongest>& translation,
                  const std::array<Counts, kLongest>& reference) {
  AllShares shares;
  for (std::size_t n = 0; n < kLongest; ++n) {
    Shares& s = shares[n];
    s.reference = total(reference[n]);
    // A reference shorter than this n-gram length gives no evidence about it.
    if (s.reference > 0) s.translation = total(translation[n]);
    for (const auto& [run, count] : translation[n]) {
      const auto found = reference[n].find(run);
      if (found != reference[n].end()) s.both += std::min(count, found->second);
    }
  }
  return shares;
}

// Precision and recall are averaged over the lengths that occur on both sides.
double score_of(const AllShares& shares, double beta) {
  double precision = 0, recall = 0;
  int lengths = 0;
  for (const Shares& s : shares) {
    if (s.translation == 0 || s.reference == 0) continue;
    precision += static_cast<double>(s.both) / static_cast<double>(s.translation);
    recall += static_cast<double>(s.both) / static_cast<double>(s.reference);
    ++lengths;
  }
  if (precision + recall == 0) return 0;
  precision /= lengths;
  recall /= lengths;
  const double factor = beta * beta;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

}  // namespace

double chrf(std::span<const ScoredSentence> sentences, double beta) {
  AllShares sum;
  for (const ScoredSentence& sentence : sentences) {
    const std::u32string written = characters_of(sentence.translation);
    const std::array<Counts, kLongest> runs = runs_of(written);
    AllShares best;
    double best_score = -1;
    for (const std::string& text : sentence.references) {
      const std::u32string reference = characters_of(text);
      const AllShares shares = compare(runs, runs_of(reference));
      const double score = score_of(shares, beta);
      if (score > best_score) {
        best_score = score;
        best = shares;
      }
    }
    for (std::size_t n = 0; n < kLongest; ++n) {
      sum[n].translation += best[n].translation;
      sum[n].reference += best[n].reference;
      sum[n].both += best[n].both;
    }
  }
  return score_of(sum, beta);
}

}  // namespace headlight::text
