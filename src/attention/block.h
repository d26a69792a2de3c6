// A block of query rows of one unit, ready for the kernels. A unit is a sequence and a key head; the
// query heads that share the key head are rows like any other, next to each other at each position,
// so that every tile of keys is read once for all of them.
#pragma once

#include <cstdint>

#include "attention/cache_store.h"
#include "attention/problem.h"
#include "attention/tile_plan.h"
#include "kernels/bf16_tile.h"
#include "kernels/kernels.h"

namespace headlight {

struct Unit {
  Sequence sequence;
  Index kv_head = 0;
  Index first_head = 0, heads = 1;  // the query heads that are its rows
  [[nodiscard]] Index rows() const { return sequence.q_rows * heads; }
};

[[nodiscard]] inline Unit unit_of(const Problem& problem, Index number) {
  const Index kv_head = number % problem.kv_heads;
  return {problem.sequence(number / problem.kv_heads), kv_head, kv_head * problem.group, problem.group};
}

// The keys and values of one unit as the kernels read them: packed for the call, or pages of a cache.
template <class T>
struct KeySource {
  const CacheStore* cache = nullptr;
  const T* keys = nullptr;           // packed tile after tile, from first_key on
  const T* values = nullptr;         // packed likewise, or the caller's rows
  Index first_key = 0, end_key = 0;  // a last tile that is cut short has shorter value panels
  bool values_in_place = false;
  Index value_stride = 0;  // of values in place
};

// Scratch memory of one worker, in one allocation.
template <class T>
struct Workspace {
  T* q = nullptr;
  T* scores = nullptr;
  kernels::SoftmaxState<T> total, part;
  std::byte* notes = nullptr;  // kNoteBytes per row: state of a statistics sweep
  T* packed = nullptr;         // room for keys and values packed by this worker alone
  Index q_stride = 0, scores_stride = 0;
  kernels::FetchAhead* ahead = nullptr;  // memory to prefetch meanwhile, if any

  [[nodiscard]] static std::size_t bytes(const Problem& problem, const TilePlan& plan,
                                         std::size_t packed_elements);
  static constexpr Index kNoteBytes = 768;
  [[nodiscard]] static Index padded_columns(const TilePlan& plan);  // stride of acc
  Workspace() = default;
  Workspace(std::byte* memory, const Problem& problem, const TilePlan& plan);
};

// A Range without initialisation.
struct KeyRun {
  Index begin, end;
  [[nodiscard]] Index size() const { return end - begin; }
};

template <class T>
struct Block {
  const Problem& problem;
  const TilePlan& plan;
  const kernels::AttentionKernels<T>& kernels;
  const Unit& unit;
  int rows = 0;
  Index query[kBlockRows];  // inside the sequence
  Index head[kBlockRows];
  KeyRun keys[kBlockRows];  // visible keys of each row
  Range all_keys;           // of all rows together
  T factor = 1;             // of q·k, before any rule
  kernels::RowRule<T> rule[kBlockRows];
  kernels::ScoreRules<T> rules;
  kernels::DropoutRows dropout;

  // Rows `first` … of the unit, as many as a block takes and there are before `end`; loads their queries into
  // workspace.q, scaled, unless null.
  Block(const Problem& problem, const TilePlan& plan, const kernels::AttentionKernels<T>& kernels,
        const Unit& unit, Index first, Index end, const Workspace<T>& workspace);

  Block(const Block&) = delete;  // its rules hold pointers to it
  Block& operator=(const Block&) = delete;

  // Calls use(tile) for every tile of keys first … end-1 that some row sees, in order. `range` is cut
  // at tile borders.
  template <class Use>
  void for_each_tile(Range range, const KeySource<T>& source, const Workspace<T>& workspace,
                     const Use& use) const;

 private:
  void prepare_rules();
};

// Calls use(range) for every segment that some row of the block sees, in key order.
template <class T, class Use>
void for_each_segment(const Block<T>& block, const Use& use) {
  const Index step = block.plan.segment_keys, end = block.all_keys.end;
  for (Index begin = block.all_keys.begin / step * step; begin < end; begin += step) {
    use(Range{begin, std::min(end, begin + step)});
  }
}

// Whether 16-bit inputs are multiplied in bf16.
[[nodiscard]] inline bool wants_bf16(const Context& ctx, const Problem& problem) {
  return ctx.products() == Products::bf16 && (problem.dtype == DType::bf16 || problem.dtype == DType::f16);
}

template <class T>
[[nodiscard]] const kernels::AttentionKernels<T>& kernels_of(const Context& ctx, const Problem& problem) {
  if constexpr (sizeof(T) == 4) {
    if (problem.cache != nullptr) return problem.cache->kernels;
    if (wants_bf16(ctx, problem)) {
      if (const auto* kernels = kernels::bf16_attention_for(ctx.target())) return *kernels;
    }
  }
  return kernels::kernels_for(ctx.target()).of<T>();
}

// Makes key sources of a call: packs the caller's rows, or points into the cache.
template <class T>
class KeyReader {
 public:
  KeyReader(const Problem& problem, const TilePlan& plan, const kernels::AttentionKernels<T>& kernels,
            bool with_values);

  // Elements needed to pack `keys` keys; 0 for keys in a cache.
  [[nodiscard]] Index elements(Index keys) const {
    return problem_.cache != nullptr ? 0 : (keys + kernels_.panel) * (problem_.dim + columns_);
  }
  // Keys [range) of a unit in `memory`; range.begin is a multiple of the tile.
  [[nodiscard]] KeySource<T> read(const Unit& unit, Range range, T* memory) const {
    if (problem_.cache == nullptr) pack(unit, range, range, memory);
    return at(unit, range, memory);
  }
  // Packs only `tiles` of it: several workers pack one source.
  void pack(const Unit& unit, Range range, Range tiles, T* memory) const;
  [[nodiscard]] KeySource<T> at(const Unit& unit, Range range, T* memory) const;

 private:
  [[nodiscard]] T* values_at(Range range, T* memory) const {
    return memory + (range.size() + kernels_.panel - 1) / kernels_.panel * kernels_.panel * problem_.dim;
  }

  const Problem& problem_;
  const TilePlan& plan_;
  const kernels::AttentionKernels<T>& kernels_;
  Index columns_;         // of packed values; 0: no values, or values used in place
  bool values_in_place_;  // the kernels read the caller's rows
};

template <class T>
[[gnu::always_inline]] inline KeySource<T> KeyReader<T>::at(const Unit& unit, Range range, T* memory) const {
  const Sequence& s = unit.sequence;
  if (problem_.cache != nullptr)
    return {.cache = problem_.cache, .first_key = range.begin, .end_key = s.k_len};
  KeySource<T> source{.keys = memory, .first_key = range.begin, .end_key = range.end};
  if (values_in_place_) {
    const ConstTensorView& v = problem_.v;
    source.values_in_place = true;
    source.value_stride = v.stride(2);
    source.values = v.as<T>() + row_offset(v, s.batch, unit.kv_head, s.k_start + range.begin);
  } else if (columns_ > 0) {
    source.values = values_at(range, memory);
  }
  return source;
}

template <class T>
template <class Use>
[[gnu::always_inline]] inline void Block<T>::for_each_tile(Range range, const KeySource<T>& source,
                                                           const Workspace<T>& workspace,
                                                           const Use& use) const {
  const Index size = plan.tile_keys;
  const Index begin = std::max(range.begin, all_keys.begin), end = std::min(range.end, all_keys.end);
  std::int32_t from[kBlockRows], to[kBlockRows];
  kernels::Tile<T> tile;
  tile.rows = rows;
  tile.dim = static_cast<int>(problem.dim);
  tile.value_dim = plan.value_dim;
  tile.q = workspace.q;
  tile.q_stride = workspace.q_stride;
  tile.factor = factor;
  tile.begin = from;
  tile.end = to;
  tile.rules = rules;
  tile.dropout = dropout;
  tile.scores = workspace.scores;
  tile.scores_stride = workspace.scores_stride;
  tile.ahead = workspace.ahead;
  for (Index first = begin / size * size; first < end; first += size) {
    const Index n = std::min(size, source.end_key - first);
    for (int r = 0; r < rows; ++r) {
      from[r] = static_cast<std::int32_t>(std::clamp<Index>(keys[r].begin - first, 0, n));
      to[r] = static_cast<std::int32_t>(std::clamp<Index>(keys[r].end - first, 0, n));
    }
    const Index offset = first - source.first_key;
    tile.first_key = first;
    if constexpr (sizeof(T) == 4) {
      if (source.cache != nullptr) {
        const kernels::StoredTile stored =
            source.cache->place(unit.sequence.item, unit.kv_head, first, all_keys.end);
        tile.stored = &stored;
        use(tile);
        continue;
      }
    }
    tile.keys = source.keys + offset * problem.dim;
    if (source.values_in_place) {
      tile.values = source.values + offset * source.value_stride;
      tile.value_stride = source.value_stride;
      tile.value_panel_stride = kernels.panel;
    } else if (source.values != nullptr) {
      const Index columns = (plan.value_dim + kernels.panel - 1) / kernels.panel * kernels.panel;
      tile.values = source.values + offset * columns;
      tile.value_stride = kernels.panel;
      tile.value_panel_stride = n * kernels.panel;
    }
    use(tile);
  }
}

}  // namespace headlight
