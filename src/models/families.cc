#include "models/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/family_tools.h"
#include "models/recurrent.h"

namespace headlight::models {

extern const Family kGpt2, kGptNeo, kGptNeox, kLlama, kMistral, kQwen2, kQwen3, kGemma, kGemma2, kGemma3,
    kPhi, kPhi3, kBloom, kFalcon, kOpt, kBert, kRoberta, kDistilbert, kMarian, kBart, kT5, kGguf, kGgufT5,
    kGgufFalcon, kFalconTwoNorms;

namespace {

const Family* const kFamilies[] = {&kGpt2,  &kGptNeo, &kGptNeox, &kLlama,      &kMistral, &kQwen2, &kQwen3,
                                   &kGemma, &kGemma2, &kGemma3,  &kPhi,        &kPhi3,    &kBloom, &kFalcon,
                                   &kOpt,   &kBert,   &kRoberta, &kDistilbert, &kMarian,  &kBart,  &kT5};

// "decoder.12.attention.query" becomes "decoder.{n}.attention.query", and 12.
std::string generic(std::string_view name, std::string& layer) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot + 1 >= name.size() ||
      std::isdigit(static_cast<unsigned char>(name[dot + 1])) == 0)
    return std::string(name);
  const std::size_t end = std::min(name.find('.', dot + 1), name.size());
  layer = name.substr(dot + 1, end - dot - 1);
  return fmt::format("{}.{{n}}{}", name.substr(0, dot), name.substr(end));
}

std::string specific(std::string_view name, const std::string& layer) {
  std::string result(name);
  if (const std::size_t at = result.find("{n}"); at != std::string::npos) result.replace(at, 3, layer);
  return result;
}

const NameRow* find_row(const Family& family, std::string_view ours) {
  for (const NameRow& row : family.names)
    if (row.ours == ours) return &row;
  return nullptr;
}

const Family* family_named(std::string_view name) {
  for (const Family* family : kFamilies)
    if (family->name == name) return family;
  for (const Family* family :
       {&kGguf, &kGgufT5, &kGgufFalcon, &kFalconTwoNorms})  // names of tensors, and no config.json
    if (family->name == name) return family;
  return nullptr;
}

[[noreturn]] void refuse_family(const std::string& what) {
  std::string known;
  for (const Family* family : kFamilies)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family->name);
  throw Error(ErrorKind::input, "model.family", fmt::format("{}; known are {}", what, known));
}

}  // namespace

const Family& find_family(std::string_view name) {
  if (const Family* family = family_named(name)) return *family;
  refuse_family(fmt::format("models of the family \"{}\" are not known here", escaped(name, 40)));
}

std::string parameter_name(const Family& family, std::string_view ours) {
  std::string layer;
  const std::string whole = generic(ours, layer);
  if (const NameRow* row = find_row(family, whole)) return specific(row->theirs, layer);
  const std::size_t dot = whole.rfind('.');
  const NameRow* row = find_row(family, std::string_view(whole).substr(0, dot));
  return row == nullptr ? "" : specific(row->theirs, layer) + whole.substr(dot);
}

void rename_parameters(std::string_view family_name, const Parameters& parameters) {
  const Family& family = find_family(family_name);
  for (Parameter* parameter : parameters) {
    std::string name = parameter_name(family, parameter->name);
    if (name.empty()) {
      throw Error(ErrorKind::usage, "model.family",
                  fmt::format("{}: files of this family have no place for {}; choose another family",
                              family_name, parameter->name));
    }
    parameter->name = std::move(name);
  }
}

TransformerConfig read_config(const io::Json& json) {
  const std::string file = escaped(json.file());
  if (json.find("model_type") == nullptr) refuse_family(fmt::format("{}: names no model_type", file));
  const std::string& type = json.text("model_type");
  if (type == kRecurrentType) {
    throw Error(ErrorKind::input, "model.family",
                fmt::format("{}: is a recurrent model, which has no heads to look into\nIts translations: "
                            "headlight translate --model FOLDER",
                            file));
  }
  const Family* family = family_named(type);
  if (family == nullptr || family->read == nullptr)
    refuse_family(fmt::format("{}: models of the family \"{}\" are not known here", file, escaped(type, 40)));
  TransformerConfig config = family->read(json);
  if (config.family == TransformerConfig().family) config.family = family->name;  // unless it chose itself
  if (const std::string wrong = settle_longrope(config); !wrong.empty())
    throw Error(ErrorKind::input, "model.config", fmt::format("{}: longrope: {}", json.file(), wrong));
  try {
    return completed(config);
  } catch (const Error& error) {  // what a caller may not ask for, a file may not say
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", json.file(), error.what()));
  }
}

std::string write_config(const TransformerConfig& config) {
  const Family& family = find_family(config.family);
  if (family.write == nullptr)
    throw Error(
        ErrorKind::usage, "model.family",
        fmt::format("{}: models of this family are read, not made; known to be made are gpt2, llama, bert "
                    "and marian",
                    family.name));
  std::string json = family.write(config);
  TransformerConfig wanted = config;
  wanted.dtype = DType::f32;
  wanted.weights = nn::Weights::own;
  wanted.source.clear();
  if (read_config(io::Json::parse(json, "config.json")) != wanted)
    throw Error(
        ErrorKind::usage, "model.family",
        fmt::format("{}: config.json of this family cannot say everything about this model; choose another "
                    "family, or leave its options as they are",
                    family.name));
  return json;
}

}  // namespace headlight::models
