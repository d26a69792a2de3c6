#include "support/arrangements.h"

#include <cstdlib>

#include "support/sanitizers.h"

namespace headlight::testing {

std::uint64_t shapes(std::uint64_t in_release) {
  const auto least = static_cast<std::uint64_t>(repeats(static_cast<int>(in_release)));
  const char* given = std::getenv("HEADLIGHT_CASES");
  return given != nullptr ? std::max(least, static_cast<std::uint64_t>(std::atoi(given)) / 10) : least;
}

Case dense(Case c) {
  c.q_layout = c.k_layout = c.v_layout = c.out_layout = Layout::dense;
  c.shift = 0;
  return c;
}

Case moved(Case c, Random& random) {
  constexpr Layout kLayouts[] = {Layout::dense, Layout::token_major, Layout::padded, Layout::reversed_batch,
                                 Layout::reversed_tokens};
  c.q_layout = kLayouts[random.below(5)];
  c.k_layout = kLayouts[random.below(5)];
  c.v_layout = kLayouts[random.below(5)];
  c.out_layout = kLayouts[random.below(3)];
  c.shift = random.below(64 / static_cast<Index>(size_of(c.dtype)));
  return c;
}

Case three_lengths(Case c, Random& random) {
  c.ragged = Ragged::both_lengths;
  c.batch = 3, c.q_len = 1 + random.below(70), c.k_len = c.q_len + random.below(200);
  c.mask = c.bias = Spread::none;
  c.visible.offset.reset();
  c.data = Data::normal;
  c.q_ends.clear(), c.k_ends.clear();
  for (int b = 0; b < 3; ++b) {
    c.q_ends.push_back(1 + random.below(c.q_len));
    c.k_ends.push_back(random.below(c.k_len + 1));
  }
  return c;
}

namespace {

std::vector<Index> starts_of(const std::vector<Index>& lengths) {
  std::vector<Index> starts = {0};
  for (const Index length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

}  // namespace

Tensor Packed::gathered(const ConstTensorView& from, const std::vector<Index>& starts) {
  Tensor to({1, from.dim(1), starts.back(), from.dim(3)}, from.dtype());
  for (std::size_t b = 0; b + 1 < starts.size(); ++b)
    for (Index token = starts[b]; token < starts[b + 1]; ++token)
      for (Index h = 0; h < from.dim(1); ++h)
        for (Index d = 0; d < from.dim(3); ++d)
          to.view().set(0, h, token, d, from.at(static_cast<Index>(b), h, token - starts[b], d));
  return to;
}

Packed::Packed(const Instance& padded)
    : q_starts_(starts_of(padded.c.q_ends)),
      k_starts_(starts_of(padded.c.k_ends)),
      q_(gathered(padded.q.view(), q_starts_)),
      k_(gathered(padded.k.view(), k_starts_)),
      v_(gathered(padded.v.view(), k_starts_)),
      call_{q_, k_, v_, padded.options} {
  call_.options.q_lengths = call_.options.k_lengths = {};
  call_.options.q_starts = q_starts_;
  call_.options.k_starts = k_starts_;
}

Alone::Alone(const Call& padded, Index item, Index rows, Index keys)
    : seen_(static_cast<std::size_t>(padded.k.dim(2))), masked_(batch_item(padded, item)) {
  masked_.options.q_lengths = masked_.options.k_lengths = {};
  masked_.q = sliced(masked_.q, 2, 0, rows);
  exact_ = masked_;
  exact_.k = sliced(masked_.k, 2, 0, keys);
  exact_.v = sliced(masked_.v, 2, 0, keys);
  std::fill(seen_.begin(), seen_.begin() + keys, 1);
  masked_.options.mask = ConstTensorView(seen_.data(), DType::boolean, {padded.k.dim(2)});
  masked_.options.visible.offset = keys - rows;
}

}  // namespace headlight::testing
