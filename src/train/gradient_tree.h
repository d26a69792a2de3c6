// The gradient of a step as a sum over its batches, in an order that depends on their number alone: neighbours first, then
// pairs of neighbours. However many processes share the batches, the sum has the same bits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "headlight/context.h"
#include "train/adamw.h"

namespace headlight::train {

// What the processes of a team divide: the batches of a step, or the tokens of each batch. Gradients of parts of a batch
// are added in the order of the processes, so their bits depend on how many there are.
enum class Divided : std::uint8_t { batches, tokens };

// The batches that process `rank` of `size` learns from: neighbours, so that most sums need no communication.
[[nodiscard]] Range batches_of(Index batches, int rank, int size);

class GradientTree {
 public:
  GradientTree(Context& ctx, AdamW& adam, Index batches, Divided divided = Divided::batches);
  ~GradientTree();
  GradientTree(const GradientTree&) = delete;
  GradientTree& operator=(const GradientTree&) = delete;

  // The batches of this process, in whose order they come.
  [[nodiscard]] Range mine() const { return mine_; }
  // The parameters have the gradient of this batch alone, which is taken from them.
  void add(Index batch);
  // While the last batch of this process is learnt: the gradients of these parameters and of all that follow them in the
  // model are complete. They are sent while the others are computed.
  void ready(const Parameters& parameters);
  // After the last batch, which add() was called for too. Gives the parameters the gradient of the step. In a team each
  // process gets the pieces that are its own; collective.
  void finish();

 private:
  // The sum over batches begin … begin + size - 1; size is a power of two that divides begin.
  struct Node {
    Index begin = 0, size = 1;
    std::vector<float> numbers = {};  // of all trained parameters, or of some pieces of them
  };
  [[nodiscard]] bool is_last(Index batch) const { return batch + 1 == mine_.end; }
  void open(Index batch);
  void take(Range pieces);
  void push(std::vector<Node>& nodes, Node node) const;
  [[nodiscard]] std::vector<Node> shapes_of(int rank) const;
  void exchange(Range pieces);
  void send_in_background();
  void collapse();
  void end_sender();

  Context& ctx_;
  AdamW& adam_;
  Index batches_;
  Divided divided_;
  Team* team_;
  Range mine_;
  std::vector<Node> nodes_;
  // The last batch: taken from the parameters piece by piece, from the end. merges_ of the nodes become one with it.
  bool open_ = false;
  Node last_;
  std::size_t merges_ = 0;
  Index taken_ = 0;   // pieces from here on are
  Index queued_ = 0;  // and from here on are sent, or wait for the thread
  std::thread sender_;
  std::mutex lock_;
  std::condition_variable woken_;
  std::vector<Range> queue_;
  bool ended_ = false;
  std::exception_ptr problem_;
};

}  // namespace headlight::train
