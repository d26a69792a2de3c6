// Recurrent layers, for comparison with attention: Gru and Lstm, and additive attention (Bahdanau et al.,
// 2014) of a recurrent decoder over its encoder. nn.h states the conventions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/nn.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

enum class CellKind : std::uint8_t { gru, lstm };

struct RecurrentConfig {
  CellKind kind = CellKind::gru;
  Index in = 0, width = 0;
  Index memory_width = 0;  // > 0: each step also reads additive attention over a memory of this width
};

// Arguments of one call, in addition to its tokens.
struct RecurrentCall {
  std::span<const Index> starts = {};  // of x; empty: one sequence
  ConstTensorRef state = {};           // initial state, [sequence, state_width]; empty: zero
  ConstTensorRef memory = {};          // source of attention, [token, memory_width]
  std::span<const Index> memory_starts = {};
};

// Each token's output is the state after it. PyTorch's equations and order of gates.
class RecurrentLayer {
 public:
  struct Saved {
    Tensor gates;        // [token, gates·width], after their curves
    Tensor extra;        // gru: the hidden part of the candidate; lstm: the cell after each token
    Tensor before;       // [token, width]: the output one step earlier
    Tensor cell_before;  // lstm
    Tensor keys;         // [memory token, width]: projections of the memory
    Tensor queries;      // [token, width]
    Tensor found;        // [token, memory_width]: output of attention
    std::vector<Index> weight_starts;  // of each token's weights
    Tensor weights;                    // of attention, end to end
  };
  struct Result {
    Tensor y;     // [token, width]
    Tensor last;  // [sequence, state_width]: final states
  };

  RecurrentLayer() = default;
  RecurrentLayer(const std::string& name, const RecurrentConfig& config, DType dtype = DType::f32);

  [[nodiscard]] Result forward(Context& ctx, ConstTensorView x, const RecurrentCall& call,
                               Saved* saved = nullptr) const;
  struct Grads {
    TensorRef dstate = {};   // written
    TensorRef dmemory = {};  // added to
  };
  // dlast may be empty. Returns dx.
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const RecurrentCall& call,
                                const Saved& saved, ConstTensorView dy, ConstTensorView dlast,
                                const Grads& grads);
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const RecurrentCall& call,
                                const Saved& saved, ConstTensorView dy) {
    return backward(ctx, x, call, saved, dy, {}, {});
  }

  // Output, and for lstm the cell.
  [[nodiscard]] Index state_width() const noexcept { return config_.width * (gru() ? 1 : 2); }
  [[nodiscard]] const RecurrentConfig& config() const noexcept { return config_; }
  void collect(Parameters& list);

  Linear input, hidden;      // to all gates
  Linear query, key, found;  // attention: projections of state and memory, and of its output to the gates
  Parameter score;           // [width]: scores a match

 private:
  struct [[gnu::visibility("hidden")]] Steps;  // src/nn/recurrent_steps.h
  class [[gnu::visibility("hidden")]] Forward;
  class [[gnu::visibility("hidden")]] Backward;
  [[nodiscard]] bool gru() const noexcept { return config_.kind == CellKind::gru; }
  RecurrentConfig config_;
};

struct Gru : RecurrentLayer {
  Gru(const std::string& name, Index in, Index width, DType dtype = DType::f32)
      : RecurrentLayer(name, {.kind = CellKind::gru, .in = in, .width = width}, dtype) {}
};
struct Lstm : RecurrentLayer {
  Lstm(const std::string& name, Index in, Index width, DType dtype = DType::f32)
      : RecurrentLayer(name, {.kind = CellKind::lstm, .in = in, .width = width}, dtype) {}
};

}  // namespace headlight::nn

#pragma GCC visibility pop
