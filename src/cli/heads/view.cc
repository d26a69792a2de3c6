#include "cli/heads/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>

#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

using inspect::HeadFigures;
using inspect::Label;
using inspect::LabelledHead;
using inspect::PatternScore;
using Align = TextTable::Align;

double bits(double nats) { return nats / std::numbers::ln2; }

std::string shown(const std::optional<double>& x, int digits) {
  return x ? fmt::format("{:.{}f}", *x, digits) : "n/a";
}

// "induction+1": the best label, and how many more there are.
std::string short_labels(const HeadFigures& figures) {
  if (figures.rows == 0) return "-";
  std::string text(name_of(figures.labels[0]));
  if (figures.labels[0] == Label::offset) text += concat(" ", -figures.best()->detail);
  if (figures.labels.size() > 1) text += concat("+", figures.labels.size() - 1);
  return text;
}

std::vector<std::string> label_cells(const HeadFigures& figures) {
  const PatternScore* best = figures.best();
  return {short_labels(figures), best != nullptr ? shown(best->score, 2) : "-",
          best != nullptr && best->lift ? shown(best->lift, 1) : "-"};
}

std::string counts_text(const std::vector<LabelledHead>& heads, bool battery) {
  std::array<Index, inspect::kLabels> counts = {};
  for (const LabelledHead& head : heads) {
    const HeadFigures& figures = battery ? head.battery : head.text;
    if (figures.rows == 0) continue;
    for (const Label label : figures.labels) ++counts[static_cast<std::size_t>(label)];
  }
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      text += concat(text.empty() ? "" : ", ", name_of(static_cast<Label>(i)), " ", counts[i]);
  return text.empty() ? "nothing measured" : text;
}

TextTable label_rows(std::span<const LabelledHead> heads) {
  TextTable table({{"head", Align::left},
                   {"text", Align::left},
                   {"score"},
                   {"lift"},
                   {"battery", Align::left},
                   {"score"},
                   {"lift"},
                   {"bits"},
                   {"keys"},
                   {"dist"},
                   {"sink"}});
  for (const LabelledHead& head : heads) {
    const HeadFigures& f = head.text;
    std::vector<std::string> row = {place_text(head.place)};
    for (const HeadFigures* figures : {&head.text, &head.battery})
      for (std::string& cell : label_cells(*figures)) row.push_back(std::move(cell));
    row.push_back(fmt::format("{:.2f}", bits(f.entropy)));
    row.push_back(fmt::format("{:.1f}", f.effective_keys));
    row.push_back(head.part == Part::cross ? "-" : fmt::format("{:.1f}", f.mean_distance));
    row.push_back(fmt::format("{:.2f}", f.sink_share));
    table.add(std::move(row));
  }
  return table;
}

std::string pattern_name(const PatternScore& score) {
  if (score.label == Label::offset && score.score) return concat("offset ", -score.detail);
  return std::string(name_of(score.label));
}

void add_details(Page& page, const LabelledHead& head) {
  constexpr int kNumbers =
      62;  // columns of the screen, followed by the definition of the score if there is room
  const int room = page.style().width - kNumbers;
  const bool described = room > 30;
  std::vector<TextTable::Column> columns = {
      {"pattern", Align::left}, {"score"}, {"lift"}, {"rows"}, {"battery"}, {"lift"}, {"rows"}, {"needs"}};
  if (described) columns.push_back({"score is", Align::left, room});
  TextTable table(std::move(columns));
  for (const inspect::LabelRule& rule : inspect::label_rules()) {
    const PatternScore *text = head.text.find(rule.label), *battery = head.battery.find(rule.label);
    if (text == nullptr || battery == nullptr) continue;
    const auto mark = [](const PatternScore& s) { return s.given ? "*" : " "; };
    std::vector<std::string> row = {pattern_name(text->score ? *text : *battery),
                                    shown(text->score, 3) + mark(*text),
                                    shown(text->lift, 1),
                                    concat(text->rows),
                                    shown(battery->score, 3) + mark(*battery),
                                    shown(battery->lift, 1),
                                    concat(battery->rows),
                                    fmt::format("{}", rule.least)};
    if (described) row.emplace_back(rule.score);
    table.add(std::move(row));
  }
  table.print(page);
}

std::string spread_text(const HeadFigures& f, bool cross) {
  std::string text =
      fmt::format("entropy {:.2f} bits, {:.1f} effective keys, ", bits(f.entropy), f.effective_keys);
  if (!cross) text += fmt::format("mean distance {:.1f}, ", f.mean_distance);
  return text + fmt::format("{:.0f} % on the {} token, largest weight {:.3f}", 100 * f.sink_share,
                            cross ? "last" : "first", f.largest_weight);
}

io::Rounded real(double x) { return io::significant(x, 6); }
std::optional<io::Rounded> real(const std::optional<double>& x) {
  return x ? std::optional(real(*x)) : std::nullopt;
}

void write(io::JsonWriter& w, const HeadFigures& f, bool cross) {
  if (f.rows == 0) {
    w.value(nullptr);
    return;
  }
  w.begin_object().key("labels").begin_list();
  for (const Label label : f.labels) w.value(name_of(label));
  w.end_list().field("rows", f.rows).field("entropy", real(f.entropy));
  w.field("entropy_bits", real(bits(f.entropy))).field("effective_keys", real(f.effective_keys));
  w.field("mean_distance", cross ? std::nullopt : std::optional(real(f.mean_distance)));
  w.field("sink_share", real(f.sink_share)).field("largest_weight", real(f.largest_weight));
  w.key("patterns").begin_object();
  for (const PatternScore& s : f.patterns) {
    w.key(name_of(s.label)).begin_object().field("score", real(s.score)).field("lift", real(s.lift));
    w.field("rows", s.rows);
    if (s.label == Label::offset && s.score) w.field("offset", -s.detail);
    if (s.label == Label::local && s.score) w.field("keys", s.detail);
    w.end_object();
  }
  w.end_object().end_object();
}

}  // namespace

std::string head_name(const LabelledHead& head, bool one_part) {
  const std::string place = place_text(head.place);
  return one_part ? place : concat(name_of(head.part), " ", place);
}

void add_label_table(Page& page, const HeadsView& view) {
  for (std::size_t first = 0; first < view.heads.size();) {
    const Part part = view.heads[first].part;
    if (!view.one_part) page.line(page.bold(name_of(part)));
    std::size_t end = first;
    while (end < view.heads.size() && view.heads[end].part == part) ++end;
    label_rows(std::span(view.heads).subspan(first, end - first)).print(page);
    page.line();
    first = end;
  }
  const int width = page.style().width - 2;
  page.line(draw::wrapped(concat(view.heads.size(), view.heads.size() == 1 ? " head" : " heads", ", on ",
                                 view.what, ": ", counts_text(view.heads, false)),
                          width, 0));
  page.line(draw::wrapped(concat("on the battery: ", counts_text(view.heads, true)), width, 0));
  page.line(page.dim(draw::wrapped(
      "battery: a fixed set of test texts. lift: weight divided by that of uniform attention. "
      "bits: entropy. keys: effective keys. dist: mean distance. sink: weight on the first token.",
      width, 0)));
}

void add_head_details(Page& page, const HeadsView& view) {
  for (std::size_t i = 0; i < view.heads.size(); ++i) {
    const LabelledHead& head = view.heads[i];
    const bool cross = head.part == Part::cross;
    if (i > 0) page.line();
    page.line(page.bold(
        concat(name_of(head.part), " layer ", head.place.layer, ", head ", head.place.head, ": ",
               head.text.rows > 0 ? head.text.label_text() : "not measured", " on ", view.what, "; ",
               head.battery.rows > 0 ? head.battery.label_text() : "not measured", " on the battery")));
    const int width = page.style().width - 2, indent = 9;
    page.line(concat("text:    ", draw::wrapped(spread_text(head.text, cross), width, indent)));
    page.line(concat("battery: ", draw::wrapped(spread_text(head.battery, cross), width, indent)));
    add_details(page, head);
    if (i >= view.similar.size()) continue;
    std::string near;
    for (const SimilarHead& other : view.similar[i])
      near +=
          concat(near.empty() ? "" : ", ", place_text(other.place), fmt::format(" ({:.2f})", other.cosine));
    page.line(concat("similar on the battery (cosine of all weights): ", near));
  }
  page.line(page.dim(
      draw::wrapped("*: the head has this label. A label also needs a lift of 2 (except broad) and 4 rows "
                    "where the pattern can occur.",
                    page.style().width - 2, 0)));
}

std::string labels_json(const HeadsView& view) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", view.model).field("read", view.what);
  w.field("heads_searched", view.searched).key("heads").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < view.heads.size(); ++i) {
    const LabelledHead& head = view.heads[i];
    const bool cross = head.part == Part::cross;
    w.begin_object().field("part", name_of(head.part)).field("layer", head.place.layer);
    write(w.field("head", head.place.head).key("text"), head.text, cross);
    write(w.key("battery"), head.battery, cross);
    if (i < view.similar.size()) {
      w.key("similar").begin_list();
      for (const SimilarHead& other : view.similar[i]) {
        w.begin_object().field("layer", other.place.layer).field("head", other.place.head);
        w.field("cosine", real(other.cosine)).end_object();
      }
      w.end_list();
    }
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::cli
