// Moves rows between two arrangements: all heads of a rank's tokens, and more tokens of a rank's heads.
#pragma once

#include <vector>

#include "dist/parts.h"
#include "dist/shared_call.h"

namespace headlight::dist {

enum class Side { queries, keys };

// The ranks that exchange tokens for heads: all of them, which then have whole heads; or those of one place in a ring, which
// then have the tokens of that place.
class HeadRanks {
 public:
  explicit HeadRanks(const SharedCall& call);

  const SharedCall& call;
  Group& group;               // those that exchange
  Group* ring = nullptr;      // those that have the same heads; null: whole heads
  Shards q_shards, k_shards;  // of the places in the ring

  [[nodiscard]] int place() const { return ring == nullptr ? 0 : ring->rank(); }
  // The heads that a rank computes: key heads in runs whose sizes differ by at most one, with the query heads that use them.
  [[nodiscard]] Range kv_heads_of(int rank) const {
    return {call.whole.kv_heads * rank / group.size(), call.whole.kv_heads * (rank + 1) / group.size()};
  }
  [[nodiscard]] Range q_heads_of(int rank) const {
    const Range kv = kv_heads_of(rank);
    return {kv.begin * call.whole.group, kv.end * call.whole.group};
  }
  [[nodiscard]] Range heads_of(Side side, int rank) const {
    return side == Side::queries ? q_heads_of(rank) : kv_heads_of(rank);
  }
  // The tokens of a rank, counted in those of the place.
  [[nodiscard]] std::vector<Range> runs_of(Side side, int rank) const;
};

// Tensors are named first and then travel together, one message per pair of ranks.
class Exchange {
 public:
  explicit Exchange(const HeadRanks& ranks) : ranks_(ranks) {}

  // `tokens` has all heads of this rank's tokens, `heads` all tokens of this rank's heads; [batch, head, token] or with a
  // dim. An empty view is left out.
  void to_heads(const ConstTensorView& tokens, const TensorView& heads, Side side) {
    add(tokens, heads, side);
  }
  void to_tokens(const ConstTensorView& heads, const TensorView& tokens, Side side) {
    add(heads, tokens, side, true);
  }
  void run();

 private:
  struct Move {
    ConstTensorView from;
    TensorView to;
    Side side;
    bool back;
  };
  void add(const ConstTensorView& from, const TensorView& to, Side side, bool back = false) {
    if (!from.empty() && !to.empty()) moves_.push_back({as_rows(from), as_rows(to), side, back});
  }
  // What this rank sends to `peer` or receives from it, as views in the order of the message.
  template <class View>
  [[nodiscard]] std::vector<View> parts(const View& view, const Move& move, bool sends, int peer) const;
  [[nodiscard]] std::vector<std::byte> packed_for(int peer) const;
  void unpack_from(int peer, const std::byte* bytes) const;

  const HeadRanks& ranks_;
  std::vector<Move> moves_;
};

}  // namespace headlight::dist
