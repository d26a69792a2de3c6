// Position encodings: sinusoids added to embeddings, rotations of queries and keys (RoPE), and slopes (ALiBi) or learned
// relative biases (T5) added to scores. Learned absolute positions are an Embedding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// sin and cos of position · 10000^(-2j/width): alternating as in the 2017 paper, or all sines and then all
// cosines (Marian). M2M-100 uses the latter with frequencies from 1 to 1/10000 inclusive.
enum class SinusoidOrder : std::uint8_t { alternating, halves, halves_to_end };
[[nodiscard]] Tensor sinusoidal_positions(Index positions, Index width, SinusoidOrder order, DType dtype);

// How rotary frequencies are scaled for contexts longer than in training.
struct RopeScaling {
  enum class Kind : std::uint8_t { none, linear, dynamic, yarn, llama3, longrope };
  Kind kind = Kind::none;
  double factor = 1;
  Index original_positions = 0;                  // the context in training
  double low_frequency = 1, high_frequency = 4;  // llama3: full turns within the original context
  double beta_fast = 32, beta_slow = 1;          // yarn: likewise
  double attention_factor = 0;                   // yarn, longrope: of cos and sin; 0: 0.1·ln(factor) + 1
  bool truncate = true;                          // yarn: round the ends of the ramp to whole numbers
  double score_mscale = 0;                       // yarn: input of DeepSeek's factor of scores; 0: none
  bool operator==(const RopeScaling&) const = default;
};

struct RopeConfig {
  double theta = 10000;
  Index dims = 0;            // the first dims of a head are rotated; 0: all
  bool interleaved = false;  // pairs (2j, 2j+1) instead of (j, j + dims/2)
  RopeScaling scaling = {};
  std::vector<double> factors = {};  // the angle of each pair is divided by its factor; empty: no factors
  // longrope: used for all tokens of texts longer than original_positions.
  std::vector<double> long_factors = {};
  bool operator==(const RopeConfig&) const = default;
};
// Angle per position of each pair. Only `dynamic` and `longrope` depend on the sequence length.
[[nodiscard]] std::vector<double> rope_frequencies(const RopeConfig& config, Index dims, Index length);
// Factor of cos and sin; 1 for all scalings but yarn and longrope.
[[nodiscard]] double rope_attention_factor(const RopeConfig& config);

// cos and sin for the positions first … first + n - 1, computed once per run and used by every layer.
class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const RopeConfig& config, Index head_dim, Index first, Index end, DType dtype);

  // Rotates every head of x [token, head, dim] in place, each token by its own position. `starts` are the first tokens of
  // the sequences; empty: one sequence.
  void rotate(Context& ctx, TensorView x, std::span<const Index> positions,
              std::span<const Index> starts = {}) const;
  // For gradients: rotates by the opposite angles.
  void rotate_back(Context& ctx, TensorView dx, std::span<const Index> positions,
                   std::span<const Index> starts = {}) const;

 private:
  struct Turns {
    Tensor cos, sin;  // [position - first_, dims/2]
  };
  [[nodiscard]] Turns turns_of(const RopeConfig& config, Index dims, Index length, DType dtype) const;
  void turn(Context& ctx, TensorView x, std::span<const Index> positions, std::span<const Index> starts,
            bool backward) const;
  Turns usual_, long_;  // long_: for sequences beyond original_, which use other frequencies
  Index original_ = 0;
  Index first_ = 0, end_ = 0;
  bool interleaved_ = false;
};

// score -= slope·distance. If the number of heads is not a power of two: the slopes of the next lower power of two, then
// every other slope of the next higher one.
[[nodiscard]] Tensor alibi_slopes(Index heads, DType dtype);

// T5: distances fall into buckets, near ones exact and far ones logarithmic; a learned number per bucket
// and head is added to the score.
struct RelativeBiasConfig {
  Index buckets = 32, max_distance = 128, heads = 0;
  bool bidirectional = true;  // later keys have separate buckets
};
class RelativeBias {
 public:
  RelativeBias() = default;
  RelativeBias(const std::string& name, const RelativeBiasConfig& config, DType dtype);

  [[nodiscard]] Index bucket(Index query_position, Index key) const;
  // [1, head, query, key] for queries at first, first + 1, … and keys from 0.
  [[nodiscard]] Tensor forward(Index first, Index queries, Index keys) const;
  // Adds to the gradient of the table, given the gradient of the bias that forward returned.
  void backward(Index first, ConstTensorView dbias);

  Parameter table;  // [bucket, head]

 private:
  [[nodiscard]] std::vector<Index> buckets(Index first, Index queries, Index keys) const;
  RelativeBiasConfig config_;
};

// The position of every packed token in its own sequence: 0, 1, …, 0, 1, …
[[nodiscard]] std::vector<Index> positions_of(std::span<const Index> starts);

}  // namespace headlight::nn

#pragma GCC visibility pop
