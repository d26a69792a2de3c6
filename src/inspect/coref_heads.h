// Which head links a pronoun to its antecedent: the candidate with the largest weight, compared with the
// rule "the nearest one".
#pragma once

#include <string>
#include <vector>

#include "inspect/head_battery.h"
#include "inspect/head_shares.h"
#include "text/coref_set.h"

namespace headlight::inspect {

struct CorefReport {
  std::vector<HeadShare> heads;  // best on one half of the items first
  Share nearest;                 // the baseline, on the other half
  double chance = 0;             // of guessing there: the mean of 1 / candidates
  Index items = 0, too_long = 0,
        unseen = 0;  // asked; longer than the model reads; a candidate after the pronoun
};

// Items that are variants of each other are in the same half. A decoder is asked where all candidates come before the
// pronoun: it cannot see others.
[[nodiscard]] CorefReport score_coref(Context& ctx, const LoadedModel& loaded, const text::CorefSet& set,
                                      const Progress& progress = {});

}  // namespace headlight::inspect
