// Vocabularies from GGUF metadata against llama.cpp's own vectors. The reader here is the test's: just
// enough for well-formed files.
#include "models/tokenizer_gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "models/tokenizer_file.h"
#include "support/errors.h"
#include "support/shared_data.h"

namespace headlight::testing {
namespace {

using models::GgufVocabulary;

class Metadata {
 public:
  explicit Metadata(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    at_ = 4 + 4 + 8;
    const auto keys = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < keys; ++i) {
      const std::string key = text();
      read_value(key, number<std::uint32_t>());
    }
  }
  GgufVocabulary vocabulary;

 private:
  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto size = static_cast<std::size_t>(number<std::uint64_t>());
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  // The value as a number; texts and lists go to their places.
  double scalar(std::uint32_t type) {
    switch (type) {
      case 0: return number<std::uint8_t>();
      case 1: return number<std::int8_t>();
      case 2: return number<std::uint16_t>();
      case 3: return number<std::int16_t>();
      case 4: return number<std::uint32_t>();
      case 5: return number<std::int32_t>();
      case 6: return number<float>();
      case 7: return number<std::uint8_t>();
      case 10: return static_cast<double>(number<std::uint64_t>());
      case 11: return static_cast<double>(number<std::int64_t>());
      default: return number<double>();
    }
  }
  void read_value(const std::string& key, std::uint32_t type) {
    constexpr std::uint32_t kText = 8, kList = 9;
    if (type == kText) {
      const std::string value = text();
      if (key == "tokenizer.ggml.model") vocabulary.model = value;
      if (key == "tokenizer.ggml.pre") vocabulary.pre = value;
      return;
    }
    if (type != kList) {
      const double value = scalar(type);
      const auto id = static_cast<TokenId>(value);
      if (key == "tokenizer.ggml.bos_token_id") vocabulary.begin = id;
      if (key == "tokenizer.ggml.eos_token_id") vocabulary.end = id;
      if (key == "tokenizer.ggml.unknown_token_id") vocabulary.unknown = id;
      if (key == "tokenizer.ggml.seperator_token_id") vocabulary.separator = id;
      if (key == "tokenizer.ggml.cls_token_id") vocabulary.classifier = id;
      if (key == "tokenizer.ggml.add_bos_token") vocabulary.add_begin = value != 0;
      if (key == "tokenizer.ggml.add_eos_token") vocabulary.add_end = value != 0;
      if (key == "tokenizer.ggml.add_space_prefix") vocabulary.add_space_prefix = value != 0;
      return;
    }
    const auto item = number<std::uint32_t>();
    const auto count = number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (item == kText) {
        const std::string value = text();
        if (key == "tokenizer.ggml.tokens") vocabulary.tokens.push_back(value);
        if (key == "tokenizer.ggml.merges") vocabulary.merges.push_back(value);
      } else {
        const double value = scalar(item);
        if (key == "tokenizer.ggml.scores") vocabulary.scores.push_back(static_cast<float>(value));
        if (key == "tokenizer.ggml.token_type") vocabulary.types.push_back(static_cast<std::int32_t>(value));
      }
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

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
  if (!shared) GTEST_SKIP() << "no reference vectors: set HEADLIGHT_SHARED";
  const std::string file = (*shared / "golden/tokenizers/gguf-vocab" / GetParam()).string() + ".gguf";
  const Tokenizer tokenizer = models::tokenizer_from_gguf(Metadata(file).vocabulary, file);
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
                         ::testing::Values("ggml-vocab-bert-bge", "ggml-vocab-falcon", "ggml-vocab-gpt-2",
                                           "ggml-vocab-llama-spm", "ggml-vocab-mpt", "ggml-vocab-phi-3"));

TEST(GgufTokenizer, TheSameAsTheFolderBesideIt) {
  const auto shared = shared_data();
  if (!shared) GTEST_SKIP() << "no reference files: set HEADLIGHT_SHARED";
  const std::filesystem::path folder = *shared / "data/models/stories260K";
  const Tokenizer json = models::load_tokenizer(folder.string());
  const Tokenizer gguf =
      models::tokenizer_from_gguf(Metadata(folder / "stories260K-f32.gguf").vocabulary, "stories");
  for (const char* text : {"Once upon a time", "  two  spaces\n", "é😀"})
    EXPECT_EQ(gguf.encode(text), json.encode(text)) << text;
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
  refuse([](auto& v) { v.begin = 3; }, "gguf.tokens", "the id 3");  // G21
  refuse([](auto& v) { v.end = -1; }, "gguf.tokens", "the id -1");
  refuse([](auto& v) { v.tokens[2] = "<0x-1>"; }, "tokenizer.byte", "said to be a byte");  // G22
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
