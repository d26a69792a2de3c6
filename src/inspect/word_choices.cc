#include "inspect/word_choices.h"

#include <algorithm>

#include "inspect/head_meter.h"

namespace headlight::inspect {

WordChoices::WordChoices(Part part, Words words, Visit visit)
    : part_(part), words_(std::move(words)), visit_(std::move(visit)) {
  for (std::size_t w = 0; w < words_.queries.size(); ++w) {
    const Range tokens = words_.queries[w];
    if (tokens.size() > 0 && asked_by_.size() < static_cast<std::size_t>(tokens.end))
      asked_by_.resize(static_cast<std::size_t>(tokens.end));
    for (Index t = tokens.begin; t < tokens.end; ++t) asked_by_[static_cast<std::size_t>(t)].push_back(w);
  }
}

// The word with the largest sum; the first of equals.
Index WordChoices::choose(Range query, std::span<const double> sums, Index visible) const {
  Index best = kNoWord;
  for (std::size_t w = 0; w < words_.keys.size(); ++w) {
    const Range key = words_.keys[w];
    if (key.size() == 0 || key.begin >= visible) continue;
    if (words_.same_text && key.begin < query.end && query.begin < key.end) continue;
    if (best == kNoWord || sums[w] > sums[static_cast<std::size_t>(best)]) best = static_cast<Index>(w);
  }
  return best;
}

void WordChoices::on_attention(const AttentionEvent& event) {
  if (event.part != part_) return;
  std::vector<Index> chosen(words_.queries.size());
  std::vector<std::vector<double>> sums(words_.queries.size());  // of words in progress
  for (Index head = 0; head < event.q.dim(1); ++head) {
    std::fill(chosen.begin(), chosen.end(), kNoWord);
    for_each_row(event, head, [&](const PatternRow& row) {
      if (static_cast<std::size_t>(row.query) >= asked_by_.size()) return;
      for (const std::size_t word : asked_by_[static_cast<std::size_t>(row.query)]) {
        std::vector<double>& sum = sums[word];
        if (row.query == words_.queries[word].begin) sum.assign(words_.keys.size(), 0);
        for (std::size_t w = 0; w < words_.keys.size(); ++w) {
          const Index to = std::min(words_.keys[w].end, row.keys.end);
          for (Index j = std::max(words_.keys[w].begin, row.keys.begin); j < to; ++j)
            sum[w] += double{row.weights[static_cast<std::size_t>(j)]};
        }
        if (row.query + 1 < words_.queries[word].end) continue;
        chosen[word] = choose(words_.queries[word], sum, row.keys.end);
        sum = {};
      }
    });
    visit_({event.layer, static_cast<int>(head)}, chosen);
  }
}

}  // namespace headlight::inspect
