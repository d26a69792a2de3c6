#include "text/bpe_training.h"

#include <algorithm>
#include <array>

#include "text/byte_characters.h"
#include "text/train.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

TokenId id_of(TokenTable& vocab, std::string_view token) {
  if (const auto known = vocab.find(token)) return *known;
  const TokenId id = vocab.size();
  vocab.add(token, id);
  return id;
}

// Learns until the vocabulary is full or pairs are too rare. `prefix` marks symbols inside a word;
// it is written once at the front of a merged token.
void learn(MergeLearner& learner, TokenTable& vocab, std::string_view prefix,
           const TokenizerTraining& options, std::vector<BpeParts::Merge>* merges) {
  const auto start = static_cast<double>(vocab.size());
  const auto specials = static_cast<TokenId>(options.special.size());
  while (vocab.size() < options.vocab) {
    const MergeLearner::Pair pair = learner.best();
    if (pair.count < std::max<std::int64_t>(1, options.min_frequency)) break;
    std::string token(vocab.token(pair.left));
    const std::string_view right = vocab.token(pair.right);
    token += !prefix.empty() && right.starts_with(prefix) ? right.substr(prefix.size()) : right;
    if (const auto known = vocab.find(token); known && *known < specials) {
      learner.forget(pair);  // a special token's name, spelled out in the text
      continue;
    }
    const TokenId result = id_of(vocab, token);
    if (merges != nullptr) merges->push_back({pair.left, pair.right, result});
    learner.merge(pair, result);
    if (options.progress && vocab.size() % 64 == 0)
      options.progress("learning merges", (vocab.size() - start) / (options.vocab - start));
  }
}

// Characters that are frequent enough, by code point.
std::vector<char32_t> alphabet_of(const std::vector<CountedWord>& words, const TokenizerTraining& options) {
  std::unordered_map<char32_t, std::int64_t> counts;
  for (const auto& [word, count] : words) {
    for (std::size_t at = 0; at < word.size();) {
      const Character c = character_at(word, at);
      counts[c.code] += count;
      at += c.length;
    }
  }
  std::vector<char32_t> alphabet;
  for (const auto& [code, count] : counts)
    if (count >= options.min_frequency) alphabet.push_back(code);
  // At most half of the vocabulary for both forms of each: a text in many scripts must leave room for words.
  const std::size_t most =
      std::max<std::size_t>(1, (static_cast<std::size_t>(options.vocab) - options.special.size()) / 4);
  if (alphabet.size() > most) {
    std::sort(alphabet.begin(), alphabet.end(),
              [&](char32_t a, char32_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
    alphabet.resize(most);
  }
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

void add_specials(TokenTable& vocab, const TokenizerTraining& options) {
  vocab.reserve(static_cast<std::size_t>(options.vocab));
  for (const std::string& token : options.special) id_of(vocab, token);
}

}  // namespace

void MergeLearner::add_word(const std::vector<TokenId>& symbols, std::int64_t count) {
  const auto index = static_cast<std::uint32_t>(words_.size());
  words_.push_back({symbols, count});
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) change(symbols[i], symbols[i + 1], count, index);
}

void MergeLearner::change(TokenId left, TokenId right, std::int64_t by, std::uint32_t word) {
  const std::uint64_t key = key_of(left, right);
  Uses& uses = uses_[key];
  uses.count += by;
  if (by < 0) return;
  if (uses.words.empty() || uses.words.back() != word) uses.words.push_back(word);
  grown_.push_back(key);
}

MergeLearner::Pair MergeLearner::best() {
  // Queued counts may be outdated: too large (updated when they reach the top), never too small.
  std::sort(grown_.begin(), grown_.end());
  grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
  for (const std::uint64_t key : grown_) queue_.push({uses_[key].count, key});
  grown_.clear();
  while (!queue_.empty()) {
    const Candidate top = queue_.top();
    const std::int64_t count = uses_[top.pair].count;
    if (count == top.count && count > 0)
      return {static_cast<TokenId>(top.pair >> 32), static_cast<TokenId>(top.pair & 0xFFFFFFFFU), count};
    queue_.pop();
    if (count > 0 && count < top.count) queue_.push({count, top.pair});
  }
  return {};
}

void MergeLearner::merge(const Pair& pair, TokenId result) {
  const auto found = uses_.find(key_of(pair.left, pair.right));
  const std::vector<std::uint32_t> places = std::move(found->second.words);
  found->second.words.clear();
  for (const std::uint32_t index : places) {
    Word& word = words_[index];
    std::vector<TokenId>& s = word.symbols;
    std::size_t out = 0;
    for (std::size_t i = 0; i < s.size();) {
      if (i + 1 < s.size() && s[i] == pair.left && s[i + 1] == pair.right) {
        if (out > 0) {
          change(s[out - 1], pair.left, -word.count, index);
          change(s[out - 1], result, word.count, index);
        }
        if (i + 2 < s.size()) {
          change(pair.right, s[i + 2], -word.count, index);
          change(result, s[i + 2], word.count, index);
        }
        s[out++] = result;
        i += 2;
      } else {
        s[out++] = s[i++];
      }
    }
    s.resize(out);
  }
  uses_.erase(key_of(pair.left, pair.right));
}

BpeParts train_bpe(const std::vector<CountedWord>& words, const TokenizerTraining& options) {
  BpeParts parts;
  add_specials(parts.vocab, options);
  std::array<TokenId, 256> symbols{};
  std::vector<std::pair<char32_t, unsigned>> alphabet;
  for (unsigned byte = 0; byte < 256; ++byte)
    alphabet.emplace_back(character_of(static_cast<unsigned char>(byte)), byte);
  std::sort(alphabet.begin(), alphabet.end());
  for (const auto& [character, byte] : alphabet) symbols[byte] = id_of(parts.vocab, to_utf8(character));
  MergeLearner learner;
  std::vector<TokenId> word;
  for (const auto& [bytes, count] : words) {
    word.clear();
    for (const char byte : bytes) word.push_back(symbols[static_cast<unsigned char>(byte)]);
    learner.add_word(word, count);
  }
  learn(learner, parts.vocab, "", options, &parts.merges);
  return parts;
}

WordPieceParts train_word_piece(const std::vector<CountedWord>& words, const TokenizerTraining& options) {
  WordPieceParts parts;
  add_specials(parts.vocab, options);
  const std::vector<char32_t> alphabet = alphabet_of(words, options);
  for (const char32_t code : alphabet) id_of(parts.vocab, to_utf8(code));
  // A character that may begin a word may also continue one, if there is space.
  for (const char32_t code : alphabet)
    if (parts.vocab.size() < options.vocab) id_of(parts.vocab, parts.prefix + to_utf8(code));
  MergeLearner learner;
  std::vector<TokenId> symbols;
  for (const auto& [word, count] : words) {
    symbols.clear();
    bool known = true;
    for (std::size_t at = 0; known && at < word.size();) {
      const Character c = character_at(word, at);
      const auto id = parts.vocab.find((at > 0 ? parts.prefix : "") + to_utf8(c.code));
      known = id.has_value();
      if (known) symbols.push_back(*id);
      at += c.length;
    }
    if (known) learner.add_word(symbols, count);
  }
  learn(learner, parts.vocab, parts.prefix, options, nullptr);
  return parts;
}

}  // namespace headlight::text
