#include "cli/explain/tables.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"

namespace headlight::cli {
namespace {

constexpr Index kMostRows = 24;    // lines of a table
constexpr Index kMostNumbers = 4;  // numbers of a vector within a line
constexpr int kMargin = 3;

// The first `most` of `all`; if `wanted` is not among them, it replaces the last.
std::vector<Index> chosen(Index all, Index most, Index wanted) {
  std::vector<Index> list;
  for (Index i = 0; i < std::min(all, std::max<Index>(most, 1)); ++i) list.push_back(i);
  if (wanted >= static_cast<Index>(list.size())) list.back() = wanted;
  return list;
}

// Columns that the widest number of a matrix needs, with a space before it.
int column_width(const Tensor& matrix) {
  std::size_t width = 6;
  for (Index i = 0; i < matrix.dim(0); ++i) {
    for (Index j = 0; j < matrix.dim(1); ++j) width = std::max(width, number_text(matrix.at(i, j)).size());
  }
  return static_cast<int>(width) + 2;
}

std::string spaces(int n) { return std::string(static_cast<std::size_t>(std::max(n, 0)), ' '); }

}  // namespace

ExplainTables::ExplainTables(const Explanation& e, Page& page) : e_(e), page_(page) {
  for (const std::string& w : e.sentence.words) {
    words_.push_back(draw::shortened(escaped(w, 60), 12));
    label_width_ = std::max(label_width_, draw::display_width(words_.back()));
  }
}

std::string ExplainTables::vector(const Tensor& matrix, Index row, int width) const {
  Tensor numbers({matrix.dim(1)}, DType::f64);
  for (Index d = 0; d < matrix.dim(1); ++d) numbers.view().set(d, matrix.at(row, d));
  return vector(numbers, width);
}

std::string ExplainTables::vector(const Tensor& numbers, int width) const {
  std::string text = "(";
  for (Index d = 0; d < numbers.dim(0); ++d) {
    if (d == kMostNumbers) return text + page_.glyph(", …)", ", ...)");
    const std::string number = number_text(numbers.at(d));
    text += concat(d > 0 ? ", " : "",
                   draw::right_aligned(number, std::max(width, static_cast<int>(number.size()))));
  }
  return text + ")";
}

std::string ExplainTables::label(Index i) const {
  const std::string text = draw::left_aligned(word(i), label_width_);
  return i == e_.query ? concat(" ", page_.glyph("▸", ">"), " ", page_.bold(text))
                       : concat(spaces(kMargin), text);
}

std::vector<Index> ExplainTables::shown_rows() const {
  return chosen(e_.sentence.x.dim(0), kMostRows, e_.query);
}

void ExplainTables::say_hidden(Index shown, Index all, std::string_view what) {
  if (shown < all)
    page_.line(page_.dim(concat("   (", shown, " of ", all, " ", what, " shown; --json lists all)")));
}

void ExplainTables::rows(const std::vector<NamedMatrix>& matrices) {
  struct Part {
    const Tensor* matrix;
    int width;
    Index columns;
  };
  std::vector<Part> parts;
  std::string header = spaces(kMargin + label_width_);
  const int room = (page_.style().width - 2 - kMargin - label_width_) / static_cast<int>(matrices.size());
  bool titled = false;
  Index hidden = 0;
  for (const NamedMatrix& named : matrices) {
    const int width = column_width(*named.matrix);
    const Index columns = std::min<Index>(named.matrix->dim(1), std::max(1, (room - 2) / width));
    hidden = std::max(hidden, named.matrix->dim(1) - columns);
    parts.push_back({named.matrix, width, columns});
    header += "  " + draw::left_aligned("  " + named.title, std::max(width * static_cast<int>(columns),
                                                                     draw::display_width(named.title) + 2));
    titled = titled || !named.title.empty();
  }
  if (titled) page_.line(page_.dim(header));
  const std::vector<Index> shown = shown_rows();
  for (const Index i : shown) {
    std::string text = label(i);
    for (std::size_t b = 0; b < parts.size(); ++b) {
      text += "  ";
      std::string cells;
      for (Index j = 0; j < parts[b].columns; ++j)
        cells += draw::right_aligned(number_text(parts[b].matrix->at(i, j)), parts[b].width);
      text += draw::left_aligned(
          cells, std::max(draw::display_width(cells), draw::display_width(matrices[b].title) + 2));
    }
    page_.line(text);
  }
  say_hidden(static_cast<Index>(shown.size()), e_.sentence.x.dim(0), "words");
  if (hidden > 0) say_hidden(parts[0].columns, parts[0].matrix->dim(1), "numbers of a vector");
}

void ExplainTables::parameters(const std::vector<NamedMatrix>& matrices) {
  Index height = 0;
  for (const NamedMatrix& named : matrices)
    height = std::max(height, std::min(named.matrix->dim(0), kMostRows));
  const int room = (page_.style().width - 2 - kMargin) / static_cast<int>(matrices.size());
  for (Index i = 0; i < height; ++i) {
    std::string text = spaces(kMargin);
    for (const NamedMatrix& named : matrices) {
      const int width = column_width(*named.matrix);
      const std::string name = i == 0 ? named.title + " =" : "";
      std::string cells = draw::left_aligned(name, draw::display_width(named.title) + 2);
      const Index fits = std::max(1, (room - draw::display_width(cells)) / width);
      for (Index j = 0; j < std::min(named.matrix->dim(1), fits); ++j) {
        cells += i < named.matrix->dim(0) ? draw::right_aligned(number_text(named.matrix->at(i, j)), width)
                                          : spaces(width);
      }
      text += draw::left_aligned(cells, std::min(room, draw::display_width(cells) + 4));
    }
    page_.line(text);
  }
}

void ExplainTables::dot_product(const Tensor& q, const Tensor& k, Index key, double score) {
  std::string text = concat("      ", word(e_.query), page_.glyph(" · ", " . "), word(key), " = ");
  const bool exact = e_.recipe.parameters == Parameters::none && e_.sentence.built_in;  // two digits each
  const auto show = [&](double x) { return exact ? number_text(x).substr(0, 4) : number_text(x); };
  for (Index d = 0; d < q.dim(1); ++d) {
    if (d == 3 && q.dim(1) > 3) {
      text += page_.glyph(" + …", " + ...");
      break;
    }
    text += concat(d > 0 ? " + " : "", show(q.at(e_.query, d)), page_.glyph("×", "*"), show(k.at(key, d)));
  }
  page_.line(concat(text, " = ", number_text(score)));
}

void ExplainTables::score_row(std::string_view name, const Tensor& scores, Index wanted) {
  int width = column_width(scores);
  for (const std::string& w : words_) width = std::max(width, std::min(draw::display_width(w), 10) + 2);
  const int left = 10, room = page_.style().width - 2 - left;
  const std::vector<Index> keys = chosen(scores.dim(1), room / width, std::max(wanted, Index{0}));
  std::string header = spaces(left), values = draw::left_aligned(concat(spaces(kMargin), name), left);
  for (const Index j : keys) {
    header += "  " + draw::right_aligned(word(j), width - 2);
    const bool hidden = !visible(e_.query, j);
    values +=
        draw::right_aligned(hidden ? page_.glyph("–", "-") : number_text(scores.at(e_.query, j)), width);
  }
  page_.line(page_.dim(header));
  page_.line(values);
  say_hidden(static_cast<Index>(keys.size()), scores.dim(1), "words");
}

void ExplainTables::weight_bars() {
  const auto heads = static_cast<int>(e_.trace.heads.size());
  const int column = (page_.style().width - 2 - kMargin - label_width_) / std::min(heads, 4);
  const int cells = std::clamp(column - 12, 4, 50);
  for (int first = 0; first < heads; first += 4) {
    const int last = std::min(heads, first + 4);
    if (heads > 1) {
      std::string header = spaces(kMargin + label_width_);
      for (int h = first; h < last; ++h)
        header += "  " + draw::left_aligned(concat("head ", h + 1), column - 2);
      page_.line(page_.dim(header));
    }
    const std::vector<Index> shown = shown_rows();
    for (const Index j : shown) {
      std::string text = label(j);
      for (int h = first; h < last; ++h) {
        const double weight = e_.trace.heads[static_cast<std::size_t>(h)].weights.at(e_.query, j);
        if (!visible(e_.query, j)) {
          text += "  " + draw::left_aligned(page_.glyph("  –", "  -"), column - 2);
          continue;
        }
        const int used = draw::display_width(draw::bar(weight, cells, page_.style().glyphs));
        text += concat("  ", page_.shaded(concat(" ", number_text(weight), " "), weight), " ",
                       page_.bar(weight, cells), spaces(column - 11 - used));
      }
      page_.line(text);
    }
    say_hidden(static_cast<Index>(shown.size()), e_.sentence.x.dim(0), "words");
    if (last < heads) page_.line();
  }
}

void ExplainTables::weighted_sum(const HeadTrace& head) {
  const int width = std::max(column_width(head.v), column_width(head.context)) - 2;
  bool first = true;
  Index lines = 0, terms = 0;
  for (Index j = 0; j < head.v.dim(0); ++j) {
    if (!visible(e_.query, j)) continue;
    if (++terms > kMostRows) continue;
    ++lines;
    page_.line(concat("    ", first ? " " : "+", " ", number_text(head.weights.at(e_.query, j)),
                      page_.glyph(" × ", " * "), vector(head.v, j, width), "  ", page_.dim(word(j))));
    first = false;
  }
  if (lines < terms) page_.line(page_.glyph("    + …", "    + ..."));
  page_.line(concat("    =          ", page_.bold(vector(head.context, e_.query, width)), "  ",
                    word(e_.query), " in its context"));
}

void ExplainTables::head_contexts() {
  for (std::size_t h = 0; h < e_.trace.heads.size(); ++h) {
    page_.line(concat("      head ", h + 1, ": ", vector(e_.trace.heads[h].context, e_.query)));
  }
}

void ExplainTables::weight_matrix(std::size_t h) {
  const HeadTrace& head = e_.trace.heads[h];
  int width = 8;
  for (const std::string& w : words_) width = std::max(width, std::min(draw::display_width(w), 8) + 1);
  const int room = page_.style().width - 2 - kMargin - label_width_ - 2;
  const std::vector<Index> keys = chosen(head.weights.dim(1), room / width, e_.query);
  const std::string name = e_.trace.heads.size() > 1 ? concat("head ", h + 1) : std::string();
  std::string header = spaces(kMargin) + draw::left_aligned(name, label_width_) + "  ";
  for (const Index j : keys) header += draw::right_aligned(word(j), width - 1) + " ";
  page_.line(page_.dim(header));
  const std::vector<Index> shown = shown_rows();
  for (const Index i : shown) {
    std::string text = label(i) + "  ";
    for (const Index j : keys) {
      const double weight = head.weights.at(i, j);
      const std::string cell =
          draw::right_aligned(visible(i, j) ? number_text(weight) : page_.glyph("–  ", "-  "), width - 1) +
          " ";
      text += visible(i, j) ? page_.shaded(cell, weight) : cell;
    }
    page_.line(text);
  }
  say_hidden(static_cast<Index>(keys.size()), head.weights.dim(1), "columns");
}

}  // namespace headlight::cli
