#include "train/adamw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/float_mode.h"
#include "core/run_tasks.h"
#include "headlight/error.h"
#include "kernels/optimizer.h"

namespace headlight::train {
namespace {

// 64 Ki elements of five arrays are 1.3 MB: enough work for a task, and a matrix of width 512 is four of them.
constexpr Index kPiece = Index{1} << 16;

}  // namespace

AdamW::AdamW(const Parameters& parameters, const AdamWConfig& config) : config_(config) {
  for (Parameter* parameter : parameters) {
    if (!parameter->trained) continue;
    if (parameter->value.dtype() != DType::f32) {
      throw Error(ErrorKind::usage, "train.dtype",
                  concat("adamw: parameter \"", parameter->name, "\" is ", name_of(parameter->value.dtype()),
                         "; only f32 is trained"));
    }
    const Shape& shape = parameter->value.shape();
    parameter->grad = Tensor(shape);
    State state;
    state.parameter = parameter;
    state.m = Tensor(shape);
    state.v = Tensor(shape);
    if (config.average > 0) state.averaged = parameter->value.clone();
    for (Index begin = 0; begin < shape.elements(); begin += kPiece)
      pieces_.push_back({states_.size(), begin, std::min(begin + kPiece, shape.elements())});
    states_.push_back(std::move(state));
  }
  sums_.resize(pieces_.size());
}

double AdamW::gradient_norm(Context& ctx) const {
  const CallScope scope(ctx);
  const auto& kernels = kernels::optimizer_kernels_for(ctx.target());
  ctx.pool().run(static_cast<std::int64_t>(pieces_.size()), ctx.threads(), [&](int, std::int64_t i) {
    const DefaultFloatMode mode;
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    const float* grad = states_[piece.state].parameter->grad.as<float>();
    sums_[static_cast<std::size_t>(i)] = kernels.sum_of_squares(grad + piece.begin, piece.end - piece.begin);
  });
  double sum = 0;
  for (const double part : sums_) sum += part;  // in order, whichever worker computed them
  return std::sqrt(sum);
}

void AdamW::step(Context& ctx, double learning_rate, double grad_scale) {
  const CallScope scope(ctx);
  const auto& kernels = kernels::optimizer_kernels_for(ctx.target());
  ++steps_;
  const auto count = static_cast<double>(steps_);
  const double correction1 = 1 - std::pow(config_.beta1, count),
               correction2 = 1 - std::pow(config_.beta2, count);
  kernels::AdamNumbers numbers;
  numbers.grad_scale = static_cast<float>(grad_scale);
  numbers.beta1 = static_cast<float>(config_.beta1);
  numbers.beta2 = static_cast<float>(config_.beta2);
  numbers.rate = static_cast<float>(learning_rate / correction1);
  numbers.root_scale = static_cast<float>(1 / std::sqrt(correction2));
  numbers.epsilon = static_cast<float>(config_.epsilon);
  // A young average follows quickly, or it would remember the random start for long.
  numbers.average_keep = static_cast<float>(std::min(config_.average, (1 + count) / (10 + count)));
  const auto keep = static_cast<float>(1 - learning_rate * config_.weight_decay);
  ctx.pool().run(static_cast<std::int64_t>(pieces_.size()), ctx.threads(), [&](int, std::int64_t i) {
    const DefaultFloatMode mode;
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    State& state = states_[piece.state];
    kernels::AdamNumbers own = numbers;
    own.keep = state.parameter->decays ? keep : 1.0F;
    kernels.adam(own, {state.parameter->value.as<float>() + piece.begin,
                       state.parameter->grad.as<float>() + piece.begin, state.m.as<float>() + piece.begin,
                       state.v.as<float>() + piece.begin,
                       state.averaged.empty() ? nullptr : state.averaged.as<float>() + piece.begin,
                       piece.end - piece.begin});
  });
}

void AdamW::swap_average() {
  if (config_.average <= 0) return;
  for (State& state : states_) std::swap(state.parameter->value, state.averaged);
}

}  // namespace headlight::train
