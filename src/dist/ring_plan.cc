#include "dist/ring_plan.h"

#include "dist/parts.h"

namespace headlight::dist {
namespace {

Range common(Range a, Range b) {
  const Index begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Range moved(Range range, Index by) { return {range.begin + by, range.end + by}; }

// Rows in the same chunk of positions share their first visible key; without chunks all rows do.
struct ChunkRows {
  Range rows;
  Index first_key;
};
std::vector<ChunkRows> cut_by_chunk(Range rows, Index offset, Index chunk) {
  if (chunk == 0) return {{rows, 0}};
  std::vector<ChunkRows> list;
  for (Index i = rows.begin; i < rows.end;) {
    const Index start = std::max<Index>(0, i + offset) / chunk * chunk;  // first position of the chunk
    const Index next =
        std::min(rows.end, start > Visibility::kUnbounded - chunk ? rows.end : start + chunk - offset);
    list.push_back({{i, next}, start});
    i = next;
  }
  return list;
}

// The query's position relative to the keys of the part. It is limited: far outside, all keys are on one side anyway.
Visibility visibility_of(const Visibility& whole, Index offset, Range rows, Range keys) {
  constexpr Index kFar = Index{1} << 59;
  Visibility part = whole;
  part.offset = std::clamp(offset, -kFar, kFar) + rows.begin - keys.begin;
  if (part.prefix) part.prefix = std::max<Index>(0, *part.prefix - keys.begin);
  part.chunk = 0;
  return part;
}

bool same_sequences(const Problem& p) {
  return !p.packed && p.options->q_lengths.empty() && p.options->k_lengths.empty();
}

}  // namespace

RingPlan::RingPlan(const SharedCall& call)
    : call_(call), last_hop_(static_cast<std::size_t>(call.ranks()), 0) {
  for (int owner = 0; owner < call.ranks(); ++owner)
    for (int hop = 1; hop < call.ranks(); ++hop)
      if (!blocks((owner + hop) % call.ranks(), owner).empty())
        last_hop_[static_cast<std::size_t>(owner)] = hop;
}

std::vector<RingBlock> RingPlan::blocks(int rank, int owner) const {
  const Problem& p = call_.whole;
  std::vector<RingBlock> list;
  if (same_sequences(p)) {
    if (p.batch > 0) add_blocks(p.sequence(0), {0, p.batch}, {0, p.batch}, rank, owner, list);
    return list;
  }
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    add_blocks(s, {s.batch, s.batch + 1}, {s.item, s.item + 1}, rank, owner, list);
  }
  return list;
}

void RingPlan::add_blocks(const Sequence& s, Range batch, Range items, int rank, int owner,
                          std::vector<RingBlock>& list) const {
  Visibility visible = call_.options.visible;
  visible.offset = s.offset;
  Index row_base = 0;
  for (const Range& q_run : call_.q_shards.runs(rank)) {
    const Range rows = moved(common(q_run, {s.q_start, s.q_start + s.q_len}), -s.q_start);
    for (const ChunkRows& chunk : cut_by_chunk(rows, s.offset, visible.chunk)) {
      Index key_base = 0;
      for (const Range& k_run : call_.k_shards.runs(owner)) {
        Range keys = moved(common(k_run, {s.k_start, s.k_start + s.k_len}), -s.k_start);
        keys = common(keys, {chunk.first_key, s.k_len});
        const Index shard_key = key_base + s.k_start - k_run.begin;
        key_base += k_run.size();
        if (chunk.rows.size() == 0 || keys.size() == 0) continue;
        // Visible ranges of keys never move backwards from row to row, so the first and the last row bound them all.
        const Range seen{visible.keys_for(chunk.rows.begin, s.q_len, s.k_len).begin,
                         visible.keys_for(chunk.rows.end - 1, s.q_len, s.k_len).end};
        if (common(keys, seen).size() == 0) continue;
        list.push_back({batch, items, moved(chunk.rows, row_base + s.q_start - q_run.begin),
                        moved(keys, shard_key), chunk.rows, keys,
                        visibility_of(visible, s.offset, chunk.rows, keys)});
      }
    }
    row_base += q_run.size();
  }
}

AttentionOptions options_of(const AttentionOptions& whole, const RingBlock& block) {
  const auto part = [&](const ConstTensorView& view) {
    const ConstTensorView rows = broadcast_part(broadcast_part(view, 0, block.items), 2, block.seq_rows);
    return broadcast_part(rows, 3, block.seq_keys);
  };
  AttentionOptions o = whole;
  o.visible = block.visible;
  o.mask = part(whole.mask);
  o.bias = part(whole.bias);
  o.sinks = {};  // counted once, when all keys are merged
  o.q_lengths = o.k_lengths = o.q_starts = o.k_starts = {};
  return o;
}

}  // namespace headlight::dist
