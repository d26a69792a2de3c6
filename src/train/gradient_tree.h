// The gradient of a step as a sum over its batches, in an order that depends on their number alone: neighbours first, then
// pairs of neighbours. However many processes share the batches, the sum has the same bits.
#pragma once

#include <vector>

#include "headlight/context.h"
#include "train/adamw.h"

namespace headlight::train {

// The batches that process `rank` of `size` learns from: adjacent ones, so that most sums need no communication.
[[nodiscard]] Range batches_of(Index batches, int rank, int size);

class GradientTree {
 public:
  GradientTree(Context& ctx, AdamW& adam, Index batches) : ctx_(ctx), adam_(adam), batches_(batches) {}

  // Takes the gradient of this batch from the parameters. Batches come in order.
  void add(Index batch);
  // Gives the parameters the gradient of the step. In a team each process gets its own pieces; collective.
  void finish();

 private:
  // The sum over batches begin … begin + size - 1; size is a power of two that divides begin.
  struct Node {
    Index begin = 0, size = 1;
    std::vector<float> numbers = {};  // of all trained parameters, or of some pieces of them
  };
  void push(std::vector<Node>& nodes, Node node) const;
  [[nodiscard]] static std::vector<Node> shapes_of(Range batches);
  void exchange(Team& team);

  Context& ctx_;
  AdamW& adam_;
  Index batches_;
  std::vector<Node> nodes_;
};

}  // namespace headlight::train
