#include "dist/exchange.h"

namespace headlight::dist {

// A message between two ranks holds some heads of some tokens: the heads that one of them computes, and the token runs
// that the other one holds.
template <class View>
std::vector<View> Exchange::parts(const View& view, const Move& move, bool sends, int peer) const {
  const bool choose_heads = sends != move.back;
  if (choose_heads) return {part_of(view, 1, heads_of(move.side, peer))};
  std::vector<View> list;
  for (const Range& run : runs_of(move.side, peer)) list.push_back(part_of(view, 2, run));
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

std::vector<std::byte> Exchange::packed_for(int peer) const {
  std::size_t size = 0;
  for (const Move& move : moves_)
    for (const ConstTensorView& part : parts(move.from, move, true, peer)) size += bytes_of(part);
  std::vector<std::byte> bytes(size);
  std::byte* to = bytes.data();
  for (const Move& move : moves_) {
    each_head(parts(move.from, move, true, peer),
              [&](const ConstTensorView& rows) { to = pack_rows(rows, to); });
  }
  return bytes;
}

void Exchange::unpack_from(int peer, const std::byte* bytes) const {
  for (const Move& move : moves_) {
    each_head(parts(move.to, move, false, peer),
              [&](const TensorView& rows) { bytes = unpack_rows(bytes, rows); });
  }
}

void Exchange::run() {
  const auto ranks = static_cast<std::size_t>(call_.ranks());
  std::vector<std::vector<std::byte>> out(ranks), in(ranks);
  std::vector<std::span<const std::byte>> parts_out;
  std::vector<std::span<std::byte>> parts_in;
  for (std::size_t r = 0; r < ranks; ++r) {
    const int peer = static_cast<int>(r);
    out[r] = packed_for(peer);
    std::size_t size = 0;
    for (const Move& move : moves_)
      for (const TensorView& part : parts(move.to, move, false, peer)) size += bytes_of(part);
    in[r].resize(size);
    parts_out.emplace_back(out[r]);
    parts_in.emplace_back(in[r]);
  }
  call_.group.all_to_all(parts_out, parts_in);
  for (std::size_t r = 0; r < ranks; ++r) unpack_from(static_cast<int>(r), in[r].data());
}

}  // namespace headlight::dist
