// Parts of the heads of a call. A head's attention does not depend on other heads, so a call is computed a few heads at a
// time, with the same bits: what the ring and the head exchange keep beside the shards then is a part of them.
#pragma once

#include <vector>

#include "dist/shared_call.h"

namespace headlight::dist {

// Key heads that are computed at a time, of `heads`: those asked for, or as few as make messages long enough to transfer
// at the bandwidth of the network.
[[nodiscard]] Index heads_at_once(const SharedCall& call, Index heads);
// Key heads of one step after the other.
[[nodiscard]] std::vector<Range> head_slices(Index heads, Index at_once);
// Of query heads.
[[nodiscard]] AttentionOptions options_of_heads(const AttentionOptions& whole, Range heads);

// The call on some key heads and the query heads that use them. It refers to `whole`.
struct HeadSlice {
  Range kv_heads, q_heads;  // counted in those of `whole`
  AttentionOptions options;
  SharedCall call;

  HeadSlice(const SharedCall& whole, Range heads);
  HeadSlice(const HeadSlice&) = delete;
  HeadSlice& operator=(const HeadSlice&) = delete;
  // The slice's part of a tensor of queries or of keys; empty stays empty.
  template <class View>
  [[nodiscard]] View of_queries(const View& view) const;
  template <class View>
  [[nodiscard]] View of_keys(const View& view) const;
};

}  // namespace headlight::dist
