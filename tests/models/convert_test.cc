// Models in other precisions: what is written, what is read back, and what is refused.
#include "models/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "io/outputs.h"
#include "models/int8_rows.h"
#include "models/load.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::TempFolder;

class Convert : public ::testing::Test {
 protected:
  Convert() : model_(gpt_config({.vocabulary = 37, .width = 32, .layers = 2, .heads = 2, .context = 18})) {
    std::filesystem::create_directory(from());
    model_.initialize(7);
    for (Parameter* p : model_.parameters()) tensors_.push_back({model_.file_name(*p), p->value});
    std::ofstream(from() + "/config.json") << model_.config_json();
    std::ofstream(from() + "/tokenizer.json") << "{}";
    std::ofstream(from() + "/training.safetensors") << "not a part of a model";
    write();
  }
  void write() const {
    const std::string path = from() + "/model.safetensors";
    io::Outputs outputs(io::Existing::replace);
    outputs.reserve(path);
    io::write_safetensors(outputs, path, tensors_);
    outputs.commit();
  }
  [[nodiscard]] std::string from() const { return temp_.path("from"); }
  [[nodiscard]] std::string to() const { return temp_.path("to"); }
  [[nodiscard]] Converted convert(StoredAs type) const {
    return convert_folder(from(), to(), {.type = type, .replace = true});
  }
  // The largest difference to the model's own parameters, by the largest magnitude of each row.
  [[nodiscard]] double row_error(Transformer& other) {
    double worst = 0;
    const Parameters mine = model_.parameters(), theirs = other.parameters();
    for (std::size_t p = 0; p < mine.size(); ++p) {
      const Tensor& a = mine[p]->value;
      const Index columns = a.dim(a.rank() - 1);
      for (Index first = 0; first < a.shape().elements(); first += columns) {
        double largest = 0, difference = 0;
        for (Index i = first; i < first + columns; ++i) {
          const auto x = static_cast<double>(a.as<float>()[i]);
          largest = std::max(largest, std::abs(x));
          difference =
              std::max(difference, std::abs(x - static_cast<double>(theirs[p]->value.as<float>()[i])));
        }
        if (a.rank() == 1) {
          EXPECT_EQ(difference, 0) << mine[p]->name;
        } else if (largest > 0) {
          worst = std::max(worst, difference / largest);
        }
      }
    }
    return worst;
  }

  TempFolder temp_;
  Transformer model_;
  std::vector<io::NamedTensor> tensors_;
};

TEST_F(Convert, EveryPrecisionIsReadBack) {
  const struct {
    StoredAs type;
    double error;
    const char* dtype;
  } cases[] = {{StoredAs::f32, 0, "F32"},
               {StoredAs::f16, 0x1p-11, "F16"},
               {StoredAs::bf16, 0x1p-8, "BF16"},
               {StoredAs::int8, 0.5 / 127 * 1.0001, "I8"}};
  for (const auto& c : cases) {
    const Converted report = convert(c.type);
    EXPECT_EQ(report.tensors, static_cast<Index>(tensors_.size()));
    EXPECT_EQ(report.matrices, 10);
    EXPECT_LE(report.relative_error, c.error * 2);
    EXPECT_EQ(report.copied, (std::vector<std::string>{"config.json", "tokenizer.json"}));
    EXPECT_FALSE(std::filesystem::exists(to() + "/training.safetensors"));
    const io::Safetensors file = io::Safetensors::open(to() + "/model.safetensors");
    EXPECT_EQ(file.at("transformer.wte.weight").dtype, c.dtype);
    EXPECT_EQ(file.at("transformer.h.0.ln_1.weight").dtype, "F32");
    const LoadedTransformer loaded = load_transformer(to(), DType::f32, nn::Weights::own);
    EXPECT_TRUE(loaded.unused.empty());
    const double error = row_error(*loaded.model);
    EXPECT_LE(error, c.error) << c.dtype;
    if (c.error > 0) { EXPECT_GT(error, c.error / 50) << c.dtype; }
  }
}

TEST_F(Convert, TensorsStandWhereTheyCanBeMapped) {
  (void)convert(StoredAs::int8);
  const io::Safetensors file = io::Safetensors::open(to() + "/model.safetensors");
  for (const io::SafetensorsEntry& entry : file.entries()) {
    EXPECT_EQ(entry.begin % (entry.dtype == "F32" ? 4 : 1), 0U) << entry.name;
    if ((entry.end - entry.begin) % 64 == 0) { EXPECT_EQ(entry.begin % 64, 0U) << entry.name; }
  }
}

TEST_F(Convert, ThereAndBackAgain) {
  (void)convert(StoredAs::int8);
  const Converted back = convert_folder(to(), temp_.path("back"), {.type = StoredAs::f32});
  EXPECT_EQ(back.tensors, static_cast<Index>(tensors_.size()));
  EXPECT_EQ(back.relative_error, 0);
  const Converted again = convert_folder(temp_.path("back"), temp_.path("again"), {.type = StoredAs::int8});
  EXPECT_LT(again.relative_error, 1e-6);
  EXPECT_LT(again.bytes_after, back.bytes_after / 2);
}

TEST_F(Convert, LeavesOutWhatIsNoFloat) {
  const Tensor mask({1, 1, 4, 4}, DType::boolean), places({1, 4}, DType::i64);
  tensors_.push_back({"h.0.attn.bias", mask});
  tensors_.push_back({"position_ids", places});
  write();
  EXPECT_EQ(convert(StoredAs::f16).left_out, (std::vector<std::string>{"h.0.attn.bias", "position_ids"}));
}

TEST_F(Convert, Refuses) {
  (void)convert(StoredAs::f16);
  expect_error([&] { (void)convert_folder(from(), to(), {}); }, ErrorKind::file, "convert.folder",
               "exists already");
  expect_error([&] { (void)convert_folder(from(), from() + "/.", {.replace = true}); }, ErrorKind::usage,
               "convert.folder", "is the folder of the model");
  const int before = temp_.entries();
  Tensor& matrix = model_.parameters()[0]->value;
  matrix.as<float>()[5] = 70000;
  write();
  expect_error([&] { (void)convert(StoredAs::f16); }, ErrorKind::numeric, "convert.range",
               "tensor \"transformer.wte.weight\" holds 70000, which is out of range for F16");
  EXPECT_NO_THROW((void)convert(StoredAs::bf16));
  matrix.as<float>()[5] = NAN;
  write();
  expect_error([&] { (void)convert(StoredAs::int8); }, ErrorKind::numeric, "convert.range", "holds nan");
  EXPECT_EQ(temp_.entries(), before);  // no half of a folder
}

TEST_F(Convert, Int8NeedsItsScales) {
  (void)convert(StoredAs::int8);
  const std::string path = to() + "/model.safetensors";
  std::string text;
  {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto rename = [&](const std::string& from_text, const std::string& to_text) {
    std::string changed = text;
    const std::size_t at = changed.find(from_text);
    ASSERT_NE(at, std::string::npos);
    changed.replace(at, from_text.size(), to_text);
    std::ofstream(path, std::ios::binary) << changed;
  };
  rename("\"transformer.wte.weight_scale\"", "\"transformer.wte.weight_scalx\"");
  expect_error([&] { (void)load_transformer(to()); }, ErrorKind::input, "model.scale",
               "\"transformer.wte.weight\" is I8 and needs \"transformer.wte.weight_scale\", F32 [37], which "
               "is not there");
  rename("\"transformer.wte.weight_scale\":{\"dtype\":\"F32\",\"shape\":[37]",
         "\"transformer.wte.weight_scale\":{\"dtype\":\"I32\",\"shape\":[37]");
  expect_error([&] { (void)load_transformer(to()); }, ErrorKind::input, "model.scale", "which is I32 [37]");
}

}  // namespace
}  // namespace headlight::models
