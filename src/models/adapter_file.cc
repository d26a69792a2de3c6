#include "models/adapter_file.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json.h"
#include "io/json_writer.h"

namespace headlight::models {
namespace {

constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::input, "adapter.form", concat(escaped(file), ": ", what));
}

// Throws for settings that would change the computation and are not supported.
void check_plain(const io::Json& json) {
  const auto refuse_field = [&](std::string_view key, const std::string& found) {
    refuse(json.file(), concat(key, " is ", found, ", which is not supported; plain LoRA is"));
  };
  for (const char* key : {"use_dora", "lora_bias", "use_qalora"})
    if (json.boolean_or(key, false)) refuse_field(key, "true");
  for (const char* key : {"rank_pattern", "alpha_pattern", "modules_to_save", "trainable_token_indices",
                          "layer_replication", "megatron_config"}) {
    const io::Json* field = json.find(key);
    if (field != nullptr && !field->items().empty()) refuse_field(key, "not empty");
  }
  if (const std::string bias = json.text_or("bias", "none"); bias != "none")
    refuse_field("bias", concat("\"", escaped(bias, 40), "\""));
}

}  // namespace

bool is_adapter(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder(path);
  return std::filesystem::exists(folder / kAdapterConfig, ignored) &&
         !std::filesystem::exists(folder / "config.json", ignored);
}

std::string adapter_json(const AdapterConfig& config, const std::vector<std::string>& modules,
                         bool transposed, std::string_view task) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("peft_type", "LORA").field("task_type", task);
  w.field("base_model_name_or_path", config.base).field("r", config.rank);
  w.field("lora_alpha", config.alpha).field("lora_dropout", 0).field("bias", "none");
  w.field("fan_in_fan_out", transposed).field("use_rslora", false).field("use_dora", false);
  w.field("init_lora_weights", true).field("inference_mode", true);
  w.field("modules_to_save", nullptr).field("target_modules", modules);
  return w.end_object().take_line();
}

AdapterFile::AdapterFile(const std::string& folder)
    : folder_(folder), weights_(io::Safetensors::open(concat(folder, "/", kAdapterWeights))) {
  read_config();
  pair_tensors();
}

void AdapterFile::read_config() {
  const io::Json json = io::Json::read(concat(folder_, "/", kAdapterConfig), 1 << 20);
  if (const std::string kind = json.text_or("peft_type", ""); kind != "LORA")
    refuse(json.file(), concat("peft_type is \"", escaped(kind, 40), "\"; only \"LORA\" is supported"));
  check_plain(json);
  rank_ = json.integer("r");
  alpha_ = json.real_or("lora_alpha", 8);
  by_root_ = json.boolean_or("use_rslora", false);
  transposed_ = json.boolean_or("fan_in_fan_out", false);
  base_ = json.text_or("base_model_name_or_path", "");
  if (rank_ < 1 || rank_ > (1 << 16)) refuse(json.file(), concat("r is ", rank_, "; need 1 or more"));
  if (!std::isfinite(alpha_)) refuse(json.file(), "lora_alpha is not finite");
}

void AdapterFile::pair_tensors() {
  std::map<std::string, std::size_t, std::less<>> known;
  for (const io::SafetensorsEntry& entry : weights_.entries()) {
    std::string_view name = entry.name;
    const bool a = name.ends_with(kA), b = name.ends_with(kB);
    if (!name.starts_with(kAdapterPrefix) || (!a && !b))
      refuse(weights_.name(), concat("tensor \"", escaped(name, 100), "\" is not a LoRA tensor"));
    if (entry.shape.size() != 2 || entry.shape[a ? 0 : 1] != rank_)
      refuse(weights_.name(), concat("tensor \"", escaped(name, 100), "\" does not have rank ", rank_, " of ",
                                     kAdapterConfig));
    name.remove_prefix(kAdapterPrefix.size());
    name.remove_suffix(kA.size());
    const auto [at, fresh] = known.emplace(name, modules_.size());
    if (fresh) modules_.push_back({std::string(name)});
    (a ? modules_[at->second].a : modules_[at->second].b) = &entry;
  }
  for (const Module& module : modules_)
    if (module.a == nullptr || module.b == nullptr)
      refuse(weights_.name(), concat("\"", escaped(module.name, 100), "\" has ",
                                     module.a == nullptr ? "no lora_A" : "no lora_B"));
  if (modules_.empty()) refuse(weights_.name(), "has no tensors");
}

double AdapterFile::scale(const Module& module) const {
  const auto rank = static_cast<double>(module.rank());
  return alpha_ / (by_root_ ? std::sqrt(rank) : rank);
}

bool AdapterFile::same_module(std::string_view module, std::string_view other) {
  const auto inside = [](std::string_view longer, std::string_view shorter) {
    return longer.size() > shorter.size() && longer.ends_with(shorter) &&
           longer[longer.size() - shorter.size() - 1] == '.';
  };
  return module == other || inside(module, other) || inside(other, module);
}

}  // namespace headlight::models
