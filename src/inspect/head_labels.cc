#include "inspect/head_labels.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::inspect {
namespace {

void measure(Context& ctx, const Subject& subject, const Question& question, ModelSums& sums) {
  HeadMeter meter(subject, question, sums);
  (void)watch(ctx, subject, question, meter);
}

HeadFigures figures(Part part, const SelfSums& sums) {
  return part == Part::cross ? figures_of_cross(sums.text) : figures_of_self(sums);
}

}  // namespace

Bytes measure_text(Context& ctx, const Subject& subject, const Question& question, std::size_t number) {
  ModelSums text(subject);
  measure(ctx, subject, question, text);
  Bytes bytes = text.bytes();
  if (number >= kMostShuffled) return bytes;
  ModelSums other(subject);
  measure(ctx, subject, shuffled(question, number + 1), other);
  const Bytes more = other.bytes();
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

void add_measured(const Subject& subject, std::span<const std::byte> measured, TextSums& sums) {
  ModelSums one(subject);
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

void add_text(Context& ctx, const Subject& subject, const Question& question, TextSums& sums) {
  add_measured(subject, measure_text(ctx, subject, question, sums.texts), sums);
}

BatterySums measure_battery(Context& ctx, const Subject& subject, const Battery& battery,
                            const Progress& progress) {
  BatterySums sums(subject);
  std::size_t done = 0;
  const std::size_t all = battery.prose.size() + battery.shuffled.size() + battery.repeated.size();
  const auto run = [&](const std::vector<Question>& questions, ModelSums& to) {
    ModelSums one(subject);
    SharedItems items(ctx, [&](std::span<const std::byte> measured) {
      one.set(measured);
      to.add(one);
    });
    for (const Question& question : questions) {
      items.add([&] {
        ModelSums own(subject);
        measure(ctx, subject, question, own);
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

std::vector<LabelledHead> labelled_heads(const Subject& subject, const TextSums& text,
                                         const BatterySums& battery) {
  std::vector<LabelledHead> heads;
  for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
    const Index in_layer = subject.has(part) ? subject.heads(part) : 1;
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

std::vector<LabelledHead> label_heads(Context& ctx, const Subject& subject,
                                      std::span<const std::string> texts) {
  if (!subject.tokenizer) {
    throw Error(ErrorKind::usage, "heads.tokenizer",
                concat("\"", escaped(subject.name), "\" has no tokenizer, so it cannot read text"));
  }
  TextSums sums(subject);
  for (const std::string& text : texts) {
    Question question{.source = read_text(*subject.tokenizer, text)};
    cut_to_fit(subject, question.source);
    if (subject.has(Part::cross)) question.written = translate(ctx, subject, question.source);
    add_text(ctx, subject, question, sums);
  }
  return labelled_heads(subject, sums, measure_battery(ctx, subject, make_battery(ctx, subject)));
}

}  // namespace headlight::inspect
