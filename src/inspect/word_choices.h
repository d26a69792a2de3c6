// For every word of a text the word that a head looks at most, head by head, in the memory of a few rows.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

inline constexpr Index kNoWord = -1;  // none could be seen

class WordChoices : public Observer {
 public:
  // Words as runs of tokens; those without tokens are neither asked nor chosen. Of one text (`queries` are `keys`) no
  // word is chosen that shares a token with the one that looks. Rows of a word are averaged, columns summed.
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
  std::vector<std::vector<std::size_t>> asked_by_;  // for each token the words that it is part of
};

}  // namespace headlight::inspect
