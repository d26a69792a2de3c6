#include "dist/exchange.h"

#include <algorithm>

#include "dist/group.h"
#include "dist/head_slices.h"

namespace headlight::dist {

HeadRanks::HeadRanks(const SharedCall& the_call, Index round, Index rounds)
    : call(the_call),
      group(call.how.method == Method::heads ? call.group : grid_of(call.group, call.how.head_ranks).row),
      ring(call.how.method == Method::heads ? nullptr : &grid_of(call.group, call.how.head_ranks).column),
      q_shards{call.q_shards.length, ring == nullptr ? 1 : ring->size(), call.q_shards.layout},
      k_shards{call.k_shards.length, q_shards.ranks, call.k_shards.layout},
      round_(round),
      rounds_(rounds) {}

Index HeadRanks::rounds() const {
  const Index most = (call.whole.kv_heads + group.size() - 1) / group.size();
  return static_cast<Index>(head_slices(most, heads_at_once(call, most)).size());
}

// Cuts of a place are cuts of its ranks too: a run of a rank lies within a run of its place.
std::vector<Range> HeadRanks::runs_of(Side side, int rank) const {
  const bool queries = side == Side::queries;
  const std::vector<Range> all = (queries ? q_shards : k_shards).runs(place());
  std::vector<Range> runs = (queries ? call.q_shards : call.k_shards).runs(place() * group.size() + rank);
  for (Range& run : runs) {
    Index base = 0;
    for (const Range& whole : all) {
      if (run.begin >= whole.begin && run.end <= whole.end) {
        run = {run.begin - whole.begin + base, run.end - whole.begin + base};
        break;
      }
      base += whole.size();
    }
  }
  return runs;
}

// On the side of the tokens a message is a choice of heads: those of the rank that computes them. On the side of the heads
// it is a choice of tokens: the runs of the rank that holds them.
template <class View>
std::vector<View> Exchange::parts(const View& view, const Move& move, bool sends, int peer) const {
  const bool choose_heads = sends != move.back;
  if (choose_heads) return {part_of(view, 1, ranks_.heads_of(move.side, peer))};
  std::vector<View> list;
  for (const Range& run : ranks_.runs_of(move.side, peer)) list.push_back(part_of(view, 2, run));
  return list;
}

namespace {

// A message has the tokens of one head after those of another; runs of a shard follow each other within a head.
template <class View, class Use>
void each_head(const std::vector<View>& runs, const Use& use) {
  for (Index b = 0; b < runs.front().dim(0); ++b)
    for (Index h = 0; h < runs.front().dim(1); ++h)
      for (const View& run : runs) use(part_of(part_of(run, 0, {b, b + 1}), 1, {h, h + 1}));
}

}  // namespace

std::vector<std::byte> Exchange::packed_for(int peer, Moves moves) const {
  std::size_t size = 0;
  for (const Move& move : moves)
    for (const ConstTensorView& part : parts(move.from, move, true, peer)) size += bytes_of(part);
  std::vector<std::byte> bytes(size);
  std::byte* to = bytes.data();
  for (const Move& move : moves) {
    each_head(parts(move.from, move, true, peer),
              [&](const ConstTensorView& rows) { to = pack_rows(rows, to); });
  }
  return bytes;
}

void Exchange::unpack_from(int peer, Moves moves, const std::byte* bytes) const {
  for (const Move& move : moves) {
    each_head(parts(move.to, move, false, peer),
              [&](const TensorView& rows) { bytes = unpack_rows(bytes, rows); });
  }
}

// The same on all ranks: it depends on nothing but the whole call.
bool Exchange::is_large() const {
  constexpr Index kLarge = Index{1} << 16;  // bytes of a rank's queries
  const Problem& p = ranks_.call.whole;
  return p.batch * p.q_heads * ranks_.call.q_shards.length / ranks_.call.ranks() * p.dim *
             static_cast<Index>(size_of(p.dtype)) >=
         kLarge;
}

void Exchange::run() {
  const Moves all(moves_);
  if (!is_large()) return exchange(all);
  for (std::size_t n = 0; n < all.size(); ++n) exchange(all.subspan(n, 1));
}

void Exchange::exchange(Moves moves) {
  const auto ranks = static_cast<std::size_t>(ranks_.group.size());
  const int mine = ranks_.group.rank();
  unpack_from(mine, moves, packed_for(mine, moves).data());
  std::vector<std::vector<std::byte>> out(ranks), in(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const int peer = static_cast<int>(r);
    if (peer == mine) continue;
    out[r] = packed_for(peer, moves);
    std::size_t size = 0;
    for (const Move& move : moves)
      for (const TensorView& part : parts(move.to, move, false, peer)) size += bytes_of(part);
    in[r].resize(size);
  }
  const std::vector<std::span<const std::byte>> parts_out(out.begin(), out.end());
  const std::vector<std::span<std::byte>> parts_in(in.begin(), in.end());
  ranks_.group.all_to_all(parts_out, parts_in);
  for (std::size_t r = 0; r < ranks; ++r)
    if (static_cast<int>(r) != mine) unpack_from(static_cast<int>(r), moves, in[r].data());
}

}  // namespace headlight::dist
