#include "train/language_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "train/dice.h"

namespace headlight::train {
namespace {

std::vector<TokenId> read(const TokenRow& row, Index first, Index size) {
  std::vector<TokenId> window(static_cast<std::size_t>(size));
  row.read(first, window);
  return window;
}

void check(const Corpus& corpus, Index window) {
  const auto size = corpus.train.size();
  if (size < window) {
    throw Error(ErrorKind::input, "data.short",
                concat("data: the training text has ", size, " tokens; one window needs ", window,
                       "\n  Give more text or a smaller context."));
  }
}

Index evaluated(const Corpus& corpus, const WindowConfig& config) {
  const auto size = corpus.valid.size();
  return config.evaluation_tokens > 0 ? std::min(size, config.evaluation_tokens) : size;
}

std::string amounts(const Corpus& corpus, const WindowConfig& config) {
  return fmt::format("{} training tokens, {} for evaluation; {} windows of {} tokens per batch",
                     corpus.train.size(), evaluated(corpus, config), config.rows, config.context);
}

}  // namespace

LanguageTask::LanguageTask(Corpus corpus, const WindowConfig& config)
    : corpus_(std::move(corpus)), config_(config) {
  check(corpus_, config.context + 1);
  if (corpus_.parts.empty()) corpus_.parts.push_back({0, corpus_.train.size(), 1});
  for (const CorpusPart& part : corpus_.parts) {
    weights_ += part.weight;
    if (part.end - part.begin > config.context) continue;
    throw Error(
        ErrorKind::input, "data.short",
        concat("data: a file of the training text has ", part.end - part.begin, " tokens; one window needs ",
               config.context + 1, "\n  Join it with another file, or take a smaller context."));
  }
}

namespace {

// All tokens but the last are inputs, all but the first are targets.
void add_window(std::span<const TokenId> window, models::Batch& batch) {
  batch.input.append(window.first(window.size() - 1));
  batch.targets.insert(batch.targets.end(), window.begin() + 1, window.end());
}

}  // namespace

void LanguageTask::training_batch(std::int64_t number, models::Batch& batch) const {
  clear(batch);
  Dice dice(config_.seed, Purpose::batches, static_cast<std::uint64_t>(number));
  for (Index row = 0; row < config_.rows; ++row) {
    const CorpusPart& part = draw_part(dice);
    const Index first = part.begin + dice.below(part.end - part.begin - config_.context);
    std::vector<TokenId> window = read(corpus_.train, first, config_.context + 1);
    if (config_.repeat_share > 0 && dice.uniform() < config_.repeat_share)
      add_repeated(std::move(window), dice, batch);
    else add_window(window, batch);
  }
}

// A recipe without weights draws no random number for the part.
const CorpusPart& LanguageTask::draw_part(Dice& dice) const {
  if (corpus_.parts.size() == 1) return corpus_.parts.front();
  double place = dice.uniform() * weights_;
  for (const CorpusPart& part : corpus_.parts) {
    if (place < part.weight) return part;
    place -= part.weight;
  }
  return corpus_.parts.back();
}

void LanguageTask::add_repeated(std::vector<TokenId> piece, Dice& dice, models::Batch& batch) const {
  // Short pieces are as frequent as long ones, on a logarithmic scale: they repeat sooner and are learnt first.
  const double longest = static_cast<double>(std::max<Index>(1, (config_.context - 1) / 2));
  const double shortest = std::min(longest, 6.0);
  const auto size = static_cast<Index>(shortest * std::pow((longest + 1) / shortest, dice.uniform()));
  // Text can be predicted; independently drawn tokens can only be copied, including rare ones. Every other piece uses these.
  if (dice.uniform() < 0.5) {
    for (Index i = 0; i < size; ++i) {
      const auto token = static_cast<TokenId>(dice.below(config_.vocabulary - 1));
      piece[static_cast<std::size_t>(i)] = token < config_.separator ? token : token + 1;
    }
  }
  std::vector<TokenId> window;
  for (Index i = 0; i <= config_.context; ++i) {
    const Index at = i % (size + 1);
    window.push_back(at < size ? piece[static_cast<std::size_t>(at)] : config_.separator);
  }
  add_window(window, batch);
}

Index LanguageTask::evaluation_batches() const {
  const Index asked = evaluated(corpus_, config_) - 1, per_batch = config_.rows * config_.context;
  return asked < 1 ? 0 : (asked + per_batch - 1) / per_batch;
}

void LanguageTask::evaluation_batch(Index number, models::Batch& batch) const {
  clear(batch);
  const Index end = evaluated(corpus_, config_) - 1;
  Index at = number * config_.rows * config_.context;
  for (Index row = 0; row < config_.rows && at < end; ++row, at += config_.context)
    add_window(read(corpus_.valid, at, std::min(config_.context, end - at) + 1), batch);
}

double LanguageTask::epochs(std::int64_t batches) const {
  return static_cast<double>(batches) * static_cast<double>(config_.rows * config_.context) /
         static_cast<double>(corpus_.train.size());
}

std::string LanguageTask::describe() const { return amounts(corpus_, config_); }

MaskedTask::MaskedTask(Corpus corpus, const WindowConfig& config, const MaskConfig& mask)
    : corpus_(std::move(corpus)), config_(config), mask_(mask) {
  if (inner() < 1)
    throw Error(ErrorKind::usage, "data.context",
                "data: the context is too short for a single token; increase model.context");
  check(corpus_, inner());
}

void MaskedTask::add(const std::vector<TokenId>& window, Dice& dice, models::Batch& batch) const {
  std::vector<std::int32_t>& ids = batch.input.ids;
  const auto put = [&](TokenId id, TokenId target) {
    ids.push_back(id);
    batch.targets.push_back(target);
  };
  if (mask_.first) put(*mask_.first, models::kIgnored);
  for (const TokenId token : window) {
    if (dice.uniform() >= mask_.share) {
      put(token, models::kIgnored);
      continue;
    }
    const double choice = dice.uniform();
    TokenId shown = token;
    if (choice < mask_.replaced) shown = mask_.mask;
    else if (choice < mask_.replaced + mask_.random)
      shown = static_cast<TokenId>(dice.below(config_.vocabulary));
    put(shown, token);
  }
  if (mask_.last) put(*mask_.last, models::kIgnored);
  batch.input.starts.push_back(batch.input.size());
}

void MaskedTask::training_batch(std::int64_t number, models::Batch& batch) const {
  clear(batch);
  Dice place(config_.seed, Purpose::batches, static_cast<std::uint64_t>(number));
  Dice dice(config_.seed, Purpose::masking, static_cast<std::uint64_t>(number));
  const Index places = corpus_.train.size() - inner() + 1;
  for (Index row = 0; row < config_.rows; ++row)
    add(read(corpus_.train, place.below(places), inner()), dice, batch);
}

Index MaskedTask::evaluation_batches() const {
  const Index per_batch = config_.rows * inner();
  return (evaluated(corpus_, config_) + per_batch - 1) / per_batch;
}

void MaskedTask::evaluation_batch(Index number, models::Batch& batch) const {
  clear(batch);
  Dice dice(config_.seed, Purpose::evaluation, static_cast<std::uint64_t>(number));
  const Index end = evaluated(corpus_, config_);
  Index at = number * config_.rows * inner();
  for (Index row = 0; row < config_.rows && at < end; ++row, at += inner())
    add(read(corpus_.valid, at, std::min(inner(), end - at)), dice, batch);
}

double MaskedTask::epochs(std::int64_t batches) const {
  return static_cast<double>(batches) * static_cast<double>(config_.rows * inner()) /
         static_cast<double>(corpus_.train.size());
}

std::string MaskedTask::describe() const {
  return fmt::format("{}; {:.0f} % of the tokens are predicted", amounts(corpus_, config_),
                     100 * mask_.share);
}

}  // namespace headlight::train
