// Finds heads that link a pronoun to its antecedent. A head's choice is the candidate with the largest weight; the
// baseline always chooses the nearest candidate.
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
  double chance = 0;             // of a random guess on that half: the mean of 1 / candidates
  Index items = 0, too_long = 0,
        unseen = 0;  // tested items; items longer than the context; items with a candidate after the pronoun
};

// Variants of one item are in the same half. Decoders get only items in which all candidates come before the pronoun,
// because they cannot see later ones.
[[nodiscard]] CorefReport score_coref(Context& ctx, const LoadedModel& loaded, const text::CorefSet& set,
                                      const Progress& progress = {});

}  // namespace headlight::inspect
