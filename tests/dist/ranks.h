// Tests that every rank runs together. What one rank finds is told to all before anything is asserted: a rank that left a
// test alone would keep the others waiting.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "headlight/dist.h"
#include "support/cases.h"

namespace headlight::testing {

[[nodiscard]] dist::Group& ranks();  // main.cc

// The complaints of all ranks, the same text on each.
[[nodiscard]] inline std::string all_problems(const std::string& mine) {
  std::string all;
  int rank = 0;
  for (const auto& bytes : ranks().all_gather(std::as_bytes(std::span(mine)))) {
    if (!bytes.empty())
      all += "rank " + std::to_string(rank) + ": " +
             std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + "\n";
    ++rank;
  }
  return all;
}

// A shard in memory of its own, [batch, head, token, dim] or without dim; `token_major` is another order in memory.
class Shard {
 public:
  Shard(const ConstTensorView& like, const dist::Shards& shards, bool token_major)
      : shards_(shards), memory_(shape_of(like, shards.size(ranks().rank())), like.dtype()) {
    const Shape shape = memory_.shape();
    if (shape.rank == 4 && token_major) {
      view_ = TensorView(memory_.as<std::byte>(), like.dtype(), shape,
                         {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1});
    } else {
      view_ = memory_.view();
    }
  }
  [[nodiscard]] const TensorView& view() const { return view_; }

  void cut(const ConstTensorView& whole) const {
    each(ranks().rank(), whole, view_,
         [](std::byte* a, std::byte* b, std::size_t n) { std::memcpy(b, a, n); });
  }
  // Collective: all shards, put together on every rank.
  void join(const TensorView& whole) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(view_.shape().elements()) * size_of(view_.dtype()));
    std::size_t at = 0;
    each(ranks().rank(), whole, view_,
         [&](std::byte*, std::byte* b, std::size_t n) { std::memcpy(bytes.data() + at, b, n), at += n; });
    const auto all = ranks().all_gather(bytes);
    for (int r = 0; r < ranks().size(); ++r) {
      const std::byte* from = all[static_cast<std::size_t>(r)].data();
      each(r, whole, view_,
           [&](std::byte* a, std::byte*, std::size_t n) { std::memcpy(a, from, n), from += n; });
    }
  }

 private:
  static Shape shape_of(const ConstTensorView& like, Index tokens) {
    Shape shape = like.shape();
    shape.dims[2] = tokens;
    return shape;
  }
  // use(row of the whole, row of the shard, bytes) for each row of a rank's shard.
  template <class Use>
  void each(int rank, const ConstTensorView& whole, const ConstTensorView& shard, const Use& use) const {
    const auto item = static_cast<Index>(size_of(whole.dtype()));
    const auto row = [&](const ConstTensorView& x, Index b, Index h, Index t) {
      return const_cast<std::byte*>(x.as<std::byte>()) +
             (b * x.stride(0) + h * x.stride(1) + t * x.stride(2)) * item;
    };
    const auto bytes = static_cast<std::size_t>((whole.rank() == 4 ? whole.dim(3) : 1) * item);
    for (Index b = 0; b < whole.dim(0); ++b)
      for (Index h = 0; h < whole.dim(1); ++h) {
        Index local = 0;
        for (const Range& run : shards_.runs(rank))
          for (Index t = run.begin; t < run.end; ++t, ++local)
            use(row(whole, b, h, t), row(shard, b, h, local), bytes);
      }
  }

  dist::Shards shards_;
  Tensor memory_;
  TensorView view_;
};

}  // namespace headlight::testing
