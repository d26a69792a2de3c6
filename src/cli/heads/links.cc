// headlight heads --link, --pairs, --like: heads ranked by what they do with given words, or like a given head.
#include <fmt/format.h>

#include "cli/heads/settings.h"
#include "cli/model_places.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/link_ranking.h"
#include "inspect/similar_heads.h"
#include "io/gzip.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

using inspect::LinkWeight;
using inspect::PairsScore;
using inspect::Subject;
using Side = TextTable::Side;

constexpr std::size_t kTop = 10;
constexpr int kBar = 20;
constexpr std::uint64_t kLargestPairs = std::uint64_t{1} << 26;

std::size_t rows_of(const HeadsSettings& s, std::size_t all) {
  return std::min(all, s.top > 0 ? static_cast<std::size_t>(s.top) : kTop);
}

double lift(double weight, double even) { return even > 0 ? weight / even : 0; }

std::string link_name(const inspect::Link& link) {
  const auto side = [](const inspect::Word& word) {
    return word.tokens.size() > 0 ? escaped(word.label, 40) : "?";
  };
  return concat(side(link.from), " -> ", side(link.to));
}

std::string link_json(const Subject& subject, Part part, const inspect::Link& link,
                      const std::vector<LinkWeight>& weights) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", subject.name).field("part", name_of(part));
  w.field("link", link_name(link)).field("heads_searched", weights.size());
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const LinkWeight& head : weights) {
    w.begin_object().field("layer", head.place.layer).field("head", head.place.head);
    w.field("weight", io::significant(head.weight, 7)).field("even", io::significant(head.even, 7));
    if (!head.key.empty()) w.field("key", head.key);
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

std::string pairs_json(const Subject& subject, Part part, const inspect::PairsRanking& ranking) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", subject.name).field("part", name_of(part));
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
  const inspect::LinkText words = inspect::parse_link(s.link);
  const Subject subject = inspect::open_subject(s.model, model_places());
  const Part part = part_of(s, subject);
  Context ctx({.threads = static_cast<int>(s.threads)});
  const inspect::Question question =
      read_question(ctx, subject, s, part == Part::encoder ? Needs::source : Needs::target);
  const inspect::Link link =
      inspect::find_link(subject, inspect::readings_of(subject, question, part), part, words);
  const std::vector<LinkWeight> weights = inspect::rank_link(ctx, subject, question, part, link);
  json.write(link_json(subject, part, link, weights));

  Page page = heads_page(s);
  const LinkWeight& best = weights.front();
  page.line(page.bold(fmt::format("{}: head {} gives it {:.3f}, the most of {} heads ({} attention)",
                                  link_name(link), place_text(best.place), best.weight, weights.size(),
                                  name_of(part))));
  if (best.weight < best.even)
    page.line("That is less than attention spread evenly would give: no head makes this link.");
  const bool any = link.to.tokens.size() == 0;
  TextTable table({{"head", Side::left}, {"weight"}, {"even"}, {"lift"}, {any ? "at" : "", Side::left, 30}});
  for (std::size_t i = 0; i < rows_of(s, weights.size()); ++i) {
    const LinkWeight& w = weights[i];
    table.add({place_text(w.place), fmt::format("{:.4f}", w.weight), fmt::format("{:.4f}", w.even),
               fmt::format("{:.1f}", lift(w.weight, w.even)),
               any ? escaped(w.key, 40) : page.bar(w.weight, kBar)});
  }
  table.print(page);
  page.line(page.dim(draw::wrapped(
      concat("even: the share that attention spread evenly has there. The best of ", weights.size(),
             " heads on one text is large by chance too: --pairs FILE asks many."),
      page.style().width - 2, 0)));
  print_page(page, s);
  for (const std::string& note : link.notes) print_error(concat("note: ", note, "\n"));
}

void run_head_pairs(const HeadsSettings& s) {
  JsonOutput json(s.json);
  std::vector<inspect::PairLine> pairs = inspect::parse_pairs(io::read_text(s.pairs, kLargestPairs), s.pairs);
  if (s.limit > 0 && static_cast<std::size_t>(s.limit) < pairs.size())
    pairs.resize(static_cast<std::size_t>(s.limit));
  const Subject subject = inspect::open_subject(s.model, model_places());
  if (!subject.tokenizer)
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(subject.name), "\" has no tokenizer, so --pairs cannot be read"));
  const Part part = part_of(s, subject);
  Context ctx({.threads = static_cast<int>(s.threads)});
  ProgressBar bar;
  const inspect::PairsRanking ranking =
      inspect::rank_pairs(ctx, subject, pairs, part, s.pairs, [&](double done) { bar.show("pairs", done); });
  bar.clear();
  json.write(pairs_json(subject, part, ranking));

  Page page = heads_page(s);
  page.line(page.bold(concat(ranking.pairs, " links, ", ranking.heads.size(), " heads searched (",
                             name_of(part), " attention)")));
  TextTable table({{"head", Side::left}, {"mean weight"}, {"95 % interval"}, {"even"}, {"lift"}});
  for (std::size_t i = 0; i < rows_of(s, ranking.heads.size()); ++i) {
    const PairsScore& p = ranking.heads[i];
    table.add({place_text(p.place), fmt::format("{:.4f}", p.weight), interval_text(p),
               fmt::format("{:.4f}", p.even), fmt::format("{:.1f}", lift(p.weight, p.even))});
  }
  table.print(page);
  if (ranking.chosen) {
    page.line(fmt::format("Chosen on one half of the links, head {} has {:.4f} ({}) on the other half.",
                          place_text(ranking.chosen->place), ranking.chosen->weight,
                          interval_text(*ranking.chosen)));
  } else {
    page.line("Too few links to choose a head on one half and score it on the other: that takes 8.");
  }
  print_page(page, s);
}

void run_similar_heads(const HeadsSettings& s) {
  JsonOutput json(s.json);
  const Subject subject = inspect::open_subject(s.model, model_places());
  const Part part = part_of(s, subject);
  const inspect::HeadPlace place = s.like.front();
  check_head(subject, part, place);
  Context ctx({.threads = static_cast<int>(s.threads)});
  ProgressBar bar;
  const inspect::Battery battery =
      inspect::make_battery(ctx, subject, [&](double done) { bar.show("battery", done); });
  const std::vector<inspect::SimilarHead> others =
      inspect::HeadSimilarity(ctx, subject, battery, part).like(place);
  const inspect::BatterySums sums = inspect::measure_battery(ctx, subject, battery);
  const std::vector<inspect::LabelledHead> heads =
      inspect::labelled_heads(subject, inspect::TextSums(subject), sums);
  const auto labels = [&](const inspect::HeadPlace& at) {
    for (const inspect::LabelledHead& head : heads)
      if (head.part == part && head.place == at && head.battery.rows > 0) return head.battery.label_text();
    return std::string("not measured");
  };
  bar.clear();

  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", subject.name).field("part", name_of(part));
  w.field("like", place_text(place)).key("heads").begin_list(io::JsonLayout::lines);
  for (const inspect::SimilarHead& other : others) {
    w.begin_object().field("layer", other.place.layer).field("head", other.place.head);
    w.field("cosine", io::significant(other.cosine, 7)).end_object();
  }
  json.write(w.end_list().end_object().take_line());
  Page page = heads_page(s);
  page.line(page.bold(concat("Heads like ", place_text(place), " (", labels(place), "), of ", others.size(),
                             " others, by the cosine of all weights on the battery")));
  TextTable table({{"head", Side::left}, {"cosine"}, {"labels on the battery", Side::left}});
  for (std::size_t i = 0; i < rows_of(s, others.size()); ++i)
    table.add(
        {place_text(others[i].place), fmt::format("{:.3f}", others[i].cosine), labels(others[i].place)});
  table.print(page);
  print_page(page, s);
}

}  // namespace headlight::cli
