// Vocabularies from GGUF metadata against llama.cpp's own vectors.
#include "models/tokenizer_gguf.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "models/tokenizer_file.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/places.h"
#include "support/shared_data.h"

namespace headlight::testing {
namespace {

using models::GgufVocabulary;

std::vector<std::string> read_inputs(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string between = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find(between, at), all.size());
    if (end == all.size()) break;  // nothing follows the last mark
    texts.push_back(all.substr(at, end - at));
    at = end + between.size();
  }
  return texts;
}

class GgufVectors : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufVectors, AsLlamaCpp) {
  const auto shared = shared_data();
  const std::string file = (*shared / "golden/tokenizers/gguf-vocab" / GetParam()).string() + ".gguf";
  const Tokenizer tokenizer = models::load_tokenizer(file);
  const std::vector<std::string> texts = read_inputs(file + ".inp");
  std::ifstream expected(file + ".out");
  ASSERT_GT(texts.size(), 40U);
  for (const std::string& text : texts) {
    std::string line;
    ASSERT_TRUE(std::getline(expected, line));
    std::istringstream numbers(line);
    const std::vector<TokenId> ids{std::istream_iterator<TokenId>(numbers), std::istream_iterator<TokenId>()};
    EXPECT_EQ(tokenizer.encode(text, SpecialTokens::leave_out), ids) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GgufVectors,
                         ::testing::ValuesIn(headlight::testing::if_shared(
                             {"ggml-vocab-bert-bge", "ggml-vocab-falcon", "ggml-vocab-gpt-2",
                              "ggml-vocab-llama-spm", "ggml-vocab-mpt", "ggml-vocab-phi-3"})));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufVectors);

class GgufCuts : public ::testing::TestWithParam<const char*> {};

// Texts of many scripts on which llama.cpp and the published pattern agree; the vocabularies have merges across
// every boundary that a pattern could make.
TEST_P(GgufCuts, MultilingualText) {
  const std::filesystem::path folder = *shared_data() / "golden2/tokenizers";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden2";
  const Tokenizer tokenizer = models::load_tokenizer((folder / GetParam()).string() + ".gguf");
  std::ifstream lines((folder / GetParam()).string() + ".jsonl");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const io::Json json = io::Json::parse(line, GetParam());
    const std::string text = json.text("text");
    if (text.find("<s>") != std::string::npos)
      continue;  // the references read names of special tokens as text
    std::vector<TokenId> ids;
    for (const io::Json& id : json.at("ids").items()) ids.push_back(static_cast<TokenId>(id.integer()));
    EXPECT_EQ(tokenizer.encode(text, SpecialTokens::leave_out), ids) << text;
  }
  EXPECT_GT(count, 50);
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufCuts,
    ::testing::ValuesIn(headlight::testing::if_shared({"tekken", "gpt-4o", "llama4", "deepseek-coder",
                                                       "deepseek-llm", "deepseek-v3", "bloom", "smollm"})));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufCuts);

// Further patterns on texts of many scripts: one vocabulary whose file names each in turn. Ids are those of llama.cpp.
HEADLIGHT_SHARED_TEST(GgufTokenizer, PatternsOnMultilingualText) {
  const std::filesystem::path folder = *shared_data() / "golden2/tokenizers";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden2";
  std::ifstream file(folder / "smollm.gguf", std::ios::binary);
  const std::string smollm((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto encoded = [](const std::string& text) {
    const auto size = static_cast<char>(text.size());
    return size + std::string(7, '\0') + text;
  };
  const std::string key = encoded("tokenizer.ggml.pre") + std::string("\x08\0\0\0", 4),
                    old = key + encoded("smollm");
  const std::size_t at = smollm.find(old);
  ASSERT_NE(at, std::string::npos);
  std::ifstream lines(source_folder() + "/tests/models/pre_tokenizers.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const io::Json texts = io::Json::parse(line, "pre_tokenizers.jsonl");
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    const io::Json row = io::Json::parse(line, "pre_tokenizers.jsonl");
    std::string bytes = smollm;
    bytes.replace(at, old.size(), key + encoded(row.text("pre")));
    const std::span<const std::byte> raw = std::as_bytes(std::span(bytes));
    const io::Gguf gguf = io::Gguf::parse({raw.begin(), raw.end()}, "t.gguf");
    const Tokenizer tokenizer = models::find_tokenizer(gguf).tokenizer.value();
    for (std::size_t i = 0; i < texts.list("texts").items().size(); ++i) {
      std::vector<TokenId> ids;
      for (const io::Json& id : row.list("ids").items()[i].items())
        ids.push_back(static_cast<TokenId>(id.integer()));
      const std::string text = texts.list("texts").items()[i].text();
      EXPECT_EQ(tokenizer.encode(text, SpecialTokens::leave_out), ids) << row.text("pre") << ": " << text;
    }
  }
  EXPECT_EQ(count, 14);
}

HEADLIGHT_SHARED_TEST(GgufTokenizer, TheSameAsTheFolderBesideIt) {
  const auto shared = shared_data();
  const std::filesystem::path folder = *shared / "data/models/stories260K";
  const Tokenizer json = models::load_tokenizer(folder.string());
  const Tokenizer gguf = models::load_tokenizer((folder / "stories260K-f32.gguf").string());
  for (const char* text : {"Once upon a time", "  two  spaces\n", "é😀"}) {
    const std::vector<TokenId> ids = json.encode(text);
    EXPECT_EQ(gguf.encode(text), ids) << text;
    for (const SpecialTokens special : {SpecialTokens::add, SpecialTokens::leave_out})
      EXPECT_EQ(gguf.decode(ids, special), json.decode(ids, special)) << text;
  }
}

GgufWriter small_vocabulary() {
  GgufWriter w;
  w.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", {"<unk>", "a", "<0x0A>"});
  return w;
}

TEST(GgufTokenizer, RefusesValuesOfOtherTypes) {  // G20, G21
  const auto refuse = [](const GgufWriter& w, const std::string& code, const std::string& words) {
    expect_error([&] { (void)models::read_gguf_vocabulary(io::Gguf::parse(w.bytes(), "t.gguf")); },
                 ErrorKind::input, code, words);
  };
  refuse(small_vocabulary().list<std::uint8_t>("tokenizer.ggml.scores", {0, 0, 0}), "gguf.kind",
         "need a list of f32");
  refuse(small_vocabulary().list<float>("tokenizer.ggml.scores", {0, 0}), "gguf.tokens",
         "3 tokens, but 2 scores");
  refuse(small_vocabulary().list<std::int32_t>("tokenizer.ggml.token_type", {1, 1}), "gguf.tokens",
         "but 2 types");
  refuse(small_vocabulary().list<std::int64_t>("tokenizer.ggml.token_type", {1, 1, 1LL << 40}), "gguf.tokens",
         "a token is of type");
  refuse(small_vocabulary().number("tokenizer.ggml.bos_token_id", ~0U), "gguf.token_id",
         "which is not a token id");
  refuse(small_vocabulary().text("tokenizer.ggml.eos_token_id", "2"), "gguf.kind", "need an integer");
  refuse(small_vocabulary().number("tokenizer.ggml.add_bos_token", 1U), "gguf.kind", "need a boolean");
  EXPECT_FALSE(models::read_gguf_vocabulary(io::Gguf::parse(GgufWriter().bytes(), "t")).has_value());
}

TEST(GgufTokenizer, Refused) {
  const auto refuse = [](auto change, const std::string& code, const std::string& words) {
    GgufVocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "a", "<0x0A>"};
    v.scores = {0, -1, 0};
    v.types = {2, 1, 6};
    change(v);
    expect_error([&] { (void)models::tokenizer_from_gguf(v, "t.gguf"); }, ErrorKind::input, code, words);
  };
  refuse([](auto& v) { v.model = "%s%n"; }, "gguf.model", "not supported");
  refuse([](auto& v) { v.scores.pop_back(); }, "gguf.tokens", "2 scores");  // G20
  refuse([](auto& v) { v.types.pop_back(); }, "gguf.tokens", "2 types");
  refuse([](auto& v) { v.types[1] = 9; }, "gguf.tokens", "type 9");
  refuse([](auto& v) { v.begin = 3; }, "gguf.token_id", "the id 3");  // G21
  refuse([](auto& v) { v.end = -1; }, "gguf.token_id", "the id -1");
  refuse([](auto& v) { v.tokens[2] = "<0x-1>"; }, "tokenizer.byte", "is marked as a byte");  // G22
  refuse([](auto& v) { v.tokens[2] = "a"; }, "tokenizer.vocab", "twice");
  refuse([](auto& v) { v.tokens[2] = "\xFF"; }, "tokenizer.vocab", "not UTF-8");
  refuse([](auto& v) { v.tokens.clear(); }, "gguf.tokens", "empty");
  refuse(
      [](auto& v) {
        v.model = "gpt2";
        v.pre = "nobody-knows";
      },
      "gguf.pre", "Known are: gpt-2");
}

}  // namespace
}  // namespace headlight::testing
