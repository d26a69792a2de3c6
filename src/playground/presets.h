// Stories that the playground tells: settings to compare, and a claim about them that holds over five seeds.
// `headlight lab playground` checks it; the numbers in the texts are its results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "playground/toy_settings.h"

namespace headlight::playground {

// What must come out for the claim to hold.
struct Bounds {
  double least = 0, most = 1;  // accuracy at the end
};
struct PresetArm {
  std::string_view label;
  ToySettings settings;
  Bounds bounds;
};
struct Preset {
  std::string_view name, title, claim;
  std::vector<PresetArm> arms;
  // The first arm reaches 90 % at least so many times sooner than the second one; 0: no claim about time.
  double sooner = 0;
};

[[nodiscard]] const std::vector<Preset>& presets();
// Throws Error{usage} that lists the names.
[[nodiscard]] const Preset& find_preset(std::string_view name);

struct ArmResult {
  double accuracy = 0;
  std::optional<std::int64_t> learnt = std::nullopt;  // the first step with 90 %, looked at every 25 steps
  double seconds = 0;
};
[[nodiscard]] ArmResult run_arm(Context& ctx, ToySettings settings);
[[nodiscard]] bool holds(const Preset& preset, const std::vector<ArmResult>& results);

}  // namespace headlight::playground
