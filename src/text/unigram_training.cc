// Learning a unigram vocabulary (Kudo, "Subword regularization", 2018): start with many substrings, fit
// their probabilities by expectation maximization, drop those whose removal lowers the likelihood least, and repeat.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "text/byte_trie.h"
#include "text/train.h"
#include "text/unicode.h"
#include "text/unigram_lattice.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLongestPiece = 16;   // characters
constexpr std::size_t kLongestWord = 2000;  // bytes of a word that are used
constexpr std::size_t kMostSeeds = 500'000;
constexpr double kShrink = 0.75, kExpectedAtLeast = 0.5, kCoverage = 0.9995;

// The part of a word that is used: very long strings are not words.
std::string_view start_of(std::string_view word) {
  if (word.size() <= kLongestWord) return word;
  std::size_t size = kLongestWord;
  while (size > 0 && is_continuation(word[size])) --size;
  return word.substr(0, size);
}

double digamma(double x) {
  double result = 0;
  while (x < 7) {
    result -= 1 / x;
    x += 1;
  }
  x -= 0.5;
  const double xx = 1 / (x * x);
  return result + std::log(x) + xx * (1.0 / 24 - xx * (7.0 / 960 - xx * (31.0 / 8064)));
}

class UnigramTrainer {
 public:
  UnigramTrainer(const std::vector<CountedWord>& words, const TokenizerTraining& options)
      : words_(words),
        options_(options),
        wanted_(static_cast<std::size_t>(options.vocab) - options.special.size()) {}

  UnigramParts train() {
    choose_characters();
    seed();
    const std::size_t enough = std::max(characters_.size(), wanted_ + wanted_ / 10);
    const auto start = static_cast<double>(candidates_.size());
    for (int round = 0;; ++round) {
      if (options_.progress && start > static_cast<double>(enough))
        options_.progress("fitting pieces",
                          std::clamp(std::log(start / static_cast<double>(candidates_.size())) /
                                         std::log(start / static_cast<double>(enough)),
                                     0.0, 1.0));
      for (int i = 0; i < 2; ++i) fit();
      if (candidates_.size() <= enough) break;
      const std::size_t before = candidates_.size();
      prune(std::max(enough, static_cast<std::size_t>(kShrink * static_cast<double>(before))));
      if (candidates_.size() == before) break;
    }
    return finish();
  }

 private:
  // Characters that must be pieces: the most frequent, until almost all of the text is covered.
  void choose_characters() {
    std::unordered_map<char32_t, std::int64_t> counts;
    double all = 0, covered = 0;
    for (const auto& [word, count] : words_) {
      for (std::size_t at = 0; at < word.size();) {
        const Character c = character_at(word, at);
        counts[c.code] += count;
        all += static_cast<double>(count);
        at += c.length;
      }
    }
    std::vector<std::pair<std::int64_t, char32_t>> sorted;
    sorted.reserve(counts.size());
    for (const auto& [code, count] : counts) sorted.emplace_back(-count, code);
    std::sort(sorted.begin(), sorted.end());
    // A text in many scripts must leave room for words.
    const std::size_t most = std::max<std::size_t>(1, wanted_ / 2);
    for (const auto& [count, code] : sorted) {
      if (covered >= kCoverage * all || -count < options_.min_frequency || characters_.size() >= most) break;
      characters_.emplace(to_utf8(code), static_cast<double>(-count));
      covered += static_cast<double>(-count);
    }
  }

  // Substrings that occur more than once. One that is always followed by the same character is omitted
  // in favour of the longer one.
  void seed() {
    std::unordered_map<std::string_view, std::int64_t> counts;
    for (const auto& [word, count] : words_) {
      const std::string_view view = start_of(word);
      for (std::size_t begin = 0; begin < view.size(); begin += length_from(view[begin])) {
        std::size_t end = begin;
        for (std::size_t n = 0; n < kLongestPiece && end < view.size(); ++n) {
          const std::string_view next = view.substr(end, length_from(view[end]));
          if (!characters_.contains(std::string(next))) break;
          end += next.size();
          if (n > 0) counts[view.substr(begin, end - begin)] += count;
        }
      }
      if (options_.progress) options_.progress("collecting pieces", -1);
    }
    std::vector<Candidate> found;
    for (const auto& [text, count] : counts) {
      if (count < std::max<std::int64_t>(2, options_.min_frequency)) continue;
      found.push_back({std::string(text), static_cast<double>(count)});
    }
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
    drop_followed(found);
    for (Candidate& c : found) c.score *= static_cast<double>(count_characters(c.text));
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    if (found.size() > kMostSeeds) found.resize(kMostSeeds);
    std::vector<Candidate> all;
    for (const auto& [text, count] : characters_) all.push_back({text, count});
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
    all.insert(all.end(), found.begin(), found.end());
    double sum = 0;
    for (const Candidate& c : all) sum += c.score;
    for (Candidate& c : all) c.score = std::log(c.score / sum);
    candidates_ = std::move(all);
  }

  // In sorted order, a text is followed by its extensions; one with the same frequency is the only one.
  static void drop_followed(std::vector<Candidate>& sorted) {
    std::vector<Candidate> kept;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const bool followed = i + 1 < sorted.size() && sorted[i + 1].text.starts_with(sorted[i].text) &&
                            sorted[i + 1].score >= sorted[i].score;
      if (!followed) kept.push_back(std::move(sorted[i]));
    }
    sorted = std::move(kept);
  }

  [[nodiscard]] ByteTrie trie() const {
    std::vector<std::pair<std::string, std::int32_t>> entries;
    entries.reserve(candidates_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      entries.emplace_back(candidates_[i].text, static_cast<std::int32_t>(i));
    return ByteTrie(std::move(entries));
  }

  void fit() {
    const ByteTrie tree = trie();
    Lattice lattice(tree, candidates_);
    std::vector<double> expected(candidates_.size());
    for (const auto& [word, count] : words_) {
      lattice.read(start_of(word));
      lattice.expect(static_cast<double>(count), expected);
    }
    std::vector<Candidate> kept;
    double sum = 0;
    std::size_t i = 0;
    for (Candidate& c : candidates_) {
      const bool required = characters_.contains(c.text);
      const double count = required ? std::max(expected[i], kExpectedAtLeast) : expected[i];
      ++i;
      if (count < kExpectedAtLeast) continue;
      sum += count;
      kept.push_back({std::move(c.text), count});
    }
    for (Candidate& c : kept) c.score = digamma(c.score) - digamma(sum);
    candidates_ = std::move(kept);
  }

  // Keeps the candidates whose removal would lower the likelihood most, if each is replaced by the
  // best other candidates.
  void prune(std::size_t keep) {
    const ByteTrie tree = trie();
    Lattice lattice(tree, candidates_);
    std::vector<double> used(candidates_.size());
    std::vector<std::uint32_t> ids;
    double total = 0, sum = 0;
    for (const auto& [word, count] : words_) {
      lattice.read(start_of(word));
      if (!lattice.best(true, ids, total)) continue;
      for (const std::uint32_t id : ids) used[id] += static_cast<double>(count);
      sum += static_cast<double>(count * static_cast<std::int64_t>(ids.size()));
    }
    struct Loss {
      double loss = 0;
      std::size_t id = 0;
    };
    std::vector<Loss> losses;
    std::vector<bool> kept(candidates_.size());
    std::size_t always = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      lattice.read(candidates_[i].text);
      const bool other = !characters_.contains(candidates_[i].text) && lattice.best(false, ids, total);
      if (!other) {
        kept[i] = true;
        ++always;
        continue;
      }
      if (used[i] == 0 || total > candidates_[i].score) continue;  // not chosen, now or later
      const double log_sum = std::log(sum), own = std::log(used[i]) - log_sum;
      const double log_other = std::log(sum + used[i] * static_cast<double>(ids.size() - 1));
      double instead = 0;
      for (const std::uint32_t id : ids) instead += std::log(used[id] + used[i]) - log_other;
      losses.push_back({used[i] / sum * (own - instead), i});
    }
    std::stable_sort(losses.begin(), losses.end(),
                     [](const Loss& a, const Loss& b) { return a.loss > b.loss; });
    for (std::size_t i = 0; i < losses.size() && always + i < keep; ++i) kept[losses[i].id] = true;
    std::size_t out = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept[i]) {
        if (out != i) candidates_[out] = std::move(candidates_[i]);
        ++out;
      }
    candidates_.resize(out);
  }

  UnigramParts finish() {
    std::stable_sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
      const bool first = characters_.contains(a.text), second = characters_.contains(b.text);
      return first != second ? first : a.score > b.score;
    });
    if (candidates_.size() > wanted_) candidates_.resize(wanted_);
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    UnigramParts parts;
    parts.vocab.reserve(static_cast<std::size_t>(options_.vocab));
    const auto add = [&](const std::string& token, double score) {
      if (parts.vocab.add(token, parts.vocab.size()) == TokenTable::Added::yes) parts.scores.push_back(score);
    };
    for (const std::string& token : options_.special) add(token, 0);
    for (const Candidate& c : candidates_) add(c.text, c.score);
    return parts;
  }

  const std::vector<CountedWord>& words_;
  const TokenizerTraining& options_;
  std::size_t wanted_;
  std::unordered_map<std::string, double> characters_;  // and their counts
  std::vector<Candidate> candidates_;
};

}  // namespace

UnigramParts train_unigram(const std::vector<CountedWord>& words, const TokenizerTraining& options) {
  return UnigramTrainer(words, options).train();
}

}  // namespace headlight::text
