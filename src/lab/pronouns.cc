// Sentences in which the antecedent of "it" decides between il and elle: how often the translation is right, which head
// attends from the pronoun to its noun, and the translation without that head.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/figures.h"
#include "headlight/error.h"
#include "inspect/ablation.h"
#include "inspect/pronouns.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/seeds_checks.h"
#include "lab/spread.h"

namespace headlight::lab {
namespace {

using inspect::AntecedentScore;
using inspect::HeadPlace;
using inspect::PronounSentence;
using inspect::PronounTranslations;

constexpr std::size_t kQuick = 80;
constexpr double kFollows = 0.8;  // share of sentences above which a head follows antecedents

std::string head_text(const HeadPlace& head) { return fmt::format("{}.{}", head.layer, head.head); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
double share_of(Index right, std::size_t all) {
  return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

std::string file_of(const inspect::LoadedModel& model) { return model.folder + "/pronouns.tsv"; }

std::vector<PronounSentence> sentences_of(const LabOptions& options) {
  if (options.model == nullptr)
    throw Error(ErrorKind::usage, "lab.model",
                "lab pronouns: needs a model that translates; give one with --model");
  const std::string path = file_of(*options.model);
  if (!std::filesystem::exists(path))
    throw Error(ErrorKind::file, "lab.pronouns",
                concat(escaped(path),
                       ": not found; the experiment needs sentences with known antecedents, as "
                       "tools/make-pronouns writes them (test.antecedents.tsv)"));
  std::vector<PronounSentence> sentences = inspect::read_pronouns(path);
  if (options.quick && sentences.size() > kQuick) sentences.resize(kQuick);
  if (sentences.size() < 8)
    throw Error(ErrorKind::input, "lab.pronouns",
                concat(escaped(path), ": has ", sentences.size(), " sentences; at least 8 are needed"));
  return sentences;
}

struct Study {
  std::vector<AntecedentScore> chosen, tested;  // all heads on the first half, and on the second
  HeadPlace head, control;                      // best on the first half; the worst of the same layer
  PronounTranslations whole, without, without_control;
  std::size_t half = 0;  // sentences of the first half
};

const AntecedentScore& score_of(const std::vector<AntecedentScore>& scores, const HeadPlace& head) {
  return *std::find_if(scores.begin(), scores.end(),
                       [&](const AntecedentScore& score) { return score.head == head; });
}

// The head of the same layer that follows antecedents least.
HeadPlace control_for(const std::vector<AntecedentScore>& scores, const HeadPlace& head) {
  const AntecedentScore* worst = nullptr;
  for (const AntecedentScore& score : scores)
    if (score.head.layer == head.layer && !(score.head == head) &&
        (worst == nullptr || score.right < worst->right))
      worst = &score;
  return worst == nullptr ? head : worst->head;
}

Study study_of(Context& ctx, const LabOptions& options, std::span<const PronounSentence> sentences) {
  Study study;
  study.half = sentences.size() / 4 * 2;  // twins stay together
  const auto first = sentences.first(study.half), second = sentences.subspan(study.half);
  const auto total = static_cast<double>(sentences.size() + 3 * second.size() + first.size());
  double before = 0;
  const auto progress = [&](std::string_view what) {
    return [&options, before, total, what](std::size_t done) {
      tell(options, before + static_cast<double>(done), total, what);
    };
  };
  const inspect::LoadedModel& model = *options.model;
  study.chosen = inspect::score_antecedents(ctx, model, first, progress("scoring heads"));
  before += static_cast<double>(first.size());
  study.tested = inspect::score_antecedents(ctx, model, second, progress("scoring heads"));
  before += static_cast<double>(second.size());
  study.head = inspect::best_of(study.chosen).head;
  study.control = control_for(study.chosen, study.head);
  const auto translate = [&](const HeadPlace* head) {
    inspect::Ablation ablation(
        {.change = Change::zero,
         .part = Part::encoder,
         .heads = head == nullptr ? std::vector<HeadPlace>{{0, 0}} : std::vector<HeadPlace>{*head}});
    auto out = inspect::translate_pronouns(ctx, model, second, head == nullptr ? nullptr : &ablation,
                                           progress("translating"));
    before += static_cast<double>(second.size());
    return out;
  };
  study.whole = translate(nullptr);
  study.without = translate(&study.head);
  study.without_control = translate(&study.control);
  return study;
}

// For each head, the share of sentences in which the antecedent has a larger weight than the other noun.
draw::Drawing figure_of(const Study& study, const std::string& model) {
  draw::WeightMap map;
  map.title = "share of pronouns that attend more to their antecedent";
  map.short_name = "encoder";
  map.origin = draw::Origin::derived;
  map.derivation = "share of sentences";
  for (const AntecedentScore& score : study.tested) {
    if (score.head.head == 0) map.queries.push_back(fmt::format("layer {}", score.head.layer));
    if (score.head.layer == 0) map.keys.push_back(fmt::format("head {}", score.head.head));
    map.weights.push_back(static_cast<float>(score.share()));
  }
  map.row_axis = "layer";
  draw::FigureStyle style;
  style.numbers = true;
  style.caption =
      fmt::format("Model {}, {} sentences with two nouns; a head that cannot tell them apart has 0.5.", model,
                  study.tested.front().sentences);
  return draw::heat_map_figure(std::span(&map, 1), style);
}

std::string text_of(const Study& study, const LabOptions& options, std::size_t sentences) {
  const std::size_t asked = study.whole.right.size();
  const auto translated = [&](const std::string& what, const PronounTranslations& t) {
    return TableRow{what, percent(share_of(t.count_right(), asked))};
  };
  std::vector<TableRow> rows = {
      translated("pronoun translated correctly", study.whole),
      translated(concat("  with head ", head_text(study.head), " zeroed"), study.without),
      translated(concat("  with head ", head_text(study.control), " zeroed, as a control"),
                 study.without_control)};
  const AntecedentScore& best = score_of(study.tested, study.head);
  rows.push_back(
      {concat("head ", head_text(study.head), " attends more to the antecedent"), percent(best.share())});
  if (best.twins > 0)
    rows.push_back({"  in both of two twins",
                    percent(share_of(best.twins_right, static_cast<std::size_t>(best.twins)))});
  rows.push_back({"  mean weight of the antecedent", fmt::format("{:.3f}", best.antecedent)});
  rows.push_back({"  mean weight of the other noun", fmt::format("{:.3f}", best.other)});
  return with_note(
      table_text({"encoder of " + options.model->name, "share"}, rows),
      fmt::format(
          "{} sentences that training never saw: new nouns, adjectives or sentence frames. The head was "
          "chosen on the first {}; all figures are from the other {}. Twins differ in one adjective, "
          "and with it in the pronoun's antecedent. Guessing finds half of the antecedents.",
          sentences, study.half, asked),
      options.width);
}

void write_heads(io::JsonWriter& w, const std::vector<AntecedentScore>& scores) {
  w.key("heads").begin_list();
  for (const AntecedentScore& s : scores) {
    w.begin_object().field("layer", s.head.layer).field("head", s.head.head);
    w.field("right", s.right).field("sentences", s.sentences);
    w.field("twins_right", s.twins_right).field("twins", s.twins);
    w.field("antecedent", rounded(s.antecedent)).field("other", rounded(s.other)).end_object();
  }
  w.end_list();
}

}  // namespace

Outcome run_pronouns(const LabOptions& options) {
  Context ctx({.threads = options.threads});
  const std::vector<PronounSentence> sentences = sentences_of(options);
  const Study study = study_of(ctx, options, sentences);
  const std::size_t asked = study.whole.right.size();
  const double right = share_of(study.whole.count_right(), asked),
               without = share_of(study.without.count_right(), asked),
               control = share_of(study.without_control.count_right(), asked);
  const AntecedentScore& best = score_of(study.tested, study.head);

  Outcome out;
  out.holds = best.share() >= kFollows && without < control;
  out.finding = fmt::format(
      "The pronoun is translated correctly in {} of {} unseen sentences. Encoder head {} attends more to the "
      "antecedent than to the other noun in {} of them; with that head zeroed, {} are correct, with head {} "
      "zeroed {}.{}",
      percent(right), asked, head_text(study.head), percent(best.share()), percent(without),
      head_text(study.control), percent(control),
      out.holds ? "" : " So no single head is shown to resolve the pronoun.");
  out.text = text_of(study, options, sentences.size());
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", options.model->name);
  w.field("sentences", static_cast<Index>(asked)).field("right", study.whole.count_right());
  w.key("head").begin_object().field("layer", study.head.layer).field("head", study.head.head).end_object();
  w.field("right_without_head", study.without.count_right());
  w.key("control").begin_object().field("layer", study.control.layer).field("head", study.control.head);
  w.end_object().field("right_without_control", study.without_control.count_right());
  write_heads(w, study.tested);
  out.json = w.end_object().take_line();
  out.figure = figure_of(study, options.model->name);
  return out;
}

Found seeds::it_looks_at_animal(const LabOptions& options) {
  if (options.model == nullptr || !std::filesystem::exists(file_of(*options.model))) return without_model();
  LabOptions small = options;
  small.quick = true;
  Context ctx({.threads = options.threads});
  const std::vector<PronounSentence> sentences = sentences_of(small);
  const std::span all(sentences);
  const auto half = all.size() / 4 * 2;
  const HeadPlace head =
      inspect::best_of(inspect::score_antecedents(ctx, *options.model, all.first(half))).head;
  const AntecedentScore score =
      score_of(inspect::score_antecedents(ctx, *options.model, all.subspan(half)), head);
  // The tutorials' sentence, and its twin, in which "it" is the street.
  const std::string begin = "The animal didn't cross the street because it was too ";
  const std::vector<PronounSentence> animal = {{begin + "tired.", "", 7, 1, 5, 0},
                                               {begin + "wide.", "", 7, 5, 1, 0}};
  const AntecedentScore two = score_of(inspect::score_antecedents(ctx, *options.model, animal), head);
  return {
      two.right == 2,
      fmt::format(
          "encoder head {}, guided in training: the right noun gets {:.2f}, the other {:.2f}, for \"tired\" "
          "and \"wide\"; it is right in {} of {} sentences that training never saw",
          head_text(head), two.antecedent, two.other, percent(score.share()), score.sentences)};
}

}  // namespace headlight::lab
