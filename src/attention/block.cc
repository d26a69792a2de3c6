#include "attention/block.h"

#include <cmath>

namespace headlight {
namespace {

constexpr double kLog2e = 1.4426950408889634074;

constexpr Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

// Rows a multiple of 64 bytes long, plus 64: neighbours then do not compete for one cache set.
template <class T>
constexpr Index padded(Index n) {
  constexpr Index kLine = 64 / sizeof(T);
  return round_up(n, kLine) + kLine;
}

}  // namespace

template <class T>
std::size_t Workspace<T>::bytes(const Problem& problem, const TilePlan& plan, std::size_t packed_elements) {
  const Index elements =
      kBlockRows * (padded<T>(problem.dim) + padded<T>(plan.tile_keys) + 2 * padded<T>(plan.value_dim) + 4 +
                    kNoteBytes / static_cast<Index>(sizeof(T)));
  return (static_cast<std::size_t>(elements) + packed_elements) * sizeof(T);
}

template <class T>
Index Workspace<T>::padded_columns(const TilePlan& plan) {
  return padded<T>(plan.value_dim);
}

template <class T>
Workspace<T>::Workspace(std::byte* memory, const Problem& problem, const TilePlan& plan)
    : q_stride(padded<T>(problem.dim)), scores_stride(padded<T>(plan.tile_keys)) {
  T* next = reinterpret_cast<T*>(memory);
  const auto take = [&next](Index n) {
    T* taken = next;
    next += kBlockRows * n;
    return taken;
  };
  q = take(q_stride);
  scores = take(scores_stride);
  for (kernels::SoftmaxState<T>* state : {&total, &part}) {
    state->acc_stride = padded<T>(plan.value_dim);
    state->acc = take(state->acc_stride);
    state->max = take(1);
    state->sum = take(1);
  }
  notes = reinterpret_cast<std::byte*>(take(kNoteBytes / static_cast<Index>(sizeof(T))));
  packed = next;
}

template <class T>
Block<T>::Block(const Problem& the_problem, const TilePlan& the_plan,
                const kernels::AttentionKernels<T>& the_kernels, const Unit& the_unit, Index first, Index end,
                const Workspace<T>& workspace)
    : problem(the_problem),
      plan(the_plan),
      kernels(the_kernels),
      unit(the_unit),
      rows(static_cast<int>(std::clamp<Index>(end - first, 0, kBlockRows))) {
  const double cap = problem.options->softcap;
  rules.logit_unit = static_cast<T>(problem.logit_unit());
  factor = static_cast<T>(cap > 0 ? problem.scale / cap : problem.scale * kLog2e / problem.logit_unit());
  const Sequence& sequence = unit.sequence;
  all_keys = {sequence.k_len, 0};
  for (int r = 0; r < rows; ++r) {
    query[r] = (first + r) / unit.heads;
    head[r] = unit.first_head + (first + r) % unit.heads;
    const Range seen = problem.keys_for(sequence, query[r]);
    keys[r] = {seen.begin, seen.end};
    if (keys[r].size() > 0) {
      all_keys.begin = std::min(all_keys.begin, keys[r].begin);
      all_keys.end = std::max(all_keys.end, keys[r].end);
    }
    if (workspace.q == nullptr) continue;
    kernels.load_row(row_at(problem.q, sequence.batch, head[r], sequence.q_start + query[r]), problem.dtype,
                     static_cast<int>(problem.dim), factor, workspace.q + r * workspace.q_stride);
  }
  prepare_rules();
  if (problem.dropout.threshold > 0) {
    dropout = {&problem.dropout, 1 / (1 - problem.options->dropout.rate), sequence.item, head, query};
  }
}

template <class T>
void Block<T>::prepare_rules() {
  const AttentionOptions& options = *problem.options;
  const Broadcast& bias = problem.bias;
  const Broadcast& mask = problem.mask;
  const bool alibi = !options.alibi_slopes.empty();
  if (options.softcap <= 0 && !alibi && bias.data == nullptr && mask.data == nullptr) return;
  const double log2e = kLog2e / problem.logit_unit();
  rules.cap = static_cast<T>(options.softcap > 0 ? options.softcap * log2e : 0);
  rules.alibi = alibi;
  rules.bias_type = bias.dtype;
  rules.bias_stride = bias.stride[3];
  rules.mask_stride = mask.stride[3];
  rules.rows = rule;
  for (int r = 0; r < rows; ++r) {
    rule[r].position = query[r] + unit.sequence.offset;
    rule[r].slope = alibi ? static_cast<T>(options.alibi_slopes.at(head[r]) * log2e) : T{0};
    const auto row_of = [&](const Broadcast& b) {
      return static_cast<const std::byte*>(b.data) +
             (unit.sequence.item * b.stride[0] + head[r] * b.stride[1] + query[r] * b.stride[2]) *
                 static_cast<Index>(size_of(b.dtype));
    };
    rule[r].bias = bias.data != nullptr ? row_of(bias) : nullptr;
    rule[r].mask = mask.data != nullptr ? reinterpret_cast<const std::uint8_t*>(row_of(mask)) : nullptr;
  }
}

// Short sequences use the values in place: copying them would take as long as using them.
template <class T>
KeyReader<T>::KeyReader(const Problem& problem, const TilePlan& plan,
                        const kernels::AttentionKernels<T>& kernels, bool with_values)
    : problem_(problem),
      plan_(plan),
      kernels_(kernels),
      columns_(with_values ? round_up(plan.value_dim, kernels.panel) : 0),
      values_in_place_(with_values && problem.cache == nullptr && problem.k_longest <= 64 &&
                       problem.dtype == (sizeof(T) == 4 ? DType::f32 : DType::f64) &&
                       problem.value_dim % kernels.lanes == 0) {}

template <class T>
void KeyReader<T>::pack(const Unit& unit, Range range, Range tiles, T* memory) const {
  const Sequence& sequence = unit.sequence;
  const auto row = [&](const ConstTensorView& view, Index key) {
    return row_at(view, sequence.batch, unit.kv_head, sequence.k_start + key);
  };
  for (Index first = tiles.begin; first < tiles.end; first += plan_.tile_keys) {
    const int n = static_cast<int>(std::min<Index>(plan_.tile_keys, tiles.end - first));
    const Index offset = first - range.begin;
    kernels_.pack_keys(row(problem_.k, first), problem_.dtype, problem_.k.stride(2), n,
                       static_cast<int>(problem_.dim), memory + offset * problem_.dim);
    if (columns_ > 0 && !values_in_place_) {
      kernels_.pack_values(row(problem_.v, first), problem_.dtype, problem_.v.stride(2), n,
                           static_cast<int>(problem_.value_dim),
                           values_at(range, memory) + offset * columns_);
    }
  }
}

template struct Workspace<float>;
template struct Workspace<double>;
template struct Block<float>;
template struct Block<double>;
template class KeyReader<float>;
template class KeyReader<double>;

}  // namespace headlight
