// Labels of heads: which pattern the weights follow, with a score and its lift over uniform attention. Sums over rows, so
// that any amount of text is measured in the memory of a few rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/head_labels.h"
#include "headlight/tokenizer.h"

namespace headlight::inspect {

using headlight::HeadFigures;
using headlight::kLabels;
using headlight::Label;
using headlight::name_of;
using headlight::PatternScore;

// Throws Error{usage} that lists the labels and suggests the nearest.
[[nodiscard]] Label parse_label(std::string_view name);

// The rules: a head gets a label if its score is at least this.
struct LabelRule {
  Label label;
  double least;            // score
  bool needs_lift;         // and its lift at least 2
  std::string_view score;  // definition of the score, for documents and tables
};
inline constexpr double kLeastLift = 2;
inline constexpr Index kLeastKeys = 4;        // rows that see fewer keys are skipped
inline constexpr Index kLeastRows = 4;        // rows that can show the pattern of a label, at least
inline constexpr Index kLeastOffsetRows = 8;  // the same for an offset, and half of all rows
inline constexpr Index kMostOffset = 64;
inline constexpr Index kWidestLocal = 8;       // keys
inline constexpr double kLocalMass = 0.8;      // weight on the nearest keys
inline constexpr double kSameProfile = 0.95;   // cosine between offsets on the text and on it shuffled
inline constexpr double kLeastMonotone = 0.7;  // correlation of places, for aligned
[[nodiscard]] std::span<const LabelRule> label_rules() noexcept;

// Tokens as the patterns need them.
struct PatternTokens {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> is_delimiter;  // special or punctuation
};

// One row of weights: those of `query`, which is at `position` among the keys, for keys.begin … keys.end-1.
struct PatternRow {
  Index query = 0, position = 0;
  Range keys;
  std::span<const float> weights;  // of all keys; those outside the range are not read
};

struct Tally {
  double mass = 0,
         even = 0;  // sums over rows of the weight on the pattern, and of uniform attention there
  Index rows = 0;
  void add(double weight, double share) {
    mass += weight;
    even += share;
    ++rows;
  }
  void add(const Tally& other) {
    mass += other.mass;
    even += other.even;
    rows += other.rows;
  }
  [[nodiscard]] double mean() const { return rows > 0 ? mass / static_cast<double>(rows) : 0; }
  [[nodiscard]] double lift() const { return even > 0 ? mass / even : 0; }
};

// Correlation of two places, row by row.
class PlaceCorrelation {
 public:
  void add(double x, double y) {
    ++n_;
    x_ += x, y_ += y, xx_ += x * x, yy_ += y * y, xy_ += x * y;
  }
  [[nodiscard]] Index rows() const { return n_; }
  [[nodiscard]] double value() const;  // 0 when one of them never moves

 private:
  Index n_ = 0;
  double x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

// The sums from which the labels of one head are computed.
struct HeadSums {
  static constexpr std::size_t kOffsets = 2 * kMostOffset + 1;  // key = position - (index - kMostOffset)

  Index rows = 0;
  double entropy = 0, evenness = 0, distance = 0, keys = 0;  // nats; H / ln(keys); |position - key|
  double largest = 0;
  bool looks_ahead = false;
  Tally first, delimiter, duplicate, induction, end, aligned;
  std::array<Tally, kOffsets> offsets;
  double monotone = 0;  // Σ rows · correlation
  Index monotone_rows = 0;

  void add_self(const PatternRow& row, const PatternTokens& tokens);
  // A row of cross-attention. `places` belongs to one text and is added after all of its rows.
  void add_cross(const PatternRow& row, const PatternTokens& queries, const PatternTokens& keys,
                 PlaceCorrelation& places);
  void add_places(const PlaceCorrelation& places);
  void add(const HeadSums& other);  // the sums of another text

 private:
  void add_spread(const PatternRow& row);
};

// Labels of self-attention. `shuffled`: the same text with its tokens in another order, which shows whether an offset is
// one of places; without rows in it no offset is given. `repeated`: where duplicates and induction are measured.
struct SelfSums {
  const HeadSums &text, &shuffled, &repeated;
};
[[nodiscard]] HeadFigures figures_of_self(const SelfSums& sums);
[[nodiscard]] HeadFigures figures_of_cross(const HeadSums& sums);

}  // namespace headlight::inspect
