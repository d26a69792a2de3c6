// Rotary positions and their extensions to longer contexts: linear and dynamic (NTK) interpolation, YaRN
// (Peng et al., 2023), and the piecewise rule of Llama 3.1.
#include <cmath>
#include <numbers>

#include "headlight/positions.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// The pair whose angle makes `turns` full turns within the original context.
double pair_of_turns(double turns, double dims, const RopeConfig& config) {
  const double context = static_cast<double>(config.scaling.original_positions);
  return dims * std::log(context / (turns * kTurn)) / (2 * std::log(config.theta));
}

// Pairs that rotate fast keep their angle, slow ones are stretched, those between are interpolated.
void stretch_yarn(const RopeConfig& config, Index dims, std::vector<double>& frequencies) {
  const RopeScaling& s = config.scaling;
  double low = pair_of_turns(s.beta_fast, static_cast<double>(dims), config);
  double high = pair_of_turns(s.beta_slow, static_cast<double>(dims), config);
  if (s.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dims - 1));
  if (low == high) high += 0.001;
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    frequencies[j] = frequencies[j] / s.factor * ramp + frequencies[j] * (1 - ramp);
  }
}

void stretch_llama3(const RopeScaling& s, std::vector<double>& frequencies) {
  const double context = static_cast<double>(s.original_positions);
  for (double& f : frequencies) {
    const double turns = context * f / kTurn;  // within the original context
    if (turns < s.low_frequency) {
      f /= s.factor;
    } else if (turns <= s.high_frequency) {
      const double smooth = (turns - s.low_frequency) / (s.high_frequency - s.low_frequency);
      f = (1 - smooth) * f / s.factor + smooth * f;
    }
  }
}

}  // namespace

std::vector<double> rope_frequencies(const RopeConfig& config, Index dims, Index length) {
  const DefaultFloatMode float_mode;
  const RopeScaling& s = config.scaling;
  const auto n = static_cast<double>(dims);
  double theta = config.theta;
  if (s.kind == RopeScaling::Kind::dynamic && length > s.original_positions && dims > 2) {
    const double stretch = s.factor * static_cast<double>(length) / static_cast<double>(s.original_positions);
    theta *= std::pow(stretch - (s.factor - 1), n / (n - 2));
  }
  std::vector<double> frequencies(static_cast<std::size_t>(dims / 2));
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    frequencies[j] = std::pow(theta, -2 * static_cast<double>(j) / n);
    if (s.kind == RopeScaling::Kind::linear) frequencies[j] /= s.factor;
  }
  const bool beyond = s.kind == RopeScaling::Kind::longrope && length > s.original_positions;
  const std::vector<double>& factors = beyond ? config.long_factors : config.factors;
  for (std::size_t j = 0; j < std::min(frequencies.size(), factors.size()); ++j) frequencies[j] /= factors[j];
  if (s.kind == RopeScaling::Kind::yarn) stretch_yarn(config, dims, frequencies);
  if (s.kind == RopeScaling::Kind::llama3) stretch_llama3(s, frequencies);
  return frequencies;
}

double rope_attention_factor(const RopeConfig& config) {
  const DefaultFloatMode float_mode;
  const RopeScaling& s = config.scaling;
  if (s.kind != RopeScaling::Kind::yarn && s.kind != RopeScaling::Kind::longrope) return 1;
  if (s.attention_factor > 0) return s.attention_factor;
  return s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1;
}

RopeTable::RopeTable(const RopeConfig& config, Index head_dim, Index first, Index end, DType dtype)
    : first_(first), end_(end), interleaved_(config.interleaved) {
  const DefaultFloatMode float_mode;
  const Index dims = config.dims > 0 ? config.dims : head_dim;
  if (dims % 2 != 0 || dims > head_dim || config.theta <= 0 || config.scaling.factor <= 0) {
    throw Error(ErrorKind::usage, "nn.rope",
                concat("rope: ", dims, " of ", head_dim, " dimensions rotated with base ", config.theta,
                       " and factor ", config.scaling.factor, "; need an even number of them, all positive"));
  }
  const bool switches = config.scaling.kind == RopeScaling::Kind::longrope;
  for (const std::vector<double>* factors : {&config.factors, &config.long_factors}) {
    if ((factors->empty() && !switches) || static_cast<Index>(factors->size()) == dims / 2) continue;
    throw Error(ErrorKind::usage, "nn.rope",
                concat("rope: ", factors->size(), " factors for ", dims / 2, " pairs; need one for each"));
  }
  const bool stretches =
      config.scaling.kind != RopeScaling::Kind::none && config.scaling.kind != RopeScaling::Kind::linear;
  if (stretches && config.scaling.original_positions < 1) {
    throw Error(ErrorKind::usage, "nn.rope",
                "rope: this scaling needs the context that the model was trained on (original_positions)");
  }
  original_ = config.scaling.original_positions;
  usual_ = turns_of(config, dims, switches ? 0 : end, dtype);
  if (switches && end > original_) long_ = turns_of(config, dims, end, dtype);
}

RopeTable::Turns RopeTable::turns_of(const RopeConfig& config, Index dims, Index length, DType dtype) const {
  const std::vector<double> frequencies = rope_frequencies(config, dims, length);
  const double factor = rope_attention_factor(config);
  const Index half = dims / 2, rows = std::max<Index>(0, end_ - first_);
  Turns turns{Tensor::uninitialized({rows, half}, dtype), Tensor::uninitialized({rows, half}, dtype)};
  for (Index p = 0; p < rows; ++p)
    for (Index j = 0; j < half; ++j) {
      const double angle = static_cast<double>(first_ + p) * frequencies[static_cast<std::size_t>(j)];
      turns.cos.view().set(p, j, std::cos(angle) * factor);
      turns.sin.view().set(p, j, std::sin(angle) * factor);
    }
  return turns;
}

namespace {

// For each token, whether its sequence is longer than `original`, including earlier tokens.
std::vector<bool> beyond(std::span<const Index> positions, std::span<const Index> starts, Index original) {
  std::vector<bool> result(positions.size(), false);
  const Index whole[] = {0, static_cast<Index>(positions.size())};
  if (starts.empty()) starts = whole;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    if (starts[s] == starts[s + 1]) continue;
    const bool is = positions[static_cast<std::size_t>(starts[s + 1] - 1)] >= original;
    std::fill(result.begin() + starts[s], result.begin() + starts[s + 1], is);
  }
  return result;
}

}  // namespace

void RopeTable::turn(Context& ctx, TensorView x, std::span<const Index> positions,
                     std::span<const Index> starts, bool backward) const {
  const Index tokens = x.dim(0), heads = x.dim(1), half = usual_.cos.dim(1);
  for (const Index p : positions) {
    if (p < first_ || p >= end_) {
      throw Error(ErrorKind::usage, "nn.rope",
                  concat("rope: position ", p, " in a table for positions ", first_, " to ", end_ - 1));
    }
  }
  const std::vector<bool> far =
      long_.cos.empty() ? std::vector<bool>() : beyond(positions, starts, original_);
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_each_row(ctx, tokens, heads * x.dim(2), [&](Index t) {
      const Index row = (positions[static_cast<std::size_t>(t)] - first_) * half;
      const Turns& turns = !far.empty() && far[static_cast<std::size_t>(t)] ? long_ : usual_;
      const kernels::Rotation<T> rotation{turns.cos.as<T>() + row, turns.sin.as<T>() + row, half,
                                          interleaved_, backward};
      for (Index h = 0; h < heads; ++h) {
        T* head = x.as<T>() + t * x.stride(0) + h * x.stride(1);
        kernels.rotate(rotation, head, head);
      }
    });
  });
}

void RopeTable::rotate(Context& ctx, TensorView x, std::span<const Index> positions,
                       std::span<const Index> starts) const {
  turn(ctx, x, positions, starts, false);
}
void RopeTable::rotate_back(Context& ctx, TensorView dx, std::span<const Index> positions,
                            std::span<const Index> starts) const {
  turn(ctx, dx, positions, starts, true);
}

}  // namespace headlight::nn
