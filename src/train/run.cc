#include "train/run.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/adapter.h"
#include "train/start_model.h"
#include "train/start_weights.h"

namespace headlight::train {

Run::Run(Context& ctx, Recipe recipe, const RunOptions& options, Listener& listener)
    : recipe_(std::move(recipe)),
      folder_(options.folder, options.follows ? RunFolder::Follow::process_0 : RunFolder::Follow::nobody) {
  if (!options.resume && !folder_.checkpoints().empty()) {
    throw Error(ErrorKind::usage, "run.exists",
                concat(escaped(folder_.path()), ": has checkpoints of an earlier run",
                       "\n  --resume continues it; --out FOLDER starts another one."));
  }
  std::optional<models::TransformerConfig> start;
  PrepareOptions prepare_options{.tokenizer_json = options.resume ? saved_tokenizer() : "",
                                 .folder = folder_.path(),
                                 .progress = options.progress};
  if (!recipe_.model.start.empty()) {
    start = describe_start(start_path(options));
    complete_recipe(recipe_, *start);
    prepare_options.start = &*start;
  }
  prepared_ = prepare(ctx, recipe_, prepare_options);
  options.progress.tell("creating the model", 0, 0);
  make_model_of(options, start);
  adam_.emplace(model_->parameters(), recipe_.adam);
  make_trainer(ctx, listener);
  if (!options.resume) return;
  resumed_ = trainer_->resume({.may_differ = free_settings(),
                               .defaults = recipe_.defaulted,
                               .data_may_differ = options.allow_data_change});
  if (!resumed_)
    listener.on_notice(
        concat(escaped(folder_.path()), ": has no checkpoint yet; starting from the beginning"));
}

void Run::make_model_of(const RunOptions& options, const std::optional<models::TransformerConfig>& start) {
  const Task& task = *prepared_.task;
  if (start && !changes_form(recipe_.model, *start)) {
    model_ = open_start(start_path(options), *start, recipe_);
    if (recipe_.lora.rank > 0) prepared_.data.push_back(weights_of(recipe_.model.start));
    if (task.vocabulary() > start->vocabulary)
      throw Error(ErrorKind::input, "recipe.start",
                  concat(escaped(recipe_.model.start), ": has rows for ", start->vocabulary,
                         " tokens; the task has ", task.vocabulary()));
    if ((start->kind == models::ModelKind::encoder_decoder) != (task.longest_source() > 0))
      throw Error(ErrorKind::usage, "recipe.model",
                  concat("model.start: the task \"", recipe_.data.task, "\" does not fit a model of kind \"",
                         recipe_.model.kind, "\""));
  } else {
    if (recipe_.lora.rank > 0)
      throw Error(ErrorKind::usage, "recipe.model",
                  "lora.rank: an adapter cannot change the architecture; leave out sizes and settings that "
                  "differ from model.start");
    model_ = make_model(recipe_.model,
                        {.vocabulary = vocabulary(options),
                         .context = std::max(task.longest_source(), task.longest_input()),
                         .source = task.longest_source() > 0,
                         .special = prepared_.special},
                        recipe_.trainer.seed);
    if (start && !goes_on(options)) take_weights(recipe_.model.start, *model_);
  }
  if (recipe_.trainer.guide.weight <= 0) return;
  if (transformer() == nullptr)
    throw Error(ErrorKind::usage, "recipe.guide", "guide.head: only transformers have heads");
  models::check_guide(transformer()->config(), recipe_.trainer.guide);
}

// Null: a recurrent model.
const models::Transformer* Run::transformer() const {
  if (const auto* adapted = dynamic_cast<const models::AdaptedTransformer*>(model_.get()))
    return &adapted->base();
  return dynamic_cast<const models::Transformer*>(model_.get());
}

// A resumed run has the whole model in its checkpoints; an adapter also needs its base model.
std::string Run::start_path(const RunOptions& options) const {
  if (recipe_.lora.rank > 0 || !goes_on(options)) return recipe_.model.start;
  for (const std::string& name : folder_.checkpoints()) {
    try {
      (void)describe_start(folder_.file(name));
      return folder_.file(name);
    } catch (const Error&) {  // resuming will report the error
    }
  }
  return recipe_.model.start;
}

bool Run::goes_on(const RunOptions& options) const {
  return options.resume && !folder_.checkpoints().empty();
}

// Token rows. An initial model may have more rows than its tokenizer has tokens; they are kept, so that the run
// starts with the same function and its files have the same shapes.
Index Run::vocabulary(const RunOptions& options) const {
  const Index tokens = prepared_.task->vocabulary();
  if (recipe_.model.start.empty()) return tokens;
  if (!goes_on(options)) return std::max(tokens, stored_vocabulary(recipe_.model.start));
  for (const std::string& name : folder_.checkpoints()) {
    try {
      return std::max(tokens, stored_vocabulary(folder_.file(name)));
    } catch (const Error&) {  // resuming will report the error
    }
  }
  return tokens;
}

// The tokenizer of the newest checkpoint that has an intact one.
std::string Run::saved_tokenizer() const {
  for (const std::string& name : folder_.checkpoints()) {
    try {
      return checkpoint_tokenizer(folder_.file(name));
    } catch (const Error&) {  // resuming will report the error
    }
  }
  return {};
}

void Run::make_watcher(Context& ctx, Listener& listener, TrainerParts& parts) {
  if (recipe_.watch.empty()) return;
  if (transformer() == nullptr || !prepared_.tokenizer)
    throw Error(ErrorKind::usage, "recipe.watch",
                "output.watch: only transformers with a text tokenizer have attention to record");
  watcher_.emplace(*transformer(), *prepared_.tokenizer, prepared_.special, prepared_.task->longest_input(),
                   recipe_.watch, folder_.file("snapshots"));
  parts.watch = [this, &ctx, &listener](std::int64_t step) {
    try {
      watcher_->write(ctx, step);
    } catch (const Error& error) {  // a failed picture does not stop the run
      if (error.kind() != ErrorKind::file) throw;
      listener.on_notice(concat(error.what(), "; this snapshot was not saved, training continues"));
    }
  };
}

void Run::make_sampler(Context& ctx, TrainerParts& parts) {
  if (recipe_.samples.empty() && recipe_.bleu_pairs == 0) return;
  if (transformer() == nullptr || !prepared_.tokenizer)
    throw Error(ErrorKind::usage, "recipe.samples",
                "output.samples: only transformers with a text tokenizer generate samples");
  if (recipe_.bleu_pairs > 0 && prepared_.scored_pairs.empty())
    throw Error(ErrorKind::usage, "recipe.bleu",
                "evaluation.bleu_pairs: there are no evaluation pairs; give data.valid or data.valid_share");
  sampler_.emplace(*transformer(), *prepared_.tokenizer,
                   SamplerConfig{recipe_.samples, recipe_.sample_tokens, prepared_.scored_pairs});
  parts.write = [this, &ctx] { return sampler_->write(ctx); };
}

void Run::make_trainer(Context& ctx, Listener& listener) {
  TrainerParts parts{ctx, *prepared_.task, *model_, *adam_, folder_, listener, {}, {}, {}};
  parts.checkpoint.tokenizer_json = prepared_.tokenizer_json;
  parts.checkpoint.recipe = recipe_.facts;
  parts.checkpoint.data = prepared_.data;
  make_watcher(ctx, listener, parts);
  make_sampler(ctx, parts);
  trainer_.emplace(std::move(parts), recipe_.trainer);
}

Index Run::model_parameters() const {
  if (transformer() == nullptr) return parameters();
  Index count = 0;
  // Listing parameters changes nothing.
  for (const Parameter* parameter : const_cast<models::Transformer*>(transformer())->parameters())
    count += parameter->value.shape().elements();
  return count;
}

Index Run::parameters() const {
  Index count = 0;
  for (const Parameter* parameter : model_->parameters())
    count += parameter->trained ? parameter->value.shape().elements() : 0;
  return count;
}

}  // namespace headlight::train
