#include "train/run.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "train/start_weights.h"

namespace headlight::train {

Run::Run(Context& ctx, Recipe recipe, const RunOptions& options, Listener& listener)
    : recipe_(std::move(recipe)), folder_(options.folder) {
  if (!options.resume && !folder_.checkpoints().empty()) {
    throw Error(ErrorKind::usage, "run.exists",
                concat(escaped(folder_.path()), ": has checkpoints of an earlier run",
                       "\n  --resume continues it; --out FOLDER starts another one."));
  }
  PrepareOptions prepare_options{.tokenizer_json = options.resume ? saved_tokenizer() : "",
                                 .progress = options.progress};
  prepared_ = prepare(recipe_, prepare_options);
  if (options.progress) options.progress("making the model");
  const Task& task = *prepared_.task;
  model_ = make_model(recipe_.model,
                      {.vocabulary = vocabulary(options),
                       .context = std::max(task.longest_source(), task.longest_input()),
                       .source = task.longest_source() > 0,
                       .special = prepared_.special},
                      recipe_.trainer.seed);
  if (!recipe_.model.start.empty() && !goes_on(options)) take_weights(recipe_.model.start, *model_);
  if (recipe_.trainer.guide.weight > 0) {
    const auto* transformer = dynamic_cast<const models::Transformer*>(model_.get());
    if (transformer == nullptr)
      throw Error(ErrorKind::usage, "recipe.guide", "guide.head: only transformers have heads");
    models::check_guide(transformer->config(), recipe_.trainer.guide);
  }
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

bool Run::goes_on(const RunOptions& options) const {
  return options.resume && !folder_.checkpoints().empty();
}

// Rows for tokens. A model to begin with may have more than its tokenizer has tokens; they are kept, so that the run
// begins as the same function and its files have the same shapes.
Index Run::vocabulary(const RunOptions& options) const {
  const Index tokens = prepared_.task->vocabulary();
  if (recipe_.model.start.empty()) return tokens;
  if (!goes_on(options)) return std::max(tokens, stored_vocabulary(recipe_.model.start));
  for (const std::string& name : folder_.checkpoints()) {
    try {
      return std::max(tokens, stored_vocabulary(folder_.file(name)));
    } catch (const Error&) {  // resuming will tell what is wrong with it
    }
  }
  return tokens;
}

// Of the newest checkpoint that still has a whole one.
std::string Run::saved_tokenizer() const {
  for (const std::string& name : folder_.checkpoints()) {
    try {
      return checkpoint_tokenizer(folder_.file(name));
    } catch (const Error&) {  // resuming will tell what is wrong with it
    }
  }
  return {};
}

void Run::make_trainer(Context& ctx, Listener& listener) {
  TrainerParts parts{ctx, *prepared_.task, *model_, *adam_, folder_, listener, {}, {}};
  parts.checkpoint.tokenizer_json = prepared_.tokenizer_json;
  parts.checkpoint.recipe = recipe_.facts;
  parts.checkpoint.data = prepared_.data;
  const auto* transformer = dynamic_cast<const models::Transformer*>(model_.get());
  if (!recipe_.watch.empty()) {
    if (transformer == nullptr || !prepared_.tokenizer)
      throw Error(ErrorKind::usage, "recipe.watch",
                  "output.watch: only transformers that read text have attention to watch");
    watcher_.emplace(*transformer, *prepared_.tokenizer, prepared_.special, prepared_.task->longest_input(),
                     recipe_.watch, folder_.file("snapshots"));
    parts.watch = [this, &ctx, &listener](std::int64_t step) {
      try {
        watcher_->write(ctx, step);
      } catch (const Error& error) {  // a picture less, not a run less
        if (error.kind() != ErrorKind::file) throw;
        listener.on_notice(concat(error.what(), "; this snapshot was not saved, training goes on"));
      }
    };
  }
  trainer_.emplace(std::move(parts), recipe_.trainer);
}

Index Run::parameters() const {
  Index count = 0;
  for (const Parameter* parameter : model_->parameters())
    count += parameter->trained ? parameter->value.shape().elements() : 0;
  return count;
}

}  // namespace headlight::train
