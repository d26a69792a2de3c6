#include "text/pre_tokenizer.h"

#include <algorithm>
#include <array>

#include "text/byte_characters.h"
#include "text/split.h"

namespace headlight::text {
namespace {

// Rebuilds the text from the result of `change` for each range; text between ranges is dropped.
template <class Change>
void rewrite(Words& words, const Change& change) {
  Rewriter to(words.text);
  for (Range& range : words.ranges) {
    const std::uint32_t begin = to.size();
    change(to, range);
    range = {begin, to.size()};
  }
  words.text = to.finish();
}

// Whether this is the start of the whole original text.
bool at_start(const Words& words, Range range) { return words.text.base() == 0 && range.begin == 0; }

void add_prefix_space(Words& words) {
  const auto wants = [&](Range range) { return words.text.text()[range.begin] != ' '; };
  if (std::none_of(words.ranges.begin(), words.ranges.end(), wants)) return;
  rewrite(words, [&](Rewriter& to, Range range) {
    if (wants(range)) to.put(" ", words.text.origin(range.begin));
    to.keep(range);
  });
}

void apply_metaspace(const Metaspace& step, Words& words) {
  const std::string_view text = words.text.text();
  rewrite(words, [&](Rewriter& to, Range range) {
    const bool prepend = step.scheme == PrependScheme::always ||
                         (step.scheme == PrependScheme::first && at_start(words, range));
    if (prepend && text[range.begin] != ' ' && !words.text.text(range).starts_with(step.replacement))
      to.put(step.replacement, words.text.origin(range.begin));
    std::uint32_t kept = range.begin;
    for (std::uint32_t at = range.begin; at < range.end; ++at) {
      if (text[at] != ' ') continue;
      if (at > kept) to.keep({kept, at});
      to.put(step.replacement, words.text.origin(at));
      kept = at + 1;
    }
    if (range.end > kept) to.keep({kept, range.end});
  });
  if (!step.split) return;
  // Every replacement starts a word.
  std::vector<Range> ranges;
  ranges.reserve(words.text.size() / 5);
  for (const Range range : words.ranges) {
    const std::string_view all = words.text.text().substr(0, range.end);
    std::uint32_t begin = range.begin;
    for (std::size_t at = all.find(step.replacement, begin + 1); at != std::string_view::npos;
         at = all.find(step.replacement, begin + 1)) {
      ranges.push_back({begin, static_cast<std::uint32_t>(at)});
      begin = static_cast<std::uint32_t>(at);
    }
    ranges.push_back({begin, range.end});
  }
  words.ranges = std::move(ranges);
}

enum class Kind : std::uint8_t { letter, space, alone };

template <bool (*kAlone)(char32_t)>
Kind kind_of(char32_t code) {
  return is_one_of(code, kSpace) ? Kind::space : kAlone(code) ? Kind::alone : Kind::letter;
}

// Splits at white space, and around characters that are separate words.
template <bool (*kAlone)(char32_t)>
void cut_words(Words& words) {
  static const std::array<Kind, 128> kAscii = [] {
    std::array<Kind, 128> kinds{};
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kind_of<kAlone>(static_cast<char32_t>(i));
    return kinds;
  }();
  std::vector<Range> ranges;
  ranges.reserve(words.text.size() / 4);
  const std::string_view text = words.text.text();
  for (const Range range : words.ranges) {
    std::uint32_t begin = range.begin;
    for (std::uint32_t at = range.begin; at < range.end;) {
      const auto byte = static_cast<unsigned char>(text[at]);
      const Character c = byte < 0x80 ? Character{byte, 1} : character_at(text, at);
      const Kind kind = byte < 0x80 ? kAscii[byte] : kind_of<kAlone>(c.code);
      if (kind != Kind::letter) {
        if (at > begin) ranges.push_back({begin, at});
        if (kind == Kind::alone) ranges.push_back({at, at + c.length});
        begin = at + c.length;
      }
      at += c.length;
    }
    if (range.end > begin) ranges.push_back({begin, range.end});
  }
  words.ranges = std::move(ranges);
}

bool never(char32_t) { return false; }

void bytes_to_characters(Words& words) {
  rewrite(words, [&](Rewriter& to, Range range) {
    for (std::uint32_t at = range.begin; at < range.end; ++at)
      to.put(character_of(static_cast<unsigned char>(words.text.text()[at])), words.text.origin(at));
  });
}

void apply_byte_level(const ByteLevel& step, const std::optional<Finder>& finder, Words& words, bool last) {
  if (step.add_prefix_space) add_prefix_space(words);
  if (finder) split(words, *finder, {.behavior = SplitBehavior::isolated});
  if (!last) bytes_to_characters(words);
}

std::optional<Finder> finder_of(const PreTokenizerStep& step) {
  if (const auto* bytes = std::get_if<ByteLevel>(&step); bytes != nullptr && bytes->use_regex)
    return Finder({std::string(gpt2_pattern()), true});
  if (const auto* by_pattern = std::get_if<Split>(&step)) return Finder(by_pattern->pattern);
  if (const auto* delimiter = std::get_if<Delimiter>(&step)) return Finder({delimiter->character, false});
  return std::nullopt;
}

}  // namespace

bool is_bert_punctuation(char32_t code) noexcept {
  if (code < 0x80)
    return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
           (code >= '{' && code <= '~');
  return is_one_of(code, kPunctuation);
}

PreTokenizer::PreTokenizer(const std::vector<PreTokenizerStep>& steps) {
  for (const PreTokenizerStep& step : steps) steps_.push_back({step, finder_of(step)});
  ends_in_bytes_ = !steps.empty() && std::holds_alternative<ByteLevel>(steps.back());
}

bool PreTokenizer::asks_for_start() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    const auto* metaspace = std::get_if<Metaspace>(&step.settings);
    return metaspace != nullptr && metaspace->scheme == PrependScheme::first;
  });
}

void PreTokenizer::apply(Words& words) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) apply_one(steps_[i], words, i + 1 == steps_.size());
}

void PreTokenizer::apply_one(const Step& step, Words& words, bool last) const {
  const auto visit = [&](const auto& s) {
    using T = std::decay_t<decltype(s)>;
    if constexpr (std::is_same_v<T, ByteLevel>) {
      apply_byte_level(s, step.finder, words, last);
    } else if constexpr (std::is_same_v<T, WordsAndSigns>) {
      cut_words<never>(words);
      split_at(
          words, [](char32_t c) { return !is_word_character(c); }, SplitBehavior::contiguous);
    } else if constexpr (std::is_same_v<T, WhitespaceSplit>) {
      cut_words<never>(words);
    } else if constexpr (std::is_same_v<T, BertWords>) {
      cut_words<is_bert_punctuation>(words);
    } else if constexpr (std::is_same_v<T, Metaspace>) {
      apply_metaspace(s, words);
    } else if constexpr (std::is_same_v<T, Split>) {
      split(words, *step.finder, {.behavior = s.behavior, .invert = s.invert});
    } else if constexpr (std::is_same_v<T, Digits>) {
      split_at(words, is_numeric, s.individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
    } else if constexpr (std::is_same_v<T, Punctuation>) {
      split_at(words, is_bert_punctuation, s.behavior);
    } else {
      split(words, *step.finder, {.behavior = SplitBehavior::removed});
    }
  };
  std::visit(visit, step.settings);
}

}  // namespace headlight::text
