// Labels on heads that were made to have them, and on the real GPT-2's.
#include "inspect/head_patterns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/dice.h"
#include "io/json.h"
#include "support/errors.h"
#include "support/shared_data.h"

namespace headlight::inspect {
namespace {

using Labels = std::vector<Label>;
// Weights of all keys for one query; what lies outside `keys` is not read.
using Pattern = std::function<std::vector<double>(Index query, Range keys, const PatternTokens& tokens)>;

enum class Sees { back, all };

PatternTokens prose(std::uint64_t seed) {
  Dice dice(seed, 7, 0);
  PatternTokens tokens;
  for (Index i = 0; i < 60; ++i) {
    const bool mark = i % 7 == 6;
    tokens.ids.push_back(mark ? 1000 : static_cast<TokenId>(dice.below(40)));
    tokens.is_delimiter.push_back(mark ? 1 : 0);
  }
  return tokens;
}

PatternTokens shuffled_prose(std::uint64_t seed) {
  PatternTokens tokens = prose(seed);
  Dice(seed, 8, 0).shuffle(tokens.ids);
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) tokens.is_delimiter[i] = tokens.ids[i] == 1000 ? 1 : 0;
  return tokens;
}

PatternTokens twice(std::uint64_t seed) {
  Dice dice(seed, 9, 0);
  PatternTokens tokens;
  for (Index i = 0; i < 50; ++i)
    tokens.ids.push_back(i < 25 ? static_cast<TokenId>(2000 + 40 * i + dice.below(40))
                                : tokens.ids[static_cast<std::size_t>(i - 25)]);
  tokens.is_delimiter.assign(50, 0);
  return tokens;
}

HeadSums sums_of(const Pattern& pattern, const PatternTokens& tokens, Sees sees) {
  HeadSums sums;
  const auto n = static_cast<Index>(tokens.ids.size());
  for (Index i = 0; i < n; ++i) {
    const Range keys{0, sees == Sees::back ? i + 1 : n};
    std::vector<double> raw = pattern(i, keys, tokens);
    double total = 0;
    for (Index j = 0; j < keys.end; ++j) total += raw[static_cast<std::size_t>(j)];
    std::vector<float> weights(static_cast<std::size_t>(n), 0);
    for (Index j = 0; j < keys.end; ++j)
      weights[static_cast<std::size_t>(j)] = static_cast<float>(raw[static_cast<std::size_t>(j)] / total);
    sums.add_self({.query = i, .position = i, .keys = keys, .weights = weights}, tokens);
  }
  return sums;
}

HeadFigures figures(const Pattern& pattern, Sees sees) {
  const HeadSums text = sums_of(pattern, prose(1), sees), other = sums_of(pattern, shuffled_prose(1), sees),
                 repeated = sums_of(pattern, twice(1), sees);
  return figures_of_self({text, other, repeated});
}

// Nearly all weight on the keys that `wants` names, evenly; a little everywhere, all of it when there are none.
Pattern looks_at(const std::function<bool(Index query, Index key, const PatternTokens&)>& wants) {
  return [wants](Index i, Range keys, const PatternTokens& tokens) {
    std::vector<double> weights(tokens.ids.size(), 0);
    Index wanted = 0;
    for (Index j = keys.begin; j < keys.end; ++j) wanted += wants(i, j, tokens) ? 1 : 0;
    for (Index j = keys.begin; j < keys.end; ++j) {
      weights[static_cast<std::size_t>(j)] = 0.05 / static_cast<double>(keys.size());
      if (wanted > 0 && wants(i, j, tokens))
        weights[static_cast<std::size_t>(j)] += 0.95 / static_cast<double>(wanted);
    }
    return weights;
  };
}

Pattern looks_back(Index k) {
  return looks_at([k](Index i, Index j, const PatternTokens&) { return j == i - k; });
}

Pattern random_weights() {
  return [](Index i, Range keys, const PatternTokens& tokens) {
    Dice dice(5, 10, static_cast<std::uint64_t>(i));
    std::vector<double> weights(tokens.ids.size(), 0);
    for (Index j = keys.begin; j < keys.end; ++j)
      weights[static_cast<std::size_t>(j)] = std::exp(8 * dice.uniform());
    return weights;
  };
}

TEST(HeadPatterns, EachPatternGetsItsLabelAndNoOther) {
  const auto same = [](Index i, Index j, const PatternTokens& t) {
    return j < i && t.ids[static_cast<std::size_t>(j)] == t.ids[static_cast<std::size_t>(i)];
  };
  const auto after_same = [](Index i, Index j, const PatternTokens& t) {
    return j > 0 && j < i && t.ids[static_cast<std::size_t>(j - 1)] == t.ids[static_cast<std::size_t>(i)];
  };
  const auto mark = [](Index, Index j, const PatternTokens& t) {
    return t.is_delimiter[static_cast<std::size_t>(j)] != 0;
  };
  const auto first = [](Index, Index j, const PatternTokens&) { return j == 0; };
  // Where there is no copy such a head looks nowhere in particular; its prose is then neither broad nor anything else.
  const auto or_random = [](const Pattern& pattern, const auto& wants) -> Pattern {
    return [=](Index i, Range keys, const PatternTokens& t) {
      for (Index j = keys.begin; j < keys.end; ++j)
        if (wants(i, j, t)) return pattern(i, keys, t);
      return random_weights()(i, keys, t);
    };
  };
  for (const Sees sees : {Sees::back, Sees::all}) {
    const char* name = sees == Sees::back ? "back" : "all";
    EXPECT_EQ(figures(looks_back(1), sees).labels, Labels{Label::previous}) << name;
    EXPECT_EQ(figures(looks_back(0), sees).labels, Labels{Label::current}) << name;
    EXPECT_EQ(figures(looks_back(3), sees).labels, Labels{Label::offset}) << name;
    EXPECT_EQ(figures(looks_back(3), sees).label_text(), "offset -3") << name;
    EXPECT_EQ(figures(looks_at(first), sees).labels, Labels{Label::first}) << name;
    EXPECT_EQ(figures(looks_at(mark), sees).labels, Labels{Label::delimiter}) << name;
    EXPECT_EQ(figures(or_random(looks_at(same), same), sees).labels, Labels{Label::duplicate}) << name;
    EXPECT_EQ(figures(or_random(looks_at(after_same), after_same), sees).labels, Labels{Label::induction})
        << name;
    const auto near = looks_at([&](Index i, Index j, const PatternTokens&) {
      return sees == Sees::back ? j > i - 4 : std::abs(i - j) <= 2;
    });
    EXPECT_EQ(figures(near, sees).labels, Labels{Label::local}) << name;
    EXPECT_EQ(figures(looks_at([](Index, Index, const PatternTokens&) { return true; }), sees).labels,
              Labels{Label::broad})
        << name;
    EXPECT_EQ(figures(random_weights(), sees).labels, Labels{Label::none}) << name;
  }
  EXPECT_EQ(figures(looks_back(-1), Sees::all).labels, Labels{Label::next});
  EXPECT_EQ(figures(looks_back(-2), Sees::all).label_text(), "offset 2");
}

TEST(HeadPatterns, ScoresAreSharesAndLiftsAreTimesEvenAttention) {
  const HeadFigures f = figures(looks_back(1), Sees::all);
  const PatternScore& previous = *f.find(Label::previous);
  EXPECT_NEAR(*previous.score, 0.95 + 0.05 / 60, 1e-6);
  EXPECT_NEAR(*previous.lift, *previous.score * 60, 1e-4);
  EXPECT_EQ(previous.rows, 59);
  EXPECT_FALSE(
      figures(looks_back(1), Sees::back).find(Label::next)->score.has_value());  // nothing to see there
  const HeadFigures even =
      figures(looks_at([](Index, Index, const PatternTokens&) { return true; }), Sees::all);
  EXPECT_NEAR(even.entropy, std::log(60.0), 1e-6);
  EXPECT_NEAR(even.effective_keys, 60, 1e-3);
  EXPECT_NEAR(even.sink_share, 1.0 / 60, 1e-7);
  EXPECT_NEAR(*even.find(Label::delimiter)->score, 0, 1e-6);
  EXPECT_NEAR(*even.find(Label::delimiter)->lift, 1, 1e-5);
  EXPECT_NEAR(*even.find(Label::broad)->score, 1, 1e-6);
  EXPECT_NEAR(figures(looks_back(3), Sees::back).mean_distance, 3, 1);
}

TEST(HeadPatterns, AnOffsetOfThisTextAloneIsNoOffset) {
  // The token twenty places before, but only because of what stands there: shuffled, it is gone.
  const PatternTokens tokens = prose(1), other = shuffled_prose(1);
  const HeadSums text = sums_of(looks_back(20), tokens, Sees::back),
                 elsewhere = sums_of(looks_back(9), other, Sees::back), none;
  EXPECT_EQ(figures_of_self({text, elsewhere, text}).labels, Labels{Label::none});
  EXPECT_EQ(figures_of_self({text, none, text}).labels, Labels{Label::none});
  EXPECT_GT(*figures_of_self({text, none, text}).find(Label::offset)->score, 0.9);
}

TEST(HeadPatterns, TheFirstTokenWinsOverDelimiters) {
  PatternTokens tokens = prose(1);
  tokens.is_delimiter.assign(tokens.ids.size(), 0);
  tokens.is_delimiter[0] = 1;  // such as "<s>"
  const Pattern first = looks_at([](Index, Index j, const PatternTokens&) { return j == 0; });
  const HeadSums sums = sums_of(first, tokens, Sees::back);
  const HeadFigures f = figures_of_self({sums, sums, sums});
  EXPECT_GT(*f.find(Label::delimiter)->score, 0.5);
  EXPECT_EQ(f.labels, Labels{Label::first});
}

TEST(HeadPatterns, ShortTextsAndWeakLiftsGiveNoLabel) {
  HeadSums sums;
  PatternTokens tokens{{1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 0, 0, 0, 0, 0}};
  const std::vector<float> row = {0, 0, 0.5F, 0.5F, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i)  // 0.5 on the token before, but even attention has 0.25 there
    sums.add_self({.query = 3, .position = 3, .keys = {0, 4}, .weights = row}, tokens);
  EXPECT_TRUE(figures_of_self({sums, sums, sums}).has(Label::previous));  // lift exactly 2
  HeadSums weak;
  const std::vector<float> spread = {0.3F, 0.25F, 0.45F, 0, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i)
    weak.add_self({.query = 3, .position = 3, .keys = {0, 4}, .weights = spread}, tokens);
  EXPECT_NEAR(*figures_of_self({weak, weak, weak}).find(Label::previous)->score, 0.45, 1e-6);
  EXPECT_FALSE(figures_of_self({weak, weak, weak}).has(Label::previous));
  HeadSums few;
  few.add_self({.query = 2, .position = 2, .keys = {0, 3}, .weights = row}, tokens);
  EXPECT_EQ(few.rows, 0);  // three keys are no choice
  EXPECT_EQ(figures_of_self({few, few, few}).labels, Labels{Label::none});
  EXPECT_FALSE(figures_of_self({sums, sums, sums}).find(Label::duplicate)->score.has_value());
}

HeadFigures cross_figures(const std::function<double(Index query, Index key)>& weight) {
  constexpr Index queries = 20, keys = 16;
  PatternTokens written, source;
  for (Index i = 0; i < queries; ++i)
    written.ids.push_back(0), written.is_delimiter.push_back(i + 1 == queries);
  for (Index j = 0; j < keys; ++j) source.ids.push_back(0), source.is_delimiter.push_back(j + 1 == keys);
  HeadSums sums;
  PlaceCorrelation places;
  for (Index i = 0; i < queries; ++i) {
    std::vector<float> row(keys);
    double total = 0;
    for (Index j = 0; j < keys; ++j) total += weight(i, j);
    for (Index j = 0; j < keys; ++j)
      row[static_cast<std::size_t>(j)] = static_cast<float>(weight(i, j) / total);
    sums.add_cross({.query = i, .position = i, .keys = {0, keys}, .weights = row}, written, source, places);
  }
  sums.add_places(places);
  return figures_of_cross(sums);
}

TEST(HeadPatterns, CrossAttentionHasItsOwnLabels) {
  const auto peak = [](bool here) { return here ? 10.0 : 0.1; };
  EXPECT_EQ(cross_figures([&](Index i, Index j) { return peak(j == i * 15 / 20); }).labels,
            Labels{Label::aligned});
  EXPECT_EQ(cross_figures([&](Index, Index j) { return peak(j == 15); }).labels, Labels{Label::end});
  EXPECT_EQ(cross_figures([&](Index, Index j) { return peak(j == 3); }).labels, Labels{Label::none});
  EXPECT_EQ(cross_figures([&](Index i, Index j) { return peak(j == 14 - i * 15 / 20); }).labels,
            Labels{Label::none});  // backwards
  EXPECT_EQ(cross_figures([&](Index, Index) { return 1.0; }).labels, Labels{Label::none});
  EXPECT_NEAR(cross_figures([&](Index, Index j) { return peak(j == 15); }).sink_share, 10 / 11.5, 1e-6);
}

TEST(HeadPatterns, NamesAreReadBack) {
  for (std::size_t i = 0; i < kLabels; ++i)
    EXPECT_EQ(parse_label(name_of(static_cast<Label>(i))), static_cast<Label>(i));
  testing::expect_error([] { (void)parse_label("inductoin"); }, ErrorKind::usage, "heads.label",
                        "did you mean \"induction\"?");
}

// Head 4.11 of GPT-2 small is known to look at the token before.
HEADLIGHT_SHARED_TEST(HeadPatterns, KnownHeadOfGpt2) {
  const auto shared = testing::shared_data();
  std::vector<HeadSums> heads(144);
  for (int example = 0; example < 5; ++example) {
    const io::Json json = io::Json::read(
        (*shared / "data/attention-examples" / ("gpt2-small-example" + std::to_string(example) + ".json"))
            .string());
    PatternTokens tokens;
    for (const io::Json& id : json.list("token_ids").items()) {
      tokens.ids.push_back(static_cast<TokenId>(id.integer()));
      tokens.is_delimiter.push_back(0);
    }
    const auto layers = json.list("attention_layers_heads_query_key").items();
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto rows = layers[h / 12].items()[h % 12].items();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::vector<float> weights;
        for (const io::Json& x : rows[i].items()) weights.push_back(static_cast<float>(x.real()));
        const auto query = static_cast<Index>(i);
        heads[h].add_self({.query = query, .position = query, .keys = {0, query + 1}, .weights = weights},
                          tokens);
      }
    }
  }
  double best = 0;
  std::size_t best_head = 0;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const HeadFigures f = figures_of_self({heads[h], heads[h], heads[h]});
    if (*f.find(Label::previous)->score > best) best = *f.find(Label::previous)->score, best_head = h;
  }
  EXPECT_EQ(best_head, 4U * 12 + 11);
  EXPECT_GT(best, 0.9);
}

}  // namespace
}  // namespace headlight::inspect
