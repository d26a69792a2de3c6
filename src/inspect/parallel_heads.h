// Which head of cross-attention aligns words, measured on trees of the same sentences in two languages.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "inspect/head_shares.h"
#include "inspect/treebank_heads.h"

namespace headlight::inspect {

// A word of the translation and the source word it translates.
struct WordLink {
  Index written = 0, source = 0;
  bool operator==(const WordLink&) const = default;
};

// What two trees say of each other, without a dictionary: words of one form (names, numbers), and content words of one
// part of speech that hang from the root by the same relations; each the only one of its kind in its sentence. These are
// derived links, not ones made by hand: some are wrong, and only words with a clear partner are asked.
[[nodiscard]] std::vector<WordLink> derive_links(const text::Tree& source, const text::Tree& written);

// Trees of the same sentence, by "parallel_id" or "sent_id" where all have one, else in the order of the files. Throws
// Error{input} when the files do not belong together.
[[nodiscard]] std::vector<std::pair<const text::Tree*, const text::Tree*>> pair_trees(
    std::span<const text::Tree> source, std::span<const text::Tree> written);

struct ParallelReport {
  std::vector<HeadShare> heads;  // best on one half of the sentences first
  Index offset = 0;              // words off the diagonal; best on the first half
  Share baseline;                // of that on the other half
  Index sentences = 0, too_long = 0, links = 0;
};
// The model reads both texts as they are given.
[[nodiscard]] ParallelReport score_parallel(Context& ctx, const LoadedModel& loaded,
                                            std::span<const text::Tree> source,
                                            std::span<const text::Tree> written,
                                            const Progress& progress = {});

}  // namespace headlight::inspect
