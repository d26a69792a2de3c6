#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "core/team.h"
#include "headlight/error.h"
#include "io/folder_writer.h"
#include "train/dice.h"
#include "train/gradient_tree.h"
#include "train/run_logs.h"

namespace headlight::train {
namespace {

constexpr double kSmoothing = 0.98;  // the running mean covers about 50 steps

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A running mean starts at 0; dividing by its total weight makes it a mean from the first step on.
double corrected(double smoothed, std::int64_t steps) {
  return smoothed / (1 - std::pow(kSmoothing, static_cast<double>(steps)));
}

}  // namespace

Trainer::Trainer(TrainerParts parts, const TrainerConfig& config)
    : parts_(std::move(parts)), config_(config) {
  parts_.checkpoint.model = &parts_.model;
  parts_.checkpoint.adam = &parts_.adam;
  batches_.resize(static_cast<std::size_t>(config_.accumulate));
  const Team* team = team_of(parts_.ctx, Together::items);
  if (team != nullptr && config_.divided == Divided::tokens) {
    if (const std::string why = parts_.model.why_not_by_tokens(); !why.empty())
      throw Error(ErrorKind::usage, "train.divide",
                  concat("train: train.divide = \"tokens\" does not work for this model: ", why,
                         "\nDivide batches instead: train.divide = \"batches\"."));
    if (config_.guide.weight > 0)
      throw Error(ErrorKind::usage, "train.divide",
                  "train: a guided head needs whole sequences; train.divide = \"tokens\" divides them");
  } else if (team != nullptr && config_.accumulate < team->size())
    throw Error(ErrorKind::usage, "train.ranks",
                concat("train: ", team->size(), " processes cannot share ", config_.accumulate,
                       config_.accumulate == 1 ? " batch" : " batches",
                       " of a step\n"
                       "Set train.accumulate to ",
                       team->size(), " or more, and reduce data.batch in proportion."));
}

bool Trainer::leads() const {
  const Team* team = team_of(parts_.ctx, Together::items);
  return team == nullptr || team->rank() == 0;
}

int Trainer::stopped(const std::atomic<int>& stop) const {
  return team_of(parts_.ctx, Together::items) == nullptr ? stop.load() : agreed_stop_;
}

bool Trainer::resume(const LoadRules& rules) {
  const std::vector<std::string> names = parts_.folder.checkpoints();
  std::string last_problem;
  for (const std::string& name : names) {
    try {
      progress_ = load_checkpoint(parts_.folder.file(name), parts_.checkpoint, rules);
      return true;
    } catch (const Error& error) {
      if (error.code() != "checkpoint.damaged") throw;
      last_problem = error.what();
      parts_.listener.on_notice(
          concat(error.what(), name == names.back() ? "" : "; trying the previous one"));
    }
  }
  if (names.empty()) return false;
  throw Error(ErrorKind::input, "checkpoint.none",
              concat(escaped(parts_.folder.path()), ": all ", names.size(), " checkpoints are damaged\n  ",
                     last_problem));
}

bool Trainer::due(std::int64_t every) const {
  return progress_.step == config_.steps || (every > 0 && progress_.step % every == 0);
}
bool Trainer::stale() const { return config_.patience > 0 && progress_.stale >= config_.patience; }
bool Trainer::evaluation_due() const {
  const bool first = config_.evaluate_first && progress_.step == 0 && progress_.best_step == 0 &&
                     !std::isfinite(progress_.best_loss);
  const bool later = progress_.step > progress_.evaluated_step && due(config_.evaluate_every);
  return (first || later) && parts_.task.evaluation_batches() > 0;
}

Ending Trainer::run(const std::atomic<int>& stop) {
  // Removes log lines of steps that will be repeated: the logs of an interrupted run equal those of an uninterrupted one.
  if (leads())
    logs_ = std::make_shared<RunLogs>(parts_.folder, progress_, config_.tensorboard, parts_.listener);
  stop_ = &stop;
  parts_.adam.release_others(parts_.ctx);
  const TensorRecycler recycler;
  // No evaluation yet, or the run ended between a checkpoint and the evaluation of its step.
  if (evaluation_due()) {
    evaluate();
    if (progress_.step >= config_.steps || stale()) save(Save::last);
  }
  while (progress_.step < config_.steps && !stale()) {
    learn_step();
    // Saved first, so that a failed evaluation loses no step.
    if (evaluation_due() || (due(config_.save_every) && progress_.step < config_.steps)) save(Save::middle);
    if (evaluation_due()) evaluate();
    if (parts_.watch && leads() &&
        due(config_.watch_every > 0 ? config_.watch_every : config_.evaluate_every))
      parts_.watch(progress_.step);
    const int stopping = stopped(stop);
    if (progress_.step == config_.steps || stale() || stopping != 0) save(Save::last);
    if (stopping != 0) return Ending::signal;
  }
  return stale() && progress_.step < config_.steps ? Ending::early : Ending::finished;
}

// The gradient of the step and its loss sums, both over the batches in order, whichever process learns from them.
models::Loss Trainer::learn_batches(std::int64_t first, Index targets) {
  struct One {
    models::Loss loss;
    int stop;
  };
  Team* const team = team_of(parts_.ctx, Together::items);
  GradientTree gradient(parts_.ctx, parts_.adam, static_cast<Index>(batches_.size()), config_.divided);
  std::vector<One> losses;
  for (Index part = gradient.mine().begin; part < gradient.mine().end; ++part) {
    Dice dice(config_.seed, Purpose::dropout, static_cast<std::uint64_t>(first + part));
    const models::Batch& batch = batches_[static_cast<std::size_t>(part)];
    models::LearnOptions options{.scale = targets > 0 ? 1.0 / static_cast<double>(targets) : 0,
                                 .label_smoothing = config_.label_smoothing,
                                 .dropout_seed = dice.next64(),
                                 .guide = config_.guide,
                                 .checkpoint_layers = config_.checkpoint_layers};
    if (part + 1 == gradient.mine().end)
      options.ready = [&](const Parameters& done) { gradient.ready(done); };
    std::optional<TokenScope> tokens;
    if (config_.divided == Divided::tokens) tokens.emplace(parts_.ctx, batch.input.size());
    const models::Loss one = parts_.model.learn(parts_.ctx, batch, options);
    gradient.add(part);
    losses.push_back({one, stop_ != nullptr ? stop_->load() : 0});
  }
  gradient.finish();
  if (team != nullptr) {
    std::vector<One> all;
    for (const Bytes& some : team->all_gather(bytes_of(losses)))
      for (const One& one : values_of<One>(some)) all.push_back(one);
    losses = std::move(all);
    agreed_stop_ = 0;
    for (const One& one : losses) agreed_stop_ = std::max(agreed_stop_, one.stop);
  }
  models::Loss loss;
  for (const auto& [one, stop] : losses) {
    loss.sum += one.sum;
    loss.plain += one.plain;
    loss.targets += one.targets;
    loss.linked += one.linked;
    loss.links += one.links;
  }
  return loss;
}

void Trainer::learn_step() {
  const double begin = seconds_now();
  StepReport report;
  Index targets = 0;
  const std::int64_t first = progress_.step * config_.accumulate;
  for (std::size_t part = 0; part < batches_.size(); ++part) {
    models::Batch& batch = batches_[part];
    parts_.task.training_batch(first + static_cast<std::int64_t>(part), batch);
    for (const std::int32_t target : batch.targets) targets += target != models::kIgnored ? 1 : 0;
    report.tokens += batch.source.size() + batch.input.size();
    report.flops += parts_.model.flops(batch);
  }
  const models::Loss loss = learn_batches(first, targets);
  report.links = loss.links;
  if (loss.links > 0) report.linked = loss.linked / static_cast<double>(loss.links);
  report.loss = loss.mean();
  report.gradient_norm = parts_.adam.gradient_norm(parts_.ctx);
  if (!std::isfinite(loss.sum) || !std::isfinite(report.gradient_norm)) {
    const auto saved = parts_.folder.checkpoints();
    throw Error(ErrorKind::numeric, "train.diverged",
                concat("train: ", std::isfinite(loss.sum) ? "the gradient" : "the loss",
                       " is not finite at step ", progress_.step + 1, "\n  ",
                       saved.empty() ? "No checkpoint was saved yet."
                                     : concat("The last checkpoint is ",
                                              escaped(parts_.folder.file(saved.front())), "."),
                       "\n"
                       "  Try a lower learning rate, a longer warm-up or a smaller clip."));
  }
  const double scale =
      config_.clip > 0 && report.gradient_norm > config_.clip ? config_.clip / report.gradient_norm : 1;
  report.learning_rate = config_.schedule.rate(progress_.step);
  parts_.adam.step(parts_.ctx, report.learning_rate, scale);

  ++progress_.step;
  progress_.tokens += loss.targets;
  progress_.smoothed = kSmoothing * progress_.smoothed + (1 - kSmoothing) * report.loss;
  report.step = progress_.step;
  report.steps = config_.steps;
  report.smoothed = corrected(progress_.smoothed, progress_.step);
  report.targets = loss.targets;
  report.epochs = parts_.task.epochs(progress_.step * config_.accumulate);
  report.seconds = seconds_now() - begin;
  if (logs_ && due(config_.log_every)) logs_->step(report, progress_.tokens);
  write_timing(report);
  parts_.listener.on_step(report);
}

void Trainer::evaluate() {
  parts_.adam.share_average(parts_.ctx);
  parts_.adam.swap_average();
  models::Loss total;
  SharedItems batches(parts_.ctx, [&](std::span<const std::byte> result) {
    const auto loss = value_of<models::Loss>(result);
    total.plain += loss.plain;
    total.targets += loss.targets;
    total.correct += loss.correct;
  });
  for (Index i = 0; i < parts_.task.evaluation_batches(); ++i) {
    batches.add([&] {
      models::Batch& batch = batches_.front();
      parts_.task.evaluation_batch(i, batch);
      return bytes_of(parts_.model.evaluate(parts_.ctx, batch));
    });
  }
  batches.finish();
  Written written;
  if (parts_.write) written = parts_.write();
  parts_.adam.swap_average();
  Evaluation evaluation{.step = progress_.step, .loss = total.mean(), .targets = total.targets};
  if (total.targets > 0)
    evaluation.accuracy = static_cast<double>(total.correct) / static_cast<double>(total.targets);
  evaluation.bleu = written.bleu;
  progress_.evaluated_step = progress_.step;
  evaluation.best = evaluation.loss < progress_.best_loss;
  if (evaluation.best) {
    progress_.best_loss = evaluation.loss;
    progress_.best_step = progress_.step;
    progress_.stale = 0;
  } else {
    ++progress_.stale;
  }
  if (logs_) logs_->evaluation(evaluation);
  for (const Sample& sample : written.samples)
    if (logs_) logs_->sample(progress_.step, sample);
  if (evaluation.best && leads()) {
    parts_.adam.swap_average();  // the averaged parameters are those to use
    CheckpointParts best = parts_.checkpoint;
    best.adam = nullptr;
    try {
      save_checkpoint(parts_.folder.path(), "best", best, progress_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::file) throw;
      parts_.listener.on_notice(concat(error.what(), "; the best model was not saved, training continues"));
    }
    parts_.adam.swap_average();
  }
  parts_.listener.on_evaluation(evaluation);
  for (const Sample& sample : written.samples) parts_.listener.on_sample(progress_.step, sample);
}

// A full disk causes a notice and a retry at the next save during a run, and an error at the end.
void Trainer::save(Save which) {
  parts_.adam.collect_state(parts_.ctx);
  if (!leads()) return;
  const std::string name = RunFolder::checkpoint_name(progress_.step);
  try {
    logs_->flush(progress_);
    save_checkpoint(parts_.folder.path(), name, parts_.checkpoint, progress_);
  } catch (const Error& error) {
    if (which == Save::last || error.kind() != ErrorKind::file) throw;
    parts_.listener.on_notice(concat(error.what(), "; this checkpoint was not saved, training continues"));
    return;
  }
  parts_.adam.release_others(parts_.ctx);
  parts_.folder.tidy(config_.keep);
  parts_.listener.on_save(parts_.folder.file(name));
}

void Trainer::write_timing(const StepReport& report) {
  seconds_ += report.seconds;
  tokens_ += static_cast<double>(report.tokens);
  flops_ += report.flops;
  if (!logs_ || !due(config_.log_every) || seconds_ <= 0) return;
  logs_->timing(report.step, seconds_, tokens_, flops_);
  seconds_ = tokens_ = flops_ = 0;
}

}  // namespace headlight::train
