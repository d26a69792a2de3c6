// Labels of all heads of a model: (model, texts) -> what each head does there, and on the fixed battery.
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

// Sums of some texts, as they are and shuffled. Of many texts the first ones alone are shuffled: that is enough to tell
// an offset from a habit of the text.
inline constexpr std::size_t kMostShuffled = 32;
struct TextSums {
  explicit TextSums(const LoadedModel& loaded) : text(loaded), shuffled(loaded) {}
  ModelSums text, shuffled;
  std::size_t texts = 0;
};
void add_text(Context& ctx, const LoadedModel& loaded, const ModelInput& input, TextSums& sums);
// Text number 0, 1, … alone, as bytes, and adding them: texts that several processes measure are added in their order.
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

// Everything in one call, for those who have texts. An encoder-decoder translates each of them.
[[nodiscard]] std::vector<LabelledHead> label_heads(Context& ctx, const LoadedModel& loaded,
                                                    std::span<const std::string> texts);

}  // namespace headlight::inspect
