#include "models/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/gguf_hyperparameters.h"
#include "models/json_hyperparameters.h"
#include "models/recurrent.h"

namespace headlight::models {

extern const Family kGpt2, kGptNeo, kGptNeox, kGptj, kLlama, kMistral, kQwen2, kQwen3, kGemma, kGemma2,
    kGemma3, kGemma3Multimodal, kPhi, kPhi3, kBloom, kFalcon, kOpt, kMpt, kOlmo2, kExaone4, kSmollm3,
    kGranite, kCohere, kCohere2, kStablelm, kStarcoder2, kNemotron, kMixtral, kQwen3Moe, kGptOss, kLlama4,
    kDeepseekV2, kDeepseekV3, kBert, kRoberta, kXlmRoberta, kCamembert, kDistilbert, kElectra, kAlbert,
    kMpnet, kNomicBert, kModernBert, kDebertaV2, kMarian, kBart, kMbart, kM2m100, kPegasus, kWhisper, kT5,
    kMt5;

namespace {

const Family* const kFamilies[] = {
    &kGpt2,       &kGptNeo,     &kGptNeox,    &kGptj,    &kLlama,    &kMistral,
    &kQwen2,      &kQwen3,      &kGemma,      &kGemma2,  &kGemma3,   &kGemma3Multimodal,
    &kPhi,        &kPhi3,       &kBloom,      &kFalcon,  &kOpt,      &kMpt,
    &kOlmo2,      &kExaone4,    &kSmollm3,    &kGranite, &kCohere,   &kCohere2,
    &kStablelm,   &kStarcoder2, &kNemotron,   &kMixtral, &kQwen3Moe, &kGptOss,
    &kLlama4,     &kDeepseekV2, &kDeepseekV3, &kBert,    &kRoberta,  &kXlmRoberta,
    &kCamembert,  &kDistilbert, &kElectra,    &kAlbert,  &kMpnet,    &kNomicBert,
    &kModernBert, &kDebertaV2,  &kMarian,     &kBart,    &kMbart,    &kM2m100,
    &kPegasus,    &kWhisper,    &kT5,         &kMt5};

constexpr Index kMostPositions = Index{1} << 24;  // a longer context is implausible

const Family* family_named(std::string_view name, std::string_view Family::*field) {
  for (const Family* family : kFamilies)
    if (!name.empty() && family->*field == name) return family;
  return nullptr;
}

std::string known_names(std::string_view Family::*field) {
  std::string known;
  for (const Family* family : kFamilies)
    if (!(family->*field).empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", family->*field);
  return known;
}

std::string written_names() {
  std::string names;
  for (const Family* family : kFamilies)
    if (family->write != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", family->name);
  return names;
}

[[noreturn]] void refuse_family(const std::string& what) {
  throw Error(ErrorKind::input, "model.family",
              fmt::format("{}; supported are {}", what, known_names(&Family::name)));
}

// Describes the inconsistency in Phi 3's longrope settings.
std::string check_longrope(TransformerConfig& c) {
  std::string wrong;
  each_layer(c, [&](nn::BlockConfig& block) {
    const nn::MultiHeadAttentionConfig& a = block.attention;
    if (!a.rope || a.rope->scaling.kind != nn::RopeScaling::Kind::longrope) return;
    const nn::RopeScaling& s = a.rope->scaling;
    const Index dim = a.head_dim > 0 ? a.head_dim : c.width / std::max<Index>(1, a.heads);
    const Index pairs = (a.rope->dims > 0 ? a.rope->dims : dim) / 2;
    for (const std::vector<double>* factors : {&a.rope->factors, &a.rope->long_factors})
      if (static_cast<Index>(factors->size()) != pairs || pairs < 1)
        wrong = fmt::format("{} factors for {} pairs", factors->size(), pairs);
    if (!(s.attention_factor > 0) || !std::isfinite(s.attention_factor))
      wrong = fmt::format("an attention_factor of {}", s.attention_factor);
  });
  return wrong;
}

TransformerConfig read_family(const Family& family, const Hyperparameters& h, const std::string& file,
                              const char* rope_code) {
  TransformerConfig config = family.read(h);
  config.family = family.name;
  if (const std::string wrong = check_longrope(config); !wrong.empty())
    throw Error(ErrorKind::input, rope_code, fmt::format("{}: longrope: {}", escaped(file), wrong));
  try {
    return completed(config);
  } catch (const Error& error) {  // an invalid argument here is invalid input: it comes from a file
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", escaped(file), error.what()));
  }
}

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family& find_family(std::string_view name) {
  if (const Family* family = family_named(name, &Family::name)) return *family;
  refuse_family(fmt::format("the model family \"{}\" is not supported", escaped(name, 40)));
}

const Names& names_of(const TransformerConfig& config, Files files) {
  const Family& family = find_family(config.family);
  const bool gguf = files == Files::gguf;
  const Names& two = gguf ? family.gguf_two_norms : family.two_norms;
  const bool parallel = !config.main().empty() && config.main().front().shape == nn::BlockShape::parallel;
  if (parallel && !two.rows.empty()) return two;
  return gguf ? family.gguf : family.names;
}

TransformerConfig read_config(const io::Json& json) {
  const std::string file = escaped(json.file());
  if (json.find("model_type") == nullptr) refuse_family(fmt::format("{}: has no model_type", file));
  const std::string& type = json.text("model_type");
  if (type == kRecurrentType) {
    throw Error(ErrorKind::input, "model.family",
                fmt::format("{}: is a recurrent model, which has no attention heads\n"
                            "To translate with it: headlight translate --model FOLDER",
                            file));
  }
  const Family* family = family_named(type, &Family::name);
  if (family == nullptr)
    refuse_family(fmt::format("{}: the model family \"{}\" is not supported", file, escaped(type, 40)));
  const bool part = !family->section.empty() && json.find(family->section) != nullptr;
  const JsonHyperparameters h(part ? json.object(family->section) : json, family->defaults);
  TransformerConfig config = read_family(*family, h, json.file(), "model.config");
  h.check_unread();
  return config;
}

DescribedTransformer describe_gguf(const io::Gguf& file) {
  const auto name = file.text("general.architecture");
  const Family* family = family_named(name.value_or(""), &Family::architecture);
  if (family == nullptr) {
    const std::string known = known_names(&Family::architecture);
    throw Error(ErrorKind::input, "gguf.architecture",
                name ? fmt::format("{}: the architecture \"{}\" is not supported; supported are {}",
                                   escaped(file.name()), escaped(*name, 40), known)
                     : fmt::format("{}: has no general.architecture, so it is not a model; supported are {}",
                                   escaped(file.name()), known));
  }
  DescribedTransformer described;
  TransformerConfig& c = described.config;
  c = read_family(*family, GgufHyperparameters(file, family->architecture), file.name(), "gguf.rope");
  if (c.embedding.positions != AddedPositions::learned && c.max_positions > kMostPositions) {
    described.notices.push_back(fmt::format("{}: a context of {} tokens is implausible; using {}",
                                            escaped(file.name()), c.max_positions, kMostPositions));
    c.max_positions = kMostPositions;
  }
  return described;
}

std::string write_config(const TransformerConfig& config) {
  const Family& family = find_family(config.family);
  if (family.write == nullptr)
    throw Error(ErrorKind::usage, "model.family",
                fmt::format("{}: config.json of this family cannot be written; choose one of {}", family.name,
                            written_names()));
  std::string json = family.write(config);
  TransformerConfig wanted = config;
  wanted.dtype = DType::f32;
  wanted.weights = nn::Weights::own;
  wanted.source.clear();
  if (read_config(io::Json::parse(json, "config.json")) != wanted)
    throw Error(ErrorKind::usage, "model.family",
                fmt::format("{}: config.json of this family cannot express all options of this model; choose "
                            "another family or its default options",
                            family.name));
  return json;
}

}  // namespace headlight::models
