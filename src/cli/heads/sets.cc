// headlight heads --treebank, --parallel, --coref: compares heads with annotated texts.
#include <fmt/format.h>

#include "cli/heads/settings.h"
#include "cli/progress_bar.h"
#include "cli/ranks.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/coref_heads.h"
#include "inspect/parallel_heads.h"
#include "io/gzip.h"
#include "io/json_writer.h"
#include "session/state.h"

namespace headlight::cli {
namespace {

using inspect::HeadShare;
using inspect::Share;
using Align = TextTable::Align;

constexpr std::uint64_t kLargestSet = std::uint64_t{1} << 28;
constexpr std::size_t kTop = 5;

std::vector<text::Tree> read_trees(const std::string& path, Index limit) {
  std::vector<text::Tree> trees = text::parse_conllu(io::read_text(path, kLargestSet), path);
  if (trees.empty())
    throw Error(ErrorKind::input, "conllu.empty", concat(escaped(path), ": has no sentences"));
  if (limit > 0 && static_cast<std::size_t>(limit) < trees.size())
    trees.resize(static_cast<std::size_t>(limit));
  return trees;
}

std::string percent(const Share& share) { return fmt::format("{:.1f} %", 100 * share.value()); }

std::string with_interval(const Share& share) {
  const inspect::Interval i = share.interval();
  return fmt::format("{:.1f} % ({:.1f} to {:.1f}, {} of {})", 100 * share.value(), 100 * i.low, 100 * i.high,
                     share.right, share.all);
}

void write(io::JsonWriter& w, const Share& share) {
  const inspect::Interval i = share.interval();
  w.begin_object().field("share", io::significant(share.value(), 6)).field("low", io::significant(i.low, 6));
  w.field("high", io::significant(i.high, 6)).field("right", share.right).field("all", share.all);
  w.end_object();
}

void write(io::JsonWriter& w, const std::vector<HeadShare>& heads) {
  w.begin_list(io::JsonLayout::lines);
  for (const HeadShare& head : heads) {
    w.begin_object().field("layer", head.place.layer).field("head", head.place.head);
    write(w.key("choosing"), head.choosing);
    write(w.key("scoring"), head.scoring);
    w.end_object();
  }
  w.end_list();
}

void add_head_table(Page& page, const std::vector<HeadShare>& heads, const HeadsSettings& s) {
  TextTable table({{"head", Align::left}, {"chosen on"}, {"scored on"}});
  const std::size_t rows = s.top > 0 ? static_cast<std::size_t>(s.top) : kTop;
  for (std::size_t i = 0; i < std::min(rows, heads.size()); ++i)
    table.add({place_text(heads[i].place), percent(heads[i].choosing), percent(heads[i].scoring)});
  table.print(page);
}

std::string offset_text(Index offset) { return fmt::format("{:+}", offset); }

void add_line(Page& page, const std::string& text) {
  page.line(draw::wrapped(text, page.style().width - 2, 0));
}

// "; 3 are longer than the model reads"
std::string left_out(Index count, std::string_view why) {
  return count > 0 ? concat("; ", count, " ", why) : "";
}

}  // namespace

void run_treebank(const HeadsSettings& s) {
  JsonOutput json(s.json);
  const std::vector<text::Tree> trees = read_trees(s.treebank, s.limit);
  const Model model = open_model(s.input.model);
  const inspect::LoadedModel& loaded = model.state().loaded;
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  const inspect::TreebankReport report =
      inspect::score_treebank(ctx, loaded, trees, [&](double done) { bar.show("treebank", done); });
  bar.clear();
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", loaded.name).field("sentences", report.sentences);
  w.field("too_long", report.too_long).field("heads_searched", report.heads);
  w.key("relations").begin_list(io::JsonLayout::lines);
  for (const inspect::RelationScore& r : report.relations) {
    w.begin_object().field("relation", r.relation).field("direction", name_of(r.direction));
    w.field("layer", r.head.layer).field("head", r.head.head);
    write(w.key("choosing"), r.choosing);
    write(w.key("scoring"), r.scoring);
    write(w.field("offset", r.offset).key("baseline"), r.baseline);
    w.end_object();
  }
  json.write(w.end_list().end_object().take_line());

  Page page(page_style(s.look));
  page.line(
      page.bold(concat("Grammar: ", report.sentences, " sentences, ", report.heads, " heads searched",
                       left_out(report.too_long, "sentences are longer than the context of the model"))));
  TextTable table({{"relation", Align::left},
                   {"looks", Align::left},
                   {"links"},
                   {"head"},
                   {"right"},
                   {"95 % interval"},
                   {"offset"},
                   {"right"},
                   {"lead"}});
  Index ahead = 0;
  for (const inspect::RelationScore& r : report.relations) {
    const inspect::Interval i = r.scoring.interval();
    ahead += i.low > r.baseline.value() ? 1 : 0;
    table.add({escaped(r.relation, 40), std::string(name_of(r.direction)), concat(r.scoring.all),
               place_text(r.head), percent(r.scoring),
               fmt::format("{:.1f} to {:.1f}", 100 * i.low, 100 * i.high), offset_text(r.offset),
               percent(r.baseline), fmt::format("{:+.1f}", 100 * r.gain())});
  }
  if (table.empty()) page.line(concat("No relation has ", inspect::kLeastLinks, " links in each half."));
  else table.print(page);
  add_line(page, concat("A head beats the best fixed offset, with its whole interval above it, for ", ahead,
                        " of ", report.relations.size(),
                        " relations. Direction, head and offset were chosen on one half of the ",
                        "sentences; all figures are measured on the other half. right: the word with the "
                        "largest weight is the correct one."));
  print_page(page, s);
}

void run_parallel(const HeadsSettings& s) {
  JsonOutput json(s.json);
  const std::vector<text::Tree> source = read_trees(s.treebank, s.limit),
                                written = read_trees(s.parallel, s.limit);
  const Model model = open_model(s.input.model);
  const inspect::LoadedModel& loaded = model.state().loaded;
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  const inspect::ParallelReport report = inspect::score_parallel(
      ctx, loaded, source, written, [&](double done) { bar.show("parallel trees", done); });
  bar.clear();
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", loaded.name).field("sentences", report.sentences);
  w.field("too_long", report.too_long).field("links", report.links);
  w.field("gold", "derived from the trees").field("offset", report.offset);
  write(w.key("baseline"), report.baseline);
  write(w.key("heads"), report.heads);
  json.write(w.end_object().take_line());
  Page page(page_style(s.look));
  const HeadShare& best = report.heads.front();
  page.line(page.bold(concat(
      "Alignment: ", report.sentences, " sentences, ", report.links, " links, ", report.heads.size(),
      " heads searched", left_out(report.too_long, "sentences are longer than the context of the model"))));
  add_head_table(page, report.heads, s);
  add_line(page, concat("Head ", place_text(best.place), ", chosen on one half, finds ",
                        with_interval(best.scoring), " on the other half; the diagonal ",
                        offset_text(report.offset), " words finds ", with_interval(report.baseline), "."));
  add_line(page,
           "The links are derived from the two trees, not annotated by hand. They connect identical words, "
           "and content words of the same part of speech that reach the root by the same relations, if each "
           "is the only such word in its sentence. The model reads the given translation.");
  print_page(page, s);
}

void run_coref(const HeadsSettings& s) {
  JsonOutput json(s.json);
  text::CorefSet set = text::parse_coref(io::read_text(s.coref, kLargestSet), s.coref);
  if (set.items.empty())
    throw Error(ErrorKind::input, "coref.empty", concat(escaped(s.coref), ": has no usable item"));
  if (s.limit > 0 && static_cast<std::size_t>(s.limit) < set.items.size())
    set.items.resize(static_cast<std::size_t>(s.limit));
  const Model model = open_model(s.input.model);
  const inspect::LoadedModel& loaded = model.state().loaded;
  Context ctx(shared(Together::items, {.threads = static_cast<int>(s.threads)}));
  ProgressBar bar;
  const inspect::CorefReport report =
      inspect::score_coref(ctx, loaded, set, [&](double done) { bar.show("pronouns", done); });
  bar.clear();
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", loaded.name).field("set", set.kind);
  w.field("items", report.items).field("left_out", set.left_out).field("too_long", report.too_long);
  write(w.field("unseen", report.unseen).key("nearest"), report.nearest);
  write(w.field("chance", io::significant(report.chance, 6)).key("heads"), report.heads);
  json.write(w.end_object().take_line());
  Page page(page_style(s.look));
  const HeadShare& best = report.heads.front();
  page.line(page.bold(concat("Pronouns, ", set.kind, ": ", report.items, " items, ", report.heads.size(),
                             " heads searched")));
  add_head_table(page, report.heads, s);
  add_line(page, concat("Head ", place_text(best.place),
                        ", chosen on one half, gives the right candidate most weight in ",
                        with_interval(best.scoring), " of the other half; the nearest candidate is right in ",
                        with_interval(report.nearest), ", guessing in ",
                        fmt::format("{:.1f} %", 100 * report.chance), "."));
  const std::string rest =
      concat(left_out(static_cast<Index>(set.left_out), "have no single correct candidate in their text"),
             left_out(report.too_long, "are longer than the context of the model"),
             left_out(report.unseen, "have a candidate that the decoder cannot see"));
  if (!rest.empty()) add_line(page, concat("Not asked: ", rest.substr(2), "."));
  print_page(page, s);
}

}  // namespace headlight::cli
