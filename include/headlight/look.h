// Queries about a run: the link to show first, one weight step by step, heads ranked by a link, two runs compared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/head_labels.h"
#include "headlight/head_steps.h"
#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

// Fixed choices; the rest is chosen.
struct LookRequest {
  std::optional<Part> part = std::nullopt;  // none: the part that reads the source text
  std::vector<HeadPlace> heads = {};        // only these; none: all
  Range query = {}, key = {};               // tokens; none: any
  Progress progress = {};
};

enum class LookReason : std::uint8_t {
  pronoun,         // a pronoun attends to a content word, far above chance level
  strongest_link,  // a word attends to another one, not a neighbour, far above chance level
  strongest_key,   // the same for a given query
  strongest_head,  // query and key are given: the head with the largest weight; 0: none sees the key
  nothing_farther,  // only neighbours, the word itself or special tokens are visible: the largest weight among them
};

// The link to show first, from whole word to whole word.
struct FirstLook {
  Head head;
  Range query, key;   // tokens
  double weight = 0;  // mean over the query's tokens of the sum over the key's tokens
  double chance = 0;  // weight of uniform attention
  Index heads_searched = 0;
  LookReason reason = LookReason::strongest_link;
  [[nodiscard]] double lift() const { return chance > 0 ? weight / chance : 0; }
};
// The only place that makes this choice. Links are ranked by lift; links of a word to itself, its neighbours, the
// first token, special tokens and punctuation count only if requested. Without a given query a pronoun comes first:
// its strongest link to a word that is no function word, if the lift is at least 2. Ties: the first.
[[nodiscard]] FirstLook first_look(const Run& run, const LookRequest& request = {},
                                   Context& ctx = default_context());

// Tokens that a string names: "it", "Harry Potter", "the#2" (the second one), "@5" (token 5).
struct WordChoice {
  Range tokens;
  Index others = 0;   // further occurrences of the same words
  std::string label;  // text of the token, or the requested words
};
// Throws Error{usage} with the list of words.
[[nodiscard]] WordChoice find_words(const TokenizedText& text, std::string_view words);
// One token of the vocabulary: by its text, with or without a leading space, or "@" and its id. Throws Error{usage}
// with the tokens if the text is several.
[[nodiscard]] TokenId find_token(const Model& model, std::string_view text);

// The default position: the last one if the model predicts the next token, the first mask of an
// encoder. None: no position is special.
[[nodiscard]] std::optional<Index> natural_position(const Run& run);
// The same, or else that of the last word.
[[nodiscard]] Index usual_position(const Run& run);

// One weight with all intermediate numbers, in float64. Throws Error{usage} if the query cannot see the key.
struct ExplainRequest {
  Head head;
  Index query = 0, key = 0;  // tokens
};
[[nodiscard]] HeadSteps explain(const Run& run, const ExplainRequest& request,
                                Context& ctx = default_context());

// Labels for every head of a model, on these texts and on a fixed test set. An encoder-decoder translates them.
[[nodiscard]] std::vector<LabelledHead> label_heads(Context& ctx, const Model& model,
                                                    std::span<const std::string> texts,
                                                    const Progress& progress = {});
// The same for prompts, which may have targets.
struct LabelRequest {
  std::vector<Head> similar_to = {};  // also find the heads most similar to these
  bool cut_long_texts = true;         // false: a text longer than the context is Error{input}
  Progress progress = {};
};
struct HeadLabels {
  std::vector<LabelledHead> heads;                // by part, layer, head
  std::vector<std::vector<SimilarHead>> similar;  // for each of similar_to: the others, most similar first
  Index cut = 0;                                  // number of texts longer than the context
};
[[nodiscard]] HeadLabels label_heads(Context& ctx, const Model& model, std::span<const Prompt> prompts,
                                     const LabelRequest& request);

// A link: "it->animal", "it→animal"; "?" on one side means any word.
struct LinkWords {
  std::string from, to;  // empty: any word
};
// The only place that reads this syntax. Throws Error{usage}.
[[nodiscard]] LinkWords parse_link(std::string_view text);
struct LinkRequest {
  std::string link;
  std::optional<Part> part = std::nullopt;  // none: the part that reads the text
  Progress progress = {};
};
struct LinkScore {
  Head head;
  double weight = 0;                        // mean over the query's tokens of the sum over the key's tokens
  double chance = 0;                        // weight of uniform attention
  std::optional<Index> key = std::nullopt;  // for "it->?": the token with the largest weight
};
// In every head, largest weight first. Throws Error{usage} for an invalid link, or a word that is not in the text.
[[nodiscard]] std::vector<LinkScore> find_links(const Run& run, const LinkRequest& request,
                                                Context& ctx = default_context());

// Two runs compared. Tokens are paired if both texts have the same number of them, otherwise words.
struct ComparedUnit {
  Index a = -1, b = -1;  // a token or word of each run; -1: it has none there
};
struct HeadDifference {
  Head a, b;
  double distance = 0;  // sum of |b - a| over what both can see
};
struct CompareRequest {
  std::optional<Part> part = std::nullopt;
  std::string query =
      {};  // a word of A as find_words() takes it: its row alone, and the word opposite it in B
  std::optional<HeadPlace> head_a = std::nullopt, head_b = std::nullopt;  // none: the same head in both
};
struct Comparison {
  bool by_words = false;                    // units are words instead of tokens
  std::vector<ComparedUnit> rows, columns;  // queries and keys
  std::vector<HeadDifference> heads;        // most different first
  Tensor weights_a, weights_b;              // of the first of them, [row, column]; NaN where there is none
};
// Throws Error{usage} when the two have no head in common.
[[nodiscard]] Comparison compare(const Run& a, const Run& b, const CompareRequest& request = {},
                                 const Progress& progress = {}, Context& ctx = default_context());

}  // namespace headlight

#pragma GCC visibility pop
