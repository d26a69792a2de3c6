// headlight heads --link, --pairs, --like: ranks heads by given links, or by similarity to a given head.
#include <fmt/format.h>

#include "cli/heads/settings.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/link_ranking.h"
#include "io/gzip.h"
#include "io/json_writer.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

using inspect::PairsScore;
using Align = TextTable::Align;

constexpr std::size_t kTop = 10;
constexpr int kBar = 20;
constexpr std::uint64_t kLargestPairs = std::uint64_t{1} << 26;

std::size_t rows_of(const HeadsSettings& s, std::size_t all) {
  return std::min(all, s.top > 0 ? static_cast<std::size_t>(s.top) : kTop);
}

double lift(double weight, double even) { return even > 0 ? weight / even : 0; }

std::string link_name(const Run& run, Part part, const LinkWords& words) {
  const auto side = [](const TokenizedText& text, const std::string& word) {
    return word.empty() ? "?" : escaped(find_words(text, word).label, 40);
  };
  return concat(side(run.queries(part), words.from), " -> ", side(run.keys(part), words.to));
}

std::string key_of(const Run& run, const LinkScore& score) {
  return score.key ? run.keys(score.head.part).tokens[static_cast<std::size_t>(*score.key)].text : "";
}

std::string link_json(const Run& run, Part part, const std::string& link,
                      const std::vector<LinkScore>& scores) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", run.model().info().name).field("part", name_of(part));
  w.field("link", link).field("heads_searched", scores.size());
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const LinkScore& score : scores) {
    w.begin_object().field("layer", score.head.layer).field("head", score.head.head);
    w.field("weight", io::significant(score.weight, 7)).field("even", io::significant(score.chance, 7));
    if (score.key) w.field("key", key_of(run, score));
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

void write(io::JsonWriter& w, const PairsScore& p) {
  w.begin_object().field("layer", p.place.layer).field("head", p.place.head);
  w.field("weight", io::significant(p.weight, 7)).field("low", io::significant(p.interval.low, 7));
  w.field("high", io::significant(p.interval.high, 7)).field("even", io::significant(p.even, 7));
  w.end_object();
}

std::string pairs_json(const Model& model, Part part, const inspect::PairsRanking& ranking) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", model.info().name).field("part", name_of(part));
  w.field("pairs", ranking.pairs).field("heads_searched", ranking.heads.size()).key("chosen");
  if (ranking.chosen) write(w, *ranking.chosen);
  else w.value(nullptr);
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const PairsScore& score : ranking.heads) write(w, score);
  return w.end_list().end_object().take_line();
}

std::string interval_text(const PairsScore& p) {
  return fmt::format("{:.3f} to {:.3f}", p.interval.low, p.interval.high);
}

}  // namespace

void run_head_link(const HeadsSettings& s) {
  JsonOutput json(s.json);
  const LinkWords words = parse_link(s.link);
  const Model model = open_model(s.input.model);
  const Part part = chosen_part(model, s.part);
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  const Run run = attend(ctx, model, prompt_of(model, s.input), attend_to(part));
  const std::vector<LinkScore> scores = find_links(run, {.link = s.link, .part = part}, ctx);
  const std::string link = link_name(run, part, words);
  json.write(link_json(run, part, link, scores));
  std::vector<std::pair<HeadPlace, double>> numbers;
  for (const LinkScore& score : scores) numbers.emplace_back(score.head.place(), score.weight);
  write_head_array(s, run, part, "link", numbers);

  Page page(page_style(s.look));
  const LinkScore& best = scores.front();
  page.line(page.bold(fmt::format("{}: head {} gives it {:.3f}, the most of {} heads ({} attention)", link,
                                  place_text(best.head.place()), best.weight, scores.size(), name_of(part))));
  if (best.weight < best.chance) page.line("That is less than uniform attention: no head makes this link.");
  const bool any = words.to.empty();
  TextTable table(
      {{"head", Align::left}, {"weight"}, {"uniform"}, {"lift"}, {any ? "at" : "", Align::left, 30}});
  for (std::size_t i = 0; i < rows_of(s, scores.size()); ++i) {
    const LinkScore& score = scores[i];
    table.add({place_text(score.head.place()), fmt::format("{:.4f}", score.weight),
               fmt::format("{:.4f}", score.chance), fmt::format("{:.1f}", lift(score.weight, score.chance)),
               any ? escaped(key_of(run, score), 40) : page.bar(score.weight, kBar)});
  }
  table.print(page);
  page.line(page.dim(draw::wrapped(
      concat("uniform: the weight of uniform attention. lift: weight / uniform. The best of ", scores.size(),
             " heads on one text can be large by chance; --pairs FILE measures many texts."),
      page.style().width - 2, 0)));
  print_page(page, s);
  std::vector<std::string> notes;
  if (!words.from.empty()) (void)picked(run.queries(part), words.from, notes);
  if (!words.to.empty()) (void)picked(run.keys(part), words.to, notes);
  print_notes(notes);
}

void run_head_pairs(const HeadsSettings& s) {
  JsonOutput json(s.json);
  std::vector<inspect::PairLine> pairs = inspect::parse_pairs(io::read_text(s.pairs, kLargestPairs), s.pairs);
  if (s.limit > 0 && static_cast<std::size_t>(s.limit) < pairs.size())
    pairs.resize(static_cast<std::size_t>(s.limit));
  const Model model = open_model(s.input.model);
  if (model.tokenizer() == nullptr)
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(model.info().name), "\" has no tokenizer, so --pairs cannot be read"));
  const Part part = chosen_part(model, s.part);
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  const inspect::PairsRanking ranking = inspect::rank_pairs(ctx, model.state().loaded, pairs, part, s.pairs,
                                                            [&](double done) { bar.show("pairs", done); });
  bar.clear();
  json.write(pairs_json(model, part, ranking));

  Page page(page_style(s.look));
  page.line(page.bold(concat(ranking.pairs, " links, ", ranking.heads.size(), " heads searched (",
                             name_of(part), " attention)")));
  TextTable table({{"head", Align::left}, {"mean weight"}, {"95 % interval"}, {"uniform"}, {"lift"}});
  for (std::size_t i = 0; i < rows_of(s, ranking.heads.size()); ++i) {
    const PairsScore& p = ranking.heads[i];
    table.add({place_text(p.place), fmt::format("{:.4f}", p.weight), interval_text(p),
               fmt::format("{:.4f}", p.even), fmt::format("{:.1f}", lift(p.weight, p.even))});
  }
  table.print(page);
  page.line(
      page.dim(draw::wrapped("mean weight: over the links, with its 95 % interval. uniform: the same for "
                             "uniform attention. lift: mean "
                             "weight / uniform.",
                             page.style().width - 2, 0)));
  if (ranking.chosen) {
    page.line(fmt::format("Chosen on one half of the links, head {} has {:.4f} ({}) on the other half.",
                          place_text(ranking.chosen->place), ranking.chosen->weight,
                          interval_text(*ranking.chosen)));
  } else {
    page.line("Too few links to choose a head on one half and score it on the other: give at least 8.");
  }
  print_page(page, s);
}

void run_similar_heads(const HeadsSettings& s) {
  JsonOutput json(s.json);
  const Model model = open_model(s.input.model);
  const Part part = chosen_part(model, s.part);
  const HeadPlace place = s.like.front();
  check_head(model, part, place);
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  LabelRequest request{.similar_to = {{part, place.layer, place.head}}};
  request.progress.report = bar.reporter();
  const HeadLabels found = label_heads(ctx, model, std::span<const Prompt>(), request);
  const std::vector<SimilarHead>& others = found.similar.front();
  const auto labels = [&](const HeadPlace& at) {
    for (const LabelledHead& head : found.heads)
      if (head.part == part && head.place == at && head.battery.rows > 0) return head.battery.label_text();
    return std::string("not measured");
  };
  bar.clear();

  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", model.info().name).field("part", name_of(part));
  w.field("like", place_text(place)).key("heads").begin_list(io::JsonLayout::lines);
  for (const SimilarHead& other : others) {
    w.begin_object().field("layer", other.place.layer).field("head", other.place.head);
    w.field("cosine", io::significant(other.cosine, 7)).end_object();
  }
  json.write(w.end_list().end_object().take_line());
  Page page(page_style(s.look));
  page.line(page.bold(concat("Heads like ", place_text(place), " (", labels(place), "), of ", others.size(),
                             " others, by the cosine of all weights on the battery")));
  TextTable table({{"head", Align::left}, {"cosine"}, {"labels on the battery", Align::left}});
  for (std::size_t i = 0; i < rows_of(s, others.size()); ++i)
    table.add(
        {place_text(others[i].place), fmt::format("{:.3f}", others[i].cosine), labels(others[i].place)});
  table.print(page);
  print_page(page, s);
}

}  // namespace headlight::cli
