// Steps of recurrent layers: step t processes the t-th token of every sequence that has one.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "headlight/recurrent.h"
#include "nn/attention.h"
#include "nn/drive.h"

namespace headlight::nn {

// Sequences by decreasing length, so that those with a token at a step are the first rows.
struct RecurrentLayer::Steps {
  std::vector<Index> order;            // row → sequence
  std::vector<Index> starts, lengths;  // per row
  Index longest = 0;

  explicit Steps(std::span<const Index> sequence_starts) : order(sequence_starts.size() - 1) {
    std::iota(order.begin(), order.end(), 0);
    const auto length = [&](Index s) {
      return sequence_starts[static_cast<std::size_t>(s + 1)] - sequence_starts[static_cast<std::size_t>(s)];
    };
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return length(a) > length(b); });
    for (const Index s : order) {
      starts.push_back(sequence_starts[static_cast<std::size_t>(s)]);
      lengths.push_back(length(s));
    }
    longest = lengths.empty() ? 0 : lengths.front();
  }
  [[nodiscard]] Index rows() const { return static_cast<Index>(order.size()); }
  [[nodiscard]] Index alive(Index step) const {
    return static_cast<Index>(
        std::partition_point(lengths.begin(), lengths.end(), [&](Index n) { return n > step; }) -
        lengths.begin());
  }
  [[nodiscard]] Index token(Index row, Index step) const {
    return starts[static_cast<std::size_t>(row)] + step;
  }
  [[nodiscard]] Index sequence(Index row) const { return order[static_cast<std::size_t>(row)]; }
};

// The call with the starts of whole sequences filled in if it has none.
struct CompleteRecurrentCall {
  StartsOr starts, memory_starts;
  RecurrentCall call;

  CompleteRecurrentCall(const RecurrentCall& given, Index tokens)
      : starts(given.starts, tokens),
        memory_starts(given.memory_starts, given.memory.empty() ? 0 : given.memory.dim(0)),
        call(given) {
    call.starts = starts.get(), call.memory_starts = memory_starts.get();
  }
};

template <class T>
void copy(T* to, const T* from, Index n) {
  std::memcpy(to, from, sizeof(T) * static_cast<std::size_t>(n));
}

// f(row) for all rows of a step, on any free worker.
template <class F>
void for_rows(Context& ctx, Index rows, Index work, const F& f) {
  run_tasks(ctx, rows, rows * work < kSerialElements ? 1 : ctx.threads(), [&](int, Index row) { f(row); });
}

}  // namespace headlight::nn
