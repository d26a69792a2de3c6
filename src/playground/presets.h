// Presets of the playground: settings to compare, and a claim about them that holds over five seeds.
// `headlight lab playground` checks it; the numbers in the texts are its results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "playground/toy_settings.h"

namespace headlight::playground {

// The condition for the claim.
struct Bounds {
  double least = 0, most = 1;  // accuracy at the end
};
// Percent right at the end over the seeds kFirstSeed to kFirstSeed + kSeeds - 1, as `headlight lab playground --seed 16`
// printed them. Settings and bounds were chosen with seeds 1 to 15.
struct Measured {
  int mean = 0, low = 0, high = 0;
};
inline constexpr int kFirstSeed = 16, kSeeds = 5;
struct PresetArm {
  std::string_view label;
  ToySettings settings;
  Bounds bounds;
  Measured measured;
};
struct Preset {
  std::string_view name, title, claim;
  std::vector<PresetArm> arms;
  // The first arm must not be worse than the second one, whatever their bounds.
  bool first_leads = false;
};

[[nodiscard]] const std::vector<Preset>& presets();
// "Measured with five seeds: two layers 99 % right (98 to 100 %), one layer 40 % (34 to 48 %)." Without a range if all are
// equal.
[[nodiscard]] std::string measured_text(const Preset& preset);
// Throws Error{usage} that lists the names.
[[nodiscard]] const Preset& find_preset(std::string_view name);

struct ArmResult {
  double accuracy = 0;
  std::optional<std::int64_t> learnt = std::nullopt;  // the first step with 90 %, measured every 25 steps
  double seconds = 0;
};
[[nodiscard]] ArmResult run_arm(Context& ctx, ToySettings settings);
[[nodiscard]] bool holds(const Preset& preset, const std::vector<ArmResult>& results);

}  // namespace headlight::playground
