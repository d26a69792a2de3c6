// From a recipe to a tokenizer and a task.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/progress.h"
#include "headlight/tokenizer.h"
#include "models/transformer_config.h"
#include "train/checkpoint.h"
#include "train/recipe.h"
#include "train/task.h"

namespace headlight::train {

// Special tokens; none if the tokenizer has none of that kind.
struct SpecialIds {
  std::optional<TokenId> begin, end, pad, mask;
};
[[nodiscard]] SpecialIds special_ids(const Tokenizer& tokenizer);

struct Prepared {
  std::optional<Tokenizer> tokenizer;  // none for synthetic tasks
  std::string tokenizer_json;
  SpecialIds special;
  std::unique_ptr<Task> task;
  std::vector<DataFile> data;  // files that were read, including the tokenizer
  std::vector<std::pair<std::string, std::string>> scored_pairs = {};  // of the evaluation, for BLEU
};

struct PrepareOptions {
  std::string tokenizer_json;                        // that of a continued run; empty: from the recipe
  const models::TransformerConfig* start = nullptr;  // the initial model
  std::string folder;                                // the run's, for files of tokens
  Progress progress = {};                            // "tokenizing my.txt", …; a total of 0 is not known
};

// Throws Error{input} for data that cannot be used.
[[nodiscard]] Prepared prepare(Context& ctx, const Recipe& recipe, const PrepareOptions& options);

}  // namespace headlight::train
