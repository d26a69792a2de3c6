#include "cli/heads_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "cli/text_table.h"
#include "core/concat.h"
#include "core/escape.h"
#include "io/json.h"

namespace headlight::cli {
namespace {

using inspect::HeadFigures;
using inspect::Label;
using inspect::LabelledHead;
using inspect::PatternScore;
using Side = TextTable::Side;

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
  TextTable table({{"head", Side::left},
                   {"text", Side::left},
                   {"score"},
                   {"lift"},
                   {"battery", Side::left},
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
      62;  // columns of the screen; what a score is comes after them, where there is room
  const int room = page.style().width - kNumbers;
  const bool described = room > 30;
  std::vector<TextTable::Column> columns = {
      {"pattern", Side::left}, {"score"}, {"lift"}, {"rows"}, {"battery"}, {"lift"}, {"rows"}, {"needs"}};
  if (described) columns.push_back({"score is", Side::left, room});
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

std::string real(double x) { return std::isfinite(x) ? fmt::format("{:.6g}", x) : "null"; }
std::string real(const std::optional<double>& x) { return x ? real(*x) : "null"; }

std::string figures_json(const HeadFigures& f, bool cross) {
  std::string labels, patterns;
  for (const Label label : f.labels) labels += concat(labels.empty() ? "" : ", ", "\"", name_of(label), "\"");
  for (const PatternScore& s : f.patterns) {
    patterns +=
        fmt::format("{}\"{}\": {{\"score\": {}, \"lift\": {}, \"rows\": {}", patterns.empty() ? "" : ", ",
                    name_of(s.label), real(s.score), real(s.lift), s.rows);
    if (s.label == Label::offset && s.score) patterns += fmt::format(", \"offset\": {}", -s.detail);
    if (s.label == Label::local && s.score) patterns += fmt::format(", \"keys\": {}", s.detail);
    patterns += "}";
  }
  if (f.rows == 0) return "null";
  return fmt::format(
      "{{\"labels\": [{}], \"rows\": {}, \"entropy\": {}, \"entropy_bits\": {}, \"effective_keys\": {}, "
      "\"mean_distance\": {}, \"sink_share\": {}, \"largest_weight\": {},\n      \"patterns\": {{{}}}}}",
      labels, f.rows, real(f.entropy), real(bits(f.entropy)), real(f.effective_keys),
      cross ? "null" : real(f.mean_distance), real(f.sink_share), real(f.largest_weight), patterns);
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
  page.line(page.dim("lift: times what even attention has there; bits to sink: on the text"));
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
    for (const inspect::SimilarHead& other : view.similar[i])
      near +=
          concat(near.empty() ? "" : ", ", place_text(other.place), fmt::format(" ({:.2f})", other.cosine));
    page.line(concat("similar on the battery (cosine of all weights): ", near));
  }
  page.line(page.dim("*: the label is given; it also needs lift 2 (but broad) and 4 rows that can show it"));
}

std::string labels_json(const HeadsView& view) {
  std::string out =
      fmt::format("{{\n  \"model\": {},\n  \"read\": {},\n  \"heads_searched\": {},\n  \"heads\": [\n",
                  io::json_quoted(view.model), io::json_quoted(view.what), view.searched);
  for (std::size_t i = 0; i < view.heads.size(); ++i) {
    const LabelledHead& head = view.heads[i];
    const bool cross = head.part == Part::cross;
    std::string similar;
    if (i < view.similar.size()) {
      for (const inspect::SimilarHead& other : view.similar[i])
        similar +=
            fmt::format("{}{{\"layer\": {}, \"head\": {}, \"cosine\": {}}}", similar.empty() ? "" : ", ",
                        other.place.layer, other.place.head, real(other.cosine));
      similar = fmt::format(",\n     \"similar\": [{}]", similar);
    }
    out += fmt::format(
        "    {{\"part\": \"{}\", \"layer\": {}, \"head\": {},\n     \"text\": {},\n     \"battery\": "
        "{}{}}}{}\n",
        name_of(head.part), head.place.layer, head.place.head, figures_json(head.text, cross),
        figures_json(head.battery, cross), similar, i + 1 < view.heads.size() ? "," : "");
  }
  return out + "  ]\n}\n";
}

}  // namespace headlight::cli
