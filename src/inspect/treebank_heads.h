// Which head follows which relation of a grammar: for every word the head's choice against the tree, and against the
// best rule of the form "the word k places further".
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
  Direction direction = Direction::to_head;  // chosen with the head
  HeadPlace head;                            // best on one half of the sentences
  Share choosing, scoring;                   // right choices of that head on each half
  Index offset = 0;                          // the best fixed offset on the first half
  Share baseline;                            // of that offset on the other half
  [[nodiscard]] double gain() const { return scoring.value() - baseline.value(); }
};

struct TreebankReport {
  std::vector<RelationScore> relations;  // the head's lead over the offset, largest first
  Index sentences = 0, too_long = 0, heads = 0;
};

inline constexpr Index kLeastLinks = 20;  // of a relation in each half
inline constexpr Index kMostWordOffset = 10;

// Of encoders every link counts; of decoders those that point back, which are all that can be seen. Sentences that the
// model cannot read whole are left out and counted. Roots and punctuation are no relations.
[[nodiscard]] TreebankReport score_treebank(Context& ctx, const LoadedModel& loaded,
                                            std::span<const text::Tree> trees, const Progress& progress = {});

// The tokens of every word of a tree.
[[nodiscard]] std::vector<Range> word_tokens(const EncodedText& encoded, const text::Tree& tree);
// Whether the model can read so much.
[[nodiscard]] bool fits(const LoadedModel& loaded, const EncodedText& encoded);

}  // namespace headlight::inspect
