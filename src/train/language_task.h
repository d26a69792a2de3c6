// A text, window by window: the next token (language model), or tokens that were hidden (masked language model).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/tokenizer.h"
#include "train/task.h"
#include "train/token_row.h"

namespace headlight::train {

struct WindowConfig {
  Index context = 0;  // tokens of a window
  Index rows = 0;     // windows of a batch
  Index vocabulary = 0;
  std::uint64_t seed = 0;
  Index evaluation_tokens = 0;  // at most; 0: all
  // Language models: this share of the windows repeats a piece of text, with `separator` between the repeats. To predict
  // it, a model has to find the token that followed the same token earlier.
  double repeat_share = 0;
  TokenId separator = 0;
};

struct CorpusPart {
  Index begin = 0, end = 0;  // among the training tokens
  double weight = 1;         // weight of this part when a window is chosen
};
struct Corpus {
  TokenRow train, valid;
  std::vector<CorpusPart> parts = {};  // none: one part
};

// Training windows begin anywhere; evaluation windows are adjacent and cover the text once.
class LanguageTask : public Task {
 public:
  // Throws Error{input} when the text, or a part of it, is shorter than one window.
  LanguageTask(Corpus corpus, const WindowConfig& config);

  void training_batch(std::int64_t number, models::Batch& batch) const override;
  [[nodiscard]] Index evaluation_batches() const override;
  void evaluation_batch(Index number, models::Batch& batch) const override;
  [[nodiscard]] Index vocabulary() const override { return config_.vocabulary; }
  [[nodiscard]] Index longest_source() const override { return 0; }
  [[nodiscard]] Index longest_input() const override { return config_.context; }
  [[nodiscard]] double epochs(std::int64_t batches) const override;
  [[nodiscard]] std::string describe() const override;

 private:
  [[nodiscard]] const CorpusPart& draw_part(class Dice& dice) const;
  void add_repeated(std::vector<TokenId> piece, Dice& dice, models::Batch& batch) const;

  Corpus corpus_;
  WindowConfig config_;
  double weights_ = 0;  // sum over the parts
};

struct MaskConfig {
  double share = 0.15;    // share of tokens to predict; of these …
  double replaced = 0.8;  // … become `mask`,
  double random = 0.1;    // … are replaced by a random token; the others are left unchanged
  TokenId mask = 0;
  std::optional<TokenId> first = {}, last = {};  // around each window, never predicted: [CLS], [SEP]
};

class MaskedTask : public Task {
 public:
  MaskedTask(Corpus corpus, const WindowConfig& config, const MaskConfig& mask);

  void training_batch(std::int64_t number, models::Batch& batch) const override;
  [[nodiscard]] Index evaluation_batches() const override;
  void evaluation_batch(Index number, models::Batch& batch) const override;
  [[nodiscard]] Index vocabulary() const override { return config_.vocabulary; }
  [[nodiscard]] Index longest_source() const override { return 0; }
  [[nodiscard]] Index longest_input() const override { return config_.context; }
  [[nodiscard]] double epochs(std::int64_t batches) const override;
  [[nodiscard]] std::string describe() const override;

 private:
  // Tokens of the text in a window, without `first` and `last`.
  [[nodiscard]] Index inner() const { return config_.context - (mask_.first ? 1 : 0) - (mask_.last ? 1 : 0); }
  void add(const std::vector<TokenId>& window, Dice& dice, models::Batch& batch) const;

  Corpus corpus_;
  WindowConfig config_;
  MaskConfig mask_;
};

}  // namespace headlight::train
