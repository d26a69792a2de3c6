#include "cli/explain/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/explain/tables.h"
#include "core/concat.h"

namespace headlight::cli {
namespace {

class Writer {
 public:
  Writer(const Explanation& e, const PageStyle& style) : e_(e), page_(style), tables_(e, page_) {}

  ExplainPages write() {
    write_title();
    write_embeddings();
    if (e_.recipe.parameters != Parameters::none) write_parameters();
    const std::size_t before_scores = page_.text().size();
    if (e_.trace.heads.size() == 1) {
      write_scores();
      if (e_.trace.scale != 1) write_scaled();
      write_weights();
      write_context();
    } else {
      write_heads();
    }
    if (!e_.trace.out.empty()) write_projection();
    write_all_words();
    write_note();
    write_next();
    return {page_.text().substr(0, before_scores), page_.text().substr(before_scores)};
  }

 private:
  [[nodiscard]] const HeadTrace& head() const { return e_.trace.heads[0]; }
  [[nodiscard]] Index words() const { return e_.sentence.x.dim(0); }
  [[nodiscard]] std::string word(Index i) const { return tables_.word(i); }
  [[nodiscard]] std::string quoted(Index i) const { return concat("\"", word(i), "\""); }
  [[nodiscard]] bool visible(Index key) const { return !e_.recipe.causal || key <= e_.query; }
  [[nodiscard]] bool simple() const { return e_.recipe.parameters == Parameters::none; }

  // The key to show a sum for: the best match other than the query itself.
  [[nodiscard]] Index example_key() const {
    Index best = -1;
    for (Index j = 0; j < words(); ++j) {
      if (j == e_.query || !visible(j)) continue;
      if (best < 0 || head().scores.at(e_.query, j) > head().scores.at(e_.query, best)) best = j;
    }
    return best < 0 ? e_.query : best;
  }

  void write_title() {
    std::string kind = simple() ? "simple: no parameters" : "trainable: parameters Wq, Wk, Wv";
    if (e_.trace.heads.size() > 1) kind = concat(e_.trace.heads.size(), " heads");
    if (e_.recipe.causal) kind += ", causal";
    const std::string title = "Attention, step by step";
    const int gap = page_.style().width - 2 - static_cast<int>(title.size() + kind.size());
    page_.line(page_.bold(title) + std::string(static_cast<std::size_t>(std::max(gap, 2)), ' ') +
               page_.dim(kind));
    page_.rule();
    // Wrapped by hand, because colour codes of a marked word have no width.
    std::string text = "   ";
    int column = 3;
    for (Index i = 0; i < words(); ++i) {
      const bool query = i == e_.query;
      const int width = draw::display_width(word(i)) + (query ? 2 : 0);
      if (column > 3 && column + width > page_.style().width - 2) {
        text += "\n   ";
        column = 3;
      }
      text += (query ? page_.marked(word(i)) : word(i)) + " ";
      column += width + 1;
    }
    page_.line();
    page_.line(text);
    page_.line();
    page_.line(draw::wrapped(concat("What does ", quoted(e_.query),
                                    " mean here? Attention compares it with the words around it, gives each "
                                    "a weight, and mixes their vectors by these weights.",
                                    ""),
                             page_.style().width - 2, 0));
  }

  void write_embeddings() {
    const Index width = e_.sentence.x.dim(1);
    page_.step("Embeddings",
               concat("Each word is a vector of ", width, width == 1 ? " number." : " numbers.",
                      e_.sentence.built_in
                          ? " (A real model learns vectors of hundreds of numbers; these are made up.)"
                          : ""));
    tables_.rows({{"", &e_.sentence.x}});
  }

  void write_parameters() {
    const bool many = e_.trace.heads.size() > 1;
    page_.step("Queries, keys and values",
               concat("Three matrices of parameters turn each vector into a query (what it looks for), a key "
                      "(what it matches) and a value (what it passes on). ",
                      many ? "Every head has its own three matrices. " : "",
                      "Training would determine them; here they are random numbers from seed ",
                      e_.recipe.seed, "."));
    for (std::size_t h = 0; h < e_.trace.heads.size(); ++h) {
      const HeadTrace& t = e_.trace.heads[h];
      if (h > 0) page_.line();
      const std::string tag = many ? concat(" ", h + 1) : std::string();
      tables_.parameters({{"Wq" + tag, &t.wq}, {"Wk" + tag, &t.wk}, {"Wv" + tag, &t.wv}});
    }
    for (std::size_t h = 0; h < e_.trace.heads.size(); ++h) {
      const HeadTrace& t = e_.trace.heads[h];
      page_.line();
      tables_.rows({{many ? concat("q ", h + 1) : "query", &t.q},
                    {many ? concat("k ", h + 1) : "key", &t.k},
                    {many ? concat("v ", h + 1) : "value", &t.v}});
    }
  }

  void write_scores() {
    const std::string what = simple() ? "the dot product of two vectors (multiply pair by pair and add)"
                                      : "the dot product of its query with each key";
    page_.step("Scores", concat("How well does each word match ", quoted(e_.query), "? A score is ", what,
                                ": the larger, the better the match.",
                                e_.recipe.causal ? " Causal: later words are hidden." : ""));
    const Index key = example_key();
    tables_.dot_product(head().q, head().k, key, head().scores.at(e_.query, key));
    page_.line();
    tables_.score_row("score", head().scores, example_key());
  }

  void write_scaled() {
    page_.step(
        "Scaled scores",
        concat(
            "Wide vectors give large scores, and large scores make the softmax nearly one-hot. So divide by ",
            page_.glyph("√", "sqrt "), e_.trace.head_dim, ": queries and keys have ", e_.trace.head_dim,
            " numbers."));
    tables_.score_row("scaled", head().scaled, example_key());
  }

  void write_weights() {
    page_.step("Weights",
               "Softmax turns scores into positive weights that sum to 1: exp(score), divided by the sum of "
               "all exp(score).");
    const Index key = example_key();
    const double sum = head().sums.at(e_.query);
    double most = 0;
    for (Index j = 0; j < words(); ++j)
      if (visible(j)) most = std::max(most, std::abs(head().scaled.at(e_.query, j)));
    if (most < 9) {  // beyond that the printed digits no longer show the sum
      page_.line(concat("      ", word(key), ": exp(", number_text(head().scaled.at(e_.query, key)), ") / ",
                        number_text(sum), " = ", number_text(head().exps.at(e_.query, key)), " / ",
                        number_text(sum), " = ", number_text(head().weights.at(e_.query, key))));
    }
    page_.line();
    tables_.weight_bars();
  }

  void write_context() {
    page_.step("Context", concat("The new vector of ", quoted(e_.query), " is the average of all ",
                                 simple() ? "vectors" : "values", ", each multiplied by its weight."));
    tables_.weighted_sum(head());
  }

  void write_heads() {
    page_.step("Weights, head by head",
               concat("Each head compares queries with keys, divides by ", page_.glyph("√", "sqrt "),
                      e_.trace.head_dim, " and applies its own softmax: ", quoted(e_.query),
                      " can attend to one word in one head and to another in the next.",
                      e_.recipe.causal ? " Causal: later words are hidden." : ""));
    tables_.weight_bars();
    page_.step(
        "Context",
        concat("Each head averages its own values with its own weights; the results are concatenated."));
    tables_.head_contexts();
  }

  void write_projection() {
    page_.step("Output projection",
               "A last matrix of parameters, Wo, mixes the outputs of the heads, and a bias is added.");
    tables_.parameters({{"Wo", &e_.trace.wo}});
    page_.line();
    std::string text = concat("      ", tables_.vector(e_.trace.context, e_.query), page_.glyph(" · ", " * "),
                              "Wo + ", tables_.vector(e_.trace.bias));
    const std::string result = concat(" = ", tables_.vector(e_.trace.out, e_.query));
    if (draw::display_width(text + result) > page_.style().width - 2) text += "\n     ";
    page_.line(text + result);
  }

  void write_all_words() {
    page_.step("All words at once",
               concat("The same for every word. Rows are queries, columns are keys; each row sums to 1."));
    for (std::size_t h = 0; h < e_.trace.heads.size(); ++h) {
      if (h > 0) page_.line();
      tables_.weight_matrix(h);
    }
    page_.line();
    page_.legend();
    if (page_.style().color != ColorDepth::none) page_.line();
    if (!e_.trace.out.empty()) {
      tables_.rows({{"heads concatenated", &e_.trace.context}, {"output", &e_.trace.out}});
    } else {
      tables_.rows({{e_.trace.heads.size() > 1 ? "heads concatenated" : "context", &e_.trace.context}});
    }
  }

  // Wrong numbers printed elsewhere for this sentence.
  void write_note() {
    if (!simple() || !e_.sentence.built_in || e_.query != 1 || e_.recipe.causal) return;
    page_.line();
    page_.sentence(
        concat("Other texts print \"w = 0.8 for journey\" and 0.6 Your + 0.3 journey + 0.1 starts for this "
               "sentence. Neither follows from these vectors: the score of journey with itself is ",
               number_text(head().scores.at(Index{1}, Index{1})), ", and the weights of the three are ",
               number_text(head().weights.at(Index{1}, Index{0})), ", ",
               number_text(head().weights.at(Index{1}, Index{1})), " and ",
               number_text(head().weights.at(Index{1}, Index{2})), "."));
  }

  void write_next() {
    page_.line();
    page_.line(page_.dim("   Every number was computed just now by the library, in float64."));
    page_.rule();
    page_.line(page_.bold("What next"));
    const auto next = [&](std::string_view command, std::string_view what) {
      page_.line(concat("   ", draw::left_aligned(command, 48), page_.dim(what)));
    };
    if (simple()) next("headlight explain --trainable", "queries, keys and values");
    if (!e_.recipe.causal)
      next(simple() ? "headlight explain --causal" : "headlight explain --trainable --causal",
           "causal, as in GPT");
    if (e_.trace.heads.size() == 1) next("headlight explain --heads 2 --causal", "several heads");
    if (e_.trace.heads.size() > 1 && e_.trace.out.empty())
      next(concat("headlight explain --heads ", e_.recipe.heads, e_.recipe.causal ? " --causal" : "",
                  " --project"),
           "and their output projection");
    next("headlight explain --query step", "follow another word");
    next("headlight explain --input FILE.json", "your own words and vectors");
    next("headlight compute --help", "attention of .npy files");
  }

  const Explanation& e_;
  Page page_;
  ExplainTables tables_;
};

}  // namespace

ExplainPages explain_pages(const Explanation& e, const PageStyle& style) { return Writer(e, style).write(); }

}  // namespace headlight::cli
