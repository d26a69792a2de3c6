// Labels all heads of a model by their attention patterns on texts and on the fixed inputs of head_battery.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "inspect/head_battery.h"
#include "inspect/head_meter.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

using headlight::LabelledHead;

// Sums over some texts, unchanged and shuffled. Of many texts only the first ones are shuffled: that is enough to
// distinguish an attention offset from a regularity of the text.
inline constexpr std::size_t kMostShuffled = 32;
struct TextSums {
  explicit TextSums(const LoadedModel& loaded) : text(loaded), shuffled(loaded) {}
  ModelSums text, shuffled;
  std::size_t texts = 0;
};
void add_text(Context& ctx, const LoadedModel& loaded, const ModelInput& input, TextSums& sums);
// Measures text number 0, 1, … by itself, as bytes, and adds it. Texts measured by several processes are added in order.
[[nodiscard]] Bytes measure_text(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                 std::size_t number);
void add_measured(const LoadedModel& loaded, std::span<const std::byte> measured, TextSums& sums);

struct BatterySums {
  explicit BatterySums(const LoadedModel& loaded) : prose(loaded), shuffled(loaded), repeated(loaded) {}
  ModelSums prose, shuffled, repeated;
};
[[nodiscard]] BatterySums measure_battery(Context& ctx, const LoadedModel& loaded, const Battery& battery,
                                          const Progress& progress = {});

// By part, layer and head. Parts that were not run have no rows and no labels.
[[nodiscard]] std::vector<LabelledHead> labelled_heads(const LoadedModel& loaded, const TextSums& text,
                                                       const BatterySums& battery);

// Measures and labels in one call. An encoder-decoder translates each text.
[[nodiscard]] std::vector<LabelledHead> label_heads(Context& ctx, const LoadedModel& loaded,
                                                    std::span<const std::string> texts);

}  // namespace headlight::inspect
