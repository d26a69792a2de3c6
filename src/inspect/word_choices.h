// For every head and word of a text, the word with the largest weight, in the memory of a few rows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

inline constexpr Index kNoWord = -1;  // no word was visible

class WordChoices : public Observer {
 public:
  // Words as runs of tokens; words without tokens are skipped. In self-attention (`queries` are `keys`) a word never chooses
  // a word with which it shares a token. The rows of a word are averaged, the columns summed.
  struct Words {
    std::vector<Range> queries, keys;
    bool same_text = true;
  };
  using Visit = std::function<void(const HeadPlace&, std::span<const Index> chosen)>;
  WordChoices(Part part, Words words, Visit visit);
  void on_attention(const AttentionEvent& event) override;

 private:
  [[nodiscard]] Index choose(Range query, std::span<const double> sums, Index visible) const;
  Part part_;
  Words words_;
  Visit visit_;
  std::vector<std::vector<std::size_t>> asked_by_;  // the words that each token is part of
};

}  // namespace headlight::inspect
