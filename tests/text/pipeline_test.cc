// Normalizers, pre-tokenizers, added tokens, post-processors and decoders, each for itself.
#include <gtest/gtest.h>

#include "support/errors.h"
#include "text/added_tokens.h"
#include "text/byte_characters.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_model.h"

namespace headlight::text {
namespace {

using headlight::testing::expect_error;
using Strings = std::vector<std::string>;

Replace replacing(const char* from, const char* to) {
  Replace step;
  step.pattern.text = from;
  step.content = to;
  return step;
}

// "text@begin-end" for each word: what it is, and where it comes from.
Strings words(const std::vector<PreTokenizerStep>& steps, std::string_view text,
              const std::vector<NormalizerStep>& normalizer = {}) {
  AlignedText aligned(text, 0, Origins::track);
  std::size_t allowance = Normalizer::allowance(text.size());
  Normalizer(normalizer).apply(aligned, allowance);
  Words found{std::move(aligned), {}};
  found.ranges = {{0, found.text.size()}};
  PreTokenizer(steps).apply(found);
  Strings out;
  for (const Range range : found.ranges) {
    const Range origin = found.text.origin(range);
    out.push_back(std::string(found.text.text(range)) + "@" + std::to_string(origin.begin) + "-" +
                  std::to_string(origin.end));
  }
  return out;
}

Strings split_words(SplitBehavior behavior, bool invert = false) {
  return words({Split{{"-", false}, behavior, invert}}, "the-final--countdown");
}

TEST(PreTokenizer, SplitBehaviors) {
  EXPECT_EQ(split_words(SplitBehavior::removed), (Strings{"the@0-3", "final@4-9", "countdown@11-20"}));
  EXPECT_EQ(split_words(SplitBehavior::isolated),
            (Strings{"the@0-3", "-@3-4", "final@4-9", "-@9-10", "-@10-11", "countdown@11-20"}));
  EXPECT_EQ(split_words(SplitBehavior::merged_with_previous),
            (Strings{"the-@0-4", "final-@4-10", "-@10-11", "countdown@11-20"}));
  EXPECT_EQ(split_words(SplitBehavior::merged_with_next),
            (Strings{"the@0-3", "-final@3-9", "-@9-10", "-countdown@10-20"}));
  EXPECT_EQ(split_words(SplitBehavior::contiguous),
            (Strings{"the@0-3", "-@3-4", "final@4-9", "--@9-11", "countdown@11-20"}));
  EXPECT_EQ(split_words(SplitBehavior::removed, true), (Strings{"-@3-4", "-@9-10", "-@10-11"}));
}

TEST(PreTokenizer, WordsOfEveryKind) {
  EXPECT_EQ(words({WhitespaceSplit{}}, " a\u00A0b,c\n"), (Strings{"a@1-2", "b,c@4-7"}));
  EXPECT_EQ(words({WordsAndSigns{}}, "Hey man!! é_1"),
            (Strings{"Hey@0-3", "man@4-7", "!!@7-9", "é_1@10-14"}));
  EXPECT_EQ(words({BertWords{}}, "Hey man!! 50$"),
            (Strings{"Hey@0-3", "man@4-7", "!@7-8", "!@8-9", "50@10-12", "$@12-13"}));
  EXPECT_EQ(words({Digits{true}}, "a12b"), (Strings{"a@0-1", "1@1-2", "2@2-3", "b@3-4"}));
  EXPECT_EQ(words({Digits{false}}, "a12b"), (Strings{"a@0-1", "12@1-3", "b@3-4"}));
  EXPECT_EQ(words({Punctuation{}}, "a,b"), (Strings{"a@0-1", ",@1-2", "b@2-3"}));
  EXPECT_EQ(words({Delimiter{"_"}}, "a__b"), (Strings{"a@0-1", "b@3-4"}));
  EXPECT_EQ(words({WhitespaceSplit{}}, "   "), Strings{});
}

TEST(PreTokenizer, Metaspace) {
  EXPECT_EQ(words({Metaspace{}}, "Hey  you"), (Strings{"▁Hey@0-3", "▁@3-4", "▁you@4-8"}));
  EXPECT_EQ(words({Metaspace{}}, " Hey"), (Strings{"▁Hey@0-4"}));
  EXPECT_EQ(words({Metaspace{.scheme = PrependScheme::never}}, "Hey you"), (Strings{"Hey@0-3", "▁you@3-7"}));
  EXPECT_EQ(words({Metaspace{.split = false}}, "Hey you"), (Strings{"▁Hey▁you@0-7"}));
  EXPECT_EQ(words({WhitespaceSplit{}, Metaspace{}}, " a b"), (Strings{"▁a@1-2", "▁b@3-4"}));
  EXPECT_EQ(words({WhitespaceSplit{}, Metaspace{.scheme = PrependScheme::first}}, "a b"),
            (Strings{"▁a@0-1", "b@2-3"}));
}

// What is the start of a text does not depend on whether origins are asked for: not behind an added token in text
// that was changed, and not within the parts of its first character.
TEST(PreTokenizer, TheStartIsTheSameWithAndWithoutOrigins) {
  for (const std::vector<NormalizerStep>& normalizer :
       {std::vector<NormalizerStep>{}, std::vector<NormalizerStep>{UnicodeForm::nfkc}}) {
    TokenizerParts parts;
    parts.normalizer = normalizer;
    parts.pre_tokenizer = {Metaspace{.scheme = PrependScheme::first}};
    parts.added = {{.id = 4, .content = "<s>"}, {.id = 5, .content = "f", .normalized = true}};
    WordLevelParts words;
    for (const char* word : {"?", "a", "▁a", "i"}) words.vocab.add(word, words.vocab.size());
    words.unknown = "?";
    parts.model = std::move(words);
    const Tokenizer tokenizer = make_tokenizer(std::move(parts));
    for (const std::string_view text : {"a<s>afa", "\xFF<s>afa", "<s>ﬁafa", "ﬁ", "a"}) {
      std::vector<TokenId> ids;
      for (const TokenSpan& span : tokenizer.encode_spans(text)) ids.push_back(span.id);
      EXPECT_EQ(tokenizer.encode(text), ids) << text;
    }
    EXPECT_EQ(tokenizer.encode("a<s>afa"), (std::vector<TokenId>{2, 4, 1, 5, 1}));
    EXPECT_EQ(tokenizer.encode("\xFF<s>afa"), (std::vector<TokenId>{0, 4, 1, 5, 1}));
  }
}

TEST(PreTokenizer, BytesAreLeftToTheModelOnlyAtTheEnd) {
  const ByteLevel bytes{.add_prefix_space = true};
  EXPECT_EQ(words({bytes}, "été là"), (Strings{" été@0-5", " là@5-9"}));
  EXPECT_EQ(words({bytes, Split{{"Ġ", false}, SplitBehavior::isolated, false}}, "é l"),
            (Strings{"Ġ@0-2", "Ã©@0-2", "Ġ@2-3", "l@3-4"}));
  EXPECT_TRUE(PreTokenizer({bytes}).ends_in_bytes());
  EXPECT_FALSE(PreTokenizer({bytes, Digits{}}).ends_in_bytes());
}

TEST(Normalizer, OriginsFollowTheCharacters) {
  const std::vector<PreTokenizerStep> apart = {Split{{"(?s).", true}, SplitBehavior::isolated, false}};
  EXPECT_EQ(words(apart, "ﬁ", {UnicodeForm::nfkc}), (Strings{"f@0-3", "i@0-3"}));
  EXPECT_EQ(words(apart, "e\u0301x", {UnicodeForm::nfc}), (Strings{"é@0-1", "x@3-4"}));
  EXPECT_EQ(words(apart, "éx", {UnicodeForm::nfd, StripAccents{}}), (Strings{"e@0-2", "x@2-3"}));
  EXPECT_EQ(words(apart, "İ", {Lowercase{}}), (Strings{"i@0-2", "\u0307@0-2"}));
  EXPECT_EQ(words(apart, "ab", {replacing("a", "xy")}), (Strings{"x@0-1", "y@0-1", "b@1-2"}));
  EXPECT_EQ(words(apart, "éb", {Prepend{"__"}}), (Strings{"_@0-2", "_@0-2", "é@0-2", "b@2-3"}));
  EXPECT_EQ(words(apart, " \ta\u3000", {StripEnds{}}), (Strings{"a@2-3"}));
  EXPECT_EQ(words(apart, " a ", {StripEnds{true, false}}), (Strings{"a@1-2", " @2-3"}));
  EXPECT_EQ(words(apart, "é", {BytesAsCharacters{}}), (Strings{"Ã@0-2", "©@0-2"}));
}

TEST(Normalizer, Bert) {
  const auto clean = [](BertCleaning step, std::string_view text) { return Normalizer({step}).apply(text); };
  EXPECT_EQ(clean({}, "HÉllo\tWörld\u0000!"), "hello world");  // the view ends at the zero byte
  EXPECT_EQ(clean({}, std::string_view("a\0b\x7F"
                                       "c\u200D",
                                       8)),
            "abc");
  EXPECT_EQ(clean({}, "中文x"), " 中  文 x");
  EXPECT_EQ(clean({.chinese = false}, "中文"), "中文");
  EXPECT_EQ(clean({.lowercase = false}, "É"), "É");
  EXPECT_EQ(clean({.lowercase = false, .strip_accents = true}, "É"), "E");
  EXPECT_EQ(clean({.strip_accents = false}, "É"), "é");
  EXPECT_EQ(Normalizer({NmtCleaning{}})
                .apply("a\x01"
                       "b\u200Bc\uFEFF"),
            "ab c ");
}

TEST(Normalizer, GrowthIsLimited) {
  std::vector<NormalizerStep> doubling(40, replacing("a", "aa"));
  expect_error([&] { (void)Normalizer(doubling).apply(std::string(1000, 'a')); }, ErrorKind::input,
               "tokenizer.growth", "16 times");
}

TEST(Normalizer, GrowthIsLimitedForAllPartsTogether) {
  TokenizerParts parts;
  parts.normalizer.assign(15, replacing("a", "aa"));
  parts.added = {{.id = 0, .content = "<s>"}};
  WordLevelParts words;
  words.vocab.add("<s>", 0);
  words.unknown = "<s>";
  parts.model = std::move(words);
  const Tokenizer tokenizer = make_tokenizer(std::move(parts));
  EXPECT_EQ(tokenizer.encode("a<s>a").size(), 3U);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a<s>";
  expect_error([&] { (void)tokenizer.encode(many); }, ErrorKind::input, "tokenizer.growth", "16 times");
}

Strings parts(const std::vector<AddedToken>& tokens, std::string_view text) {
  const AddedTokens added(tokens, [](std::string_view content) { return std::string(content); });
  std::vector<AddedTokens::Part> found;
  added.find(text, AddedTokens::Stage::original, found);
  Strings out;
  for (const auto& [range, token] : found) {
    out.emplace_back(token != nullptr ? "*" : "");
    out.back() += text.substr(range.begin, range.size());
  }
  return out;
}

TEST(AddedTokens, LongestLeftmost) {
  const std::vector<AddedToken> tokens = {
      {.id = 0, .content = "<s>"}, {.id = 1, .content = "<s><s>"}, {.id = 2, .content = "s>"}};
  EXPECT_EQ(parts(tokens, "a<s><s>b<s>s>"), (Strings{"a", "*<s><s>", "b", "*<s>", "*s>"}));
  EXPECT_EQ(parts(tokens, ""), Strings{});
  EXPECT_EQ(parts({{.id = 0, .content = ""}}, "abc"), (Strings{"abc"}));
}

TEST(AddedTokens, StripAndSingleWord) {
  EXPECT_EQ(parts({{.id = 0, .content = "<m>", .lstrip = true}}, "a \u00A0<m> b"),
            (Strings{"a", "* \u00A0<m>", " b"}));
  EXPECT_EQ(parts({{.id = 0, .content = "<m>", .rstrip = true}}, "a <m> \tb"),
            (Strings{"a ", "*<m> \t", "b"}));
  EXPECT_EQ(parts({{.id = 0, .content = "<m>", .lstrip = true, .rstrip = true}}, "<m> <m>"),
            (Strings{"*<m> ", "*<m>"}));
  const std::vector<AddedToken> single = {{.id = 0, .content = "ing", .single_word = true}};
  EXPECT_EQ(parts(single, "ing sing inga -ing-"), (Strings{"*ing", " sing inga -", "*ing", "-"}));
}

TEST(AddedTokens, TooLongIsRefused) {
  const AddedToken token{.id = 0, .content = std::string(kLongestToken + 1, 'a')};
  expect_error([&] { (void)parts({token}, "a"); }, ErrorKind::input, "tokenizer.added", "1001 bytes");
}

std::string decoded(const std::vector<DecoderStep>& steps, const Strings& tokens) {
  return Decoder(steps).decode(tokens);
}

TEST(Decoder, EveryKind) {
  EXPECT_EQ(decoded({}, {"a", "b"}), "a b");
  EXPECT_EQ(decoded({ByteLevel{}}, {"Ġcaf", "Ã©", "<|x y|>"}), " café<|x y|>");
  EXPECT_EQ(decoded({ByteLevel{}}, {"Ã"}), "\uFFFD");
  EXPECT_EQ(decoded({Metaspace{}}, {"▁a▁", "▁b"}), "a b");
  EXPECT_EQ(decoded({Metaspace{.scheme = PrependScheme::never}}, {"▁a", "▁b"}), " a b");
  EXPECT_EQ(decoded({JoinWordPieces{}}, {"play", "##ing", "here", ".", "do", "n't"}), "playing here. don't");
  EXPECT_EQ(decoded({JoinWordPieces{.cleanup = false}}, {"a", "."}), "a .");
  EXPECT_EQ(decoded({JoinSuffixed{}}, {"a</w>", "b</w>"}), "a b");
  EXPECT_EQ(decoded({JoinBytes{}}, {"a", "<0xC3>", "<0xA9>", "b", "<0xC3>", "<0xZZ>"}), "aéb\uFFFD<0xZZ>");
  EXPECT_EQ(decoded({replacing("▁", " "), JoinBytes{}, Fuse{}, StripCharacters{" ", 1, 0}}, {"▁▁a", "▁b"}),
            " a b");
  EXPECT_EQ(decoded({StripCharacters{"_", 2, 1}}, {"___a__"}), "_a_");
  EXPECT_EQ(decoded({JoinCtc{}}, {"a", "a", "<pad>", "a", "|", "b"}), "aa b");
}

Tokenizer letters(TokenizerParts parts) {
  BpeParts bpe;
  for (const char* token : {"[CLS]", "[SEP]", "a", "b", "c"}) bpe.vocab.add(token, bpe.vocab.size());
  parts.model = std::move(bpe);
  return make_tokenizer(std::move(parts));
}

TEST(PostProcessor, TemplatesForOneAndTwo) {
  Template around;
  around.single = {{TemplatePiece::Kind::special, "[CLS]", 0}, {TemplatePiece::Kind::first, "", 0}};
  around.pair = around.single;
  around.pair.push_back({TemplatePiece::Kind::special, "[SEP]", 0});
  around.pair.push_back({TemplatePiece::Kind::second, "", 1});
  around.specials = {{"[CLS]", {{"[CLS]", 0}}}, {"[SEP]", {{"[SEP]", 1}, {"[SEP]", 1}}}};
  TokenizerParts parts;
  parts.post_processor = {around};
  const Tokenizer tokenizer = letters(parts);
  EXPECT_EQ(tokenizer.encode("ab"), (std::vector<TokenId>{0, 2, 3}));
  EXPECT_EQ(tokenizer.encode("ab", SpecialTokens::leave_out), (std::vector<TokenId>{2, 3}));
  const std::vector<TokenPiece> pair = tokenizer.encode_pair("ab", "c");
  ASSERT_EQ(pair.size(), 6U);
  EXPECT_TRUE(pair[0].added);
  EXPECT_EQ(pair[4].id, 1);
  EXPECT_EQ(pair[5].id, 4);
  EXPECT_EQ(pair[5].type_id, 1);
  EXPECT_EQ(pair[5].begin, 0U);  // within the second text
}

TEST(PostProcessor, RobertaTrimsSpaces) {
  TokenizerParts parts;
  parts.pre_tokenizer = {ByteLevel{.add_prefix_space = false}};
  parts.post_processor = {
      RobertaEnds{.separator = {"[SEP]", 1}, .classifier = {"[CLS]", 0}, .add_prefix_space = false}};
  BpeParts bpe;
  for (const char* token : {"[CLS]", "[SEP]", "a", "Ġ", "Ġa"}) bpe.vocab.add(token, bpe.vocab.size());
  bpe.merges = {{3, 2, 4}};
  parts.model = std::move(bpe);
  const Tokenizer tokenizer = make_tokenizer(std::move(parts));
  const std::vector<TokenSpan> spans = tokenizer.encode_spans("a a");
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[2].id, 4);
  EXPECT_EQ(spans[2].begin, 2U);
  EXPECT_EQ(spans[2].end, 3U);
  EXPECT_EQ(tokenizer.encode_pair("a", "a").size(), 6U);
}

TEST(Tokenizer, IllFormedTextKeepsItsPlaces) {
  TokenizerParts parts;
  parts.added = {{.id = 4, .content = "c"}};
  const Tokenizer tokenizer = letters(parts);
  const std::vector<TokenSpan> spans = tokenizer.encode_spans(
      "a\xFF\xE2\x96"
      "bc\x80"
      "a",
      SpecialTokens::leave_out);
  ASSERT_EQ(spans.size(), 4U);  // the replacement character is not in the vocabulary
  EXPECT_EQ(spans[1].begin, 4U);
  EXPECT_EQ(spans[2].begin, 5U);
  EXPECT_EQ(spans[3].begin, 7U);
  EXPECT_EQ(spans[3].end, 8U);
}

TEST(Tokenizer, SpecialRolesAreFoundByTheirNames) {
  const Tokenizer tokenizer = letters({});
  EXPECT_EQ(tokenizer.find(SpecialRole::begin), 0);
  EXPECT_EQ(tokenizer.find(SpecialRole::end), 1);
  EXPECT_EQ(tokenizer.find(SpecialRole::mask), std::nullopt);
  EXPECT_EQ(tokenizer.find("b"), 3);
  EXPECT_EQ(tokenizer.token(99), "");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{2, 99, -5, 3}), "a b");
}

}  // namespace
}  // namespace headlight::text
