// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2019), one pass over the parameters that
// also clips, decays, averages and clears the gradients. The same bits for any number of threads.
//
// Processes that learn together (a team of items) divide the state: each keeps and updates m, v and the average of its own
// pieces, and sends the parameters to the others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "headlight/attention.h"
#include "headlight/team.h"

#include "headlight/context.h"
#include "headlight/parameters.h"

namespace headlight::train {

struct AdamWConfig {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double average = 0;  // decay of a moving average of the parameters; 0: no average
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

  // The length of all gradients taken together; NaN or infinite when one of them is. In a team each process has the
  // gradients of its own pieces.
  [[nodiscard]] double gradient_norm(Context& ctx) const;
  // One update by gradients · grad_scale; clears the gradients. In a team all processes have all parameters afterwards.
  void step(Context& ctx, double learning_rate, double grad_scale = 1);

  // The division among the processes of a team: runs of at most 65,536 parameters. Process `rank` has its own.
  [[nodiscard]] Index pieces() const noexcept { return static_cast<Index>(pieces_.size()); }
  [[nodiscard]] Range own_pieces(int size, int rank) const {
    return {pieces() * rank / size, pieces() * (rank + 1) / size};
  }
  [[nodiscard]] std::size_t numbers(Range pieces) const;
  // The first piece of the first of these parameters that is trained; pieces(): none is.
  [[nodiscard]] Index first_piece(const Parameters& parameters) const;
  void each_piece(Range pieces, const std::function<void(State&, Range)>& use);
  // Collective, and nothing without a team. The average, on every process; the whole state, on process 0; and freeing
  // the memory of other processes' pieces.
  void share_average(Context& ctx);
  void collect_state(Context& ctx);
  void release_others(Context& ctx);

  // Exchanges parameters and their averages; does nothing without an average.
  void swap_average();

  [[nodiscard]] const AdamWConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::vector<State>& states() noexcept { return states_; }
  [[nodiscard]] const std::vector<State>& states() const noexcept { return states_; }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

 private:
  using Numbers = float* (*)(State&);
  enum class To : std::uint8_t { all, first };
  void send_own(Team& team, Numbers numbers, To to);

  // The work of one task. The division depends only on sizes.
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
