#include "models/verify.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/escape.h"
#include "io/npy.h"
#include "models/file_format.h"
#include "models/gguf_config.h"
#include "models/load.h"
#include "models/recurrent.h"
#include "models/tokenizer_file.h"
#include "models/tokenizer_gguf.h"

namespace headlight::models {
namespace {

class Verifier {
 public:
  explicit Verifier(Verdict& verdict) : verdict_(verdict) {}

  void run() {
    const std::filesystem::path path(verdict_.path);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return folder();
    switch (format_of(verdict_.path)) {
      case FileFormat::gguf: return gguf();
      case FileFormat::safetensors: return safetensors();
      case FileFormat::npy: return npy();
      case FileFormat::tokenizer: level("tokenizer", Stage::tokenizer); return tokenizer(verdict_.path, 0);
    }
  }
  [[nodiscard]] Stage stage() const { return stage_; }

 private:
  void level(std::string name, Stage stage) {
    verdict_.level = std::move(name);
    stage_ = stage;
  }
  void found(std::string what) { verdict_.found.push_back(std::move(what)); }

  // `rows` are those that the model has for tokens; 0: there is no model.
  void tokenizer(const std::string& path, Index rows) {
    stage_ = Stage::tokenizer;
    const Tokenizer tokenizer = load_tokenizer(path);
    found(fmt::format("a tokenizer of {} tokens", tokenizer.size()));
    if (rows > 0) check_vocabulary(tokenizer, rows, path);
  }

  void found_model(const WeightSource& weights) {
    found(fmt::format("a model of {} parameters in {} tensors", static_cast<std::int64_t>(weights.elements()),
                      weights.tensors().size()));
  }

  void model(const TransformerConfig& config, const WeightSource& weights, std::vector<std::string>* unused) {
    TransformerConfig shapes = config;
    shapes.weights = nn::Weights::stored;  // its matrices take no memory
    const std::unique_ptr<Transformer> model = make_transformer(shapes, weights);
    ParameterPlan plan = plan_parameters(weights, *model);
    found_model(weights);
    if (unused != nullptr) *unused = std::move(plan.unused);
  }

  void folder() {
    level("folder", Stage::folder);
    const io::Folder folder(verdict_.path);
    if (!folder.has("config.json")) {
      level("tokenizer folder", Stage::tokenizer);
      return tokenizer(verdict_.path, 0);
    }
    level("model folder", Stage::folder);
    const SafetensorsWeights weights(folder);
    verdict_.notices.assign(weights.notices().begin(), weights.notices().end());
    stage_ = Stage::config;
    const Index rows = is_recurrent(verdict_.path) ? recurrent(weights) : transformer(folder, weights);
    if (has_tokenizer_files(verdict_.path)) tokenizer(verdict_.path, rows);
  }

  Index transformer(const io::Folder& folder, const WeightSource& weights) {
    const TransformerConfig config = describe_folder(folder, weights).config;
    found(fmt::format("a config of the family {}", config.family));
    model(config, weights, nullptr);
    return config.vocabulary;
  }

  Index recurrent(const WeightSource& weights) {
    const RecurrentModelConfig config = check_recurrent(verdict_.path);
    found("a config of a recurrent model");
    found_model(weights);
    return config.vocabulary;
  }

  void gguf() {
    level("GGUF container", Stage::container);
    const io::Gguf file = io::Gguf::open(verdict_.path);
    found(fmt::format("{} values, {} tensors", file.values().size(), file.tensors().size()));
    const bool is_model = file.find_tensor("token_embd.weight") != nullptr;
    const bool has_vocabulary = file.find_value("tokenizer.ggml.model") != nullptr;
    if (is_model) {
      level("GGUF model", Stage::config);
      DescribedTransformer described = describe_gguf(file);
      verdict_.notices = std::move(described.notices);
      std::vector<std::string> unused;
      model(described.config, GgufWeights(file), &unused);
      check_gguf_unused(file, unused);
      if (has_vocabulary) vocabulary(file, described.config.vocabulary);
    } else if (has_vocabulary) {
      level("GGUF vocabulary", Stage::tokenizer);
      vocabulary(file, 0);
    }
  }

  void vocabulary(const io::Gguf& file, Index rows) {
    stage_ = Stage::tokenizer;
    const auto vocabulary = read_gguf_vocabulary(file);
    if (!vocabulary) return;
    const Tokenizer tokenizer = tokenizer_from_gguf(*vocabulary, file.name());
    found(fmt::format("a tokenizer of {} tokens", tokenizer.size()));
    if (rows > 0) check_vocabulary(tokenizer, rows, file.name());
  }

  void safetensors() {
    level("safetensors file", Stage::container);
    found(fmt::format("{} tensors", io::Safetensors::open(verdict_.path).entries().size()));
  }

  void npy() {
    level("npy array", Stage::container);
    found(io::read_npy_header(verdict_.path).shape.text());
  }

  Verdict& verdict_;
  Stage stage_ = Stage::container;
};

}  // namespace

Verdict verify(const std::string& path) {
  Verdict verdict;
  verdict.path = path;
  verdict.level = "file";
  Verifier verifier(verdict);
  try {
    verifier.run();
  } catch (const Error& error) {
    verdict.refusal = error;
    verdict.rule = find_rule(verifier.stage(), error.code());
  }
  return verdict;
}

}  // namespace headlight::models
