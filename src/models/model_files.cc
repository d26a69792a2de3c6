#include "models/model_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/expert_slices.h"
#include "models/json_hyperparameters.h"
#include "models/leftovers.h"

namespace headlight::models {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr std::uint64_t kLargestConfig = std::uint64_t{64} << 20;

// Encoders are often stored without the head that they were trained with.
void drop_missing_head(TransformerConfig& config, const WeightSource& weights) {
  if (!config.head.masked) return;
  for (const char* part :
       {"head.transform.weight", "head.transform.bias", "head.norm.weight", "head.norm.bias"})
    if (find_parameter(weights, names_of(config), part)) return;
  config.head.masked.reset();
  config.head.bias = false;
  config.head.absent = true;
}

// Only what changes a beam search of Headlight; lengths and numbers of beams are options of the command.
WritingRules writing_rules(const io::Json& json, const TransformerConfig& config) {
  WritingRules rules;
  if (const io::Json* words = json.find("bad_words_ids");
      words != nullptr && !words->is(io::Json::Kind::null)) {
    for (const io::Json& word : words->items()) {
      if (word.items().size() != 1)
        throw Error(
            ErrorKind::input, "generation.words",
            fmt::format("{}: bad_words_ids has a sequence of {} tokens; only single tokens are supported",
                        escaped(json.file()), word.items().size()));
      const std::int64_t token = word.items()[0].integer();
      if (token < 0 || token >= config.vocabulary)
        throw Error(ErrorKind::input, "generation.words",
                    fmt::format("{}: bad_words_ids has token {}; the model has tokens 0 to {}",
                                escaped(json.file()), token, config.vocabulary - 1));
      rules.never.push_back(static_cast<std::int32_t>(token));
    }
  }
  rules.renormalized = json.boolean_or("renormalize_logits", false);
  const std::vector<std::int32_t> end = tokens_of(json, "forced_eos_token_id");
  rules.forced_end = !end.empty() && config.is_end(end.front());
  return rules;
}

}  // namespace

ModelFiles::ModelFiles(const std::string& path) : path_(path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    gguf_.emplace(io::Gguf::open(path));
    weights_ = std::make_unique<GgufWeights>(*gguf_);
    if (ExpertSlices::wanted(*weights_)) slices_ = std::make_unique<ExpertSlices>(*weights_);
    return;
  }
  folder_.emplace(path);
  auto weights = std::make_unique<SafetensorsWeights>(*folder_);
  notices_.assign(weights->notices().begin(), weights->notices().end());
  weights_ = std::move(weights);
  if (ExpertSlices::wanted(*weights_)) slices_ = std::make_unique<ExpertSlices>(*weights_);
}

const io::Json& ModelFiles::config() const {
  if (!config_) {
    config_text_ = folder_->read(kConfig, kLargestConfig);
    config_ = io::Json::parse(config_text_, folder_->path_of(kConfig));
  }
  return *config_;
}

std::string ModelFiles::architecture() const {
  if (gguf_) return std::string(gguf_->text("general.architecture").value_or(""));
  const io::Json* type = config().find("model_type");
  return type != nullptr && type->is(io::Json::Kind::text) ? type->text() : "";
}

DescribedTransformer ModelFiles::describe() const {
  if (gguf_) return describe_gguf(*gguf_);
  DescribedTransformer described;
  TransformerConfig& c = described.config;
  c = read_config(config());
  // A model with reordered rows is not written back, because its files would differ from the family's format.
  if (!c.rows_in_groups && find_family(c.family).section.empty()) c.source = config_text_;
  drop_missing_head(c, *weights_);
  if (c.kind != ModelKind::encoder && folder_->has(kGeneration)) {
    const io::Json json =
        io::Json::parse(folder_->read(kGeneration, kLargestConfig), folder_->path_of(kGeneration));
    for (const std::int32_t end : tokens_of(json, "eos_token_id")) add_end(c, end);
    if (c.kind == ModelKind::encoder_decoder) c.writing = writing_rules(json, c);
  }
  return described;
}

FoundTokenizer ModelFiles::find_tokenizer() const {
  return gguf_ ? models::find_tokenizer(*gguf_) : models::find_tokenizer(*folder_);
}

void ModelFiles::check_unused(const TransformerConfig& config, const std::vector<std::string>& unused) const {
  for (const std::string& name : unused) {
    if (is_known_leftover(config, name)) continue;
    throw Error(ErrorKind::input, gguf_ ? "gguf.unused" : "model.unused",
                fmt::format("{}: tensor \"{}\" is not used by this architecture", escaped(weights_->name()),
                            escaped(name, 80)));
  }
}

}  // namespace headlight::models
