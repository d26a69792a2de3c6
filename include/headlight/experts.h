// Mixture of experts. nn.h states the conventions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/layers.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// Feed-forward networks of which each token uses a few: those with the best scores of a router.
struct ExpertsConfig {
  enum class Score : std::uint8_t { softmax, sigmoid };
  Index count = 0, used = 0;
  Score score = Score::softmax;  // of the router's logits
  bool renormalised = false;     // the weights of a token's experts sum to 1
  double scale = 1;              // of all weights
  bool router_bias = false;
  bool correction = false;  // learned numbers added to the scores for the choice only
  // Only experts of the best `groups_used` groups are chosen. A group scores as its best expert, or with corrections
  // as the sum of its two best.
  Index groups = 1, groups_used = 1;
  bool weighs_input = false;  // the weight multiplies the input of an expert, not its output
  Index shared_inner = 0;     // width of an additional feed-forward network for all tokens; 0: none
  bool operator==(const ExpertsConfig&) const = default;
};

class Experts {
 public:
  struct Saved {
    Tensor logits;                      // [token, expert]
    std::vector<std::int32_t> experts;  // [token, used]
    std::vector<double> scores;         // likewise, before normalisation to weights
    std::vector<double> weights;
    // For each expert: the indices of its tokens in `experts`, its input and its output.
    struct Visit {
      std::vector<Index> places;
      Tensor x, y;
      FeedForward::Saved saved;
    };
    std::vector<Visit> visits;
    FeedForward::Saved shared;
  };

  Experts() = default;
  // `one` configures each expert.
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
