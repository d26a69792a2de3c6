// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019), one pass over the parameters that
// also clips, decays, averages and clears the gradients. The same bits for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "headlight/context.h"
#include "headlight/parameters.h"

namespace headlight::train {

struct AdamWConfig {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double average = 0;  // decay of a moving average of the parameters; 0: none is kept
};

class AdamW {
 public:
  // Of one trained parameter, in the order of parameters().
  struct State {
    Parameter* parameter = nullptr;
    Tensor m, v;
    Tensor averaged;  // empty without an average
  };

  // Gives every trained parameter a gradient of zeros. Parameters must be f32 (Error{usage}) and outlive this.
  AdamW(const Parameters& parameters, const AdamWConfig& config);

  // The length of all gradients taken together; NaN or infinite when one of them is.
  [[nodiscard]] double gradient_norm(Context& ctx) const;
  // One update by gradients · grad_scale; clears the gradients.
  void step(Context& ctx, double learning_rate, double grad_scale = 1);

  // Exchanges parameters and their averages; does nothing without an average.
  void swap_average();

  [[nodiscard]] const AdamWConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::vector<State>& states() noexcept { return states_; }
  [[nodiscard]] const std::vector<State>& states() const noexcept { return states_; }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

 private:
  // What one task works on. Cuts depend on sizes alone.
  struct Piece {
    std::size_t state = 0;
    Index begin = 0, end = 0;
  };

  AdamWConfig config_;
  std::vector<State> states_;
  std::vector<Piece> pieces_;
  mutable std::vector<double> sums_;
  std::int64_t steps_ = 0;
};

}  // namespace headlight::train
