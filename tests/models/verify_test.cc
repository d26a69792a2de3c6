// verify(): the levels, and for every rule a file that breaks it.
#include "models/verify.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "models/small_folder.h"
#include "support/gguf_writer.h"
#include "support/places.h"
#include "support/sanitizers.h"
#include "support/shared_data.h"
#include "support/temp_folder.h"
#include "support/work_time.h"

namespace headlight::models {
namespace {

using headlight::testing::GgufWriter;
using headlight::testing::raw;
using headlight::testing::TempFolder;

void expect_rule(const std::string& path, std::string_view rule, const std::string& words) {
  SCOPED_TRACE(std::string(rule) + " " + words);
  const double start = testing::work_seconds();
  const Verdict verdict = verify(path);
  EXPECT_LT(testing::work_seconds() - start, testing::kPatience);
  ASSERT_TRUE(verdict.refusal.has_value());
  EXPECT_EQ(verdict.refusal->kind(), ErrorKind::input) << verdict.refusal->what();
  ASSERT_NE(verdict.rule, nullptr) << verdict.refusal->code() << ": " << verdict.refusal->what();
  EXPECT_EQ(verdict.rule->id, rule) << verdict.refusal->code() << ": " << verdict.refusal->what();
  EXPECT_NE(std::string(verdict.refusal->what()).find(words), std::string::npos) << verdict.refusal->what();
}

void expect_valid(const std::string& path, const std::string& level) {
  const Verdict verdict = verify(path);
  EXPECT_FALSE(verdict.refusal.has_value()) << path << ": " << verdict.refusal->what();
  EXPECT_EQ(verdict.level, level) << path;
}

// ---- Folders -----------------------------------------------------------------------------------------

TEST(VerifyFolder, ValidOnes) {
  SmallFolder single, shards;
  single.write_all();
  expect_valid(single.path(), "model folder");
  shards.write_shards();
  expect_valid(shards.path(), "model folder");
}

TEST(VerifyFolder, D1ShardsAreNames) {
  for (const char* name :
       {"../a.safetensors", "x/../../a", "/etc/passwd", "..\\\\a", "a\\u0000b", "", ".", ".."}) {
    SmallFolder folder;
    folder.write_shards("{\"weight_map\": {\"x\": \"" + std::string(name) + "\"}}");
    expect_rule(folder.path(), "D1", "is not a file name in this folder");
  }
  SmallFolder folder;
  folder.write_shards("{\"weight_map\": {\"x\": 7}}");
  expect_rule(folder.path(), "D1", "expected a text");
}

TEST(VerifyFolder, D2LinksStayInside) {
  namespace fs = std::filesystem;
  SmallFolder folder, other;
  folder.write_shards();
  other.write_shards();
  fs::remove(folder.temp.path("b.safetensors"));
  fs::create_symlink(other.temp.path("b.safetensors"), folder.temp.path("b.safetensors"));
  expect_rule(folder.path(), "D2", "a link out of its folder");
  fs::remove(folder.temp.path("b.safetensors"));
  fs::create_symlink("../" + other.temp.root().filename().string() + "/b.safetensors",
                     folder.temp.path("b.safetensors"));
  expect_rule(folder.path(), "D2", "a link out of its folder");
  fs::remove(folder.temp.path("b.safetensors"));
  fs::rename(other.temp.path("b.safetensors"), folder.temp.path("c.safetensors"));
  fs::create_symlink("c.safetensors", folder.temp.path("b.safetensors"));
  expect_valid(folder.path(), "model folder");
}

TEST(VerifyFolder, D2LinksIntoTheCacheOfHuggingFace) {
  namespace fs = std::filesystem;
  SmallFolder folder;
  folder.write_all();
  const TempFolder cache;
  const auto build = [&](const fs::path& root, const fs::path& blobs) {
    fs::create_directories(root / "snapshots/abc");
    fs::create_directories(blobs);
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy(folder.temp.path(name), blobs / name);
      fs::create_symlink(fs::path("../../blobs") / name, root / "snapshots/abc" / name);
    }
    return (root / "snapshots/abc").string();
  };
  const fs::path good = cache.root() / "models--me--small", bad = cache.root() / "my--small";
  expect_valid(build(good, good / "blobs"), "model folder");
  expect_rule(build(bad, bad / "blobs"), "D2", "a link out of its folder");
  // A blob that is a link itself, and blobs that are another folder.
  fs::remove(good / "blobs/model.safetensors");
  fs::create_symlink(folder.temp.path("model.safetensors"), good / "blobs/model.safetensors");
  expect_rule((good / "snapshots/abc").string(), "D2", "link to a link");
  fs::remove_all(good / "blobs");
  fs::create_directory_symlink(bad / "blobs", good / "blobs");
  EXPECT_TRUE(verify((good / "snapshots/abc").string()).refusal.has_value());
}

TEST(VerifyFolder, D3RegularFiles) {
  namespace fs = std::filesystem;
  SmallFolder folder;
  folder.write_shards();
  const std::string shard = folder.temp.path("a.safetensors");
  fs::remove(shard);
  ASSERT_EQ(::mkfifo(shard.c_str(), 0600), 0);
  expect_rule(folder.path(), "D3", "is a pipe or device");
  fs::remove(shard);
  fs::create_directory(shard);
  expect_rule(folder.path(), "D3", "is a folder");
  fs::remove(shard);
  fs::create_symlink("a.safetensors", shard);
  expect_rule(folder.path(), "D2", "link to a link");
  fs::remove(shard);
  fs::create_symlink("/dev/zero", shard);
  expect_rule(folder.path(), "D2", "a link out of its folder");
}

TEST(VerifyFolder, D4TensorsWhereTheIndexSays) {
  SmallFolder folder;
  const std::string all = "\"" + folder.tensors[0].name + "\": ";
  folder.write_shards("{\"weight_map\": {" + all + "\"gone.safetensors\"}}");
  expect_rule(folder.path(), "D4", "gone.safetensors: No such file");
  folder.write_shards("{\"weight_map\": {" + all + "\"b.safetensors\"}}");
  expect_rule(folder.path(), "D4", "b.safetensors, where the index says it is");
  folder.write_shards();
  folder.write("b.safetensors", folder.tensors);
  expect_rule(folder.path(), "D4", "is in ");
  folder.write_shards("[]");
  EXPECT_TRUE(verify(folder.path()).refusal.has_value());
  folder.write_shards("{\"weight_map\": ");
  expect_rule(folder.path(), "D4", "not valid JSON");
}

TEST(VerifyFolder, D5OneNoticeForTwoWays) {
  SmallFolder folder;
  folder.write_shards();
  folder.write_all();
  const Verdict verdict = verify(folder.path());
  EXPECT_FALSE(verdict.refusal.has_value());
  ASSERT_EQ(verdict.notices.size(), 1U);
  EXPECT_NE(verdict.notices[0].find("using the first"), std::string::npos);
  EXPECT_EQ(folder.load().notices, verdict.notices);
}

// The folder's config with a field's value replaced.
std::string with_field(const SmallFolder& folder, const std::string& field, const std::string& value) {
  std::string text = folder.model.config_json();
  const std::size_t at = text.find("\"" + field + "\": ") + field.size() + 4;
  return text.replace(at, text.find_first_of(",\n", at) - at, value);
}

TEST(VerifyConfig, C1ToC3) {
  SmallFolder folder;
  folder.write_all();
  const std::string good = folder.model.config_json();
  const auto expect = [&](const std::string& config, const char* rule, const std::string& words) {
    folder.write_text("config.json", config);
    expect_rule(folder.path(), rule, words);
  };
  expect("", "C1", "empty");
  expect(good.substr(0, good.size() / 2), "C1", "not valid JSON");
  expect("\xFF\xFE{\0}\0", "C1", "not valid JSON");
  expect(std::string(150'000, '['), "C1", "not valid JSON");
  expect("[]", "C3", "model_type");
  expect("{\"n_head\": 2, \"n_head\": 2}", "C2", "\"n_head\" occurs twice");
  expect("{}", "C3", "supported are gpt2");
  expect(with_field(folder, "model_type", "\"mamba\""), "C3", "supported are gpt2");
  folder.write_text("config.json",
                    with_field(folder, "n_head", "2, \"auto_map\": {\"AutoModel\": \"evil.py--Model\"}"));
  expect_valid(folder.path(), "model folder");  // C8: nothing of it is run
}

TEST(VerifyConfig, C4Sizes) {
  SmallFolder folder;
  folder.write_all();
  for (const char* heads : {"0", "3", "-1", "99"}) {
    folder.write_text("config.json", with_field(folder, "n_head", heads));
    expect_rule(folder.path(), "C4", "heads");
  }
  for (const char* layers : {"-1", "2147483648", "4294967297", "1.5", "\"1\"", "true", "null", "0"}) {
    folder.write_text("config.json", with_field(folder, "n_layer", layers));
    expect_rule(folder.path(), "C4", "layer");
  }
}

TEST(VerifyConfig, C5C6Tensors) {
  SmallFolder folder;
  folder.write_all();
  const auto expect = [&](const char* field, const char* value, const char* rule, const std::string& words) {
    folder.write_text("config.json", with_field(folder, field, value));
    expect_rule(folder.path(), rule, words);
  };
  expect("vocab_size", "4611686018427387904", "C5", "vocabulary");
  expect("vocab_size", "100000", "C5", "describes a model of");
  expect("vocab_size", "12", "C6", "wte.weight\" is F32 [11, 8]; config.json requires [12, 8]");
  expect("n_positions", "5", "C6", "wpe.weight\" is F32 [4, 8]; config.json requires [5, 8]");
  expect("n_embd", "6", "C6", "config.json requires");
  folder.write_text("config.json", folder.model.config_json());
  const Tensor turned({24, 8}), deep({8, 24, 1}), whole({8, 24}, DType::i32);
  for (const Tensor* tensor : {&turned, &deep, &whole}) {
    SmallFolder wrong;
    for (io::NamedTensor& one : wrong.tensors)
      if (one.name == "transformer.h.0.attn.c_attn.weight") one.tensor = *tensor;
    wrong.write_all();
    expect_rule(wrong.path(), "C6", "transformer.h.0.attn.c_attn.weight\" is ");
  }
  SmallFolder lacking;
  lacking.tensors.erase(lacking.tensors.begin());
  lacking.tensors.push_back({"other", turned});
  lacking.write_all();
  expect_rule(lacking.path(), "C6", "not found among");
}

// A folder of tests/golden with another config.
void expect_golden_rule(const std::string& name, const std::string& from, const std::string& to,
                        const char* rule, const char* words) {
  const std::filesystem::path path = headlight::testing::golden_folder(name);
  const headlight::testing::TempFolder temp;
  std::filesystem::copy_file(path / "model.safetensors", temp.path("model.safetensors"));
  std::ifstream in(path / "config.json");
  std::string config{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  ASSERT_NE(config.find(from), std::string::npos) << name;
  config.replace(config.find(from), from.size(), to);
  std::ofstream(temp.path("config.json")) << config;
  expect_rule(temp.root().string(), rule, words);
}

TEST(VerifyConfig, C10Experts) {
  const std::string many = "\"num_local_experts\": 4", used = "\"num_experts_per_tok\": 2";
  expect_golden_rule("mixtral", many, "\"num_local_experts\": 5", "C5", "describes a model");
  expect_golden_rule("mixtral", many, "\"num_local_experts\": 3", "C6", "block_sparse_moe.gate.weight");
  expect_golden_rule("mixtral", many, "\"num_local_experts\": 0", "C4", "need 1 to 4096");
  expect_golden_rule("mixtral", used, "\"num_experts_per_tok\": 5", "C4", "need 1 to 4");
  expect_golden_rule("gpt_oss", many, "\"num_local_experts\": 3", "C6", "mlp.router.weight");
  expect_golden_rule("deepseek_v3", "\"topk_group\": 2", "\"topk_group\": 4", "C10",
                     "3 of 6 experts, in 4 of 3 groups");
  expect_golden_rule("deepseek_v3", "\"n_group\": 3", "\"n_group\": 4", "C10", "groups of equal size");
  expect_golden_rule("deepseek_v3", "\"n_group\": 3", "\"n_group\": 0", "C10", "groups of experts: 0");
}

TEST(VerifyConfig, C7Epsilon) {
  SmallFolder folder;
  folder.write_all();
  for (const char* eps : {"-1e-5", "1e300"}) {
    folder.write_text("config.json", with_field(folder, "layer_norm_epsilon", eps));
    if (std::string(eps) == "1e300") continue;  // finite, if strange
    expect_rule(folder.path(), "C7", "eps");
  }
  for (const char* eps : {"NaN", "1e999"}) {
    folder.write_text("config.json", with_field(folder, "layer_norm_epsilon", eps));
    expect_rule(folder.path(), "C1", "not valid JSON");
  }
}

TEST(VerifyFolder, T3EveryTokenHasARow) {
  SmallFolder folder;
  folder.write_all();
  const auto tokenizer = [](int tokens) {
    std::string vocab;
    for (int i = 0; i < tokens; ++i)
      vocab +=
          (i > 0 ? ", \"" : "\"") + std::string(1, static_cast<char>('a' + i)) + "\": " + std::to_string(i);
    return R"({"model": {"type": "BPE", "vocab": {)" + vocab + R"(}, "merges": []}})";
  };
  folder.write_text("tokenizer.json", tokenizer(11));
  expect_valid(folder.path(), "model folder");
  folder.write_text("tokenizer.json", tokenizer(12));
  expect_rule(folder.path(), "T3", "tokens up to number 11, the model only 11 rows");
  folder.write_text("tokenizer.json", "{");
  expect_rule(folder.path(), "T1", "not valid JSON");
  expect_rule(folder.temp.path("tokenizer.json"), "T1", "not valid JSON");
}

TEST(VerifyFolder, T11TheChatTemplateEnds) {
  SmallFolder folder;
  folder.write_all();
  folder.write_text("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})");
  folder.write_text("chat_template.jinja", "{{ messages[0].content }}{{ raise_exception('no') }}");
  expect_valid(folder.path(), "model folder");
  folder.write_text("chat_template.jinja", "{% for x in messages %}");
  expect_rule(folder.path(), "T11", "{% endfor %} is missing");
  folder.write_text("chat_template.jinja",
                    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}");
  expect_rule(folder.path(), "T11", "more steps");
}

// ---- Files -------------------------------------------------------------------------------------------

struct FileCase {
  const char* rule;
  std::string bytes, words;
};

std::string safetensors(const std::string& header, std::size_t data) {
  return raw<std::uint64_t>(header.size()) + header + std::string(data, '\0');
}

TEST(VerifyFile, SafetensorsRules) {
  const std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const std::vector<FileCase> cases = {
      {"S1", "1234567", "shorter than 8"},
      {"S2", raw<std::uint64_t>(3) + "{}", "claims 3 bytes"},
      {"S2", raw(~0ULL) + "{}", "too long"},
      {"S3", raw<std::uint64_t>(100'000'001) + "{}", "limit 100000000"},
      {"S4", safetensors("{\"\xff\":1}", 0), "not UTF-8"},
      {"S5", safetensors(one, 8), "cut off"},
      {"S6", safetensors(" " + one + "}", 8), "does not start with"},
      {"S7", safetensors("{\"a\":" + std::string(120'000, '['), 0), "expected '{'"},
      {"S8", safetensors(one + "," + one.substr(1) + "}", 8), "twice"},
      {"S9", safetensors(one + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12), "overlaps"},
      {"S10", safetensors(one + "}", 9), "follow the last tensor"},
      {"S10", safetensors(entry("\"F32\"", "[1]", "[4,8]"), 8), "belong to no tensor"},
      {"S11", safetensors(one + "}", 7), "the file has 7"},
      {"S12", safetensors(entry("\"F32\"", "[2]", "[8,0]"), 8), "before it begins"},
      {"S12", safetensors(entry("\"F32\"", "[2]", "[0,8.0]"), 8), "whole number"},
      {"S13", safetensors(entry("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0), "size overflow"},
      {"S14", safetensors(entry("\"F32\"", "[-1]", "[0,8]"), 8), "whole number"},
      {"S14", safetensors(entry("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4), "more than 8 axes"},
      {"S15", safetensors(entry("\"F32\"", "[3]", "[0,8]"), 8), "needs 12"},
      {"S16", safetensors(entry("\"f32\"", "[2]", "[0,8]"), 8), "unknown type"},
      {"S16", safetensors("{\"a\":{\"dtype\":\"F32\"}}", 0), "lacks"},
      {"S17", safetensors("{\"__metadata__\":{\"a\":1}}", 0), "expected '\"'"}};
  const TempFolder temp;
  for (const FileCase& one_case : cases) {
    std::ofstream(temp.path("x.safetensors"), std::ios::binary) << one_case.bytes;
    expect_rule(temp.path("x.safetensors"), one_case.rule, one_case.words);
  }
  std::ofstream(temp.path("x.safetensors"), std::ios::binary) << safetensors(one + "}", 8);
  expect_valid(temp.path("x.safetensors"), "safetensors file");
}

TEST(VerifyFile, GgufRules) {
  const auto tensor = [](const std::vector<std::uint64_t>& dims, std::uint32_t type,
                         std::uint64_t offset = 0) {
    GgufWriter w;
    w.tensor_bytes("t", dims, type, offset).data = std::string(64, '\0');
    return w.text();
  };
  GgufWriter many;
  many.value_count = 1ULL << 61;
  const auto value = [](std::uint32_t type, const std::string& bytes) {
    return GgufWriter().value_bytes("k", type, bytes).text();
  };
  GgufWriter scale;
  scale.tensor_bytes("t", {32}, 8, 0).data = raw(std::uint16_t{0x7E00}) + std::string(62, '\0');
  const std::string nan_scale = scale.text();
  const std::vector<FileCase> cases = {
      {"G1", "GGUX", "does not start"},
      {"G2", many.text(), "values, but only"},
      {"G3", value(8, raw(~0ULL)), "claims"},
      {"G4", GgufWriter().number("", 1U).text(), "empty"},
      {"G5", value(13, "1234"), "unknown type"},
      {"G6", value(9, raw(10U) + raw(1ULL << 61) + "12345678"), "items"},
      {"G7", value(9, raw(9U) + raw(1ULL) + raw(9U) + raw(1ULL)), "array of arrays"},
      {"G8", GgufWriter().number("general.alignment", 3U).text(), "power of two"},
      {"G9", GgufWriter().tensor_bytes("", {1}, 0, 0).text(), "empty"},
      {"G10", tensor({1ULL << 32, 1ULL << 32}, 0), "overflow"},
      {"G11", tensor({1ULL << 62}, 0), "overflow"},
      {"G12", tensor({32}, 4), "withdrawn"},
      {"G13", tensor({33}, 8), "blocks"},
      {"G13", tensor({128, 2}, 12), "blocks have 256"},
      {"G26", nan_scale, "has a block of Q8_0 whose scale is not finite"},
      {"G14", tensor({1}, 0, 4), "multiple"},
      {"G15", tensor({17}, 0), "needs 68 bytes"}};
  const TempFolder temp;
  for (const FileCase& one_case : cases) {
    std::ofstream(temp.path("x.gguf"), std::ios::binary) << one_case.bytes;
    expect_rule(temp.path("x.gguf"), one_case.rule, one_case.words);
  }
}

TEST(VerifyFile, LevelsOfGguf) {
  const TempFolder temp;
  const auto write = [&](const GgufWriter& w) {
    std::ofstream(temp.path("x.gguf"), std::ios::binary) << w.text();
    return temp.path("x.gguf");
  };
  expect_valid(write(GgufWriter().text("general.architecture", "llama")), "GGUF container");
  GgufWriter vocabulary;
  vocabulary.text("general.architecture", "mpt")
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2");
  vocabulary.texts("tokenizer.ggml.tokens", {"a", "b"});
  expect_valid(write(vocabulary), "GGUF vocabulary");
  vocabulary.number("tokenizer.ggml.bos_token_id", 2U);
  expect_rule(write(vocabulary), "G21", "the id 2");
  GgufWriter model;
  model.text("general.architecture", "%s%n").tensor("token_embd.weight", Tensor({4, 4}));
  expect_rule(write(model), "G23", "\"%s%n\" is not supported");
  EXPECT_EQ(verify(temp.path("x.gguf")).level, "GGUF model");
}

TEST(VerifyFile, OthersAndNone) {
  const TempFolder temp;
  std::ofstream(temp.path("x.bin"), std::ios::binary) << "hello, world";
  const Verdict none = verify(temp.path("x.bin"));
  ASSERT_TRUE(none.refusal.has_value());
  EXPECT_EQ(none.refusal->code(), "file.format");
  EXPECT_EQ(verify(temp.path("gone.gguf")).refusal->kind(), ErrorKind::file);
  std::ofstream(temp.path("x.npy"), std::ios::binary) << "\x93NUMPY";
  EXPECT_EQ(verify(temp.path("x.npy")).refusal->kind(), ErrorKind::input);
  std::ofstream(temp.path("y"), std::ios::binary) << GgufWriter().text();
  expect_valid(temp.path("y"), "GGUF container");
}

HEADLIGHT_SHARED_TEST(VerifyFile, RealOnes) {
  const auto shared = headlight::testing::shared_data();
  expect_valid((*shared / "data/models/stories260K/stories260K-q5_1.gguf").string(), "GGUF model");
  expect_valid((*shared / "data/models/stories260K").string(), "model folder");
  expect_valid((*shared / "golden/gguf/quant-types.gguf").string(), "GGUF container");
  expect_valid((*shared / "golden/tokenizers/gguf-vocab/ggml-vocab-mpt.gguf").string(), "GGUF vocabulary");
  expect_valid((*shared / "golden/bert/golden.safetensors").string(), "safetensors file");
}

TEST(Rules, AreInTheGuide) {
  std::ifstream in(testing::source_folder() + "/docs/guide/models.md");
  const std::string guide{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (const Rule& rule : rules()) {
    const std::string row = "| " + std::string(rule.id) + " | " + std::string(rule.says) + " |";
    EXPECT_NE(guide.find(row), std::string::npos) << row;
  }
}

TEST(Rules, HaveUniqueNames) {
  std::set<std::string_view> ids;
  for (const Rule& rule : rules()) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
  EXPECT_EQ(find_rule(Stage::container, "gguf.text")->id, "G3");
  EXPECT_EQ(find_rule(Stage::config, "json.form")->id, "C1");
  EXPECT_EQ(find_rule(Stage::tokenizer, "json.form")->id, "T1");
  EXPECT_EQ(find_rule(Stage::container, "file.open"), nullptr);
}

}  // namespace
}  // namespace headlight::models
