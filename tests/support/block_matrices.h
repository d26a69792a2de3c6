// Matrices of block types made of random bytes with scales of a sensible size: every code, sign and scale occurs, whether or
// not anything here can quantise to the type.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "headlight/stored_matrix.h"

namespace headlight::testing {

// Where a block has its f16 scales; MXFP4 has an exponent instead.
inline std::vector<int> places_of_scales(StoredType type) {
  switch (type) {
    case StoredType::q4_1:
    case StoredType::q5_1:
    case StoredType::q4_k:
    case StoredType::q5_k: return {0, 2};
    case StoredType::q2_k: return {80, 82};
    case StoredType::q3_k: return {108};
    case StoredType::q6_k: return {208};
    case StoredType::mxfp4: return {};
    default: return {0};
  }
}

inline std::vector<StoredType> block_types() {
  std::vector<StoredType> types;
  for (const StoredType type : stored_types())
    if (block_columns(type) > 1) types.push_back(type);
  return types;
}

inline StoredMatrix random_blocks(Index rows, Index columns, StoredType type, unsigned seed) {
  std::mt19937 random(seed);
  const auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(rows * row_bytes(type, columns)));
  for (std::byte& b : *bytes) b = static_cast<std::byte>(random());
  std::uniform_real_distribution<double> scale(-0.02, 0.02);
  for (std::size_t at = 0; at < bytes->size(); at += static_cast<std::size_t>(block_bytes(type))) {
    for (const int place : places_of_scales(type)) {
      const F16 x = to_f16(scale(random));
      std::memcpy(bytes->data() + at + place, &x, sizeof x);
    }
    if (type == StoredType::mxfp4) (*bytes)[at] = static_cast<std::byte>(120 + random() % 10);
  }
  return {type, rows, columns, {*bytes, {}, bytes}};
}

// All elements, by the plain decoders of the library.
inline Tensor decoded(const StoredMatrix& w) {
  Tensor dense({w.rows(), w.columns()});
  const Index columns = block_columns(w.type());
  for (Index i = 0; i < w.rows() * w.columns(); i += columns)
    read_block(w.type(), w.data() + i / columns * block_bytes(w.type()), dense.as<float>() + i);
  return dense;
}

}  // namespace headlight::testing
