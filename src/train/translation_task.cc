#include "train/translation_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "headlight/error.h"
#include "train/dice.h"

namespace headlight::train {
namespace {

constexpr Index kPoolBatches = 64;  // number of batches that are sorted by length together

}  // namespace

TranslationTask::TranslationTask(Pairs train, Pairs valid, TranslationConfig config)
    : train_(std::move(train)), valid_(std::move(valid)), config_(std::move(config)) {
  usable_ = usable(train_);
  for (const std::uint32_t i : usable_) total_tokens_ += tokens(train_, i);
  if (usable_.empty()) {
    throw Error(ErrorKind::input, "data.short",
                fmt::format("data: none of {} training pairs can be used (empty, or longer than {} tokens)",
                            train_.source.size(), config_.longest));
  }
  per_epoch_ = std::max<Index>(1, (total_tokens_ + config_.batch_tokens / 2) / config_.batch_tokens);
  cut_evaluation();
}

// Pairs with words on both sides that fit into the model, including the end token.
std::vector<std::uint32_t> TranslationTask::usable(const Pairs& pairs) const {
  std::vector<std::uint32_t> list;
  for (std::size_t i = 0; i < pairs.source.size(); ++i) {
    const std::size_t source = pairs.source[i].size(), target = pairs.target[i].size();
    if (source == 0 || target == 0 || static_cast<Index>(std::max(source, target)) + 1 > config_.longest)
      continue;
    list.push_back(static_cast<std::uint32_t>(i));
  }
  return list;
}

void TranslationTask::cut_evaluation() {
  valid_usable_ = usable(valid_);
  valid_left_out_ = valid_.source.size() - valid_usable_.size();
  if (config_.evaluation_pairs > 0)
    valid_usable_.resize(std::min(valid_usable_.size(), static_cast<std::size_t>(config_.evaluation_pairs)));
  valid_cuts_.push_back(0);
  Index filled = 0;
  for (std::size_t i = 0; i < valid_usable_.size(); ++i) {
    filled += tokens(valid_, valid_usable_[i]);
    if (filled < config_.batch_tokens && i + 1 < valid_usable_.size()) continue;
    valid_cuts_.push_back(i + 1);
    filled = 0;
  }
}

// With the end of the source, and the target once as input.
Index TranslationTask::tokens(const Pairs& pairs, std::size_t which) const {
  return static_cast<Index>(pairs.source[which].size() + pairs.target[which].size()) + 2;
}

void TranslationTask::prepare(std::int64_t epoch) const {
  if (epoch_.number == epoch) return;
  const auto place = static_cast<std::uint64_t>(epoch);
  epoch_.order = usable_;
  Dice(config_.seed, Purpose::order, place, 0).shuffle(epoch_.order);
  const Index pools = std::max<Index>(1, per_epoch_ / kPoolBatches);
  const auto size = static_cast<Index>(epoch_.order.size());
  const auto length = [&](std::uint32_t i) {
    return std::max(train_.source[i].size(), train_.target[i].size());
  };
  for (Index pool = 0; pool < pools; ++pool) {
    const bool rising = pool % 2 == 0;  // alternates, so that batches across pools fit too
    std::stable_sort(epoch_.order.begin() + pool * size / pools,
                     epoch_.order.begin() + (pool + 1) * size / pools, [&](std::uint32_t a, std::uint32_t b) {
                       return rising ? length(a) < length(b) : length(a) > length(b);
                     });
  }
  // A pair belongs to the batch in whose token range of the epoch it begins.
  epoch_.cuts.assign(1, 0);
  Index begin = 0;
  for (std::size_t i = 0; i < epoch_.order.size(); ++i) {
    const auto batch = static_cast<std::size_t>(begin * per_epoch_ / total_tokens_);
    while (epoch_.cuts.size() <= batch) epoch_.cuts.push_back(i);
    begin += tokens(train_, epoch_.order[i]);
  }
  while (epoch_.cuts.size() <= static_cast<std::size_t>(per_epoch_))
    epoch_.cuts.push_back(epoch_.order.size());
  epoch_.batches.resize(static_cast<std::size_t>(per_epoch_));
  std::iota(epoch_.batches.begin(), epoch_.batches.end(), 0U);
  Dice(config_.seed, Purpose::order, place, 1).shuffle(epoch_.batches);
  epoch_.number = epoch;
}

void TranslationTask::add(Ids source, Ids target, models::Batch& batch) const {
  const auto put = [](models::Tokens& to, Ids ids, TokenId extra, bool in_front) {
    if (in_front) to.ids.push_back(extra);
    to.ids.insert(to.ids.end(), ids.begin(), ids.end());
    if (!in_front) to.ids.push_back(extra);
    to.starts.push_back(to.size());
  };
  put(batch.source, source, config_.end, false);
  put(batch.input, target, config_.begin, true);
  batch.targets.insert(batch.targets.end(), target.begin(), target.end());
  batch.targets.push_back(config_.end);
}

void TranslationTask::add_split(std::size_t which, headlight::Dice dice, models::Batch& batch) const {
  std::vector<TokenId> source, target;
  config_.splits.split(train_.source[which], dice, source);
  config_.splits.split(train_.target[which], dice, target);
  if (static_cast<Index>(std::max(source.size(), target.size())) < config_.longest)
    add(source, target, batch);
  else add(train_.source[which], train_.target[which], batch);
}

// Before the pair itself: its source begins where the batch ends now.
void TranslationTask::add_link(std::size_t which, models::Batch& batch) const {
  const std::size_t first = train_.source.size() - train_.links.size();
  if (which < first) return;
  models::Link link = train_.links[which - first];
  for (Index* place : {&link.query, &link.key_begin, &link.key_end}) *place += batch.source.size();
  batch.links.push_back(link);
}

void TranslationTask::training_batch(std::int64_t number, models::Batch& batch) const {
  clear(batch);
  prepare(number / per_epoch_);
  const std::uint32_t which = epoch_.batches[static_cast<std::size_t>(number % per_epoch_)];
  for (std::size_t i = epoch_.cuts[which]; i < epoch_.cuts[which + 1]; ++i) {
    const std::uint32_t pair = epoch_.order[i];
    add_link(pair, batch);
    if (config_.splits.any())
      add_split(pair, Dice(config_.seed, Purpose::splits, static_cast<std::uint64_t>(number), pair), batch);
    else add(train_.source[pair], train_.target[pair], batch);
  }
}

Index TranslationTask::evaluation_batches() const { return static_cast<Index>(valid_cuts_.size()) - 1; }

void TranslationTask::evaluation_batch(Index number, models::Batch& batch) const {
  clear(batch);
  const auto n = static_cast<std::size_t>(number);
  for (std::size_t i = valid_cuts_[n]; i < valid_cuts_[n + 1]; ++i) {
    const std::uint32_t pair = valid_usable_[i];
    add(valid_.source[pair], valid_.target[pair], batch);
  }
}

double TranslationTask::epochs(std::int64_t batches) const {
  return static_cast<double>(batches) / static_cast<double>(per_epoch_);
}

std::string TranslationTask::describe() const {
  const std::size_t left_out = train_.source.size() - usable_.size();
  std::string text =
      fmt::format("{} training pairs, {} for evaluation; {} batches of about {} tokens per epoch",
                  usable_.size(), valid_cuts_.back(), per_epoch_, total_tokens_ / per_epoch_);
  if (!train_.links.empty())
    text += fmt::format(
        "\n"
        "{} pairs for guided attention",
        train_.links.size());
  if (left_out + valid_left_out_ > 0)
    text += fmt::format(
        "\n{} training pairs and {} evaluation pairs were left out: empty, or longer than {} tokens",
        left_out, valid_left_out_, config_.longest);
  return text;
}

}  // namespace headlight::train
