// The keys that each rank needs, and the blocks of work of one hop. Keys and values of rank `owner` reach rank owner + h at hop h.
#pragma once

#include <vector>

#include "dist/shared_call.h"

namespace headlight::dist {

// Queries × keys of one sequence that a single attention call can do. Rows are counted in this rank's query shard, keys in
// the owner's key shard; the options are those of the part.
struct RingBlock {
  Range batch;               // along axis 0 of q, k, v
  Range items;               // along axis 0 of mask and bias
  Range rows, keys;          // along axis 2 of the shards
  Range seq_rows, seq_keys;  // the same, counted in their sequence
  Visibility visible;        // with the offset and prefix of the part
};

class RingPlan {
 public:
  explicit RingPlan(const SharedCall& call);

  // The blocks of `rank` on the keys of `owner`, in a fixed order; empty: the keys are not needed there.
  [[nodiscard]] std::vector<RingBlock> blocks(int rank, int owner) const;
  // The last hop at which the keys of `owner` are needed; they travel no further.
  [[nodiscard]] int last_hop(int owner) const { return last_hop_[static_cast<std::size_t>(owner)]; }

 private:
  void add_blocks(const Sequence& s, Range batch, Range items, int rank, int owner,
                  std::vector<RingBlock>& list) const;

  const SharedCall& call_;
  std::vector<int> last_hop_;
};

// Where dropout counts a block from.
[[nodiscard]] inline DropoutOrigin origin_of(const SharedCall& call, const RingBlock& block) {
  return {block.items.begin, call.first_head, block.seq_rows.begin, block.seq_keys.begin};
}
// The options of a block.
[[nodiscard]] AttentionOptions options_of(const AttentionOptions& whole, const RingBlock& block);

}  // namespace headlight::dist
