// Moves rows between two arrangements: all heads of this rank's tokens, and all tokens of this rank's heads.
#pragma once

#include <vector>

#include "dist/parts.h"
#include "dist/shared_call.h"

namespace headlight::dist {

// The heads that a rank computes: a run of key heads, with the query heads that use them. Runs differ by at most one head.
[[nodiscard]] inline Range kv_heads_of(const SharedCall& call, int rank) {
  return {call.whole.kv_heads * rank / call.ranks(), call.whole.kv_heads * (rank + 1) / call.ranks()};
}
[[nodiscard]] inline Range q_heads_of(const SharedCall& call, int rank) {
  const Range kv = kv_heads_of(call, rank);
  return {kv.begin * call.whole.group, kv.end * call.whole.group};
}

enum class Side { queries, keys };

// Tensors are added first and then sent together, one message per pair of ranks.
class Exchange {
 public:
  explicit Exchange(const SharedCall& call) : call_(call) {}

  // `tokens` has all heads of this rank's tokens, `heads` all tokens of this rank's heads; [batch, head, token] or with a
  // dim. An empty view is skipped.
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
  [[nodiscard]] Range heads_of(Side side, int rank) const {
    return side == Side::queries ? q_heads_of(call_, rank) : kv_heads_of(call_, rank);
  }
  [[nodiscard]] std::vector<Range> runs_of(Side side, int rank) const {
    return (side == Side::queries ? call_.q_shards : call_.k_shards).runs(rank);
  }
  // The views that this rank sends to `peer` or receives from it, in the order of the message.
  template <class View>
  [[nodiscard]] std::vector<View> parts(const View& view, const Move& move, bool sends, int peer) const;
  [[nodiscard]] std::vector<std::byte> packed_for(int peer) const;
  void unpack_from(int peer, const std::byte* bytes) const;

  const SharedCall& call_;
  std::vector<Move> moves_;
};

}  // namespace headlight::dist
