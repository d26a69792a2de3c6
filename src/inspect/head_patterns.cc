#include "inspect/head_patterns.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"

namespace headlight {
namespace {

constexpr std::array<std::string_view, kLabels> kNames = {
    "previous",  "current", "next",  "offset",  "first", "delimiter", "duplicate",
    "induction", "local",   "broad", "aligned", "end",   "none"};

}  // namespace

std::string_view name_of(Label label) noexcept { return kNames[static_cast<std::size_t>(label)]; }

const PatternScore* HeadFigures::find(Label label) const {
  for (const PatternScore& score : patterns)
    if (score.label == label) return &score;
  return nullptr;
}

bool HeadFigures::has(Label label) const {
  if (label == Label::none) return !labels.empty() && labels[0] == Label::none;
  const PatternScore* score = find(label);
  return score != nullptr && score->given;
}

std::string HeadFigures::label_text() const {
  std::string text;
  for (const Label label : labels) {
    text += concat(text.empty() ? "" : ", ", name_of(label));
    if (label == Label::offset) text += concat(" ", -find(label)->detail);
  }
  return text;
}

}  // namespace headlight

namespace headlight::inspect {
namespace {

constexpr LabelRule kRules[] = {
    {Label::previous, 0.4, true, "weight on the previous token"},
    {Label::current, 0.4, true, "weight on the token itself"},
    {Label::next, 0.4, true, "weight on the next token"},
    {Label::offset, 0.3, true, "weight k positions away, the same on shuffled text"},
    {Label::first, 0.5, true, "weight on the first token"},
    {Label::delimiter, 0.5, true,
     "weight on special tokens and punctuation, minus that of uniform attention"},
    {Label::duplicate, 0.3, true, "weight on earlier copies of the token"},
    {Label::induction, 0.3, true, "weight on the tokens after earlier copies of the token"},
    {Label::local, kLocalMass, true, "weight on the nearest 8 keys, or the nearest quarter"},
    {Label::broad, 0.9, false, "entropy divided by its maximum"},
    {Label::aligned, 0.4, true, "weight on one source word whose position follows the output"},
    {Label::end, 0.5, true, "weight on the last source token"},
};

const LabelRule& rule_of(Label label) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const LabelRule& r) { return r.label == label; });
}

PatternScore score_of(Label label, const Tally& tally) {
  PatternScore score{.label = label, .rows = tally.rows};
  if (tally.rows > 0) {
    score.score = tally.mean();
    score.lift = tally.lift();
  }
  return score;
}

// The mean weight of a range of offsets over all rows; a row without a key at an offset counts as 0.
Tally window(const HeadSums& sums, Index from, Index to) {
  Tally all;
  for (Index k = from; k <= to; ++k) {
    all.mass += sums.offsets[static_cast<std::size_t>(k + kMostOffset)].mass;
    all.even += sums.offsets[static_cast<std::size_t>(k + kMostOffset)].even;
  }
  all.rows = sums.rows;
  return all;
}

// The nearest `keys` keys: those up to the query, or those around it if it can see later keys.
Tally nearest(const HeadSums& sums, Index keys) {
  const Index reach = sums.looks_ahead ? (keys - 1) / 2 : keys - 1;
  return window(sums, sums.looks_ahead ? -reach : 0, reach);
}

// Cosine between mean weights by offset.
double same_profile(const HeadSums& a, const HeadSums& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < HeadSums::kOffsets; ++i) {
    const double x = a.offsets[i].mean(), y = b.offsets[i].mean();
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

PatternScore offset_score(const HeadSums& text) {
  PatternScore best{.label = Label::offset};
  for (Index k = -kMostOffset; k <= kMostOffset; ++k) {
    const Tally& tally = text.offsets[static_cast<std::size_t>(k + kMostOffset)];
    if (std::abs(k) < 2 || tally.rows < kLeastOffsetRows || 2 * tally.rows < text.rows) continue;
    if (best.score && tally.mean() <= *best.score) continue;
    best = score_of(Label::offset, tally);
    best.detail = k;
  }
  return best;
}

PatternScore local_score(const HeadSums& text) {
  PatternScore score{.label = Label::local};
  if (text.rows == 0) return score;
  const double keys = text.keys / static_cast<double>(text.rows);
  const auto limit = static_cast<Index>(std::min(static_cast<double>(kWidestLocal), keys / 4));
  if (limit < 1) return score;
  score = score_of(Label::local, nearest(text, limit));
  const Index step = text.looks_ahead ? 2 : 1;
  Index width = 1;
  while (width <= kMostOffset && nearest(text, width).mean() < kLocalMass) width += step;
  score.detail = width;
  return score;
}

void decide(PatternScore& score) {
  const LabelRule& rule = rule_of(score.label);
  score.given = score.score && score.rows >= kLeastRows && *score.score >= rule.least &&
                (!rule.needs_lift || score.lift.value_or(0) >= kLeastLift);
}

void withdraw(HeadFigures& figures, Label label) {
  for (PatternScore& score : figures.patterns)
    if (score.label == label) score.given = false;
}

// Best first: by how far the score exceeds the label's threshold.
void collect_labels(HeadFigures& figures) {
  std::vector<const PatternScore*> given;
  for (const PatternScore& score : figures.patterns)
    if (score.given) given.push_back(&score);
  const auto margin = [](const PatternScore* s) { return *s->score / rule_of(s->label).least; };
  std::stable_sort(given.begin(), given.end(),
                   [&](const PatternScore* a, const PatternScore* b) { return margin(a) > margin(b); });
  for (const PatternScore* score : given) figures.labels.push_back(score->label);
  if (figures.labels.empty()) figures.labels.push_back(Label::none);
}

HeadFigures spread_of(const HeadSums& sums) {
  HeadFigures figures;
  figures.rows = sums.rows;
  if (sums.rows == 0) return figures;
  const auto rows = static_cast<double>(sums.rows);
  figures.entropy = sums.entropy / rows;
  figures.effective_keys = std::exp(figures.entropy);
  figures.mean_distance = sums.distance / rows;
  figures.largest_weight = sums.largest;
  return figures;
}

}  // namespace

Label parse_label(std::string_view name) {
  for (std::size_t i = 0; i < kLabels; ++i)
    if (kNames[i] == name) return static_cast<Label>(i);
  std::string list;
  for (const std::string_view known : kNames) list += concat(list.empty() ? "" : ", ", known);
  const std::string_view near = nearest_name(name, kNames);
  throw Error(
      ErrorKind::usage, "heads.label",
      concat("\"", escaped(name, 40), "\" is not a label",
             near.empty() ? "" : concat("; did you mean \"", near, "\"?"), "\nThe labels are: ", list));
}

std::span<const LabelRule> label_rules() noexcept { return kRules; }

HeadFigures figures_of_self(const SelfSums& sums) {
  const HeadSums& text = sums.text;
  HeadFigures figures = spread_of(text);
  figures.sink_share = text.first.mean();
  const auto at_offset = [&](Index k) { return text.offsets[static_cast<std::size_t>(k + kMostOffset)]; };
  PatternScore marks = score_of(Label::delimiter, text.delimiter);
  if (marks.score) *marks.score -= text.delimiter.even / static_cast<double>(text.delimiter.rows);
  PatternScore broad{.label = Label::broad, .rows = text.rows};
  if (text.rows > 0) broad.score = text.evenness / static_cast<double>(text.rows);
  figures.patterns = {score_of(Label::previous, at_offset(1)),
                      score_of(Label::current, at_offset(0)),
                      score_of(Label::next, at_offset(-1)),
                      offset_score(text),
                      score_of(Label::first, text.first),
                      marks,
                      score_of(Label::duplicate, sums.repeated.duplicate),
                      score_of(Label::induction, sums.repeated.induction),
                      local_score(text),
                      broad};
  for (PatternScore& score : figures.patterns) decide(score);
  if (sums.shuffled.rows == 0 || same_profile(text, sums.shuffled) < kSameProfile)
    withdraw(figures, Label::offset);
  if (figures.has(Label::first)) withdraw(figures, Label::delimiter);
  for (const Label positional : {Label::previous, Label::current, Label::next, Label::offset})
    if (figures.has(positional)) withdraw(figures, Label::local);
  collect_labels(figures);
  return figures;
}

HeadFigures figures_of_cross(const HeadSums& sums) {
  HeadFigures figures = spread_of(sums);
  figures.mean_distance = 0;  // two texts have no distance
  figures.sink_share = sums.end.mean();
  figures.patterns = {score_of(Label::aligned, sums.aligned), score_of(Label::end, sums.end)};
  for (PatternScore& score : figures.patterns) decide(score);
  const double monotone =
      sums.monotone_rows > 0 ? sums.monotone / static_cast<double>(sums.monotone_rows) : 0;
  if (monotone < kLeastMonotone) withdraw(figures, Label::aligned);
  collect_labels(figures);
  return figures;
}

}  // namespace headlight::inspect
