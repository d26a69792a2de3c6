#include "train/adamw.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/float_mode.h"
#include "core/run_tasks.h"
#include "core/team.h"
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
  Team* const team = team_of(ctx, Together::items);
  const Range own = team != nullptr ? own_pieces(team->size(), team->rank()) : Range{0, pieces()};
  ctx.pool().run(own.size(), ctx.threads(), [&](int, std::int64_t number) {
    const DefaultFloatMode mode;
    const Index i = own.begin + number;
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    const float* grad = states_[piece.state].parameter->grad.as<float>();
    sums_[static_cast<std::size_t>(i)] = kernels.sum_of_squares(grad + piece.begin, piece.end - piece.begin);
  });
  if (team != nullptr) {
    std::size_t at = 0;
    const auto mine =
        std::span(sums_).subspan(static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.size()));
    for (const Bytes& part : team->all_gather(std::as_bytes(mine)))
      for (const double sum : values_of<double>(part)) sums_[at++] = sum;
  }
  double sum = 0;
  for (const double part : sums_) sum += part;  // in order, whichever worker or process computed them
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
  // A young average follows quickly, so that the random start is soon forgotten.
  numbers.average_keep = static_cast<float>(std::min(config_.average, (1 + count) / (10 + count)));
  const auto keep = static_cast<float>(1 - learning_rate * config_.weight_decay);
  Team* const team = team_of(ctx, Together::items);
  const Range pieces_here = team != nullptr ? own_pieces(team->size(), team->rank()) : Range{0, pieces()};
  ctx.pool().run(pieces_here.size(), ctx.threads(), [&](int, std::int64_t number) {
    const DefaultFloatMode mode;
    const Piece& piece = pieces_[static_cast<std::size_t>(pieces_here.begin + number)];
    State& state = states_[piece.state];
    kernels::AdamNumbers own = numbers;
    own.keep = state.parameter->decays ? keep : 1.0F;
    kernels.adam(own, {state.parameter->value.as<float>() + piece.begin,
                       state.parameter->grad.as<float>() + piece.begin, state.m.as<float>() + piece.begin,
                       state.v.as<float>() + piece.begin,
                       state.averaged.empty() ? nullptr : state.averaged.as<float>() + piece.begin,
                       piece.end - piece.begin});
  });
  if (team != nullptr)
    send_own(
        *team, [](State& state) { return state.parameter->value.as<float>(); }, To::all);
}

std::size_t AdamW::numbers(Range pieces) const {
  Index count = 0;
  for (Index i = pieces.begin; i < pieces.end; ++i) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    count += piece.end - piece.begin;
  }
  return static_cast<std::size_t>(count);
}

Index AdamW::first_piece(const Parameters& parameters) const {
  for (const Parameter* parameter : parameters)
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (states_[pieces_[i].state].parameter == parameter) return static_cast<Index>(i);
  return pieces();
}

void AdamW::each_piece(Range pieces, const std::function<void(State&, Range)>& use) {
  for (Index i = pieces.begin; i < pieces.end; ++i) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    use(states_[piece.state], {piece.begin, piece.end});
  }
}

void AdamW::send_own(Team& team, Numbers numbers_of, To to) {
  const int size = team.size(), mine = team.rank();
  std::vector<float> own;
  own.reserve(numbers(own_pieces(size, mine)));
  each_piece(own_pieces(size, mine), [&](State& state, Range range) {
    const float* from = numbers_of(state);
    own.insert(own.end(), from + range.begin, from + range.end);
  });
  std::vector<std::vector<float>> got(static_cast<std::size_t>(size));
  std::vector<std::span<const std::byte>> parts;
  std::vector<std::span<std::byte>> from;
  for (int rank = 0; rank < size; ++rank) {
    const bool sends = to == To::all || rank == 0, receives = to == To::all || mine == 0;
    parts.push_back(sends ? std::as_bytes(std::span(own)) : std::span<const std::byte>{});
    std::vector<float>& of_rank = got[static_cast<std::size_t>(rank)];
    if (receives) of_rank.resize(numbers(own_pieces(size, rank)));
    from.push_back(std::as_writable_bytes(std::span(of_rank)));
  }
  team.all_to_all(parts, from);
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float>& of_rank = got[static_cast<std::size_t>(rank)];
    if (rank == mine || of_rank.empty()) continue;
    const float* at = of_rank.data();
    each_piece(own_pieces(size, rank), [&](State& state, Range range) {
      std::copy_n(at, range.size(), numbers_of(state) + range.begin);
      at += range.size();
    });
  }
}

void AdamW::share_average(Context& ctx) {
  Team* const team = team_of(ctx, Together::items);
  if (team != nullptr && config_.average > 0)
    send_own(
        *team, [](State& state) { return state.averaged.as<float>(); }, To::all);
}

void AdamW::collect_state(Context& ctx) {
  Team* const team = team_of(ctx, Together::items);
  if (team == nullptr) return;
  send_own(
      *team, [](State& state) { return state.m.as<float>(); }, To::first);
  send_own(
      *team, [](State& state) { return state.v.as<float>(); }, To::first);
  if (config_.average > 0)
    send_own(
        *team, [](State& state) { return state.averaged.as<float>(); }, To::first);
}

// Returns whole pages of m and v to the system, which zeroes them when they are touched again.
void AdamW::release_others(Context& ctx) {
  Team* const team = team_of(ctx, Together::items);
  if (team == nullptr) return;
  constexpr std::uintptr_t page = 4096;
  const auto release = [](float* begin, float* end) {
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page,
                         last = reinterpret_cast<std::uintptr_t>(end) / page * page;
    if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  };
  const Range own = own_pieces(team->size(), team->rank());
  for (const Range others : {Range{0, own.begin}, Range{own.end, pieces()}})
    each_piece(others, [&](State& state, Range range) {
      for (float* numbers : {state.m.as<float>(), state.v.as<float>()})
        release(numbers + range.begin, numbers + range.end);
    });
}

void AdamW::swap_average() {
  if (config_.average <= 0) return;
  for (State& state : states_) std::swap(state.parameter->value, state.averaged);
}

}  // namespace headlight::train
