// Small tasks with known answers and endless data, each about one idea. A model has learnt a task if it is
// nearly always right; chance level is 1 / symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/task.h"

namespace headlight::train {

enum class SyntheticKind {
  copy,     // a b c | → a b c
  reverse,  // a b c | → c b a
  recall,  // keys with values, noise, then keys again, to be answered with their values. The noise is up to `length` tokens
           // long in training, short more often than long, and `length` in evaluation
  induction,  // a random piece of unknown length, repeated: predict the token that followed this one before
};
[[nodiscard]] std::string_view name_of(SyntheticKind kind) noexcept;

struct SyntheticConfig {
  SyntheticKind kind = SyntheticKind::copy;
  Index symbols =
      16;  // copy, reverse, induction: size of the alphabet. recall: number of keys, and of values
  Index length =
      16;  // copy, reverse: longest list. recall: distance of question and answer. induction: sequence
  Index shortest = 1;  // copy, reverse: shortest list
  Index pairs = 4;     // recall: keys shown
  Index rows = 16;     // sequences of a batch
  Index evaluation_rows = 256;
  bool with_source = false;  // for an encoder-decoder: the question is the source
  std::uint64_t seed = 0;
};

class SyntheticTask : public Task {
 public:
  // Throws Error{usage} when the numbers do not fit together.
  explicit SyntheticTask(const SyntheticConfig& config);

  void training_batch(std::int64_t number, models::Batch& batch) const override;
  [[nodiscard]] Index evaluation_batches() const override;
  void evaluation_batch(Index number, models::Batch& batch) const override;
  [[nodiscard]] Index vocabulary() const override;
  [[nodiscard]] Index longest_source() const override;
  [[nodiscard]] Index longest_input() const override;
  [[nodiscard]] double epochs(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string describe() const override;

 private:
  enum class Use { training, evaluation };
  void fill(class Dice& dice, Index rows, Use use, models::Batch& batch) const;
  void add_list(Dice& dice, models::Batch& batch) const;
  void add_recall(Dice& dice, Use use, models::Batch& batch) const;
  void add_induction(Dice& dice, models::Batch& batch) const;

  SyntheticConfig config_;
};

}  // namespace headlight::train
