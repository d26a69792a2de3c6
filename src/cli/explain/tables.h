// The tables of the worked example: aligned numbers, one line a word, the query's line marked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/explain/text.h"

namespace headlight::cli {

class ExplainTables {
 public:
  ExplainTables(const Explanation& e, Page& page);

  // The word as it may be shown: escaped, at most 12 columns.
  [[nodiscard]] std::string word(Index i) const { return words_[static_cast<std::size_t>(i)]; }
  // "(0.4419, 0.6515, 0.5683)", each number at least `width` columns.
  [[nodiscard]] std::string vector(const Tensor& numbers, int width = 0) const;
  [[nodiscard]] std::string vector(const Tensor& matrix, Index row, int width = 0) const;

  struct NamedMatrix {
    std::string title;
    const Tensor* matrix;
  };
  // One line per word, matrices side by side.
  void rows(const std::vector<NamedMatrix>& matrices);
  // Matrices side by side, without words.
  void parameters(const std::vector<NamedMatrix>& matrices);
  // "query · key = a×b + c×d = score"
  void dot_product(const Tensor& q, const Tensor& k, Index key, double score);
  // The query's scores, words above them; `shown` is among the columns when not all fit.
  void score_row(std::string_view label, const Tensor& scores, Index shown);
  // One line a word: its weight in each head, as number and bar.
  void weight_bars();
  // "0.1385 × (0.43, 0.15, 0.89)  Your", summed up.
  void weighted_sum(const HeadTrace& head);
  void head_contexts();
  void weight_matrix(std::size_t head);

 private:
  [[nodiscard]] bool visible(Index query, Index key) const { return !e_.recipe.causal || key <= query; }
  [[nodiscard]] std::string label(Index i) const;  // marker and word
  // Rows that are shown: all, or the first ones and the query when there are too many.
  [[nodiscard]] std::vector<Index> shown_rows() const;
  void say_hidden(Index shown, Index all, std::string_view what);

  const Explanation& e_;
  Page& page_;
  std::vector<std::string> words_;
  int label_width_ = 0;
};

}  // namespace headlight::cli
