#include "core/concat.h"
#include "headlight/dist.h"

namespace headlight::dist {
namespace {

// Block n of `length` tokens cut into `count` blocks, whose sizes differ by at most one; no product overflows.
Range block_of(Index length, Index count, Index n) {
  const auto start = [&](Index m) { return length / count * m + length % count * m / count; };
  return {start(n), start(n + 1)};
}

}  // namespace

std::vector<Range> Shards::runs(int rank) const {
  if (length < 0 || ranks < 1 || rank < 0 || rank >= ranks) {
    throw Error(ErrorKind::usage, "dist.shards",
                concat("dist::Shards: rank ", rank, " of ", ranks, " with ", length,
                       " tokens; need 0 ≤ rank < ranks and 0 tokens or more"));
  }
  if (layout == Layout::contiguous) return {block_of(length, ranks, rank)};
  const Index blocks = Index{2} * ranks;
  return {block_of(length, blocks, rank), block_of(length, blocks, blocks - 1 - rank)};
}

Index Shards::size(int rank) const {
  Index total = 0;
  for (const Range& run : runs(rank)) total += run.size();
  return total;
}

}  // namespace headlight::dist
