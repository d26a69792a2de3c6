// Every line of the reference vectors: ids, tokens, offsets and decoded text as Hugging Face's tokenizers
// and SentencePiece give them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/gzip.h"
#include "io/json.h"
#include "models/tokenizer_file.h"
#include "support/shared_data.h"

namespace headlight::testing {
namespace {

using io::Json;

std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::vector<Json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    lines.push_back(Json::parse(line, path.filename().string()));
  return lines;
}

std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.items()) ids.push_back(static_cast<TokenId>(id.integer()));
  return ids;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void expect_line(const Tokenizer& tokenizer, const Json& line) {
  const std::string& text = line.text("text");
  SCOPED_TRACE("text: " + io::json_quoted(text));
  const std::vector<TokenId> ids = ids_of(line.list("ids"));
  EXPECT_EQ(tokenizer.encode(text, SpecialTokens::leave_out), ids);
  EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::add), line.text("decoded"));
  if (const Json* skipped = line.find("decoded_skip_special")) {
    EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::leave_out), skipped->text());
  }
  const Json* tokens = line.find("tokens") != nullptr ? line.find("tokens") : line.find("pieces");
  if (tokens == nullptr) return;
  const Json* special = line.find("ids_with_special");
  EXPECT_EQ(tokenizer.encode(text), special != nullptr ? ids_of(*special) : ids);
  const std::vector<TokenPiece> pieces = tokenizer.encode_pieces(text, SpecialTokens::leave_out);
  ASSERT_EQ(pieces.size(), tokens->items().size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].id, ids[i]);
    EXPECT_EQ(pieces[i].text, tokens->items()[i].text()) << "token " << i;
    const Json* offsets = line.find("offsets");
    if (offsets == nullptr) continue;
    const std::span<const Json> range = offsets->items()[i].items();
    EXPECT_EQ(characters(text.substr(0, pieces[i].begin)), static_cast<std::size_t>(range[0].integer()))
        << "start of token " << i << ", " << pieces[i].text;
    EXPECT_EQ(characters(text.substr(0, pieces[i].end)), static_cast<std::size_t>(range[1].integer()))
        << "end of token " << i << ", " << pieces[i].text;
  }
}

class TokenizerGolden : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto shared = shared_data();
    folder_ = *shared / GetParam();
  }
  [[nodiscard]] Tokenizer load() const {
    const std::filesystem::path compressed = folder_ / "tokenizer.json.gz";
    if (!std::filesystem::exists(compressed)) return models::load_tokenizer(folder_.string());
    return models::tokenizer_from_json(Json::parse(io::read_text(compressed.string()), "tokenizer.json"));
  }
  void expect_lines(const Tokenizer& tokenizer, const char* file) const {
    const std::vector<Json> lines = read_lines(folder_ / file);
    ASSERT_GT(lines.size(), 20U);
    for (const Json& line : lines) expect_line(tokenizer, line);
  }
  std::filesystem::path folder_;
};

TEST_P(TokenizerGolden, EveryLine) {
  const bool stories = std::string_view(GetParam()).find("stories") != std::string_view::npos;
  expect_lines(load(), stories ? "tokenizer-expected.jsonl" : "expected.jsonl");
}

std::string name_of(const ::testing::TestParamInfo<const char*>& info) {
  std::string name;
  for (const char c : std::string(info.param).substr(std::string(info.param).rfind('/') + 1))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Files, TokenizerGolden,
    ::testing::ValuesIn(headlight::testing::if_shared(
        {"golden/tokenizers/bpe-gpt2-style", "golden/tokenizers/bpe-llama3-style",
         "golden/tokenizers/wordpiece-bert-style", "golden/tokenizers/unigram-t5-style",
         "golden/tokenizers/gpt2", "golden/tokenizers/bert-base-uncased",
         "golden/tokenizers/all-MiniLM-L6-v2", "golden/tokenizers/qwen2.5", "data/models/stories15M",
         "data/models/stories260K", "golden/tokenizers/spm-own-unigram", "golden/tokenizers/spm-own-bpe",
         "golden/tokenizers/spm-hf-spiece", "golden/tokenizers/spm-hf-test_sentencepiece",
         "golden/tokenizers/spm-hf-test_sentencepiece_bpe",
         "golden/tokenizers/spm-hf-test_sentencepiece_with_bytefallback"})),
    name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TokenizerGolden);

}  // namespace
}  // namespace headlight::testing
