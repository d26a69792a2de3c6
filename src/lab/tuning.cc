#include "lab/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/spread.h"

namespace headlight::lab {
namespace {

constexpr std::size_t kMostTried = 12;  // limit if the score rises without end

std::string listed(std::span<const double> rates) {
  std::string list;
  for (std::size_t i = 0; i < rates.size(); ++i)
    list += fmt::format("{}{:g}", i == 0 ? "" : i + 1 == rates.size() ? " and " : ", ", rates[i]);
  return list;
}

}  // namespace

TunedRate tuned_rate(std::span<const double> rates, const std::function<double(double rate)>& score) {
  if (rates.size() == 1) return {rates.front()};
  const double factor = rates[1] / rates[0];
  std::vector<TriedRate> tried;
  for (const double rate : rates) tried.push_back({rate, score(rate)});
  for (;;) {
    const auto best = std::max_element(
        tried.begin(), tried.end(), [](const TriedRate& a, const TriedRate& b) { return a.score < b.score; });
    const bool first = best == tried.begin(), last = best == tried.end() - 1;
    const bool leads = (first && tried[1].score < best->score) || last;
    if (!leads || tried.size() >= kMostTried) return {best->rate, tried};
    const double next = first ? best->rate / factor : best->rate * factor;
    tried.insert(first ? tried.begin() : tried.end(), {next, score(next)});
  }
}

std::string tuning_text(std::span<const double> rates) {
  if (rates.size() == 1) return fmt::format("All models use the learning rate {:g}.", rates.front());
  return fmt::format(
      "Each model has its best learning rate. Tried with another seed: {}, then smaller or larger ones as "
      "long as they were better.",
      listed(rates));
}

void write_tried(io::JsonWriter& w, const TunedRate& tuned) {
  w.key("tried").begin_list();
  for (const TriedRate& one : tuned.tried) w.value(rounded(std::array{one.rate, one.score}));
  w.end_list();
}

}  // namespace headlight::lab
