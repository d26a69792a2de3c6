#include "models/verify.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/escape.h"
#include "io/npy.h"
#include "models/adapter_file.h"
#include "models/chat_files.h"
#include "models/file_format.h"
#include "models/load.h"
#include "models/tokenizer_file.h"
#include "text/jinja.h"

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
      case FileFormat::tokenizer:
        level("tokenizer", Stage::tokenizer);
        return tokenizer({.tokenizer = load_tokenizer(verdict_.path)}, 0);
    }
  }
  [[nodiscard]] Stage stage() const { return stage_; }

 private:
  void level(std::string name, Stage stage) {
    verdict_.level = std::move(name);
    stage_ = stage;
  }
  void found(std::string_view what) { verdict_.found.emplace_back(what); }

  // `rows`: token rows of the model; 0: there is no model. A model may have no tokenizer.
  void tokenizer(const FoundTokenizer& files, Index rows) {
    if (!files.tokenizer) {
      if (rows == 0) throw Error(ErrorKind::input, "tokenizer.missing", files.why_not);
      return;
    }
    found(fmt::format("a tokenizer of {} tokens", files.tokenizer->size()));
    if (rows == 0) return;
    check_vocabulary(*files.tokenizer, rows, verdict_.path);
    chat_template(&*files.tokenizer);
  }

  // A template that cannot be parsed, or does not finish on one message. Rejecting that message is allowed.
  void chat_template(const Tokenizer* tokenizer) {
    using namespace text::jinja;
    const std::optional<ChatFile> file = find_chat_template(verdict_.path, tokenizer);
    if (!file) return;
    const text::jinja::Template made(file->source, file->name);
    Object message, variables;
    message.set("role", Value("user"));
    message.set("content", Value("Hello"));
    variables.set("messages", Value(List{Value(std::move(message))}));
    variables.set("add_generation_prompt", Value(true));
    variables.set("tools", Value(None{}));
    for (const auto& [name, token] : file->tokens) variables.set(name, Value(token));
    try {
      (void)made.render(variables, std::tm{}, {});
    } catch (const Error& error) {
      if (error.code() != "chat.messages") throw;
    }
    found("a chat template");
  }

  // Returns the number of token rows of the model.
  Index model(const ModelFiles& files) {
    stage_ = Stage::config;
    if (files.is_recurrent()) return recurrent(files);
    DescribedTransformer described = files.describe();
    for (std::string& notice : described.notices) verdict_.notices.push_back(std::move(notice));
    if (files.gguf() == nullptr) found(fmt::format("a config of the family {}", described.config.family));
    described.config.weights = nn::Weights::stored;  // its matrices take no memory
    const std::unique_ptr<Transformer> model = make_transformer(described.config, files.weights());
    files.check_unused(
        described.config,
        plan_parameters(files.weights(), model->parameters(), &files.names(described.config)).unused);
    found_model(files.weights());
    return described.config.vocabulary;
  }

  Index recurrent(const ModelFiles& files) {
    const auto model = make_recurrent(files.describe_recurrent(), files.weights());
    (void)plan_parameters(files.weights(), model->parameters());
    found("a config of a recurrent model");
    found_model(files.weights());
    return model->config().vocabulary;
  }

  void found_model(const WeightSource& weights) {
    found(fmt::format("a model of {} parameters in {} tensors", static_cast<std::int64_t>(weights.elements()),
                      weights.tensors().size()));
  }

  void folder() {
    level("folder", Stage::folder);
    if (is_adapter(verdict_.path)) return adapter();
    if (const io::Folder folder(verdict_.path); !folder.has("config.json")) {
      level("tokenizer folder", Stage::tokenizer);
      return tokenizer(find_tokenizer(folder), 0);
    }
    level("model folder", Stage::folder);
    const ModelFiles files(verdict_.path);
    verdict_.notices = files.notices();
    const Index rows = model(files);
    stage_ = Stage::tokenizer;
    tokenizer(files.find_tokenizer(), rows);
  }

  void adapter() {
    level("adapter folder", Stage::container);
    const AdapterFile file(verdict_.path);
    found(fmt::format("a LoRA adapter of rank {} for {} matrices", file.rank(), file.modules().size()));
    stage_ = Stage::tokenizer;
    if (const FoundTokenizer files = find_tokenizer(io::Folder(verdict_.path)); files.tokenizer)
      tokenizer(files, 0);
  }

  void gguf() {
    level("GGUF container", Stage::container);
    const ModelFiles files(verdict_.path);
    const io::Gguf& file = *files.gguf();
    found(fmt::format("{} values, {} tensors", file.values().size(), file.tensors().size()));
    for (const io::GgufTensor& tensor : file.tensors()) blocks(file, tensor);
    const bool is_model = file.find_tensor("token_embd.weight") != nullptr;
    if (is_model) level("GGUF model", Stage::config);
    const Index rows = is_model ? model(files) : 0;
    if (file.find_value("tokenizer.ggml.model") == nullptr) return;
    if (!is_model) level("GGUF vocabulary", Stage::tokenizer);
    stage_ = Stage::tokenizer;
    tokenizer(files.find_tokenizer(), rows);
  }

  // Opening a file reads no numbers and accepts unknown types; verification checks both.
  static void blocks(const io::Gguf& file, const io::GgufTensor& tensor) {
    const auto refuse = [&](const char* code, std::string_view what) {
      throw Error(ErrorKind::input, code,
                  fmt::format("{}: tensor \"{}\" {}", escaped(file.name()), escaped(tensor.name, 80), what));
    };
    if (tensor.type->bytes == 0)
      refuse("gguf.tensor_type",
             fmt::format("is of {}, which is unknown or was withdrawn", tensor.type->name));
    if (io::has_bad_scale(*tensor.type, file.bytes(tensor)))
      refuse("gguf.scale", fmt::format("has a block of {} whose scale is not finite", tensor.type->name));
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
