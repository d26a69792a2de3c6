#include "playground/toy_task.h"

#include <algorithm>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "playground/toy_cases.h"
#include "text/parts.h"

namespace headlight::playground {
namespace {

constexpr Index kRows = 32, kEvaluationRows = 64;
constexpr std::uint64_t kReserved = 8;  // one case in so many is for evaluation

// FNV-1a over the ids: which cases are reserved does not depend on the seed.
std::uint64_t hash_of(std::span<const std::int32_t> ids) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::int32_t id : ids) hash = (hash ^ static_cast<std::uint64_t>(id)) * 1099511628211ULL;
  return hash ^ hash >> 32;
}

void append(const ToyCase& one, models::Batch& batch) {
  batch.input.append(one.ids);
  batch.targets.insert(batch.targets.end(), one.targets.begin(), one.targets.end());
}

}  // namespace

std::string_view name_of(ToyKind kind) noexcept {
  switch (kind) {
    case ToyKind::copy: return "copy";
    case ToyKind::reverse: return "reverse";
    case ToyKind::sort: return "sort";
    case ToyKind::recall: return "recall";
    case ToyKind::pairs: return "pairs";
    case ToyKind::induction: return "induction";
    case ToyKind::agreement: return "agreement";
    case ToyKind::pronoun: return "pronoun";
  }
  return "";
}

std::string_view what_of(ToyKind kind) noexcept {
  switch (kind) {
    case ToyKind::copy: return "Repeat a list of letters.";
    case ToyKind::reverse: return "Write a list of letters backwards.";
    case ToyKind::sort: return "Write digits in order; all are different.";
    case ToyKind::recall: return "Answer questions about facts some words back.";
    case ToyKind::pairs: return "Answer two questions at once, in their order.";
    case ToyKind::induction:
      return "Continue a random piece that is repeated: what followed this letter last time?";
    case ToyKind::agreement: return "Choose is or are, with other nouns between subject and verb.";
    case ToyKind::pronoun: return "Name the noun that \"it\" refers to.";
  }
  return "";
}

ToyTask::ToyTask(ToyKind kind, std::uint64_t seed, Evaluate evaluate)
    : kind_(kind), seed_(seed), evaluate_(evaluate), words_(toy_words(kind)) {}

ToyCase ToyTask::draw(train::Dice& dice, Use use) const {
  for (;;) {
    ToyCase one = draw_case(kind_, dice);
    if ((hash_of(one.ids) % kReserved == 0) == (use == Use::evaluation)) return one;
  }
}

void ToyTask::training_batch(std::int64_t number, models::Batch& batch) const {
  train::Dice dice(seed_, train::Purpose::batches, static_cast<std::uint64_t>(number));
  train::clear(batch);
  for (Index row = 0; row < kRows; ++row) append(draw(dice, Use::training), batch);
}

void ToyTask::evaluation_batch(Index, models::Batch& batch) const {
  train::clear(batch);
  for (Index row = 0; row < kEvaluationRows; ++row) {
    const ToyCase one = unseen_case(static_cast<std::uint64_t>(row));
    if (evaluate_ == Evaluate::whole) {
      append(one, batch);
      continue;
    }
    for (std::size_t end = 0; end < one.ids.size(); ++end) {
      if (one.targets[end] == models::kIgnored) continue;
      ToyCase prefix;
      prefix.ids.assign(one.ids.begin(), one.ids.begin() + static_cast<std::ptrdiff_t>(end) + 1);
      prefix.targets.assign(prefix.ids.size(), models::kIgnored);
      prefix.targets.back() = one.targets[end];
      append(prefix, batch);
    }
  }
}

ToyCase ToyTask::unseen_case(std::uint64_t number) const {
  train::Dice dice(seed_, train::Purpose::evaluation, number);
  return draw(dice, Use::evaluation);
}

Index ToyTask::longest_input() const { return longest_case(kind_); }

std::string ToyTask::describe() const { return std::string(what_of(kind_)); }

ToyCase ToyTask::parse(std::string_view text) const {
  ToyCase one;
  one.ids.push_back(0);
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(word.size());
    if (word == words_[0] && one.ids.size() == 1) continue;
    const auto known = std::find(words_.begin(), words_.end(), word);
    if (known == words_.end()) {
      std::string list;
      for (const std::string& each : words_) list += concat(list.empty() ? "" : " ", each);
      throw Error(
          ErrorKind::input, "playground.word",
          concat("the probe has the word \"", escaped(word, 40), "\", which this task does not know\n",
                 "Its words are: ", list.size() > 400 ? concat(list.substr(0, 400), " …") : list));
    }
    one.ids.push_back(static_cast<std::int32_t>(known - words_.begin()));
    if (static_cast<Index>(one.ids.size()) > longest_input())
      throw Error(
          ErrorKind::input, "playground.length",
          concat("the probe is longer than the ", longest_input() - 1, " words that the model reads"));
  }
  if (one.ids.size() < 2)
    throw Error(ErrorKind::input, "playground.empty", "the probe is empty; write a few words");
  one.targets.assign(one.ids.size(), models::kIgnored);
  return one;
}

std::string ToyTask::text_of(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids)
    text += concat(text.empty() ? "" : " ", words_[static_cast<std::size_t>(id)]);
  return text;
}

Tokenizer ToyTask::tokenizer() const {
  text::TokenizerParts parts;
  text::WordLevelParts model;
  model.vocab.reserve(words_.size());
  for (std::size_t id = 0; id < words_.size(); ++id)
    (void)model.vocab.add(words_[id], static_cast<TokenId>(id));
  model.unknown = words_[1];
  parts.model = std::move(model);
  parts.pre_tokenizer = {text::WhitespaceSplit{}};
  for (const TokenId id : {0, 1})
    parts.added.push_back({.id = id, .content = words_[static_cast<std::size_t>(id)], .special = true});
  using Piece = text::TemplatePiece;
  text::Template around;
  around.single = {{Piece::Kind::special, words_[0], 0}, {Piece::Kind::first, {}, 0}};
  around.pair = around.single;
  around.pair.push_back({Piece::Kind::second, {}, 0});
  around.specials = {{words_[0], {{words_[0], 0}}}};
  parts.post_processor = {around};
  return text::make_tokenizer(std::move(parts));
}

}  // namespace headlight::playground
