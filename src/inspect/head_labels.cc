#include "inspect/head_labels.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::inspect {
namespace {

void measure(Context& ctx, const LoadedModel& loaded, const ModelInput& input, ModelSums& sums) {
  HeadMeter meter(loaded, input, sums);
  (void)watch(ctx, loaded, input, meter);
}

HeadFigures figures(Part part, const SelfSums& sums) {
  return part == Part::cross ? figures_of_cross(sums.text) : figures_of_self(sums);
}

}  // namespace

Bytes measure_text(Context& ctx, const LoadedModel& loaded, const ModelInput& input, std::size_t number) {
  ModelSums text(loaded);
  measure(ctx, loaded, input, text);
  Bytes bytes = text.bytes();
  if (number >= kMostShuffled) return bytes;
  ModelSums other(loaded);
  measure(ctx, loaded, shuffled(input, number + 1), other);
  const Bytes more = other.bytes();
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

void add_measured(const LoadedModel& loaded, std::span<const std::byte> measured, TextSums& sums) {
  ModelSums one(loaded);
  const bool both = sums.texts < kMostShuffled;
  const std::size_t size = both ? measured.size() / 2 : measured.size();
  one.set(measured.first(size));
  sums.text.add(one);
  if (both) {
    one.set(measured.subspan(size));
    sums.shuffled.add(one);
  }
  ++sums.texts;
}

void add_text(Context& ctx, const LoadedModel& loaded, const ModelInput& input, TextSums& sums) {
  add_measured(loaded, measure_text(ctx, loaded, input, sums.texts), sums);
}

BatterySums measure_battery(Context& ctx, const LoadedModel& loaded, const Battery& battery,
                            const Progress& progress) {
  BatterySums sums(loaded);
  std::size_t done = 0;
  const std::size_t all = battery.prose.size() + battery.shuffled.size() + battery.repeated.size();
  const auto run = [&](const std::vector<ModelInput>& inputs, ModelSums& to) {
    ModelSums one(loaded);
    SharedItems items(ctx, [&](std::span<const std::byte> measured) {
      one.set(measured);
      to.add(one);
    });
    for (const ModelInput& input : inputs) {
      items.add([&] {
        ModelSums own(loaded);
        measure(ctx, loaded, input, own);
        return own.bytes();
      });
      if (progress) progress(static_cast<double>(++done) / static_cast<double>(all));
    }
    items.finish();
  };
  run(battery.prose, sums.prose);
  run(battery.shuffled, sums.shuffled);
  run(battery.repeated, sums.repeated);
  return sums;
}

std::vector<LabelledHead> labelled_heads(const LoadedModel& loaded, const TextSums& text,
                                         const BatterySums& battery) {
  std::vector<LabelledHead> heads;
  for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
    const Index in_layer = loaded.has(part) ? loaded.heads(part) : 1;
    for (std::size_t i = 0; i < text.text.of(part).size(); ++i) {
      const auto number = static_cast<Index>(i);
      heads.push_back(
          {part,
           {static_cast<int>(number / in_layer), static_cast<int>(number % in_layer)},
           figures(part, {text.text.of(part)[i], text.shuffled.of(part)[i], text.text.of(part)[i]}),
           figures(part,
                   {battery.prose.of(part)[i], battery.shuffled.of(part)[i], battery.repeated.of(part)[i]})});
    }
  }
  return heads;
}

std::vector<LabelledHead> label_heads(Context& ctx, const LoadedModel& loaded,
                                      std::span<const std::string> texts) {
  if (!loaded.tokenizer) {
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(loaded.name), "\" has no tokenizer, so it cannot read text"));
  }
  TextSums sums(loaded);
  for (const std::string& text : texts) {
    ModelInput input{.source = read_text(*loaded.tokenizer, text)};
    cut_to_fit(loaded, input.source);
    if (loaded.has(Part::cross)) input.written = translate(ctx, loaded, input.source);
    add_text(ctx, loaded, input, sums);
  }
  return labelled_heads(loaded, sums, measure_battery(ctx, loaded, make_battery(ctx, loaded)));
}

}  // namespace headlight::inspect
