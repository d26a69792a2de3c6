// Any bytes as text for tokenizers that are known to be good: byte-level ones give the text back, places
// cover it from left to right, the hand-written scanners cut as their expressions do, and BERT's normalizer does
// in one pass what its steps do one by one.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "text/normalizer.h"
#include "text/pattern.h"
#include "text/train.h"
#include "text/unicode.h"

namespace {

using namespace headlight;
using namespace headlight::text;

Tokenizer make(TokenizerKind kind) {
  TokenizerTraining options;
  options.kind = kind;
  options.vocab = 400;
  options.special = usual_special_tokens(kind);
  bool given = false;
  return train_tokenizer(
      [&](std::string& text) {
        text =
            "The cat sat on the mat. Le chat était là, 123 456!\n\n  It's the cat's \u2581 mat "
            "\u65E5\u672C\u8A9E.";
        text += text;
        return !std::exchange(given, true);
      },
      options);
}

std::vector<Range> matches(const Finder& finder, std::string_view text) {
  std::vector<Found> found;
  finder.find(text, {0, static_cast<std::uint32_t>(text.size())}, found);
  std::vector<Range> ranges;
  for (const Found& f : found)
    if (f.match) ranges.push_back(f.range);
  return ranges;
}

// Scanners and expressions have their tables of characters from two libraries: a letter that only the newer
// Unicode of one of them knows is no finding.
bool classes_agree(std::string_view text) {
  static const std::pair<CharacterClass, Finder> classes[] = {{kLetter, Finder({"\\p{L}", true})},
                                                              {kNumber, Finder({"\\p{N}", true})}};
  for (const auto& [known, finder] : classes) {
    std::vector<Range> expected;
    for (std::uint32_t at = 0; at < text.size();) {
      const Character c = character_at(text, at);
      if (is_one_of(c.code, known)) expected.push_back({at, at + c.length});
      at += c.length;
    }
    if (matches(finder, text) != expected) return false;
  }
  return true;
}

// A pattern as the hand-written scanner that knows it, and as an expression like any other. Made once: PCRE2 compiles
// for longer than it searches.
struct Splitter {
  explicit Splitter(std::string_view pattern)
      : scanner({std::string(pattern), true}), expression({"(?:" + std::string(pattern) + ")", true}) {}
  Finder scanner, expression;
};

void check_scanners(std::string_view text) {
  static const Splitter splitters[] = {Splitter(gpt2_pattern()), Splitter(llama3_pattern()),
                                       Splitter(qwen2_pattern())};
  for (const Splitter& splitter : splitters)
    if (matches(splitter.scanner, text) != matches(splitter.expression, text) && classes_agree(text))
      std::abort();
}

Normalizer bert_steps() {
  const BertCleaning nothing{
      .clean_text = false, .chinese = false, .lowercase = false, .strip_accents = false};
  BertCleaning clean = nothing, chinese = nothing, strip = nothing, lower = nothing;
  clean.clean_text = chinese.chinese = lower.lowercase = true;
  strip.strip_accents = true;
  return Normalizer({clean, chinese, strip, lower});
}

void check_bert(std::string_view text) {
  static const Normalizer whole({BertCleaning{}}), steps = bert_steps();
  if (whole.apply(text) != steps.apply(text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer tokenizers[] = {make(TokenizerKind::bpe), make(TokenizerKind::bytes),
                                         make(TokenizerKind::unigram), make(TokenizerKind::word_piece),
                                         make(TokenizerKind::characters)};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string clean = to_well_formed(text);
  for (std::size_t i = 0; i < std::size(tokenizers); ++i) {
    const std::vector<TokenSpan> spans = tokenizers[i].encode_spans(text);
    const std::vector<TokenId> ids = tokenizers[i].encode(text);
    if (spans.size() != ids.size()) std::abort();
    std::size_t begin = 0;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (spans[t].id != ids[t] || spans[t].begin < begin || spans[t].end > size) std::abort();
      begin = spans[t].begin;
    }
    const std::string back = tokenizers[i].decode(ids, SpecialTokens::add);
    if (i < 2 && back != clean) std::abort();
  }
  check_scanners(clean);
  check_bert(clean);
  return 0;
}
