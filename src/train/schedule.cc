#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight::train {

std::string_view name_of(ScheduleKind kind) noexcept {
  switch (kind) {
    case ScheduleKind::constant: return "constant";
    case ScheduleKind::cosine: return "cosine";
    case ScheduleKind::inverse_square_root: return "inverse-sqrt";
  }
  return "";
}

double Schedule::rate(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  switch (kind) {
    case ScheduleKind::constant: return peak;
    case ScheduleKind::inverse_square_root: {
      // From the peak at the end of the warm-up, as if the curve had begun at step 1.
      const auto start = static_cast<double>(std::max<std::int64_t>(warmup, 1));
      return peak * std::sqrt(start / std::max(start, static_cast<double>(step + 1)));
    }
    case ScheduleKind::cosine: {
      const std::int64_t last = steps - 1;
      if (step >= last) return floor;
      const double done =
          static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(last - warmup, 1));
      return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    }
  }
  return peak;
}

}  // namespace headlight::train
