// The tasks of the playground: short lists and sentences with a known answer, generated without end, the same for the same seed.
// One case in eight is never used for training; accuracy is measured on those.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "train/dice.h"
#include "train/task.h"

namespace headlight::playground {

enum class ToyKind {
  copy,       // c a b | → c a b
  reverse,    // c a b | → b a c
  sort,       // 3 1 2 | → 1 2 3, all different
  recall,     // a5 c2 . . . c? → 2
  pairs,      // a5 c2 b7 ca → 25: two facts at once, in the order of the question
  induction,  // d a c d a → c: a random piece, repeated
  agreement,  // the keys near the cabinet now → are
  pronoun,    // the dog left the box because it was tired , the → dog
};
inline constexpr ToyKind kToyKinds[] = {ToyKind::copy,      ToyKind::reverse, ToyKind::sort,
                                        ToyKind::recall,    ToyKind::pairs,   ToyKind::induction,
                                        ToyKind::agreement, ToyKind::pronoun};
[[nodiscard]] std::string_view name_of(ToyKind kind) noexcept;
[[nodiscard]] std::string_view what_of(ToyKind kind) noexcept;  // the task in a sentence

// One case. Positions without a question have target kIgnored.
struct ToyCase {
  std::vector<std::int32_t> ids, targets;
};

class ToyTask : public train::Task {
 public:
  // Without a mask, a model that is evaluated on a whole sequence reads the answer. Prefixes prevent this: each target is
  // then predicted from a sequence that ends before it, as in generation.
  enum class Evaluate { whole, prefixes };

  ToyTask(ToyKind kind, std::uint64_t seed, Evaluate evaluate = Evaluate::whole);

  void training_batch(std::int64_t number, models::Batch& batch) const override;
  [[nodiscard]] Index evaluation_batches() const override { return 1; }
  void evaluation_batch(Index number, models::Batch& batch) const override;
  [[nodiscard]] Index vocabulary() const override { return static_cast<Index>(words_.size()); }
  [[nodiscard]] Index longest_source() const override { return 0; }
  [[nodiscard]] Index longest_input() const override;
  [[nodiscard]] double epochs(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string describe() const override;

  [[nodiscard]] ToyKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }  // by id
  // A case that is not used for training; the first one is the default probe.
  [[nodiscard]] ToyCase unseen_case(std::uint64_t number) const;
  // A probe given by the user: words separated by spaces, with "<s>" prepended if missing. Throws Error{input} that
  // names a word outside the vocabulary, or the limit.
  [[nodiscard]] ToyCase parse(std::string_view text) const;
  [[nodiscard]] std::string text_of(std::span<const std::int32_t> ids) const;
  // For a folder that other programs open.
  [[nodiscard]] Tokenizer tokenizer() const;

 private:
  class Maker;
  enum class Use : std::uint8_t { training, evaluation };
  [[nodiscard]] ToyCase draw(train::Dice& dice, Use use) const;

  ToyKind kind_;
  std::uint64_t seed_;
  Evaluate evaluate_;
  std::vector<std::string> words_;
};

}  // namespace headlight::playground
