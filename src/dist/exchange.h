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
  // `heads` of each rank are computed in some rounds; a round is about some of them.
  explicit HeadRanks(const SharedCall& call, Index round = 0, Index rounds = 1);

  const SharedCall& call;
  Group& group;               // those that exchange
  Group* ring = nullptr;      // those that have the same heads; null: whole heads
  Shards q_shards, k_shards;  // of the places in the ring

  [[nodiscard]] int place() const { return ring == nullptr ? 0 : ring->rank(); }
  // Rounds that the rank with the most heads needs for all its heads.
  [[nodiscard]] Index rounds() const;
  // The heads that a rank computes in this round: of all rounds, key heads in runs whose sizes differ by at most one, with
  // the query heads that use them.
  [[nodiscard]] Range kv_heads_of(int rank) const {
    const Range all{call.whole.kv_heads * rank / group.size(),
                    call.whole.kv_heads * (rank + 1) / group.size()};
    return {all.begin + all.size() * round_ / rounds_, all.begin + all.size() * (round_ + 1) / rounds_};
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

 private:
  Index round_, rounds_;
};

// Tensors are named first and then travel together, one message per pair of ranks; large ones one after the other, which
// keeps a copy of one of them at a time.
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
  using Moves = std::span<const Move>;
  [[nodiscard]] std::vector<std::byte> packed_for(int peer, Moves moves) const;
  void unpack_from(int peer, Moves moves, const std::byte* bytes) const;
  [[nodiscard]] bool is_large() const;
  void exchange(Moves moves);

  const HeadRanks& ranks_;
  std::vector<Move> moves_;
};

}  // namespace headlight::dist
