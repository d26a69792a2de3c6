#include "cli/look/view.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/escape.h"
#include "draw/text.h"
#include "inspect/head_steps.h"
#include "text/lines.h"

namespace headlight::cli {
namespace {

using draw::left_aligned, draw::display_width;
using session::WordMap, session::WordRow;

constexpr int kIndent = 3, kLongestRow = 16, kNarrowest = 3, kBar = 22;
constexpr std::size_t kMostRows = 24;

struct Shade {
  double below;
  const char *unicode, *ascii;
};
constexpr Shade kShades[] = {
    {.05, "·", "."}, {.25, "░", ":"}, {.50, "▒", "+"}, {.75, "▓", "#"}, {9, "█", "@"}};

std::string shade_of(const Page& page, double weight) {
  const Shade* shade = std::find_if(std::begin(kShades), std::end(kShades) - 1,
                                    [&](const Shade& s) { return weight < s.below; });
  return page.glyph(shade->unicode, shade->ascii);
}

std::string margin() { return std::string(kIndent, ' '); }

std::string name_of(const HeadPlace& head) { return fmt::format("{}.{}", head.layer, head.head); }

// Columns as wide as their words, limited to the space left by the row's word and its strongest key.
std::vector<int> column_widths(const WordMap& map, int room) {
  std::vector<int> widths;
  for (const std::string& word : map.columns) widths.push_back(std::max(kNarrowest, display_width(word)) + 1);
  while (std::accumulate(widths.begin(), widths.end(), 0) > room) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return widths;
}

void add_map(Page& page, const WordMap& map) {
  int label = 4, strongest = 0;
  for (const std::string& word : map.rows)
    label = std::max(label, std::min(kLongestRow, display_width(word)));
  for (const std::string& word : map.columns) strongest = std::max(strongest, display_width(word));
  strongest = std::min(strongest, kLongestRow);
  const std::vector<int> widths =
      column_widths(map, page.style().width - kIndent - label - 2 - 6 - strongest);
  std::string head = margin() + std::string(static_cast<std::size_t>(label) + 2, ' ');
  for (std::size_t j = 0; j < widths.size(); ++j)
    head += left_aligned(draw::shortened(map.columns[j], widths[j] - 1), widths[j]);
  page.line(page.dim(head));
  for (std::size_t i = 0; i < std::min(map.rows.size(), kMostRows); ++i) {
    std::string line = margin() + left_aligned(map.rows[i], label) + "  ";
    std::size_t best = 0;
    const auto weight = [&](std::size_t j) {
      return map.map.at(static_cast<Index>(i), static_cast<Index>(j));
    };
    for (std::size_t j = 0; j < widths.size(); ++j) {
      if (weight(j) > weight(best)) best = j;
      const std::string cell = page.style().color == ColorDepth::none
                                   ? fmt::format(" {} ", shade_of(page, weight(j)))
                                   : page.shaded("   ", weight(j));
      line += cell + std::string(static_cast<std::size_t>(widths[j] - 3), ' ');
    }
    line += fmt::format("{:.2f} {}", weight(best), draw::shortened(map.columns[best], strongest));
    page.line(line);
  }
  if (map.rows.size() > kMostRows)
    page.line(fmt::format("   … and {} more rows", map.rows.size() - kMostRows));
}

void add_legend(Page& page) {
  if (page.style().color != ColorDepth::none) return;
  std::string legend = margin();
  for (std::size_t i = 0; i < std::size(kShades); ++i) {
    const bool last = i + 1 == std::size(kShades);
    legend +=
        fmt::format("{} {}.{:02d}  ", page.glyph(kShades[i].unicode, kShades[i].ascii),
                    last ? page.glyph("≥", ">=") : "<", std::lround(kShades[last ? i - 1 : i].below * 100));
  }
  page.line(page.dim(legend));
}

// On one line if it fits.
void add_sentence(Page& page, int number, const std::string& text, const std::string& translation) {
  const std::string first = fmt::format("{}  {}", number, text),
                    second = fmt::format("{} {}", page.glyph("→", "->"), translation);
  if (display_width(first) + 1 + display_width(second) <= page.style().width) {
    page.line(page.bold(first + " " + second));
    return;
  }
  page.line(page.bold(fmt::format("{}  {}", number, draw::wrapped(text, page.style().width, kIndent))));
  page.line(margin() + draw::wrapped(second, page.style().width, kIndent));
}

void add_row(Page& page, const WordRow& row) {
  page.line(fmt::format("2  \"{}\" looks at  encoder {}, strongest of {} heads for \"{}\" (uniform {:.2f})",
                        row.word, name_of(row.head), row.heads, row.key, row.uniform));
  std::vector<std::size_t> order(row.words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return row.weights[a] > row.weights[b]; });
  // The three largest weights; the requested key is always among them.
  const auto asked =
      std::find_if(order.begin(), order.end(), [&](std::size_t i) { return row.words[i] == row.key; });
  if (asked - order.begin() > 2) std::swap(*asked, order[2]);
  order.resize(std::min<std::size_t>(order.size(), 3));
  int label = 0;
  for (const std::size_t i : order)
    label = std::max(label, std::min(kLongestRow, display_width(row.words[i])));
  for (const std::size_t i : order)
    page.line(fmt::format("     {} {} {:.2f}", left_aligned(row.words[i], label),
                          page.bar(row.weights[i], kBar), row.weights[i]));
}

// The difference without common words at both ends: "qu'elle -> qu'il". Empty if there is none.
std::string difference(const Page& page, const std::string& before, const std::string& after) {
  if (before == after) return "";
  std::vector<std::string_view> a = text::split(before, ' '), b = text::split(after, ' ');
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.pop_back();
    b.pop_back();
  }
  const auto [from, to] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto joined = [](auto begin, auto end) { return fmt::format("{}", fmt::join(begin, end, " ")); };
  return fmt::format("{} {} {}", joined(from, a.end()), page.glyph("→", "->"), joined(to, b.end()));
}

std::string caption_of(const session::Glance& view) {
  std::string caption = fmt::format("   cross-attention head {}; rows sum to 1", name_of(view.written.head));
  if (view.alignment)
    caption += fmt::format("; aligns {:.0f} % of {} other words", 100 * view.alignment->share(),
                           view.alignment->words);
  return caption;
}

// Padded by display width: a coloured bar has more characters than cells.
std::string noun_bar(const Page& page, const std::string& noun, double weight) {
  PageStyle plain = page.style();
  plain.color = ColorDepth::none;
  const int seen = display_width(Page(plain).bar(weight, kBar));
  return fmt::format("{} {:.2f} {}{}", noun, weight, page.bar(weight, kBar),
                     std::string(static_cast<std::size_t>(std::max(0, kBar - seen)), ' '));
}

void add_pronoun(Page& page, const session::PronounView& it) {
  std::string heading = fmt::format("2  What does \"it\" look at? Encoder head {}", name_of(it.head));
  if (it.score)
    heading +=
        fmt::format(", right in {:.0f} % of {} new sentences", 100 * it.score->share(), it.score->sentences);
  page.line(page.bold(heading));
  std::vector<std::string> changes;
  for (const session::Meaning& meaning : it.meanings) {
    page.line(margin() + draw::wrapped(meaning.text, page.style().width, kIndent));
    page.line(fmt::format("     {}  {}", noun_bar(page, it.first, meaning.first),
                          noun_bar(page, it.second, meaning.second)));
    page.line("     " + draw::wrapped(fmt::format("{} {}", page.glyph("→", "->"), meaning.translation),
                                      page.style().width, kIndent + 2));
    if (std::string change = difference(page, meaning.translation, meaning.without); !change.empty())
      changes.push_back(std::move(change));
  }
  // Two sentences may have other clues; the experiment counts how many of 200 depend on the head.
  const std::string without =
      changes.empty() ? "the same; lab pronouns tests 200" : fmt::format("{}", fmt::join(changes, ", "));
  const char* head = it.taught ? "This head was trained to do so. Without it: " : "Without this head: ";
  page.line(margin() + draw::wrapped(head + without, page.style().width, kIndent));
}

void add_number(Page& page, const session::Glance& view) {
  const HeadSteps& s = view.steps;
  const auto key = static_cast<std::size_t>(s.request.key);
  const bool same =
      s.kernel_gap() <= inspect::kExplainedWithin && s.reference_gap() <= inspect::kExplainedWithin;
  std::string line =
      fmt::format("3  By hand: {}{}{} {:.2f}", view.query, page.glyph("·", "*"), view.key, s.dots[key]);
  line += s.usual_scale ? fmt::format(" {} {}{} = {:.3f}", page.glyph("÷", "/"), page.glyph("√", "sqrt "),
                                      s.head_dim, s.scaled[key])
                        : fmt::format(" * {:.4g} = {:.3f}", s.scale, s.scaled[key]);
  line += fmt::format(" {} softmax {:.2f} {} float64", page.glyph("→", "->"), s.weights[key],
                      same ? page.glyph("✓", "=") : page.glyph("≠", "!="));
  page.line(line);
}

}  // namespace

std::string look_text(const session::Glance& view, const std::string& program, const PageStyle& style) {
  Page page(style);
  page.line(page.bold("headlight") + fmt::format(" {} {}, {:.0f} M parameters{}{}", page.glyph("·", "-"),
                                                 view.model, view.parameters / 1e6,
                                                 view.about.empty() ? "" : ", ", view.about));
  add_sentence(page, 1, view.text, view.translation);
  add_map(page, view.written);
  add_legend(page);
  page.line(page.dim(caption_of(view)));
  if (view.pronoun) add_pronoun(page, *view.pronoun);
  if (view.row) add_row(page, *view.row);
  add_number(page, view);
  const std::string dots = page.glyph("…", "...");
  page.line(page.dim(fmt::format("  {0} look \"{1}\"  your sentence    {0} serve  every head, in a browser",
                                 program, dots)));
  page.line(page.dim(fmt::format("  {} show --model PATH \"{}\"  your own model", program, dots)));
  return page.text();
}

}  // namespace headlight::cli
