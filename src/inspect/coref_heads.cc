#include "inspect/coref_heads.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"
#include "inspect/head_meter.h"
#include "inspect/treebank_heads.h"

namespace headlight::inspect {
namespace {

// The candidate to which each head gives most weight, summed over the candidate's tokens; the first of equals.
class CandidateMeter : public Observer {
 public:
  CandidateMeter(Part part, Range pronoun, std::vector<Range> candidates)
      : part_(part), pronoun_(pronoun), candidates_(std::move(candidates)) {}
  void on_attention(const AttentionEvent& event) override {
    if (event.part != part_) return;
    for (Index head = 0; head < event.q.dim(1); ++head) {
      std::vector<double> sums(candidates_.size());
      for_each_row(event, head, pronoun_, [&](const PatternRow& row) {
        for (std::size_t c = 0; c < sums.size(); ++c)
          for (Index j = candidates_[c].begin; j < std::min(candidates_[c].end, row.keys.end); ++j)
            sums[c] += double{row.weights[static_cast<std::size_t>(j)]};
      });
      chosen_.push_back(static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin()));
    }
  }
  [[nodiscard]] const std::vector<std::size_t>& chosen() const { return chosen_; }

 private:
  Part part_;
  Range pronoun_;
  std::vector<Range> candidates_;
  std::vector<std::size_t> chosen_;
};

std::size_t distance(const text::ByteSpan& a, const text::ByteSpan& b) {
  return a.end <= b.begin ? b.begin - a.end : b.end <= a.begin ? a.begin - b.end : 0;
}

std::size_t nearest_candidate(const text::CorefItem& item) {
  const auto nearer = [&](const text::ByteSpan& a, const text::ByteSpan& b) {
    return distance(a, item.pronoun) < distance(b, item.pronoun);
  };
  return static_cast<std::size_t>(std::min_element(item.candidates.begin(), item.candidates.end(), nearer) -
                                  item.candidates.begin());
}

bool all_before(const text::CorefItem& item) {
  return std::all_of(item.candidates.begin(), item.candidates.end(),
                     [&](const text::ByteSpan& c) { return c.end <= item.pronoun.begin; });
}

}  // namespace

CorefReport score_coref(Context& ctx, const LoadedModel& loaded, const text::CorefSet& set,
                        const Progress& progress) {
  if (!loaded.tokenizer) {
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(loaded.name), "\" has no tokenizer, so it cannot read text"));
  }
  const Part part = loaded.usual_part();
  CorefReport report;
  report.heads = all_heads(loaded, part);
  Index groups = 0, scored = 0;
  double guesses = 0;
  struct Asked {
    const text::CorefItem* item;
    Half half;
  };
  std::vector<Asked> asked;
  std::size_t answered = 0;
  SharedItems items(ctx, [&](std::span<const std::byte> answer) {
    const std::vector<std::size_t> chosen = values_of<std::size_t>(answer);
    const auto& [item, half] = asked[answered++];
    for (std::size_t h = 0; h < report.heads.size(); ++h)
      report.heads[h].of(half).add(chosen.at(h) == item->right);
  });
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    const text::CorefItem& item = set.items[i];
    if (i > 0 && item.group != set.items[i - 1].group) ++groups;
    if (progress) progress(static_cast<double>(i) / static_cast<double>(set.items.size()));
    const EncodedText encoded = read_text(*loaded.tokenizer, item.text);
    if (!fits(loaded, encoded)) {
      ++report.too_long;
      continue;
    }
    if (part == Part::decoder && !all_before(item)) {
      ++report.unseen;
      continue;
    }
    std::vector<Range> candidates;
    for (const text::ByteSpan& c : item.candidates) candidates.push_back(tokens_at(encoded, c.begin, c.end));
    ++report.items;
    const Half half = half_of(groups);
    asked.push_back({&item, half});
    items.add([&] {
      CandidateMeter meter(part, tokens_at(encoded, item.pronoun.begin, item.pronoun.end), candidates);
      (void)watch(ctx, loaded, {.source = encoded}, meter);
      return bytes_of(meter.chosen());
    });
    if (half == Half::choosing) continue;
    report.nearest.add(nearest_candidate(item) == item.right);
    guesses += 1 / static_cast<double>(item.candidates.size());
    ++scored;
  }
  items.finish();
  report.chance = scored > 0 ? guesses / static_cast<double>(scored) : 0;
  sort_best_first(report.heads);
  return report;
}

}  // namespace headlight::inspect
