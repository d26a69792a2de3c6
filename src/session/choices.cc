#include "headlight/choices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "session/state.h"

namespace headlight {
namespace {

void check(const Model& model, std::span<const std::string> choices) {
  if (model.info().kind != ModelKind::decoder)
    throw Error(ErrorKind::usage, "choices.kind",
                concat("the model \"", escaped(model.info().name),
                       "\" does not continue texts, so it cannot choose one"));
  if (model.tokenizer() == nullptr)
    throw Error(
        ErrorKind::input, "choices.tokenizer",
        concat("the model \"", escaped(model.info().name), "\" has no tokenizer, so it cannot read choices"));
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty()) throw Error(ErrorKind::usage, "choices.empty", "a choice is empty");
    if (std::find(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(i), choices[i]) !=
        choices.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(ErrorKind::usage, "choices.twice",
                  concat("the choice \"", escaped(choices[i], 60), "\" is given twice"));
  }
  if (choices.size() < 2) throw Error(ErrorKind::usage, "choices.count", "give at least two choices");
}

// The tokens of the prompt alone, without an end token that the tokenizer adds, as in generate().
std::vector<TokenId> prompt_ids(const Model& model, const std::string& text) {
  std::vector<TokenPiece> pieces = model.tokenizer()->encode_pieces(text);
  if (!pieces.empty() && pieces.back().added && model.state().loaded.model->config().is_end(pieces.back().id))
    pieces.pop_back();
  std::vector<TokenId> ids;
  for (const TokenPiece& piece : pieces) ids.push_back(piece.id);
  return ids;
}

std::vector<TokenId> choice_ids(const Model& model, const Prompt& prompt, const std::vector<TokenId>& before,
                                const std::string& choice) {
  if (prompt.ids.empty()) {
    const std::vector<TokenId> together = prompt_ids(model, prompt.text + choice);
    if (together.size() > before.size() && std::equal(before.begin(), before.end(), together.begin()))
      return {together.begin() + static_cast<std::ptrdiff_t>(before.size()), together.end()};
  }
  return model.tokenizer()->encode(choice, SpecialTokens::leave_out);
}

// log softmax of one row at one token, in float64.
double log_probability(const float* row, Index size, TokenId token) {
  const double top = *std::max_element(row, row + size);
  double sum = 0;
  for (Index i = 0; i < size; ++i) sum += std::exp(static_cast<double>(row[i]) - top);
  return static_cast<double>(row[token]) - top - std::log(sum);
}

}  // namespace

std::vector<ChoiceScore> score_choices(Context& ctx, const Model& model, const Prompt& prompt,
                                       std::span<const std::string> choices, const Progress& progress) {
  check(model, choices);
  std::vector<TokenId> before = prompt.ids.empty() ? prompt_ids(model, prompt.text) : prompt.ids;
  before.insert(before.end(), prompt.continuation.begin(), prompt.continuation.end());
  if (before.empty()) throw Error(ErrorKind::usage, "choices.prompt", "choices need a prompt to follow");
  std::vector<ChoiceScore> out;
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const std::string& choice : choices) {
    progress.tell("choices", static_cast<double>(out.size()), static_cast<double>(choices.size()));
    ChoiceScore score{choice, choice_ids(model, prompt, before, choice)};
    const Run run = attend(ctx, model, {.ids = before, .continuation = score.ids},
                           {.keep_inputs = false, .keep_attention = false, .progress = progress});
    const auto first = static_cast<Index>(before.size()) - 1, count = static_cast<Index>(score.ids.size());
    const Tensor logits = run.logits({first, first + count}, ctx);
    for (Index i = 0; i < count; ++i)
      score.log_probability += log_probability(logits.as<float>() + i * logits.dim(1), logits.dim(1),
                                               score.ids[static_cast<std::size_t>(i)]);
    top = std::max(top, score.log_probability);
    out.push_back(std::move(score));
  }
  for (const ChoiceScore& score : out) sum += std::exp(score.log_probability - top);
  for (ChoiceScore& score : out) score.share = std::exp(score.log_probability - top) / sum;
  return out;
}

}  // namespace headlight
