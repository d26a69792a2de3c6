// Feed-forwards of which each token sees a few. Conventions are those of nn.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/layers.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// Feed-forwards of which each token sees a few: those to which a router gives the best scores.
struct ExpertsConfig {
  enum class Score : std::uint8_t { softmax, sigmoid };
  Index count = 0, used = 0;
  Score score = Score::softmax;  // of the router's logits
  bool renormalised = false;     // the weights of a token's experts sum to 1
  double scale = 1;              // of all weights
  bool router_bias = false;
  bool correction = false;  // learned numbers that are added to scores for the choice alone
  // Only experts of the best `groups_used` groups are chosen. A group is as good as its best expert, or with corrections
  // as the sum of its two best.
  Index groups = 1, groups_used = 1;
  bool weighs_input = false;  // the weight is that of what an expert reads, not of its answer
  Index shared_inner = 0;     // width of a feed-forward that all tokens see besides; 0: none
  bool operator==(const ExpertsConfig&) const = default;
};

class Experts {
 public:
  struct Saved {
    Tensor logits;                      // [token, expert]
    std::vector<std::int32_t> experts;  // [token, used]
    std::vector<double> scores;         // likewise, before they were weights
    std::vector<double> weights;
    // Of each expert: its tokens and their places among `experts`; what it read, and what it answered.
    struct Visit {
      std::vector<Index> places;
      Tensor x, y;
      FeedForward::Saved saved;
    };
    std::vector<Visit> visits;
    FeedForward::Saved shared;
  };

  Experts() = default;
  // `one` is what each of them is.
  Experts(const std::string& name, const ExpertsConfig& config, const FeedForwardConfig& one,
          DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved& saved) const;
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  [[nodiscard]] bool empty() const noexcept { return experts.empty(); }
  [[nodiscard]] const ExpertsConfig& config() const noexcept { return config_; }
  void collect(Parameters& list);

  Linear router;
  Parameter correction;  // [expert]
  std::vector<FeedForward> experts;
  FeedForward shared;

 private:
  void choose(Saved& s, Index tokens) const;
  [[nodiscard]] Tensor logits_backward(const Saved& s, const std::vector<double>& dweights) const;
  ExpertsConfig config_;
  FeedForwardConfig one_;
};

}  // namespace headlight::nn

#pragma GCC visibility pop
