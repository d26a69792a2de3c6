// The learning rate as a pure function of the step, so that checkpoints need not store it.
#pragma once

#include <cstdint>
#include <string_view>

namespace headlight::train {

enum class ScheduleKind { constant, cosine, inverse_square_root };

[[nodiscard]] std::string_view name_of(ScheduleKind kind) noexcept;  // "inverse-sqrt"

struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double peak = 1e-3;
  double floor = 0;         // cosine: the final rate, as a share of the highest
  std::int64_t warmup = 0;  // steps of a linear warm-up to `peak`
  std::int64_t steps = 0;   // cosine: the last step

  // `step` counts from 0. Cosine reaches `floor` at the last step and stays there.
  [[nodiscard]] double rate(std::int64_t step) const;
};

}  // namespace headlight::train
