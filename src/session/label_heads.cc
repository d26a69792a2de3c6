// Labels every head, on the caller's texts and on the fixed inputs of head_battery.h.
#include "core/team.h"
#include "headlight/look.h"
#include "inspect/head_labels.h"
#include "inspect/similar_heads.h"
#include "session/state.h"

namespace headlight {
namespace {

using inspect::LoadedModel;
using inspect::ModelInput;

// Cuts texts that are too long, if requested. An encoder-decoder translates texts without a target.
ModelInput input_for(Context& ctx, const ModelState& model, const Prompt& prompt, const LabelRequest& request,
                     Index& cut) {
  const LoadedModel& loaded = model.loaded;
  ModelInput input = session::input_of(ctx, model, prompt, session::Needs::source, {}, request.progress);
  bool was_cut = request.cut_long_texts && inspect::cut_to_fit(loaded, input.source);
  if (loaded.has(Part::cross) && !input.runs_decoder())
    input.written = inspect::translate(ctx, loaded, input.source);
  else if (request.cut_long_texts && !input.written.tokens.empty())
    was_cut = inspect::cut_to_fit(loaded, input.written) || was_cut;
  cut += was_cut ? 1 : 0;
  return input;
}

}  // namespace

HeadLabels label_heads(Context& ctx, const Model& model, std::span<const Prompt> prompts,
                       const LabelRequest& request) {
  const ModelState& state = model.state();
  const LoadedModel& loaded = state.loaded;
  const Progress& progress = request.progress;
  for (const Head& head : request.similar_to) session::check_head(state.info, head);
  HeadLabels out;
  inspect::TextSums sums(loaded);
  // The sums of a text, and a byte that says whether it was cut.
  SharedItems texts(ctx, [&](std::span<const std::byte> measured) {
    out.cut += value_of<bool>(measured.last(1)) ? 1 : 0;
    inspect::add_measured(loaded, measured.first(measured.size() - 1), sums);
  });
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    texts.add([&] {
      Index cut = 0;
      Bytes measured = inspect::measure_text(ctx, loaded, input_for(ctx, state, prompts[i], request, cut), i);
      measured.push_back(static_cast<std::byte>(cut > 0));
      return measured;
    });
    progress.tell("texts", static_cast<double>(i + 1), static_cast<double>(prompts.size()));
    progress.check();
  }
  texts.finish();
  const auto tell = [&](double done) {
    progress.tell("battery", done, 1);
    progress.check();
  };
  const inspect::Battery battery = inspect::make_battery(ctx, loaded, tell);
  out.heads = inspect::labelled_heads(loaded, sums, inspect::measure_battery(ctx, loaded, battery, tell));
  std::optional<inspect::HeadSimilarity> similarity;
  for (std::size_t i = 0; i < request.similar_to.size(); ++i) {
    const Head& head = request.similar_to[i];
    if (i == 0 || head.part != request.similar_to[i - 1].part)
      similarity.emplace(ctx, loaded, battery, head.part);
    out.similar.push_back(similarity->like(head.place()));
  }
  return out;
}

std::vector<LabelledHead> label_heads(Context& ctx, const Model& model, std::span<const std::string> texts,
                                      const Progress& progress) {
  std::vector<Prompt> prompts;
  for (const std::string& text : texts) prompts.push_back({.text = text});
  return label_heads(ctx, model, prompts, {.progress = progress}).heads;
}

}  // namespace headlight
