// Measures how well heads of cross-attention align words, on trees of the same sentences in two languages.
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

// Word links derived from two trees without a dictionary: words of the same form (names, numbers), and content words with
// the same part of speech and the same relations up to the root, each unique in its sentence. Unlike links made by hand,
// some are wrong, and only words with a clear partner have one.
[[nodiscard]] std::vector<WordLink> derive_links(const text::Tree& source, const text::Tree& written);

// Pairs trees of the same sentence by "parallel_id" or "sent_id" if all have one, else in the order of the files. Throws
// Error{input} if the files are not parallel.
[[nodiscard]] std::vector<std::pair<const text::Tree*, const text::Tree*>> pair_trees(
    std::span<const text::Tree> source, std::span<const text::Tree> written);

struct ParallelReport {
  std::vector<HeadShare> heads;  // best on one half of the sentences first
  Index offset = 0;              // the best offset from the diagonal on the first half, in words
  Share baseline;                // of that offset on the other half
  Index sentences = 0, too_long = 0, links = 0;
};
// The model reads both texts as given; it does not translate.
[[nodiscard]] ParallelReport score_parallel(Context& ctx, const LoadedModel& loaded,
                                            std::span<const text::Tree> source,
                                            std::span<const text::Tree> written,
                                            const Progress& progress = {});

}  // namespace headlight::inspect
