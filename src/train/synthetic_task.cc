#include "train/synthetic_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/error.h"
#include "train/dice.h"

namespace headlight::train {
namespace {

// Ids: 0 begins a list, 1 ends it, 2 separates; symbols follow.
constexpr std::int32_t kBegin = 0, kEnd = 1, kSeparator = 2, kFirst = 3;
constexpr std::int32_t kNoise = 16;  // recall: different tokens between a fact and the question

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, "data.synthetic", "data: " + what);
}

// `count` different numbers below n.
std::vector<std::int32_t> choose(Dice& dice, Index n, Index count) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    std::swap(all[i], all[i + static_cast<std::size_t>(dice.below(n - static_cast<Index>(i)))]);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace

std::string_view name_of(SyntheticKind kind) noexcept {
  switch (kind) {
    case SyntheticKind::copy: return "copy";
    case SyntheticKind::reverse: return "reverse";
    case SyntheticKind::recall: return "recall";
    case SyntheticKind::induction: return "induction";
  }
  return "";
}

SyntheticTask::SyntheticTask(const SyntheticConfig& config) : config_(config) {
  if (config.symbols < 2 || config.length < 1 || config.rows < 1)
    refuse("a synthetic task needs 2 symbols, 1 token, 1 row");
  if (config.shortest < 1 || config.shortest > config.length)
    refuse(fmt::format("lists cannot have {} to {} symbols", config.shortest, config.length));
  if (config.kind == SyntheticKind::recall && (config.pairs < 1 || config.pairs > config.symbols))
    refuse(fmt::format("recall cannot show {} different keys of {} symbols", config.pairs, config.symbols));
  if (config.kind == SyntheticKind::induction && config.length < 8)
    refuse("induction needs a length of 8 or more");
  if (config.with_source && config.kind != SyntheticKind::copy && config.kind != SyntheticKind::reverse)
    refuse(fmt::format("{} has no source: use a decoder", name_of(config.kind)));
}

void SyntheticTask::training_batch(std::int64_t number, models::Batch& batch) const {
  Dice dice(config_.seed, Purpose::batches, static_cast<std::uint64_t>(number));
  fill(dice, config_.rows, Use::training, batch);
}

Index SyntheticTask::evaluation_batches() const {
  return (config_.evaluation_rows + config_.rows - 1) / config_.rows;
}

void SyntheticTask::evaluation_batch(Index number, models::Batch& batch) const {
  Dice dice(config_.seed, Purpose::evaluation, static_cast<std::uint64_t>(number));
  fill(dice, std::min(config_.rows, config_.evaluation_rows - number * config_.rows), Use::evaluation, batch);
}

void SyntheticTask::fill(Dice& dice, Index rows, Use use, models::Batch& batch) const {
  clear(batch);
  for (Index row = 0; row < rows; ++row) {
    switch (config_.kind) {
      case SyntheticKind::copy:
      case SyntheticKind::reverse: add_list(dice, batch); break;
      case SyntheticKind::recall: add_recall(dice, use, batch); break;
      case SyntheticKind::induction: add_induction(dice, batch); break;
    }
  }
}

void SyntheticTask::add_list(Dice& dice, models::Batch& batch) const {
  std::vector<std::int32_t> list(
      static_cast<std::size_t>(config_.shortest + dice.below(config_.length - config_.shortest + 1)));
  for (std::int32_t& x : list) x = kFirst + static_cast<std::int32_t>(dice.below(config_.symbols));
  std::vector<std::int32_t>& ids = batch.input.ids;
  ids.push_back(kBegin);
  if (config_.with_source) {
    batch.source.ids.insert(batch.source.ids.end(), list.begin(), list.end());
    batch.source.ids.push_back(kEnd);
    batch.source.starts.push_back(batch.source.size());
  } else {
    ids.insert(ids.end(), list.begin(), list.end());
    ids.push_back(kSeparator);
    batch.targets.insert(batch.targets.end(), list.size() + 1, models::kIgnored);
  }
  if (config_.kind == SyntheticKind::reverse) std::reverse(list.begin(), list.end());
  ids.insert(ids.end(), list.begin(), list.end());
  batch.input.starts.push_back(batch.input.size());
  batch.targets.insert(batch.targets.end(), list.begin(), list.end());
  batch.targets.push_back(kEnd);
}

// Facts, noise, then a question for every fact, in any order. A fact is one token, a key with its value; a
// question is a key, and its answer is the value. Training sequences have less noise too, so that the task is learnt early.
void SyntheticTask::add_recall(Dice& dice, Use use, models::Batch& batch) const {
  const auto symbols = static_cast<std::int32_t>(config_.symbols);
  const std::int32_t answer = kFirst, question = answer + symbols, noise = question + symbols,
                     fact = noise + kNoise;
  const double share = use == Use::training ? std::pow(dice.uniform(), 3) : 1;
  const auto distance = static_cast<Index>(share * static_cast<double>(config_.length));
  const std::vector<std::int32_t> keys = choose(dice, config_.symbols, config_.pairs);
  std::vector<std::int32_t> values(keys.size());
  const auto put = [&](std::int32_t id, std::int32_t target) {
    batch.input.ids.push_back(id);
    batch.targets.push_back(target);
  };
  put(kBegin, models::kIgnored);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values[i] = static_cast<std::int32_t>(dice.below(config_.symbols));
    put(fact + keys[i] * symbols + values[i], models::kIgnored);
  }
  for (Index i = 0; i < distance; ++i)
    put(noise + static_cast<std::int32_t>(dice.below(kNoise)), models::kIgnored);
  for (const std::int32_t which : choose(dice, config_.pairs, config_.pairs)) {
    const auto i = static_cast<std::size_t>(which);
    put(question + keys[i], answer + values[i]);
  }
  batch.input.starts.push_back(batch.input.size());
}

// The piece has no symbol twice, so the answer is certain from the second repeat on. Its length differs from
// sequence to sequence: attending at a fixed distance does not help, the token itself must be found.
void SyntheticTask::add_induction(Dice& dice, models::Batch& batch) const {
  const Index longest = std::min(config_.symbols, config_.length / 2),
              shortest = std::max<Index>(2, longest / 2);
  const Index period = shortest + dice.below(longest - shortest + 1);
  const std::vector<std::int32_t> piece = choose(dice, config_.symbols, period);
  for (std::size_t i = 0; i < static_cast<std::size_t>(config_.length); ++i) {
    batch.input.ids.push_back(kFirst + piece[i % piece.size()]);
    batch.targets.push_back(i < piece.size() ? models::kIgnored : kFirst + piece[(i + 1) % piece.size()]);
  }
  batch.input.starts.push_back(batch.input.size());
}

Index SyntheticTask::vocabulary() const {
  return kFirst + (config_.kind == SyntheticKind::recall ? config_.symbols * (config_.symbols + 2) + kNoise
                                                         : config_.symbols);
}

Index SyntheticTask::longest_source() const { return config_.with_source ? config_.length + 1 : 0; }

Index SyntheticTask::longest_input() const {
  switch (config_.kind) {
    case SyntheticKind::copy:
    case SyntheticKind::reverse: return config_.with_source ? config_.length + 1 : 2 * config_.length + 2;
    case SyntheticKind::recall: return 1 + 2 * config_.pairs + config_.length;
    case SyntheticKind::induction: return config_.length;
  }
  return 0;
}

std::string SyntheticTask::describe() const {
  return fmt::format("{} with {} symbols, length {}; {} sequences per batch, {} for evaluation",
                     name_of(config_.kind), config_.symbols, config_.length, config_.rows,
                     config_.evaluation_rows);
}

}  // namespace headlight::train
