// SentencePiece models in folders: opus-mt's three files, the special tokens of known classes, and classes that give pieces
// other ids.
#include "models/tokenizer_pieces.h"

#include <gtest/gtest.h>

#include <bit>
#include <fstream>

#include "io/json.h"
#include "models/tokenizer_file.h"
#include "support/errors.h"
#include "support/shared_data.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

struct Piece {
  std::string text;
  int type = 1;  // 2: unknown, 3: control
};

// A unigram model, byte by byte; all scores are -1.
std::string sentence_piece(const std::vector<Piece>& pieces) {
  const auto field = [](char number, const std::string& bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
  };
  std::string file;
  for (const Piece& piece : pieces) {
    const auto bits = std::bit_cast<std::uint32_t>(-1.0F);
    std::string entry = field(1, piece.text) + "\x15";
    for (int i = 0; i < 4; ++i) entry += static_cast<char>(bits >> (8 * i));
    file += field(1, entry + "\x18" + static_cast<char>(piece.type));
  }
  return file + "\x12\x02\x18\x01";
}

class PieceFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  void write_pair() const {
    write("source.spm", sentence_piece({{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"▁a"}, {"b"}, {"▁"}, {"q"}}));
    write("target.spm", sentence_piece({{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"▁c"}, {"b"}, {"▁"}, {"é"}}));
    // "q" has no id; "é" has one, though only the target model knows it.
    write("vocab.json",
          R"({"</s>": 0, "<unk>": 1, "▁": 2, "b": 3, "▁a": 4, "▁c": 5, "é": 6, ">>fra<<": 7, "<pad>": 8})");
  }
  [[nodiscard]] FoundTokenizer found() const { return find_tokenizer(io::Folder(folder_.root().string())); }
  headlight::testing::TempFolder folder_;
};
using Ids = std::vector<TokenId>;

TEST_F(PieceFiles, TwoModelsShareAVocabulary) {
  write_pair();
  const Tokenizer source = found().tokenizer.value(), target = source.for_target();
  EXPECT_EQ(source.size(), 9);
  EXPECT_EQ(source.encode("ab"), (Ids{4, 3, 0}));
  EXPECT_EQ(source.encode("cb"), (Ids{2, 1, 3, 0}));
  EXPECT_EQ(target.encode("cb"), (Ids{5, 3, 0}));
  EXPECT_EQ(target.encode("ab", SpecialTokens::leave_out), (Ids{2, 1, 3}));
  EXPECT_EQ(source.encode("q"), (Ids{2, 1, 0}));  // a piece without an id
  EXPECT_EQ(source.encode("é"), (Ids{2, 6, 0}));  // unknown to the model, known to the vocabulary
  EXPECT_EQ(source.encode(""), Ids{0});
  for (const Tokenizer* one : {&source, &target}) {
    EXPECT_EQ(one->decode(Ids{5, 3, 6, 4, 0}), "cbé a");
    EXPECT_EQ(one->decode(Ids{5, 1, 5, 0, 99}), "c c");
    EXPECT_EQ(one->decode(Ids{5, 0}, SpecialTokens::add), "c</s>");
  }
  EXPECT_TRUE(source.is_special(8));
  EXPECT_FALSE(source.is_special(7));
}

TEST_F(PieceFiles, ALanguageCodeAtTheStartIsOneToken) {
  write_pair();
  const Tokenizer tokenizer = found().tokenizer.value();
  EXPECT_EQ(tokenizer.encode(">>fra<< ab"), (Ids{7, 4, 3, 0}));
  EXPECT_EQ(tokenizer.encode(">>deu<< ab"), (Ids{1, 4, 3, 0}));
  EXPECT_EQ(tokenizer.encode(">>fra<<"), (Ids{7, 0}));
  const std::vector<TokenSpan> spans = tokenizer.encode_spans(">>fra<< ab");
  EXPECT_EQ(spans[0].end, 7U);
  EXPECT_EQ(spans[1].begin, 8U);
  EXPECT_EQ(spans[2].end, 10U);
  EXPECT_EQ(tokenizer.encode("ab</s>ab"), (Ids{4, 3, 0, 4, 3, 0}));  // a special token's name in the text
}

TEST_F(PieceFiles, DamagedPairsAreRefused) {
  write_pair();
  write("tokenizer_config.json", R"({"separate_vocabs": true})");
  expect_error([&] { (void)found(); }, ErrorKind::input, "tokenizer.vocab",
               "separate_vocabs true is not supported");
  write("tokenizer_config.json", "{}");
  write("vocab.json", R"({"<unk>": 0})");
  expect_error([&] { (void)found(); }, ErrorKind::input, "tokenizer.vocab", "vocab.json: has no token </s>");
  write_pair();
  write("target.spm", "\x0a\x7f");
  expect_error([&] { (void)found(); }, ErrorKind::input, "sentencepiece.form", "target.spm");
  std::filesystem::remove(folder_.path("source.spm"));
  EXPECT_NE(found().why_not.find("vocab.json without merges.txt"), std::string::npos) << found().why_not;
}

TEST_F(PieceFiles, KnownClassesAddTheirSpecialTokens) {
  write("tokenizer.model",
        sentence_piece({{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"▁a"}, {"[CLS]", 3}, {"[SEP]", 3}}));
  const auto ids = [&](const std::string& config) {
    write("tokenizer_config.json", config);
    return found().tokenizer.value().encode("a");
  };
  EXPECT_EQ(ids(R"({})"), Ids{3});
  EXPECT_EQ(ids(R"({"tokenizer_class": "LlamaTokenizer"})"), (Ids{1, 3}));
  EXPECT_EQ(
      ids(R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": false, "add_eos_token": true})"),
      (Ids{3, 2}));
  EXPECT_EQ(ids(R"({"tokenizer_class": "T5Tokenizer"})"), (Ids{3, 2}));
  EXPECT_EQ(ids(R"({"tokenizer_class": "DebertaV2Tokenizer"})"), (Ids{4, 3, 5}));
  EXPECT_EQ(found().tokenizer->encode_pair("a", "a").size(), 5U);
  EXPECT_EQ(found().tokenizer->encode_pair("a", "a").back().type_id, 1);
  std::filesystem::remove(folder_.path("tokenizer_config.json"));
  write("config.json", R"({"model_type": "t5"})");  // older folders have nothing else
  EXPECT_EQ(found().tokenizer.value().encode("a"), (Ids{3, 2}));
  write("tokenizer_config.json", R"({"tokenizer_class": "GemmaTokenizer"})");
  expect_error([&] { (void)found(); }, ErrorKind::input, "tokenizer.special", "has no piece <bos>");
}

// Their ids are not those of the pieces: reading them so would compute something else in silence.
TEST_F(PieceFiles, ClassesWithOtherIdsNeedATokenizerJson) {
  write("sentencepiece.bpe.model", sentence_piece({{"<unk>", 2}, {"<s>", 3}, {"</s>", 3}, {"▁a"}}));
  for (const char* name : {"XLMRobertaTokenizer", "CamembertTokenizer", "MBartTokenizer", "M2M100Tokenizer",
                           "NllbTokenizerFast", "PegasusTokenizer"}) {
    write("tokenizer_config.json", std::string(R"({"tokenizer_class": ")") + name + "\"}");
    EXPECT_FALSE(found().tokenizer.has_value()) << name;
    EXPECT_NE(found().why_not.find("pieces have other ids"), std::string::npos) << found().why_not;
  }
}

HEADLIGHT_SHARED_TEST(OpusTokenizer, IdsAndTextsOfAnotherImplementation) {
  const std::filesystem::path folder = *headlight::testing::shared_data() / "golden2/marian_opus";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden2";
  const Tokenizer source = load_tokenizer(folder.string()), target = source.for_target();
  std::ifstream lines(folder / "tokenizer.jsonl");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const io::Json json = io::Json::parse(line, "tokenizer.jsonl");
    Ids ids;
    for (const io::Json& id : json.at("ids").items()) ids.push_back(static_cast<TokenId>(id.integer()));
    const std::string text = json.text("text");
    EXPECT_EQ((json.text("side") == "source" ? source : target).encode(text), ids) << text;
    if (json.text("side") != "target") continue;
    EXPECT_EQ(source.decode(ids), json.text("decoded")) << text;
  }
  EXPECT_EQ(count, 44);
}

}  // namespace
}  // namespace headlight::models
