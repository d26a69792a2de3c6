#include "inspect/head_battery.h"

#include <algorithm>

#include "core/dice.h"

namespace headlight::inspect {
namespace {

// Repeated everyday words, names, pronouns, commas and quotations: heads show their patterns only where these occur.
constexpr const char* kProse[] = {
    "The old boat lay on the beach, and nobody knew who had left the boat there.",
    "Every morning a small boy came to the beach to look at the boat.",
    "He asked his mother, \"Who owns the boat?\", but his mother did not know.",
    "One day the boat was gone, and the boy sat down on the beach and cried.",
    "Anna gave the red book to her brother because she had read it twice.",
    "Her brother read the first page, then the second page, and then he fell asleep.",
    "When he woke up, the red book was not on the table, and Anna was not in the house.",
    "She had taken the book with her, because it was not a good book for him.",
    "The king had three dogs: a big dog, a small dog and a dog that never slept.",
    "The big dog slept in the kitchen, and the small dog slept in the garden.",
    "The third dog walked through the house all night, from door to door to door.",
    "If a thief came to the house, the third dog would wake the big dog and the small dog.",
    "It rained on Monday, it rained on Tuesday, and on Wednesday the river came over the road.",
    "The teacher told the children that the road to the school was closed.",
    "Some of the children were happy, but some of them wanted to go to school.",
    "They built a boat out of an old door, and with the boat they went to school."};
constexpr std::size_t kInPassage = 4;  // sentences

constexpr Index kPeriods[] = {12, 17, 23, 31};  // lengths of repeated runs of random tokens
constexpr std::uint64_t kSeed = 20170612;
constexpr std::uint32_t kRandomTokens = 101, kOrder = 102;

// The special tokens that the tokenizer puts before and after a text.
struct Frame {
  std::vector<EncodedToken> before, after;
};
Frame frame_of(const LoadedModel& loaded) {
  Frame frame;
  if (!loaded.tokenizer) return frame;
  const EncodedText encoded = read_text(*loaded.tokenizer, "a");
  bool inside = false;
  for (const EncodedToken& token : encoded.tokens) {
    if (!token.added) inside = true;
    else (inside ? frame.after : frame.before).push_back(token);
  }
  return frame;
}

// Tokens that are not special.
std::vector<TokenId> ordinary_tokens(const LoadedModel& loaded) {
  const models::TransformerConfig& config = loaded.model->config();
  std::vector<TokenId> ids;
  const Index size =
      loaded.tokenizer ? std::min<Index>(loaded.tokenizer->size(), config.vocabulary) : config.vocabulary;
  for (TokenId id = 0; id < size; ++id) {
    const bool special = id == config.bos || config.is_end(id) || id == config.pad ||
                         id == config.decoder_start || (loaded.tokenizer && loaded.tokenizer->is_special(id));
    if (!special) ids.push_back(id);
  }
  return ids;
}

// A run of random tokens, repeated so many times.
struct RandomText {
  Index tokens = 0, times = 1;
  std::uint32_t item = 0;
};
EncodedText random_tokens(const LoadedModel& loaded, const std::vector<TokenId>& ordinary,
                          const RandomText& text) {
  Dice dice(kSeed, kRandomTokens, static_cast<std::uint64_t>(text.tokens), text.item);
  std::vector<TokenId> once, all;
  for (Index i = 0; i < text.tokens; ++i)
    once.push_back(ordinary[static_cast<std::size_t>(dice.below(static_cast<Index>(ordinary.size())))]);
  for (Index i = 0; i < text.times; ++i) all.insert(all.end(), once.begin(), once.end());
  EncodedText encoded =
      read_ids(loaded.tokenizer ? &*loaded.tokenizer : nullptr, all, loaded.model->config().vocabulary);
  const Frame frame = frame_of(loaded);
  encoded.tokens.insert(encoded.tokens.begin(), frame.before.begin(), frame.before.end());
  encoded.tokens.insert(encoded.tokens.end(), frame.after.begin(), frame.after.end());
  return encoded;
}

EncodedText in_another_order(const EncodedText& encoded, std::uint64_t seed, std::uint32_t item) {
  EncodedText out = encoded;
  out.text.clear();
  std::vector<EncodedToken> inner;
  for (const EncodedToken& token : encoded.tokens)
    if (!token.added) inner.push_back(token);
  Dice(seed, kOrder, 0, item).shuffle(inner);
  auto next = inner.begin();
  for (EncodedToken& token : out.tokens)
    if (!token.added) token = *next++;
  return out;
}

}  // namespace

ModelInput shuffled(const ModelInput& input, std::uint64_t seed) {
  return {.source = in_another_order(input.source, seed, 0),
          .written = in_another_order(input.written, seed, 1),
          .decoder_input = in_another_order(input.decoder_input, seed, 1),
          .types = input.types};
}

bool cut_to_fit(const LoadedModel& loaded, EncodedText& encoded) {
  const Index most = loaded.model->config().max_positions;
  if (most <= 0 || encoded.size() <= most) return false;
  std::vector<EncodedToken>& tokens = encoded.tokens;
  std::size_t tail = 0;
  while (tail < tokens.size() && tokens[tokens.size() - 1 - tail].added) ++tail;
  const auto keep = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(most) -
                                                std::min<std::size_t>(tail, static_cast<std::size_t>(most)));
  tokens.erase(tokens.begin() + keep, tokens.end() - static_cast<std::ptrdiff_t>(tail));
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(most)));
  return true;
}

Battery make_battery(Context& ctx, const LoadedModel& loaded, const Progress& progress) {
  Battery battery;
  const bool translates = loaded.has(Part::cross);
  const auto add_prose = [&](ModelInput input) {
    battery.shuffled.push_back(shuffled(input, kSeed + battery.prose.size()));
    battery.prose.push_back(std::move(input));
  };
  const std::size_t count = std::size(kProse), step = translates ? 1 : kInPassage;
  for (std::size_t first = 0; loaded.tokenizer && first < count; first += step) {
    std::string text;
    for (std::size_t i = first; i < std::min(count, first + step); ++i)
      text.append(text.empty() ? "" : " ").append(kProse[i]);
    ModelInput input{.source = read_text(*loaded.tokenizer, text)};
    cut_to_fit(loaded, input.source);
    if (translates) {
      input.written = translate(ctx, loaded, input.source);
      cut_to_fit(loaded, input.written);
    }
    add_prose(std::move(input));
    if (progress) progress(static_cast<double>(first + step) / static_cast<double>(count));
  }
  const std::vector<TokenId> ordinary = ordinary_tokens(loaded);
  const Index most = loaded.model->config().max_positions;
  const auto add_random = [&](Index tokens, Index times, const auto& add) {
    if (ordinary.empty() || (most > 0 && tokens * times + 4 > most)) return;
    ModelInput input{.source = random_tokens(loaded, ordinary, {tokens, times, 0})};
    if (translates) input.written = random_tokens(loaded, ordinary, {tokens, times, 1});
    add(std::move(input));
  };
  for (const Index period : kPeriods) {
    if (!loaded.tokenizer) add_random(period, 1, add_prose);
    add_random(period, 2, [&](ModelInput input) { battery.repeated.push_back(std::move(input)); });
  }
  return battery;
}

}  // namespace headlight::inspect
