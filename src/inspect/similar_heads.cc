#include "inspect/similar_heads.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "inspect/head_meter.h"

namespace headlight::inspect {
namespace {

constexpr double kMostFloats = double(std::size_t{1} << 28);  // 1 GiB

class Keeper : public Observer {
 public:
  Keeper(Part part, std::vector<std::vector<float>>& weights) : part_(part), weights_(weights) {}
  void on_attention(const AttentionEvent& event) override {
    if (event.part != part_) return;
    const Index heads = event.q.dim(1);
    for (Index head = 0; head < heads; ++head) {
      std::vector<float>& to = weights_[static_cast<std::size_t>(event.layer * heads + head)];
      for_each_row(event, head, [&](const PatternRow& row) {
        to.insert(to.end(), row.weights.begin() + row.keys.begin, row.weights.begin() + row.keys.end);
      });
    }
  }

 private:
  Part part_;
  std::vector<std::vector<float>>& weights_;
};

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

}  // namespace

HeadSimilarity::HeadSimilarity(Context& ctx, const LoadedModel& loaded, const Battery& battery, Part part)
    : heads_(loaded.heads(part)) {
  weights_.resize(static_cast<std::size_t>(loaded.layers(part) * heads_));
  std::vector<const ModelInput*> inputs;
  double floats = 0;
  for (const auto* list : {&battery.prose, &battery.repeated}) {
    for (const ModelInput& input : *list) {
      inputs.push_back(&input);
      const Sides sides = sides_of(loaded, input, part);
      floats += static_cast<double>(sides.queries.size()) * static_cast<double>(sides.keys.size());
    }
  }
  if (floats * static_cast<double>(weights_.size()) > kMostFloats)
    throw Error(ErrorKind::resource, "heads.similar",
                concat("the weights of ", weights_.size(),
                       " heads on the test texts take more than the limit of 1 GiB"));
  for (const ModelInput* input : inputs) {
    Keeper keeper(part, weights_);
    (void)watch(ctx, loaded, *input, keeper);
  }
  for (const std::vector<float>& one : weights_) lengths_.push_back(std::sqrt(dot(one, one)));
}

double HeadSimilarity::cosine(std::size_t a, std::size_t b) const {
  const double lengths = lengths_[a] * lengths_[b];
  return lengths > 0 ? dot(weights_[a], weights_[b]) / lengths : 0;
}

std::vector<SimilarHead> HeadSimilarity::like(const HeadPlace& place) const {
  const auto self = static_cast<std::size_t>(place.layer * heads_ + place.head);
  std::vector<SimilarHead> others;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (i == self) continue;
    const auto number = static_cast<Index>(i);
    others.push_back(
        {{static_cast<int>(number / heads_), static_cast<int>(number % heads_)}, cosine(self, i)});
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const SimilarHead& a, const SimilarHead& b) { return a.cosine > b.cosine; });
  return others;
}

}  // namespace headlight::inspect
