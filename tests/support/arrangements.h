// The same numbers arranged otherwise: elsewhere in memory, padded to one length, or packed.
#pragma once

#include "support/random.h"
#include "support/slices.h"

namespace headlight::testing {

// How many shapes a test tries: HEADLIGHT_CASES / 10, at least `in_release` (a tenth of it under a sanitizer).
[[nodiscard]] std::uint64_t shapes(std::uint64_t in_release);

// Dense, and from there to other strides and another alignment.
[[nodiscard]] Case dense(Case c);
[[nodiscard]] Case moved(Case c, Random& random);

// Three sequences of unequal length, padded, with nothing that would tell padding from tokens.
[[nodiscard]] Case three_lengths(Case c, Random& random);

// The real tokens of a padded call one after the other.
class Packed {
 public:
  explicit Packed(const Instance& padded);
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] Index q_start(Index item) const { return q_starts_[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Index k_start(Index item) const { return k_starts_[static_cast<std::size_t>(item)]; }
  // Another tensor over the queries, such as dout.
  [[nodiscard]] Tensor queries(const ConstTensorView& padded) const { return gathered(padded, q_starts_); }

 private:
  [[nodiscard]] static Tensor gathered(const ConstTensorView& from, const std::vector<Index>& starts);

  std::vector<Index> q_starts_, k_starts_;
  Tensor q_, k_, v_;
  Call call_;
};

// One item of a padded call without its padding, and with padding that a mask hides.
class Alone {
 public:
  Alone(const Call& padded, Index item, Index rows, Index keys);
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  [[nodiscard]] const Call& exact() const { return exact_; }
  [[nodiscard]] const Call& masked() const { return masked_; }

 private:
  std::vector<std::uint8_t> seen_;
  Call exact_, masked_;
};

}  // namespace headlight::testing
