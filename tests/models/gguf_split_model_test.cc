// A model cut into several GGUF files computes the bits of the whole one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/golden.h"
#include "models/verify.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::GgufWriter;
using headlight::testing::TempFolder;

// The file's tensors one by one into three files, which get their names from `path`.
void split(const io::Gguf& file, const std::string& path) {
  constexpr std::size_t kFiles = 3;
  std::vector<GgufWriter> writers(kFiles);
  for (const io::GgufValue& value : file.values()) writers[0].value(value);
  for (std::size_t i = 0; i < file.tensors().size(); ++i) writers[i % kFiles].tensor(file, file.tensors()[i]);
  for (std::size_t i = 0; i < kFiles; ++i) {
    writers[i].number("split.no", static_cast<std::uint16_t>(i));
    writers[i].number("split.count", std::uint16_t{kFiles});
    writers[i].number("split.tensors.count", static_cast<std::int32_t>(file.tensors().size()));
    std::ofstream(path + "-0000" + std::to_string(i + 1) + "-of-00003.gguf", std::ios::binary)
        << writers[i].text();
  }
}

HEADLIGHT_SHARED_TEST(GgufSplitModel, ComputesTheBitsOfTheWhole) {
  const auto shared = headlight::testing::shared_data();
  const std::string path = (*shared / "data/models/stories260K/stories260K-q8_0.gguf").string();
  const TempFolder temp;
  split(io::Gguf::open(path), temp.path("m"));
  const std::string first = temp.path("m-00001-of-00003.gguf");
  const Verdict verdict = verify(first);
  EXPECT_FALSE(verdict.refusal.has_value());
  EXPECT_EQ(verdict.level, "GGUF model");
  const LoadedTransformer whole = load_transformer(path), parts = load_transformer(first);
  Tokens tokens;
  tokens.append(std::vector<std::int32_t>{1, 403, 407, 261, 378});
  Context ctx({.threads = 2});
  expect_same_bits(parts.model->logits(ctx, tokens), whole.model->logits(ctx, tokens));

  std::filesystem::remove(temp.path("m-00002-of-00003.gguf"));
  const Verdict broken = verify(first);
  ASSERT_TRUE(broken.refusal.has_value());
  EXPECT_EQ(broken.refusal->kind(), ErrorKind::input);
  ASSERT_NE(broken.rule, nullptr);
  EXPECT_EQ(broken.rule->id, "G25");
}

}  // namespace
}  // namespace headlight::models
