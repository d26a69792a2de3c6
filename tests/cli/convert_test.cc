// headlight convert as people call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/json.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

TEST(ConvertCommand, WritesAModelThatRuns) {
  const TempFolder folder;
  const std::string model = folder.path("small"), out = folder.path("deep/down/small-int8");
  write_small_model(model, SmallKind::translator);
  const Finished done = run_program({"convert", model, "-o", out, "--dtype", "int8"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("matrices in int8"));
  EXPECT_THAT(done.out, HasSubstr("copied: config.json, tokenizer.json"));
  const Finished shown = run_program({"show", "--model", out, "the animal", "--json", "-"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  const Finished again = run_program({"convert", model, "-o", out, "--dtype", "f16"});
  EXPECT_EQ(again.code, 4);
  EXPECT_THAT(again.err, HasSubstr("exists already"));
  EXPECT_EQ(run_program({"convert", model, "-o", out, "--dtype", "f16", "--force"}).code, 0);
}

// What chats and sentence vectors are made of goes along, or the result would answer and pool differently.
TEST(ConvertCommand, KeepsChatTemplatesAndPooling) {
  const TempFolder folder;
  const std::string model = folder.path("small"), out = folder.path("out");
  write_small_model(model, SmallKind::encoder);
  std::filesystem::create_directory(model + "/1_Pooling");
  std::ofstream(model + "/chat_template.jinja") << "{{ messages }}";
  std::ofstream(model + "/modules.json") << R"([{"path": "1_Pooling", "type": "models.Pooling"}])";
  std::ofstream(model + "/1_Pooling/config.json") << R"({"pooling_mode_cls_token": true})";
  const Finished done = run_program({"convert", model, "-o", out, "--dtype", "f16"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/1_Pooling/config.json")) << done.out;
  EXPECT_TRUE(std::filesystem::exists(out + "/chat_template.jinja"));
  EXPECT_THAT(run_program({"embed", "--model", out, "the cat", "--json"}).out, HasSubstr("\"first\""));
}

TEST(ConvertCommand, SaysTheSameAsJson) {
  const TempFolder folder;
  const std::string model = folder.path("small"), out = folder.path("small-bf16");
  write_small_model(model, SmallKind::translator);
  const Finished done = run_program({"convert", model, "-o", out, "--dtype", "bf16", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");  // nothing else is on standard output
  EXPECT_EQ(json.text("output"), out);
  EXPECT_EQ(json.text("dtype"), "bf16");
  EXPECT_GT(json.integer("matrices"), 0);
  EXPECT_LT(json.integer("matrices"), json.integer("tensors"));
  EXPECT_LT(json.integer("bytes_after"), json.integer("bytes_before"));
  EXPECT_GT(json.real("relative_error"), 0);
  EXPECT_LT(json.real("relative_error"), 0.01);
  EXPECT_EQ(json.list("copied").items().front().text(), "config.json");
}

TEST(ConvertCommand, Refuses) {
  const TempFolder folder;
  EXPECT_EQ(run_program({"convert", folder.path("nothing"), "-o", folder.path("out")}).code, 4);
  EXPECT_EQ(run_program({"convert", folder.root().string(), "-o", folder.path("out")}).code, 4);
  EXPECT_EQ(run_program({"convert", folder.root().string()}).code, 2);
  EXPECT_EQ(run_program({"convert", "x", "-o", "y", "--dtype", "int4"}).code, 2);
  EXPECT_EQ(folder.entries(), 0);
  // A folder stays a folder, and blocks are for .gguf files.
  write_small_model(folder.path("small"), SmallKind::translator);
  const Finished file = run_program({"convert", folder.path("small"), "-o", folder.path("x.gguf")});
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("a folder is converted to a folder"));
  const Finished blocks =
      run_program({"convert", folder.path("small"), "-o", folder.path("x"), "--dtype", "q4_k"});
  EXPECT_EQ(blocks.code, 2);
  EXPECT_THAT(blocks.err, HasSubstr("q4_k is for .gguf files"));
}

}  // namespace
}  // namespace headlight::testing
