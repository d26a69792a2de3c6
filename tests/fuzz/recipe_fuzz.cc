// Any text as a recipe: refused by Error, or read into settings that are within their ranges.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headlight/error.h"
#include "train/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  try {
    const train::Recipe recipe =
        train::read_recipe(train::Settings::parse({reinterpret_cast<const char*>(data), size}, "fuzz.toml"));
    const bool sound = recipe.trainer.steps >= 1 && recipe.trainer.schedule.peak > 0 &&
                       recipe.model.dropout >= 0 && recipe.model.dropout < 1 &&
                       recipe.trainer.accumulate >= 1 && !recipe.facts.empty();
    if (!sound) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
  return 0;
}
