// headlight info, verify, show and tokenize on model files, as people call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/json.h"
#include "io/safetensors.h"
#include "support/gguf_writer.h"
#include "support/npy_files.h"
#include "support/places.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

io::Json json_of(const Finished& done) { return io::Json::parse(done.out, "output"); }

class ModelFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_data();
    shared_ = *shared;
    folder_ = (shared_ / "data/models/stories260K").string();
    file_ = (shared_ / "data/models/stories260K/stories260K-q8_0.gguf").string();
  }
  std::filesystem::path shared_;
  std::string folder_, file_;
  TempFolder temp_;
};

TEST(RecurrentFiles, InfoAndVerify) {
  const TempFolder temp;
  write_small_model(temp.root().string(), SmallKind::recurrent);
  const Finished info = run_program({"info", temp.root().string()});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out,
              HasSubstr("  model         recurrent encoder-decoder (GRU with additive attention): "));
  EXPECT_THAT(info.out, HasSubstr(" for parameters\n"));
  EXPECT_THAT(info.out, Not(HasSubstr("not supported")));
  const io::Json json = json_of(run_program({"info", temp.root().string(), "--json"}));
  EXPECT_EQ(json.find("model")->text("cell"), "gru");
  EXPECT_EQ(json.find("model")->integer("heads"), 0);
  const Finished verify = run_program({"verify", temp.root().string()});
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_THAT(verify.out, HasSubstr("a config of a recurrent model"));

  std::filesystem::remove(temp.path("model.safetensors"));
  std::filesystem::copy(std::filesystem::path(source_folder()) / "models/headlight-en/model.safetensors",
                        temp.root());
  const Finished others = run_program({"verify", temp.root().string()});
  EXPECT_EQ(others.code, 3);
  EXPECT_THAT(others.err, HasSubstr("embedding"));
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, InfoOfAGgufFile) {
  const Finished text = run_program({"info", file_});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("GGUF file, version 3"));
  EXPECT_THAT(text.out, HasSubstr("decoder: 5 layers, width 64, 8 heads (4 of keys) of 8, feed-forward 172, "
                                  "vocabulary 512, context 512"));
  EXPECT_THAT(text.out, HasSubstr("SentencePiece BPE, 512 tokens"));
  EXPECT_THAT(text.out, HasSubstr("NaN           none"));
  EXPECT_THAT(text.out, Not(HasSubstr("blk.0.attn_q.weight")));
  EXPECT_THAT(run_program({"info", file_, "--tensors"}).out, HasSubstr("Q8_0   [64, 64]"));
  // All spellings of --json.
  for (const std::vector<std::string>& call : {std::vector<std::string>{"info", file_, "--json"},
                                               {"info", "--json", file_},
                                               {"info", file_, "--json", "-"}}) {
    const Finished done = run_program(call);
    ASSERT_EQ(done.code, 0) << done.err;
    const io::Json json = json_of(done);
    EXPECT_EQ(json.text("architecture"), "llama");
    EXPECT_GT(json.integer("parameters"), 259'000);
    EXPECT_EQ(json.object("model").integer("layers"), 5);
    EXPECT_EQ(json.object("tokenizer").integer("tokens"), 512);
    EXPECT_EQ(json.integer("nan"), 0);
    EXPECT_EQ(json.list("tensors").items().size(), 47U);
    EXPECT_EQ(json.object("memory").integer("per_token"), 2 * 4 * 5 * 4 * 8);
  }
  ASSERT_EQ(run_program({"info", file_, "--json", temp_.path("i.json")}).code, 0);
  EXPECT_EQ(io::Json::read(temp_.path("i.json")).text("architecture"), "llama");
  EXPECT_EQ(run_program({"info", file_, "--json", temp_.path("i.json")}).code, 4);  // never overwritten
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, InfoOfOthers) {
  const Finished folder = run_program({"info", folder_, "--json"});
  ASSERT_EQ(folder.code, 0) << folder.err;
  EXPECT_EQ(json_of(folder).text("format"), "model folder");
  EXPECT_EQ(json_of(folder).object("model").integer("kv_heads"), 4);
  const Finished sharded = run_program({"info", (shared_ / "golden/qwen2_sharded").string(), "--json"});
  ASSERT_EQ(sharded.code, 0) << sharded.err;
  EXPECT_EQ(json_of(sharded).text("architecture"), "qwen2");
  const Finished plain =
      run_program({"info", (shared_ / "golden/bert/model.safetensors").string(), "--json"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(json_of(plain).text("format"), "safetensors file");
  const Finished vocabulary = run_program(
      {"info", (shared_ / "golden/tokenizers/gguf-vocab/ggml-vocab-mpt.gguf").string(), "--json"});
  ASSERT_EQ(vocabulary.code, 0) << vocabulary.err;
  EXPECT_EQ(json_of(vocabulary).object("tokenizer").integer("tokens"), 50432);
  save_npy(temp_.path("a.npy"), Tensor({2, 3}));
  EXPECT_THAT(run_program({"info", temp_.path("a.npy"), "--tensors"}).out, HasSubstr("F32    [2, 3]"));
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, OneTensorDequantised) {
  const std::string file = (shared_ / "golden/gguf/quant-types.gguf").string();
  const Finished done = run_program({"info", file, "--tensor", "t.q6_k", "--npy", temp_.path("t.npy")});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("t.q6_k: Q6_K [8, 512]"));
  const Tensor found = load_npy(temp_.path("t.npy"));
  const io::Safetensors golden =
      io::Safetensors::open((shared_ / "golden/gguf/quant-types.expected.safetensors").string());
  const Tensor wanted = golden.load(golden.at("dequant.Q6_K"), DType::f32);
  ASSERT_EQ(found.shape(), wanted.shape());
  for (Index i = 0; i < wanted.shape().elements(); ++i)
    ASSERT_EQ(found.as<float>()[i], wanted.as<float>()[i]);
  EXPECT_EQ(run_program({"info", file, "--tensor", "t.q6_k", "--npy", temp_.path("t.npy")}).code, 4);
  EXPECT_EQ(run_program({"info", file, "--tensor", "t.q6_k", "--npy", temp_.path("t.npy"), "--force"}).code,
            0);
  const Finished missing = run_program({"info", file, "--tensor", "t.q7_k"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("not found among 14; the closest is \"t.q"));
  EXPECT_EQ(run_program({"info", file, "--npy", temp_.path("u.npy")}).code, 2);
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, VerifySaysLevelAndRule) {
  const Finished good = run_program({"verify", file_});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr(": valid GGUF model\n"));
  EXPECT_THAT(run_program({"verify", folder_}).out, HasSubstr(": valid model folder\n"));
  std::ofstream(temp_.path("x.gguf"), std::ios::binary)
      << GgufWriter().value_bytes("k", 8, raw(~0ULL)).text();
  const Finished bad = run_program({"verify", temp_.path("x.gguf")});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.out, HasSubstr("refused as GGUF container by rule G3"));
  EXPECT_THAT(bad.first_error_line(), StartsWith("error: " + temp_.path("x.gguf") + ": a text claims"));
  EXPECT_THAT(bad.err, HasSubstr("Rule G3"));
  const Finished json = run_program({"verify", temp_.path("x.gguf"), "--json"});
  EXPECT_EQ(json.code, 3);
  EXPECT_EQ(json_of(json).text("rule"), "G3");
  EXPECT_FALSE(json_of(json).boolean("valid"));
  EXPECT_EQ(run_program({"verify", temp_.path("gone")}).code, 4);
  EXPECT_EQ(run_program({"verify"}).code, 2);
  EXPECT_EQ(run_program({"info"}).code, 2);
  EXPECT_THAT(run_program({"verify", "--rules"}).out, HasSubstr("\nG23  "));
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, TextThatIsNoUtf8StaysValidJson) {  // G24
  GgufWriter w;
  w.text("general.architecture", "\xFFllama\x1b[0m").tensor("a\tb", Tensor({2}));
  std::ofstream(temp_.path("x.gguf"), std::ios::binary) << w.text();
  const Finished done = run_program({"info", temp_.path("x.gguf"), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json_of(done).text("architecture"), "\uFFFDllama\x1b[0m");
  EXPECT_THAT(run_program({"info", temp_.path("x.gguf")}).out, HasSubstr("\\xffllama\\x1b[0m"));
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, NanIsCounted) {  // S20
  const std::string header = R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  std::ofstream(temp_.path("x.safetensors"), std::ios::binary)
      << raw<std::uint64_t>(header.size()) << header << raw(1.0F) << raw(std::nanf("")) << raw(std::nanf(""));
  const Finished done = run_program({"info", temp_.path("x.safetensors"), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(json_of(done).integer("nan"), 2);
  EXPECT_THAT(run_program({"info", temp_.path("x.safetensors")}).out, HasSubstr("2 numbers are NaN"));
  EXPECT_THAT(run_program({"info", temp_.path("x.safetensors"), "--tensor", "a"}).out,
              HasSubstr("1 to 1, mean 1"));
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, ManyTokensAreListedInLinearTime) {  // T11
  std::ofstream(temp_.path("spaces.txt")) << std::string(200'000, ' ');
  const Finished done =
      run_program(Launch{.arguments = {"tokenize", "--model", (shared_ / "golden/tokenizers/gpt2").string(),
                                       temp_.path("spaces.txt")},
                         .seconds = 20});
  EXPECT_EQ(done.code, 0) << done.err;
}

HEADLIGHT_SHARED_TEST_F(ModelFiles, ShowAndTokenizeReadGguf) {
  const Finished show =
      run_program({"show", "--model", file_, "--ids", "1,403,407", "--npy", temp_.path("out")});
  ASSERT_EQ(show.code, 0) << show.err;
  EXPECT_EQ(load_npy(temp_.path("out/logits.npy")).shape(), (Shape{3, 512}));
  EXPECT_EQ(load_npy(temp_.path("out/decoder_4.npy")).shape(), (Shape{8, 3, 3}));
  const Finished text = run_program({"show", "--model", file_, "Once upon a time", "--head", "0.0"});
  EXPECT_EQ(text.code, 0) << text.err;
  std::ofstream(temp_.path("t.txt")) << "Once upon a time";
  const std::string call[] = {file_, folder_};
  std::vector<std::string> lines;
  for (const std::string& model : call) {
    const Finished done = run_program({"tokenize", "--model", model, temp_.path("t.txt")});
    ASSERT_EQ(done.code, 0) << done.err;
    lines.push_back(done.out);
  }
  EXPECT_EQ(lines[0], lines[1]);
  const Finished none = run_program(
      {"tokenize", "--model", (shared_ / "golden/gguf/quant-types.gguf").string(), temp_.path("t.txt")});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("has no tokenizer inside"));
}

}  // namespace
}  // namespace headlight::testing
