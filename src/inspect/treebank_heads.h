// Measures which heads follow which grammatical relation: compares each head's choice for every word with the tree, and
// with the best baseline of the form "the word k positions away".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/head_battery.h"
#include "inspect/intervals.h"
#include "inspect/recorder.h"
#include "text/conllu.h"

namespace headlight::inspect {

enum class Direction : std::uint8_t { to_head, to_dependent };
[[nodiscard]] std::string_view name_of(Direction direction) noexcept;  // "dependent -> head"

struct RelationScore {
  std::string relation;
  Direction direction = Direction::to_head;  // selected with the head
  HeadPlace head;                            // best on one half of the sentences
  Share choosing, scoring;  // right choices of that head on the selecting and the scoring half
  Index offset = 0;         // the best fixed offset on the first half
  Share baseline;           // of that offset on the other half
  [[nodiscard]] double gain() const { return scoring.value() - baseline.value(); }
};

struct TreebankReport {
  std::vector<RelationScore> relations;  // the head's lead over the offset, largest first
  Index sentences = 0, too_long = 0, heads = 0;
};

inline constexpr Index kLeastLinks = 20;  // relations with fewer links in a half are skipped
inline constexpr Index kMostWordOffset = 10;

// For encoders every link counts, for decoders only links to earlier words. Sentences longer than the model's context are
// skipped and counted. Roots and punctuation are not relations.
[[nodiscard]] TreebankReport score_treebank(Context& ctx, const LoadedModel& loaded,
                                            std::span<const text::Tree> trees, const Progress& progress = {});

// The tokens of every word of a tree.
[[nodiscard]] std::vector<Range> word_tokens(const EncodedText& encoded, const text::Tree& tree);
// Whether the model can read that many tokens.
[[nodiscard]] bool fits(const LoadedModel& loaded, const EncodedText& encoded);

}  // namespace headlight::inspect
