// The page that explains one weight, step by step: steps_text.cc has the steps up to the score, weights_text.cc the rest.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cli/explain/steps.h"
#include "core/concat.h"
#include "draw/weight_map.h"

namespace headlight::cli {

class StepsWriter {
 public:
  StepsWriter(const StepsExplanation& e, const PageStyle& style) : e_(e), s_(e.steps), page_(style) {}
  std::string write();

 private:
  static constexpr int kLabel = 14;  // columns of a word

  [[nodiscard]] std::string word_of(const TokenizedText& text, Index token) const {
    return draw::shortened(draw::shown(text.tokens[static_cast<std::size_t>(token)].text), kLabel);
  }
  [[nodiscard]] std::string query() const { return word_of(e_.queries(), s_.query.token); }
  [[nodiscard]] std::string key() const { return word_of(e_.keys(), s_.key.token); }
  [[nodiscard]] std::string key(std::size_t j) const { return word_of(e_.keys(), static_cast<Index>(j)); }
  [[nodiscard]] std::size_t chosen() const { return static_cast<std::size_t>(s_.key.token); }
  [[nodiscard]] std::string times() const { return page_.glyph("×", "*"); }
  [[nodiscard]] std::string divided() const { return page_.glyph("÷", "/"); }
  [[nodiscard]] std::string root() const { return page_.glyph("√", "sqrt "); }
  [[nodiscard]] std::string dots() const { return page_.glyph("…", "..."); }
  // "(0.4419, 0.6515, …)"
  [[nodiscard]] std::string few(const inspect::Numbers& numbers) const;
  // "a×b + c×d + … "
  [[nodiscard]] std::string products(const inspect::Numbers& a, const inspect::Numbers& b) const;
  void equation(std::string_view text) { page_.line(concat("      ", text)); }
  void labelled(std::string_view label, std::string_view text) {
    page_.line(concat("      ", draw::left_aligned(label, kLabel + 2), text));
  }
  // Two lines, the query's and the key's.
  void both(std::string_view q, std::string_view k, const inspect::Numbers& a, const inspect::Numbers& b) {
    labelled(concat(q, query()), few(a));
    labelled(concat(k, key()), few(b));
  }

  void write_title();
  void write_reads();
  void norm_example(const inspect::TokenSteps& t, std::string_view label);
  void write_norm();
  void write_projection();
  void write_head_norm();
  void write_growth();
  void write_rotation();
  void write_dot_product();
  void write_scale();
  void write_softcap();
  [[nodiscard]] double before_bias() const {
    return s_.softcap > 0 ? s_.capped[chosen()] : s_.scaled[chosen()];
  }
  void write_alibi();
  void write_bias();
  void write_terms();
  void write_mask();
  // All visible keys, or those with the largest weights and the chosen one, in order.
  [[nodiscard]] std::vector<std::size_t> shown_keys() const;
  void write_softmax();
  void write_context();
  void write_output();
  void write_check();

  const StepsExplanation& e_;
  const HeadSteps& s_;
  Page page_;
};

}  // namespace headlight::cli
