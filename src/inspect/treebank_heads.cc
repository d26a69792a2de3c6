#include "inspect/treebank_heads.h"

#include <algorithm>
#include <deque>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"
#include "inspect/word_choices.h"

namespace headlight::inspect {
namespace {

constexpr std::size_t kOffsets = 2 * kMostWordOffset + 1;

// One word that could make a link of a relation, and the words it should attend to.
struct Asked {
  std::string relation;
  Direction direction = Direction::to_head;
  Index query = 0;
  std::vector<Index> right = {};
};

// How often each head and each offset was right, for both halves.
struct Counts {
  Index all[kHalves] = {};
  std::vector<Index> heads[kHalves];
  Index offsets[kHalves][kOffsets] = {};
};
using Key = std::pair<std::string, Direction>;

bool is_relation(const text::TreeWord& word) { return word.head >= 0 && word.relation != "punct"; }

// Whether the query can see the key and shares no token with it.
bool can_choose(Range query, Range key, bool causal) {
  if (query.size() == 0 || key.size() == 0) return false;
  if (key.begin < query.end && query.begin < key.end) return false;
  return !causal || key.begin < query.end;
}

std::vector<Asked> links_of(const text::Tree& tree, std::span<const Range> tokens, bool causal) {
  std::vector<Asked> links;
  std::map<std::pair<Index, std::string>, Asked> downwards;  // dependents of one relation belong together
  for (std::size_t w = 0; w < tree.words.size(); ++w) {
    const text::TreeWord& word = tree.words[w];
    if (!is_relation(word)) continue;
    const Range own = tokens[w], head = tokens[static_cast<std::size_t>(word.head)];
    const auto number = static_cast<Index>(w);
    if (can_choose(own, head, causal))
      links.push_back({word.relation, Direction::to_head, number, {word.head}});
    if (can_choose(head, own, causal)) {
      Asked& down = downwards[{word.head, word.relation}];
      down.relation = word.relation;
      down.direction = Direction::to_dependent;
      down.query = word.head;
      down.right.push_back(number);
    }
  }
  for (auto& [key, asked] : downwards) links.push_back(std::move(asked));
  return links;
}

bool is_right(const Asked& link, Index word) {
  return std::find(link.right.begin(), link.right.end(), word) != link.right.end();
}

class Scorer {
 public:
  Scorer(Context& ctx, const LoadedModel& loaded, Part part)
      : part_(part),
        heads_(loaded.heads(part)),
        all_heads_(loaded.layers(part) * heads_),
        trees_(ctx, [this](std::span<const std::byte> answer) {
          for (const Right& right : values_of<Right>(answer))
            ++counts_of(asked_.front().links[right.link])
                  .heads[static_cast<std::size_t>(asked_.front().half)][right.head];
          asked_.pop_front();
        }) {}

  void add(Context& ctx, const LoadedModel& loaded, const text::Tree& tree, const EncodedText& encoded,
           Half half) {
    const std::vector<Range> tokens = word_tokens(encoded, tree);
    std::vector<Asked> links = links_of(tree, tokens, part_ == Part::decoder);
    if (links.empty()) return;
    for (const Asked& link : links) {
      Counts& counts = counts_of(link);
      const auto h = static_cast<std::size_t>(half);
      ++counts.all[h];
      for (Index k = -kMostWordOffset; k <= kMostWordOffset; ++k)
        if (is_right(link, link.query + k))
          ++counts.offsets[h][static_cast<std::size_t>(k + kMostWordOffset)];
    }
    asked_.push_back({links, half});
    trees_.add([&] {
      std::vector<Right> right;
      WordChoices choices(
          part_, {.queries = tokens, .keys = tokens},
          [&](const HeadPlace& place, std::span<const Index> chosen) {
            for (std::size_t i = 0; i < links.size(); ++i)
              if (is_right(links[i], chosen[static_cast<std::size_t>(links[i].query)]))
                right.push_back({i, static_cast<std::size_t>(place.layer * heads_ + place.head)});
          });
      (void)watch(ctx, loaded, {.source = encoded}, choices);
      return bytes_of(right);
    });
  }
  void finish() { trees_.finish(); }

  [[nodiscard]] std::vector<RelationScore> scores() const {
    std::map<std::string, RelationScore> best;
    for (const auto& [key, counts] : counts_) {
      if (std::min(counts.all[0], counts.all[1]) < kLeastLinks) continue;
      RelationScore score = score_of(key, counts);
      const auto found = best.find(key.first);
      if (found == best.end() || score.choosing.value() > found->second.choosing.value())
        best.insert_or_assign(key.first, std::move(score));
    }
    std::vector<RelationScore> list;
    list.reserve(best.size());
    for (auto& [relation, score] : best) list.push_back(std::move(score));
    std::stable_sort(list.begin(), list.end(),
                     [](const RelationScore& a, const RelationScore& b) { return a.gain() > b.gain(); });
    return list;
  }

 private:
  Counts& counts_of(const Asked& link) {
    Counts& counts = counts_[{link.relation, link.direction}];
    for (std::vector<Index>& heads : counts.heads) heads.resize(static_cast<std::size_t>(all_heads_));
    return counts;
  }

  [[nodiscard]] RelationScore score_of(const Key& key, const Counts& counts) const {
    constexpr auto a = static_cast<std::size_t>(Half::choosing), b = static_cast<std::size_t>(Half::scoring);
    const auto largest = [](auto begin, auto end) {
      return static_cast<std::size_t>(std::max_element(begin, end) - begin);
    };
    const std::size_t head = largest(counts.heads[a].begin(), counts.heads[a].end());
    const std::size_t offset = largest(std::begin(counts.offsets[a]), std::end(counts.offsets[a]));
    const auto number = static_cast<Index>(head);
    return {.relation = key.first,
            .direction = key.second,
            .head = {static_cast<int>(number / heads_), static_cast<int>(number % heads_)},
            .choosing = {counts.heads[a][head], counts.all[a]},
            .scoring = {counts.heads[b][head], counts.all[b]},
            .offset = static_cast<Index>(offset) - kMostWordOffset,
            .baseline = {counts.offsets[b][offset], counts.all[b]}};
  }

  // Counts a link of a tree, and a head's right choice.
  struct Right {
    std::size_t link, head;
  };
  struct Tree {
    std::vector<Asked> links;
    Half half;
  };
  Part part_;
  Index heads_, all_heads_;
  std::map<Key, Counts> counts_;
  std::deque<Tree> asked_;  // trees in progress
  SharedItems trees_;
};

}  // namespace

std::string_view name_of(Direction direction) noexcept {
  return direction == Direction::to_head ? "dependent -> head" : "head -> dependent";
}

std::vector<Range> word_tokens(const EncodedText& encoded, const text::Tree& tree) {
  std::vector<Range> tokens;
  for (const text::TreeWord& word : tree.words) tokens.push_back(tokens_at(encoded, word.begin, word.end));
  return tokens;
}

bool fits(const LoadedModel& loaded, const EncodedText& encoded) {
  const Index most = loaded.model->config().max_positions;
  return most <= 0 || encoded.size() <= most;
}

TreebankReport score_treebank(Context& ctx, const LoadedModel& loaded, std::span<const text::Tree> trees,
                              const Progress& progress) {
  if (!loaded.tokenizer) {
    throw Error(
        ErrorKind::usage, "heads.tokenizer",
        concat("\"", escaped(loaded.name), "\" has no tokenizer, so it cannot read the words of trees"));
  }
  const Part part = loaded.usual_part();
  Scorer scorer(ctx, loaded, part);
  TreebankReport report;
  report.heads = loaded.layers(part) * loaded.heads(part);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const EncodedText encoded = read_text(*loaded.tokenizer, trees[i].text);
    if (fits(loaded, encoded)) scorer.add(ctx, loaded, trees[i], encoded, half_of(report.sentences++));
    else ++report.too_long;
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(trees.size()));
  }
  scorer.finish();
  report.relations = scorer.scores();
  return report;
}

}  // namespace headlight::inspect
