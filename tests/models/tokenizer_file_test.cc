// tokenizer.json and its older relatives: what is refused and how, what is written and read again, and
// which file of a folder counts.
#include "models/tokenizer_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/gzip.h"
#include "support/errors.h"
#include "support/sanitizers.h"
#include "support/shared_data.h"
#include "support/temp_folder.h"
#include "support/work_time.h"
#include "text/train.h"

namespace headlight::testing {
namespace {

using io::Json;

// A small tokenizer with the given text in the place of a section.
std::string with(const std::string& key, const std::string& value) {
  const std::vector<std::pair<std::string, std::string>> sections = {
      {"added_tokens", R"([{"id": 4, "content": "<s>", "special": true}])"},
      {"normalizer", "null"},
      {"pre_tokenizer", "null"},
      {"post_processor", "null"},
      {"decoder", R"({"type": "Fuse"})"},
      {"model", R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": [["a", "b"]]})"}};
  std::string json = "{\"version\": \"1.0\"";
  for (const auto& [name, text] : sections)
    if (!(name == key && value.empty())) json += ", \"" + name + "\": " + (name == key ? value : text);
  return json + "}";
}
Tokenizer parse(const std::string& json) { return models::tokenizer_from_json(Json::parse(json, "t.json")); }

void expect_refused(const std::string& key, const std::string& value, const std::string& words) {
  SCOPED_TRACE(key + ": " + value.substr(0, 200));
  try {
    (void)parse(with(key, value));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(std::string(error.what()).rfind("t.json: ", 0), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what() << "\n  lacks: " << words;
  }
}

std::string bpe(const std::string& vocab, const std::string& merges = "[]", const std::string& more = "") {
  return R"({"type": "BPE", "vocab": )" + vocab + R"(, "merges": )" + merges + more + "}";
}

TEST(TokenizerJson, TheSmallOneWorks) {
  const Tokenizer tokenizer = parse(with("", ""));
  EXPECT_EQ(tokenizer.encode("ab<s>c"), (std::vector<TokenId>{2, 4, 3}));
  EXPECT_EQ(tokenizer.size(), 5);
}

TEST(TokenizerJson, Models) {  // T1
  expect_refused("model", "", "\"model\" is missing");
  expect_refused("model", "null", "expected an object");
  expect_refused("model", R"({"type": "Magic", "vocab": {}})", "\"Magic\" is not supported");
  expect_refused("model", R"({"type": "BPE", "merges": []})", "\"vocab\" is missing");
  expect_refused("model", R"({"type": "BPE", "vocab": {"a": 0}})", "\"merges\" is missing");
  expect_refused("model", bpe(R"(["a", "b"])"), "expected an object");
  expect_refused("model", R"({"type": "Unigram", "vocab": {"a": 0}})", "expected a list");
  expect_refused("model", R"({"type": "Unigram", "vocab": [["a"]]})", "pair of token and score");
  expect_refused("model", R"({"type": "Unigram", "vocab": [["a", "x"]]})", "expected a number");
  expect_refused("model", R"({"type": "Unigram", "vocab": []})", "empty");
  expect_refused("model", R"({"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 7})",
                 "7 is not in the vocabulary");
  expect_refused("model", R"({"type": "WordPiece", "vocab": {"a": 0}, "max_input_chars_per_word": -3})",
                 "is -3");
  for (const char* bad : {"", "{", "[1]", "\xFF", "null", "{\"model\": 1, \"model\": 2}"})
    EXPECT_THROW((void)parse(bad), Error) << bad;
}

TEST(TokenizerJson, Ids) {  // T2
  expect_refused("model", bpe(R"({"a": -1})"), "id -1");
  expect_refused("model", bpe(R"({"a": 3.5})"), "a whole number");
  expect_refused("model", bpe(R"({"a": 4294967301})"), "out of range");
  expect_refused("model", bpe(R"({"a": 1099511627776})"), "out of range");
  expect_refused("model", bpe(R"({"a": 2000000000})"), "far outside");
  expect_refused("model", bpe(R"({"a": 0, "b": 0})"), "is given to");
  expect_refused("model", bpe(R"({"a": 0, "a": 1})"), "twice");
  expect_refused("model", R"({"type": "Unigram", "vocab": [["a", -1.0], ["a", -2.0]]})", "twice");
}

TEST(TokenizerJson, LongTokens) {
  const std::string most(1000, 'a');
  (void)parse(with("model", R"({"type": "Unigram", "vocab": [[")" + most + R"(", -1.0]]})"));
  expect_refused("model", R"({"type": "Unigram", "vocab": [[")" + most + R"(a", -1.0]]})",
                 "the limit is 1000");
  expect_refused("model", R"({"type": "WordPiece", "vocab": {")" + most + R"(a": 0}})", "the limit is 1000");
  expect_refused("added_tokens", R"([{"id": 4, "content": ")" + most + R"(a"}])", "the limit is 1000");
}

TEST(TokenizerJson, Merges) {  // T4
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2})";
  expect_refused("model", bpe(vocab, R"([["a", "x"]])"), "\"x\", which is not in the vocabulary");
  expect_refused("model", bpe(vocab, R"([["a"]])"), "needs two");
  expect_refused("model", bpe(vocab, R"([["a", "b", "a"]])"), "needs two");
  expect_refused("model", bpe(vocab, R"([["b", "a"]])"), "\"ba\", which is not in the vocabulary");
  expect_refused("model", bpe(vocab, R"(["a"])"), "two pieces");
  expect_refused("model", bpe(vocab, R"(["a b a"])"), "two pieces");
  expect_refused("model", bpe(vocab, "[5]"), "expected a text");
  expect_refused("model", bpe(vocab, R"({"a": "b"})"), "expected a list");
  expect_refused("model", bpe(vocab, "[]", R"(, "unk_token": "<unk>")"),
                 "\"<unk>\" is not in the vocabulary");
}

TEST(TokenizerJson, AddedTokens) {  // T5
  EXPECT_EQ(parse(with("added_tokens", R"([{"id": 4, "content": ""}])")).encode("abab").size(), 2U);
  expect_refused("added_tokens", R"([{"id": 0, "content": "<s>"}])", "id 0 is \"a\" in the vocabulary");
  expect_refused("added_tokens", R"([{"id": 9, "content": "a"}])", "has the id 0 in the vocabulary and 9");
  expect_refused("added_tokens", R"([{"id": 2147483648, "content": "x"}])", "out of range");
  expect_refused("added_tokens", R"([{"id": 2000000000, "content": "x"}])", "far outside");
  expect_refused("added_tokens", R"([{"id": 5, "content": "x"}, {"id": 5, "content": "y"}])", "id 5");
  expect_refused("added_tokens", R"([{"id": 5, "content": "x"}, {"id": 6, "content": "x"}])", "twice");
  expect_refused("added_tokens", R"([{"id": 5}])", "\"content\" is missing");
  expect_refused("added_tokens", R"({"id": 5})", "expected a list");
}

TEST(TokenizerJson, PatternsAndSteps) {  // T6 to T9
  const auto split = [](const std::string& pattern) {
    return R"({"type": "Split", "pattern": {"Regex": ")" + pattern + R"("}, "behavior": "Isolated"})";
  };
  expect_refused("pre_tokenizer", split("(a"), "does not compile");
  expect_refused("pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Sideways"})",
                 "Sideways");
  expect_refused("pre_tokenizer", R"({"type": "Telepathy"})", "\"Telepathy\" is not supported");
  expect_refused("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "A=!"})", "base64");
  expect_refused("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "A!"})", "base64");
  expect_refused("decoder", R"({"type": "Strip", "content": "", "start": 1, "stop": 0})", "one character");
  expect_refused("pre_tokenizer", R"({"type": "Metaspace", "replacement": "__"})", "one character");
  expect_refused("pre_tokenizer", R"({"type": "CharDelimiterSplit", "delimiter": ""})", "one character");
  std::string many = R"({"type": "Sequence", "normalizers": [)", deep;
  for (int i = 0; i < 300; ++i) many += std::string(i > 0 ? ", " : "") + R"({"type": "NFC"})";
  expect_refused("normalizer", many + "]}", "the limit is 256");
  for (int i = 0; i < 60'000; ++i) deep += R"({"type": "Sequence", "normalizers": [)";
  expect_refused("normalizer", deep, "not valid JSON");
  const Tokenizer slow = parse(with("pre_tokenizer", split("(a+)+$")));
  const double start = headlight::testing::work_seconds();
  EXPECT_THROW((void)slow.encode(std::string(40, 'a') + "!"), Error);
  EXPECT_LT(headlight::testing::work_seconds() - start, 0.5 * headlight::testing::kPatience);
}

TEST(TokenizerJson, Templates) {  // T10
  const auto around = [](const std::string& single, const std::string& specials) {
    return R"({"type": "TemplateProcessing", "single": [)" + single +
           R"(], "pair": [], "special_tokens": {)" + specials + "}}";
  };
  const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})";
  EXPECT_EQ(parse(with("post_processor", around(R"({"SpecialToken": {"id": "<s>", "type_id": 0}}, )" + text,
                                                R"("<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]})")))
                .encode("c"),
            (std::vector<TokenId>{4, 3}));
  expect_refused("post_processor", around(R"({"SpecialToken": {"id": "<x>", "type_id": 0}})", ""),
                 "not among its special tokens");
  expect_refused("post_processor", around(text, R"("<s>": {"id": "<s>", "ids": [99], "tokens": ["<s>"]})"),
                 "99");
  expect_refused("post_processor", around(text, R"("<s>": {"id": "<s>", "ids": [1, 2], "tokens": ["<s>"]})"),
                 "more ids than tokens");
  expect_refused("post_processor", around(text + ", " + text, ""), "a text twice");
  expect_refused("post_processor", around(R"({"Sequence": {"id": "B", "type_id": 0}})", ""), "a second one");
  expect_refused("post_processor", around(R"({"Sequence": {"id": "C", "type_id": 0}})", ""),
                 "sequence \"C\"");
  expect_refused("post_processor", around(R"({"Sequence": {"id": "A", "type_id": -1}})", ""), "type id -1");
  expect_refused("post_processor", R"({"type": "BertProcessing", "sep": ["x", 77], "cls": ["y", 1]})", "77");
  expect_refused("post_processor", R"({"type": "BertProcessing", "sep": ["x"], "cls": ["y", 1]})",
                 "pair of token and id");
}

// Everything this library reads, it writes, and reads again as the same.
HEADLIGHT_SHARED_TEST(TokenizerJson, WrittenAndReadAgain) {
  const auto shared = shared_data();
  const std::string text = "Hello, naïve café world!  日本語 <s> [MASK] ½\n\tx = 'don't'; 😀";
  for (const char* name : {"golden/tokenizers/gpt2", "golden/tokenizers/bert-base-uncased",
                           "golden/tokenizers/all-MiniLM-L6-v2", "golden/tokenizers/unigram-t5-style",
                           "golden/tokenizers/bpe-llama3-style", "data/models/stories260K"}) {
    SCOPED_TRACE(name);
    const Tokenizer first = models::load_tokenizer((*shared / name).string());
    const std::string json = models::tokenizer_to_json(first);
    const Tokenizer second = parse(json);
    EXPECT_EQ(models::tokenizer_to_json(second), json);
    EXPECT_EQ(second.size(), first.size());
    EXPECT_EQ(second.encode(text), first.encode(text));
    EXPECT_EQ(second.decode(second.encode(text)), first.decode(first.encode(text)));
  }
}

TEST(TokenizerJson, EveryKindOfStepIsWritten) {
  const std::string json = with(
      "normalizer",
      R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"},
          {"type": "BertNormalizer", "strip_accents": true}, {"type": "Replace", "pattern": {"Regex": "x\"+"}, "content": "\\"},
          {"type": "Prepend", "prepend": "▁"}, {"type": "Strip", "strip_left": false, "strip_right": true}, {"type": "Nmt"},
          {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}, {"type": "ByteLevel"}]})");
  const Tokenizer tokenizer = parse(json);
  const std::string written = models::tokenizer_to_json(tokenizer);
  EXPECT_EQ(models::tokenizer_to_json(parse(written)), written);
  for (const char* part : {"NFD", "Lowercase", "StripAccents", "BertNormalizer", "x\\\"+", "Prepend",
                           "\"strip_left\": false", "Nmt", "AAAAAA==", "ByteLevel"})
    EXPECT_NE(written.find(part), std::string::npos) << part;
}

HEADLIGHT_SHARED_TEST(TokenizerJson, PairsAsBertHasThem) {
  const auto shared = shared_data();
  const std::filesystem::path folder = *shared / "golden/tokenizers/all-MiniLM-L6-v2";
  const Tokenizer tokenizer = models::load_tokenizer(folder.string());
  std::ifstream in(folder / "expected-pairs.jsonl");
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const Json json = Json::parse(line, "pairs");
    const std::vector<TokenPiece> pieces = tokenizer.encode_pair(json.text("text"), json.text("pair"));
    ASSERT_EQ(pieces.size(), json.list("ids").items().size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(pieces[i].id, json.list("ids").items()[i].integer());
      EXPECT_EQ(pieces[i].type_id, json.list("type_ids").items()[i].integer());
      EXPECT_EQ(pieces[i].text, json.list("tokens").items()[i].text());
      EXPECT_EQ(pieces[i].added, json.list("special_tokens_mask").items()[i].integer() == 1);
    }
  }
  EXPECT_EQ(lines, 4);
}

HEADLIGHT_SHARED_TEST(OlderForms, VocabTxtIsTheSameBert) {
  const auto shared = shared_data();
  const std::filesystem::path folder = *shared / "golden/tokenizers/bert-base-uncased";
  const Tokenizer json = models::load_tokenizer(folder.string());
  const Tokenizer txt = models::load_tokenizer((folder / "vocab.txt").string());
  for (const char* text : {"Hello, naïve café!", "[CLS] [MASK] unbelievable", ""})
    EXPECT_EQ(txt.encode(text), json.encode(text)) << text;
}

HEADLIGHT_SHARED_TEST(OlderForms, VocabJsonWithMergesIsTheSameGpt2) {
  const auto shared = shared_data();
  const Json whole = Json::read((*shared / "golden/tokenizers/gpt2/tokenizer.json").string());
  const Json& vocab = whole.at("model").at("vocab");
  TempFolder folder;
  std::ofstream vocab_file(folder.path("vocab.json")), merges_file(folder.path("merges.txt"));
  vocab_file << "{";
  for (std::size_t i = 0; i < vocab.keys().size(); ++i)
    vocab_file << (i > 0 ? "," : "") << io::json_quoted(vocab.keys()[i]) << ":" << vocab.items()[i].integer();
  vocab_file << "}";
  merges_file << "#version: 0.2\n";
  for (const Json& merge : whole.at("model").at("merges").items()) merges_file << merge.text() << "\n";
  vocab_file.close();
  merges_file.close();
  const Tokenizer json = models::tokenizer_from_json(whole),
                  older = models::load_tokenizer(folder.root().string());
  for (const char* text : {"Hello, naïve café!", "x<|endoftext|>y", "  a\n\nb"})
    EXPECT_EQ(older.encode(text), json.encode(text)) << text;
}

TEST(Folders, TheFirstThatIsThere) {
  TempFolder folder;
  const auto load = [&] { return models::load_tokenizer(folder.root().string()); };
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path(name)) << text;
  };
  expect_error(load, ErrorKind::input, "tokenizer.missing", "no tokenizer in this folder");
  write("vocab.txt", "[UNK]\na\n");
  EXPECT_EQ(load().size(), 2);
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  EXPECT_EQ(load().size(), 2);  // merges.txt is missing
  write("merges.txt", "a b\n");
  EXPECT_EQ(load().size(), 3);
  write("one.model", "");
  expect_error(load, ErrorKind::input, "sentencepiece.form", "no pieces");
  write("two.model", "");
  EXPECT_EQ(load().size(), 3);  // which of the two?
  write("tokenizer.json", with("", ""));
  EXPECT_EQ(load().size(), 5);
  expect_error([&] { (void)models::load_tokenizer(folder.path("none.json")); }, ErrorKind::file, "file.open",
               "");
}

TEST(Folders, SavedAndLoaded) {
  TempFolder folder;
  text::TokenizerTraining options;
  options.vocab = 300;
  bool given = false;
  const Tokenizer made = text::train_tokenizer(
      [&](std::string& text) {
        text = "the cat sat on the mat the cat";
        return !std::exchange(given, true);
      },
      options);
  models::save_tokenizer(made, folder.path("new/folder"), models::ExistingTokenizer::refuse);
  EXPECT_EQ(models::load_tokenizer(folder.path("new/folder")).encode("the cat"), made.encode("the cat"));
  EXPECT_THROW(models::save_tokenizer(made, folder.path("new/folder"), models::ExistingTokenizer::refuse),
               Error);
  models::save_tokenizer(made, folder.path("new/folder"), models::ExistingTokenizer::replace);
}

}  // namespace
}  // namespace headlight::testing
