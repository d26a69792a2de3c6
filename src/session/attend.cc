#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "session/state.h"

namespace headlight {
namespace {

using session::StoredAttention;

// Records the attention of the requested parts.
class Keeper : public Observer {
 public:
  Keeper(RunState& run, const AttendOptions& options) : run_(run), options_(options) {}
  void on_attention(const AttentionEvent& event) override {
    options_.progress.check();
    if (options_.observer != nullptr) options_.observer->on_attention(event);
    if (std::find(run_.parts.begin(), run_.parts.end(), event.part) == run_.parts.end()) return;
    const auto inputs =
        options_.keep_inputs ? StoredAttention::Inputs::keep : StoredAttention::Inputs::leave_out;
    run_.attentions.push_back(std::make_unique<StoredAttention>(event, inputs));
  }
  void on_residual(const ResidualEvent& event) override {
    if (options_.observer != nullptr) options_.observer->on_residual(event);
  }
  void on_experts(const ExpertsEvent& event) override {
    if (options_.observer != nullptr) options_.observer->on_experts(event);
  }

 private:
  RunState& run_;
  const AttendOptions& options_;
};

bool wants(const AttendOptions& options, Part part) {
  return options.parts.empty() ||
         std::find(options.parts.begin(), options.parts.end(), part) != options.parts.end();
}

void check_parts(const ModelInfo& info, const AttendOptions& options) {
  for (const Part part : options.parts)
    if (info.find(part) == nullptr)
      throw Error(ErrorKind::usage, "attend.part",
                  concat("\"", escaped(info.name), "\" has no ", name_of(part), " attention"));
}

}  // namespace

Run attend(Context& ctx, const Model& model, const Prompt& prompt, const AttendOptions& options) {
  check_parts(model.info(), options);
  const bool decodes = options.decode || wants(options, Part::decoder) || wants(options, Part::cross);
  const auto needs = decodes ? session::Needs::target : session::Needs::source;
  return session::attend_tokens(
      ctx, model, session::input_of(ctx, model.state(), prompt, needs, options.draw, options.progress),
      options);
}

Run attend_written(Context& ctx, const Model& model, const std::string& text, std::vector<TokenId> written,
                   const AttendOptions& options) {
  check_parts(model.info(), options);
  const inspect::LoadedModel& loaded = model.state().loaded;
  const models::TransformerConfig& config = loaded.model->config();
  inspect::ModelInput input =
      session::input_of(ctx, model.state(), {.text = text}, session::Needs::source, {}, options.progress);
  const Index limit = model.info().context;
  const bool ended = limit == 0 || static_cast<Index>(written.size()) < limit;
  if (config.end() >= 0 && ended) written.push_back(config.end());
  input.written = inspect::read_ids(model.tokenizer(), written, config.vocabulary);
  return session::attend_tokens(ctx, model, std::move(input), options);
}

Run session::attend_tokens(Context& ctx, const Model& model, inspect::ModelInput input,
                           const AttendOptions& options) {
  auto run = std::make_shared<RunState>(model);
  run->input = std::move(input);
  for (const PartInfo& part : model.info().parts) {
    const bool runs = part.part == model.state().usual_part() || run->input.runs_decoder();
    if (runs && options.keep_attention && wants(options, part.part)) run->parts.push_back(part.part);
  }
  run->source = tokenized(run->input.source);
  run->target = tokenized(run->input.written);
  if (run->input.runs_decoder())
    run->decoder_input = tokenized(inspect::decoder_input(run->loaded(), run->input));
  run->simd = ctx.target();
  run->activations = ctx.activations();
  options.progress.check();
  Keeper keeper(*run, options);
  run->hidden = inspect::hidden_states(ctx, run->loaded(), run->input,
                                       {.observer = &keeper, .intervention = options.intervention});
  run->has_logits = inspect::has_logits(run->loaded(), run->input);
  return Run(std::move(run));
}

}  // namespace headlight
