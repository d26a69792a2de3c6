#include "playground/toy_cases.h"

#include <algorithm>
#include <numeric>

#include "core/concat.h"

namespace headlight::playground {
namespace {

constexpr std::int32_t kFirst = 2;            // the first word of a task
constexpr Index kLetters = 12, kDigits = 10;  // of lists
constexpr Index kLongestList = 8, kShortestList = 3;
constexpr Index kKeys = 6, kValues = 6, kFacts = 4, kNoise = 12;  // of recall
constexpr Index kPairKeys = 4, kPairValues = 4;
constexpr Index kRepeated = 24;  // tokens of induction

constexpr std::string_view kNouns[] = {"key",   "keys",   "cabinet", "cabinets", "dog", "dogs",
                                       "tree",  "trees",  "child",   "children", "car", "cars",
                                       "house", "houses", "bird",    "birds"};
constexpr Index kNounPairs = static_cast<Index>(std::size(kNouns)) / 2;
constexpr std::string_view kPlaces[] = {"near", "behind", "with", "under"};
constexpr std::string_view kAnimals[] = {"dog", "cat", "horse", "bird", "child", "mouse", "sheep", "fox"};
constexpr std::string_view kThings[] = {"box", "street", "cup", "door", "car", "bridge", "bag", "table"};
constexpr std::string_view kDeeds[] = {"left", "crossed", "saw", "passed"};
constexpr std::string_view kLively[] = {"tired", "hungry", "afraid", "asleep"};
constexpr std::string_view kLifeless[] = {"broken", "wide", "empty", "closed"};

template <std::size_t N>
void add(std::vector<std::string>& words, const std::string_view (&list)[N]) {
  for (const std::string_view word : list) words.emplace_back(word);
}

std::string letter(Index i) { return std::string(1, static_cast<char>('a' + i)); }

std::vector<std::int32_t> choose(train::Dice& dice, Index n, Index count) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  dice.shuffle(all);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

class Writer {
 public:
  Writer() { put(0); }
  void put(Index id, std::int32_t target = models::kIgnored) {
    one_.ids.push_back(static_cast<std::int32_t>(id));
    one_.targets.push_back(target);
  }
  // Sets the answer expected after the last word.
  void ask(Index target) { one_.targets.back() = static_cast<std::int32_t>(target); }
  [[nodiscard]] ToyCase take() { return std::move(one_); }

 private:
  ToyCase one_;
};

// Words of a list task: letters or digits, then the bar.
ToyCase list_case(ToyKind kind, train::Dice& dice) {
  const Index symbols = kind == ToyKind::sort ? kDigits : kLetters, bar = kFirst + symbols;
  const Index length = kShortestList + dice.below(kLongestList - kShortestList + 1);
  std::vector<std::int32_t> list;
  if (kind == ToyKind::sort) list = choose(dice, symbols, length);
  else
    for (Index i = 0; i < length; ++i) list.push_back(static_cast<std::int32_t>(dice.below(symbols)));
  Writer writer;
  for (const std::int32_t x : list) writer.put(kFirst + x);
  writer.put(bar);
  if (kind == ToyKind::reverse) std::reverse(list.begin(), list.end());
  if (kind == ToyKind::sort) std::sort(list.begin(), list.end());
  for (const std::int32_t x : list) {
    writer.ask(kFirst + x);
    writer.put(kFirst + x);
  }
  return writer.take();
}

// Words: facts "a5", questions "a?", answers "5", the dot.
ToyCase recall_case(train::Dice& dice) {
  constexpr Index question = kFirst + kKeys * kValues, answer = question + kKeys, dot = answer + kValues;
  const std::vector<std::int32_t> keys = choose(dice, kKeys, kFacts);
  std::vector<Index> values;
  Writer writer;
  for (const std::int32_t key : keys) {
    values.push_back(dice.below(kValues));
    writer.put(kFirst + key * kValues + values.back());
  }
  for (Index i = dice.below(kNoise + 1); i > 0; --i) writer.put(dot);
  for (const std::int32_t which : choose(dice, kFacts, 2)) {
    writer.put(question + keys[static_cast<std::size_t>(which)]);
    writer.ask(answer + values[static_cast<std::size_t>(which)]);
  }
  return writer.take();
}

// Words: facts "a5", questions "ab?", answers "52".
ToyCase pairs_case(train::Dice& dice) {
  constexpr Index question = kFirst + kPairKeys * kPairValues, answer = question + kPairKeys * kPairKeys;
  const std::vector<std::int32_t> keys = choose(dice, kPairKeys, kPairKeys);
  std::vector<Index> values(static_cast<std::size_t>(kPairKeys));
  Writer writer;
  for (const std::int32_t key : keys) {
    values[static_cast<std::size_t>(key)] = dice.below(kPairValues);
    writer.put(kFirst + key * kPairValues + values[static_cast<std::size_t>(key)]);
  }
  for (int asked = 0; asked < 3; ++asked) {
    const std::vector<std::int32_t> two = choose(dice, kPairKeys, 2);
    writer.put(question + two[0] * kPairKeys + two[1]);
    writer.ask(answer + values[static_cast<std::size_t>(two[0])] * kPairValues +
               values[static_cast<std::size_t>(two[1])]);
  }
  return writer.take();
}

// No letter occurs twice in the piece, and its length differs from case to case, so attending at a fixed distance does not help.
ToyCase induction_case(train::Dice& dice) {
  const Index period = 4 + dice.below(kLetters - 4 + 1);
  const std::vector<std::int32_t> piece = choose(dice, kLetters, period);
  Writer writer;
  for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(kRepeated); ++i) {
    writer.put(kFirst + piece[i % piece.size()]);
    if (i >= piece.size()) writer.ask(kFirst + piece[(i + 1) % piece.size()]);
  }
  return writer.take();
}

// Words: the now is are, places, nouns.
ToyCase agreement_case(train::Dice& dice) {
  constexpr Index the = kFirst, now = the + 1, is = now + 1, places = is + 2,
                  nouns = places + static_cast<Index>(std::size(kPlaces));
  const auto noun = [&](Index many) { return nouns + 2 * dice.below(kNounPairs) + many; };
  const Index many = dice.below(2);
  Writer writer;
  writer.put(the);
  writer.put(noun(many));
  for (Index i = 1 + dice.below(2); i > 0; --i) {
    writer.put(places + dice.below(static_cast<Index>(std::size(kPlaces))));
    writer.put(the);
    writer.put(noun(dice.below(2)));
  }
  writer.put(now);
  writer.ask(is + many);
  return writer.take();
}

// Words: the because it was , then verbs, animals, things, and adjectives.
ToyCase pronoun_case(train::Dice& dice) {
  constexpr Index the = kFirst, because = the + 1, it = because + 1, was = it + 1, comma = was + 1,
                  deeds = comma + 1, animals = deeds + static_cast<Index>(std::size(kDeeds)),
                  things = animals + static_cast<Index>(std::size(kAnimals)),
                  lively = things + static_cast<Index>(std::size(kThings)),
                  lifeless = lively + static_cast<Index>(std::size(kLively));
  const Index animal = animals + dice.below(static_cast<Index>(std::size(kAnimals))),
              thing = things + dice.below(static_cast<Index>(std::size(kThings)));
  const bool animal_first = dice.below(2) == 0, of_animal = dice.below(2) == 0;
  Writer writer;
  for (const Index word :
       {the, animal_first ? animal : thing, deeds + dice.below(static_cast<Index>(std::size(kDeeds))), the,
        animal_first ? thing : animal, because, it, was})
    writer.put(word);
  writer.put(of_animal ? lively + dice.below(static_cast<Index>(std::size(kLively)))
                       : lifeless + dice.below(static_cast<Index>(std::size(kLifeless))));
  writer.put(comma);
  writer.put(the);
  writer.ask(of_animal ? animal : thing);
  return writer.take();
}

}  // namespace

std::vector<std::string> toy_words(ToyKind kind) {
  std::vector<std::string> words = {"<s>", "<unk>"};
  switch (kind) {
    case ToyKind::sort:
      for (Index i = 0; i < kDigits; ++i) words.push_back(concat(i));
      words.emplace_back("|");
      break;
    case ToyKind::copy:
    case ToyKind::reverse:
    case ToyKind::induction:
      for (Index i = 0; i < kLetters; ++i) words.push_back(letter(i));
      if (kind != ToyKind::induction) words.emplace_back("|");
      break;
    case ToyKind::recall:
      for (Index k = 0; k < kKeys; ++k)
        for (Index v = 0; v < kValues; ++v) words.push_back(concat(letter(k), v));
      for (Index k = 0; k < kKeys; ++k) words.push_back(concat(letter(k), "?"));
      for (Index v = 0; v < kValues; ++v) words.push_back(concat(v));
      words.emplace_back(".");
      break;
    case ToyKind::pairs:
      for (Index k = 0; k < kPairKeys; ++k)
        for (Index v = 0; v < kPairValues; ++v) words.push_back(concat(letter(k), v));
      for (Index a = 0; a < kPairKeys; ++a)
        for (Index b = 0; b < kPairKeys; ++b) words.push_back(concat(letter(a), letter(b), "?"));
      for (Index a = 0; a < kPairValues; ++a)
        for (Index b = 0; b < kPairValues; ++b) words.push_back(concat(a, b));
      break;
    case ToyKind::agreement:
      for (const char* word : {"the", "now", "is", "are"}) words.emplace_back(word);
      add(words, kPlaces);
      add(words, kNouns);
      break;
    case ToyKind::pronoun:
      for (const char* word : {"the", "because", "it", "was", ","}) words.emplace_back(word);
      add(words, kDeeds);
      add(words, kAnimals);
      add(words, kThings);
      add(words, kLively);
      add(words, kLifeless);
      break;
  }
  return words;
}

Index longest_case(ToyKind kind) {
  switch (kind) {
    case ToyKind::copy:
    case ToyKind::reverse:
    case ToyKind::sort: return 2 * kLongestList + 2;
    case ToyKind::recall: return 1 + kFacts + kNoise + 2;
    case ToyKind::pairs: return 1 + kPairKeys + 3;
    case ToyKind::induction: return kRepeated;
    case ToyKind::agreement: return 10;
    case ToyKind::pronoun: return 12;
  }
  return 0;
}

ToyCase draw_case(ToyKind kind, train::Dice& dice) {
  switch (kind) {
    case ToyKind::copy:
    case ToyKind::reverse:
    case ToyKind::sort: return list_case(kind, dice);
    case ToyKind::recall: return recall_case(dice);
    case ToyKind::pairs: return pairs_case(dice);
    case ToyKind::induction: return induction_case(dice);
    case ToyKind::agreement: return agreement_case(dice);
    case ToyKind::pronoun: return pronoun_case(dice);
  }
  return {};
}

}  // namespace headlight::playground
