#include "lab/tuning.h"

#include <fmt/format.h>

namespace headlight::lab {

double best_rate(std::span<const double> rates, const std::function<double(double rate)>& score) {
  double best = rates.front(), highest = -1;
  if (rates.size() == 1) return best;
  for (const double rate : rates) {
    const double reached = score(rate);
    if (reached <= highest) continue;
    highest = reached;
    best = rate;
  }
  return best;
}

std::string tuning_text(std::span<const double> rates) {
  if (rates.size() == 1) return fmt::format("All models use the learning rate {:g}.", rates.front());
  std::string list;
  for (std::size_t i = 0; i < rates.size(); ++i)
    list += fmt::format("{}{:g}", i == 0 ? "" : i + 1 == rates.size() ? " and " : ", ", rates[i]);
  return fmt::format("Each model has the best of the learning rates {}, tried with another seed.", list);
}

}  // namespace headlight::lab
