// Questions about runs: the same answers as inspect gives, and one choice of what is seen first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headlight/model.h"
#include "inspect/head_labels.h"
#include "inspect/head_steps.h"
#include "inspect/link_ranking.h"
#include "inspect/sweep.h"
#include "session/state.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;

constexpr const char* kText = "The animal didn't cross the street because it was too tired.";

class SessionLook : public ::testing::TestWithParam<SmallKind> {
 protected:
  SessionLook() { testing::write_small_model(folder_.path(""), GetParam()); }
  testing::TempFolder folder_;
  Context ctx_{{.threads = 2}};
  Model model_ = (testing::write_small_model(folder_.path(""), GetParam()), Model::open(folder_.path("")));
  headlight::Run run_ = attend(ctx_, model_, {.text = kText});
};

// Every link of the run, the plain way: the best one that is allowed must be the one that first_look() has.
struct PlainBest {
  double score = -INFINITY, lift = 0;
  Head head;
  Range query, key;
};
PlainBest plain_best(const headlight::Run& run, Part part, bool pronouns) {
  const TokenizedText &from = run.queries(part), &to = run.keys(part);
  const std::set<std::string> content = {"animal", "cross", "street", "tired"};
  PlainBest best;
  for (int layer = 0; layer < 2; ++layer) {
    for (int h = 0; h < 2; ++h) {
      const Tensor w = run.weights({part, layer, h});
      for (const Word& q : from.words) {
        for (const Word& k : to.words) {
          const auto at = [](const Word& word) { return static_cast<std::size_t>(word.tokens.begin); };
          if (from.tokens[at(q)].special || to.tokens[at(k)].special || q.text == "." || k.text == ".")
            continue;
          if (q.text == "'" || k.text == "'") continue;
          if (pronouns && (q.text != "it" || !content.contains(k.text))) continue;
          if (part != Part::cross &&
              (std::abs(from.tokens[at(q)].word - to.tokens[at(k)].word) <= 1 || k.tokens.begin == 0))
            continue;
          double weight = 0, chance = 0;
          for (Index i = q.tokens.begin; i < q.tokens.end; ++i) {
            const Index seen = part == Part::decoder ? i + 1 : w.dim(1);
            for (Index j = k.tokens.begin; j < std::min(seen, k.tokens.end); ++j)
              weight += w.at(i, j), chance += 1 / static_cast<double>(seen);
          }
          weight /= static_cast<double>(q.tokens.size());
          chance /= static_cast<double>(q.tokens.size());
          if (chance == 0 || weight * std::log(weight / chance) <= best.score) continue;
          best = {weight * std::log(weight / chance), weight / chance, {part, layer, h}, q.tokens, k.tokens};
        }
      }
    }
  }
  return best;
}
TEST_P(SessionLook, FirstLookIsTheBestOfAllLinks) {
  for (const Part part : run_.parts()) {
    const FirstLook look = first_look(run_, {.part = part});
    EXPECT_EQ(look.head.part, part);
    EXPECT_EQ(look.heads_searched, 4);
    PlainBest best = plain_best(run_, part, true);
    const bool pronoun = best.lift >= 2;
    if (!pronoun) best = plain_best(run_, part, false);
    EXPECT_EQ(look.reason, pronoun ? LookReason::pronoun : LookReason::strongest_link);
    EXPECT_EQ(look.head, best.head);
    EXPECT_EQ(look.query, best.query);
    EXPECT_EQ(look.key, best.key);
    EXPECT_NEAR(look.weight * std::log(look.lift()), best.score, 1e-9);
  }
}

TEST_P(SessionLook, FirstLookKeepsToWhatWasAskedFor) {
  const Part part = run_.parts().front();
  const WordChoice it = find_words(run_.queries(part), "it"), animal = find_words(run_.keys(part), "animal");
  const FirstLook of_query = first_look(run_, {.part = part, .query = it.tokens});
  EXPECT_EQ(of_query.query, it.tokens);
  EXPECT_EQ(of_query.reason, LookReason::strongest_key);
  const FirstLook of_both = first_look(run_, {.part = part, .query = it.tokens, .key = animal.tokens});
  EXPECT_EQ(of_both.key, animal.tokens);
  EXPECT_EQ(of_both.reason, LookReason::strongest_head);
  EXPECT_NEAR(of_both.weight, find_links(run_, {.link = "it->animal", .part = part}).front().weight, 1e-12);
  const FirstLook of_head = first_look(run_, {.part = part, .heads = {{1, 0}}});
  EXPECT_EQ(of_head.head, (Head{part, 1, 0}));
  EXPECT_EQ(of_head.heads_searched, 1);
  // Two words see nothing but neighbours.
  const FirstLook near = first_look(attend(ctx_, model_, {.text = "the street"}), {.part = part});
  EXPECT_EQ(near.reason, LookReason::nothing_farther);
  expect_error(
      [&] {
        (void)first_look(run_, {.part = part, .query = {0, 99}});
      },
      ErrorKind::usage, "look.range", "there are tokens 0 to");
}

TEST_P(SessionLook, LinksStepsAndLabelsAreThoseOfInspect) {
  const inspect::LoadedModel& loaded = model_.state().loaded;
  const inspect::ModelInput& input = run_.state().input;
  const Part part = run_.parts().front();
  for (const char* text : {"it->animal", "it→?", "?->animal"}) {
    const inspect::Link link =
        inspect::find_link(loaded, inspect::sides_of(loaded, input, part), part, inspect::parse_link(text));
    const auto old = inspect::rank_link(ctx_, loaded, input, part, link);
    const auto now = find_links(run_, {.link = text});
    ASSERT_EQ(now.size(), old.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
      EXPECT_EQ(now[i].head.place(), old[i].place);
      EXPECT_EQ(now[i].weight, old[i].weight);
      EXPECT_EQ(now[i].chance, old[i].even);
      if (now[i].key) {
        EXPECT_EQ(run_.keys(part).tokens[static_cast<std::size_t>(*now[i].key)].text, old[i].key);
      }
    }
  }
  const HeadSteps steps = explain(run_, {.head = {part, 1, 1}, .query = 5, .key = 2});
  const HeadSteps old = inspect::head_steps(ctx_, loaded, input, {part, {1, 1}, 5, 2});
  EXPECT_EQ(steps.weights, old.weights);
  EXPECT_EQ(steps.kernel_weights, old.kernel_weights);
  EXPECT_EQ(steps.output, old.output);
  EXPECT_LT(steps.kernel_gap(), inspect::kExplainedWithin);

  const std::vector<std::string> texts = {kText};
  const auto labels = label_heads(ctx_, model_, texts), before = inspect::label_heads(ctx_, loaded, texts);
  ASSERT_EQ(labels.size(), before.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i].text.labels, before[i].text.labels);
    EXPECT_EQ(labels[i].battery.entropy, before[i].battery.entropy);
  }
}

TEST_P(SessionLook, ComparesRuns) {
  const headlight::Run other =
      attend(ctx_, model_, {.text = "The animal didn't cross the street because it was too wide."});
  const Part part = run_.parts().front();
  const Comparison c = compare(run_, other);
  EXPECT_EQ(c.heads.size(), 4U);
  EXPECT_TRUE(c.by_words);  // "tired" is two tokens, "wide" one
  for (std::size_t i = 1; i < c.heads.size(); ++i) EXPECT_LE(c.heads[i].distance, c.heads[i - 1].distance);
  EXPECT_EQ(c.weights_a.dim(0), static_cast<Index>(c.rows.size()));
  EXPECT_EQ(c.weights_b.dim(1), static_cast<Index>(c.columns.size()));
  const Comparison same = compare(run_, run_, {.part = part, .head_a = HeadPlace{0, 1}});
  EXPECT_EQ(same.heads.front().distance, 0);
  EXPECT_FALSE(same.by_words);
}

TEST_P(SessionLook, FiguresAreFiles) {
  FigureRequest request;
  request.view.heads = {{0, 1}};
  EXPECT_EQ(figure(run_, request).substr(1, 3), "PNG");
  request.format = FigureFormat::svg;
  EXPECT_NE(figure(run_, request).find("<svg"), std::string::npos);
  request.format = FigureFormat::pdf;
  request.view = {.all = true};
  EXPECT_EQ(figure(run_, request).substr(0, 4), "%PDF");
  request.view = {.query = "it", .by_head = true};
  expect_error([&] { (void)figure(run_, request); }, ErrorKind::usage, "show.figure", "has no figure");
}

TEST_P(SessionLook, AblatesLikeInspect) {
  const inspect::LoadedModel& loaded = model_.state().loaded;
  const inspect::ModelInput& input = run_.state().input;
  const Part part = run_.parts().front();
  const AblationEffect effect = ablate(ctx_, model_, {.text = kText}, {.part = part, .heads = {{1, 0}}});
  inspect::Ablation change({.part = part, .heads = {{1, 0}}});
  const inspect::Predictions before(inspect::run(ctx_, loaded, input)),
      after(inspect::run(ctx_, loaded, input, &change));
  const inspect::Effect old = inspect::effect_of(before, after, inspect::targets_of(loaded, input),
                                                 {.row = natural_position(run_).value_or(-1)});
  EXPECT_EQ(effect.kl, old.kl);
  EXPECT_GT(effect.mean_kl, 0);
  EXPECT_EQ(effect.position, old.row);
  EXPECT_EQ(effect.loss_after, old.loss_after);
  // All heads, their means, another run, one link.
  EXPECT_GT(ablate(ctx_, model_, {.text = kText}, {.part = part}).mean_kl, effect.mean_kl / 100);
  EXPECT_GT(ablate(ctx_, model_, {.text = kText}, {.change = Change::mean, .part = part}).mean_kl, 0);
  const AblationPlan patch{.change = Change::patch, .part = part, .patch = Prompt{.text = kText}};
  EXPECT_EQ(ablate(ctx_, model_, {.text = kText}, patch).mean_kl, 0);
  const AblationPlan cut{.change = Change::cut_mask, .part = part, .links = {{{5, 6}, {2, 3}}}};
  EXPECT_GT(ablate(ctx_, model_, {.text = kText}, cut).mean_kl, 0);
  expect_error([&] { (void)ablate(ctx_, model_, {.text = kText}, {.change = Change::patch, .part = part}); },
               ErrorKind::usage, "ablate.patch", "another run");

  const SweepResult swept = sweep(ctx_, model_, {.text = kText}, {.parts = {part}});
  ASSERT_EQ(swept.heads.size(), 4U);
  EXPECT_EQ(swept.heads[2].head, (HeadPlace{1, 0}));
  EXPECT_DOUBLE_EQ(swept.heads[2].mean_kl, effect.mean_kl);
}

INSTANTIATE_TEST_SUITE_P(All, SessionLook,
                         ::testing::Values(SmallKind::decoder, SmallKind::encoder, SmallKind::translator),
                         [](const auto& test) {
                           return test.param == SmallKind::decoder   ? "decoder"
                                  : test.param == SmallKind::encoder ? "encoder"
                                                                     : "translator";
                         });

}  // namespace
}  // namespace headlight
