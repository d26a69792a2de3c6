// Pairs of sentences: read the source, write the target.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headlight/tokenizer.h"
#include "train/task.h"
#include "train/token_splits.h"

namespace headlight::train {

// Many short lists of tokens in one array.
class TokenLists {
 public:
  void add(std::span<const TokenId> ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    ends_.push_back(ids_.size());
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const TokenId> operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {ids_.data() + begin, ends_[i] - begin};
  }

 private:
  std::vector<TokenId> ids_;
  std::vector<std::size_t> ends_;
};

struct Pairs {
  TokenLists source, target;        // as many of each; without begin and end tokens
  std::vector<models::Link> links;  // of the last pairs, one each; indices are those of the source
};

struct TranslationConfig {
  TokenId begin = 0;       // first token of the target
  TokenId end = 0;         // ends source and target
  Index longest = 0;       // pairs with a longer side, including the end token, are left out
  Index batch_tokens = 0;  // approximate tokens of source and target together
  Index vocabulary = 0;
  std::uint64_t seed = 0;
  Index evaluation_pairs = 0;  // at most; 0: all
  TokenSplits splits = {};     // of training pairs
};

// Every pair once per epoch. An epoch is a random order, sorted by length within large pools, and divided into
// batches of about the same number of tokens, so that all epochs have the same number of batches; these come
// in random order. Pairs of one batch have similar lengths.
class TranslationTask : public Task {
 public:
  TranslationTask(Pairs train, Pairs valid, TranslationConfig config);

  void training_batch(std::int64_t number, models::Batch& batch) const override;
  [[nodiscard]] Index evaluation_batches() const override;
  void evaluation_batch(Index number, models::Batch& batch) const override;
  [[nodiscard]] Index vocabulary() const override { return config_.vocabulary; }
  [[nodiscard]] Index longest_source() const override { return config_.longest; }
  [[nodiscard]] Index longest_input() const override { return config_.longest; }
  [[nodiscard]] double epochs(std::int64_t batches) const override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Index batches_per_epoch() const { return per_epoch_; }

 private:
  struct Epoch {
    std::int64_t number = -1;
    std::vector<std::uint32_t> order;  // pairs
    std::vector<std::size_t> cuts;     // batch b is order[cuts[b]] … order[cuts[b+1]-1]
    std::vector<std::uint32_t> batches;
  };
  void prepare(std::int64_t epoch) const;
  using Ids = std::span<const TokenId>;
  void add(Ids source, Ids target, models::Batch& batch) const;
  void add_link(std::size_t which, models::Batch& batch) const;
  void add_split(std::size_t which, headlight::Dice dice, models::Batch& batch) const;
  [[nodiscard]] Index tokens(const Pairs& pairs, std::size_t which) const;
  [[nodiscard]] std::vector<std::uint32_t> usable(const Pairs& pairs) const;
  void cut_evaluation();

  Pairs train_, valid_;
  TranslationConfig config_;
  std::vector<std::uint32_t> usable_, valid_usable_;  // pairs that are short enough
  std::vector<std::size_t> valid_cuts_;               // batch b is valid_usable_[cuts[b]] … [cuts[b+1]-1]
  std::size_t valid_left_out_ = 0;
  Index total_tokens_ = 0, per_epoch_ = 0;
  mutable Epoch epoch_;  // cache of the current one
};

}  // namespace headlight::train
