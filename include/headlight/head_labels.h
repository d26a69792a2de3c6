// Labels for heads: which pattern their weights follow, how strongly, and how much more than uniform
// attention does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/head_place.h"

#pragma GCC visibility push(default)

namespace headlight {

// In the order in which tables list them. The last two and `none` are those of cross-attention.
enum class Label : std::uint8_t {
  previous,
  current,
  next,
  offset,
  first,
  delimiter,
  duplicate,
  induction,
  local,
  broad,
  aligned,
  end,
  none
};
inline constexpr std::size_t kLabels = 13;
[[nodiscard]] std::string_view name_of(Label label) noexcept;

struct PatternScore {
  Label label = Label::none;
  std::optional<double> score = std::nullopt;  // none: the pattern cannot occur
  std::optional<double> lift = std::nullopt;   // none where uniform attention has no weight
  Index rows = 0;
  Index detail = 0;    // offset: distance of the key; local: number of keys with 80 % of the weight
  bool given = false;  // the head has this label
};

struct HeadFigures {
  std::vector<PatternScore> patterns;  // all that this kind of attention has, as in label_rules()
  std::vector<Label> labels;           // best first; {none} if nothing applies
  Index rows = 0;
  double entropy = 0;         // nats, mean over rows
  double effective_keys = 0;  // exp(entropy): 2^bits
  double mean_distance = 0;   // tokens; of self-attention
  double sink_share = 0;      // on the first token; of cross-attention on the last
  double largest_weight = 0;

  [[nodiscard]] const PatternScore* find(Label label) const;
  [[nodiscard]] bool has(Label label) const;
  // Score and lift of the best label, or null.
  [[nodiscard]] const PatternScore* best() const { return find(labels.empty() ? Label::none : labels[0]); }
  [[nodiscard]] std::string label_text() const;  // "induction, first", "offset 3"
};

struct LabelledHead {
  Part part = Part::decoder;
  HeadPlace place;
  HeadFigures text, battery;
};

struct SimilarHead {
  HeadPlace place;
  double cosine = 0;  // of all weights of both on the battery
};

}  // namespace headlight

#pragma GCC visibility pop
