#include "models/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/escape.h"
#include "core/nearest.h"
#include "core/tensor_memory.h"
#include "headlight/error.h"
#include "io/json.h"
#include "models/families.h"
#include "models/gguf_config.h"
#include "models/grouped_rows.h"
#include "models/int8_rows.h"
#include "models/stored_weights.h"

namespace headlight::models {
namespace {

constexpr const char* kConfig = "config.json";
constexpr std::uint64_t kLargestConfig = std::uint64_t{64} << 20;

std::string shape_text(const StoredTensor& tensor) {
  return fmt::format("{} [{}]", tensor.type, fmt::join(tensor.shape, ", "));
}

bool same_shape(const StoredTensor& tensor, const Shape& shape) {
  return tensor.shape.size() == static_cast<std::size_t>(shape.rank) &&
         std::equal(tensor.shape.begin(), tensor.shape.end(), shape.dims.begin());
}

[[noreturn]] void refuse_missing(const WeightSource& weights, const std::string& name) {
  const std::vector<StoredTensor> all = weights.tensors();
  std::vector<std::string_view> known;
  known.reserve(all.size());
  for (const StoredTensor& tensor : all) known.push_back(tensor.name);
  const std::string_view near = nearest_name(name, known);
  throw Error(ErrorKind::input, "model.missing",
              fmt::format("{}: weight \"{}\" not found among {} tensors{}", escaped(weights.name()), name,
                          known.size(),
                          near.empty() ? "" : fmt::format("; the closest is \"{}\"", escaped(near, 80))));
}

// What a parameter is called in the files: by its whole name, or by that of the bare model, without its head.
std::optional<StoredTensor> find_parameter(const WeightSource& weights, std::string_view prefix,
                                           std::string_view name) {
  if (auto found = weights.find(name)) return found;
  if (prefix.empty() || !name.starts_with(prefix)) return std::nullopt;
  return weights.find(name.substr(prefix.size()));
}

// Encoders are often stored without the head that they were trained with.
void drop_missing_head(TransformerConfig& config, const WeightSource& weights) {
  if (!config.masked_head) return;
  const Family& family = find_family(config.family);
  for (const char* part :
       {"head.transform.weight", "head.transform.bias", "head.norm.weight", "head.norm.bias"})
    if (find_parameter(weights, family.prefix, parameter_name(family, part))) return;
  config.masked_head = config.head_bias = false;
  config.headless = true;
}

// A config may say anything; memory is taken only for what the files can fill.
void check_amount(const TransformerConfig& config, const WeightSource& weights) {
  const double wanted = least_parameters(config), there = weights.elements();
  if (wanted <= there) return;
  throw Error(ErrorKind::input, "model.size",
              fmt::format("{}: {} describes a model of {:.0f} parameters; its files have {:.0f} numbers",
                          escaped(weights.name()), weights.config_name(), wanted, there));
}

LoadedTransformer load(const TransformerConfig& config, const WeightSource& weights) {
  LoadedTransformer loaded;
  loaded.model = make_transformer(config, weights);
  loaded.unused = has_grouped_rows(loaded.model->config())
                      ? load_parameters(GroupedRows(weights, loaded.model->config()), *loaded.model)
                      : load_parameters(weights, *loaded.model);
  if (config.headless)
    loaded.notices.push_back(fmt::format("{}: was stored without its head, so it attends but has no logits",
                                         escaped(weights.name())));
  return loaded;
}

nn::Weights place_of(nn::Weights weights, DType dtype) {
  return dtype == DType::f32 ? weights : nn::Weights::own;
}

LoadedTransformer load_gguf(const std::string& path, DType dtype, nn::Weights weights) {
  const io::Gguf file = io::Gguf::open(path);
  DescribedTransformer described = describe_gguf(file);
  described.config.dtype = dtype;
  described.config.weights = place_of(weights, dtype);
  LoadedTransformer loaded = load(described.config, GgufWeights(file));
  check_gguf_unused(file, loaded.unused);
  std::move(described.notices.begin(), described.notices.end(), std::back_inserter(loaded.notices));
  return loaded;
}

}  // namespace

ParameterPlan plan_parameters(const WeightSource& weights, Transformer& model) {
  return plan_parameters(weights, model.parameters(), find_family(model.config().family).prefix);
}

ParameterPlan plan_parameters(const WeightSource& weights, const Parameters& parameters,
                              std::string_view prefix) {
  ParameterPlan plan;
  std::set<std::string_view> left;
  for (const StoredTensor& tensor : weights.tensors()) left.emplace(tensor.name);
  for (Parameter* parameter : parameters) {
    const auto stored = find_parameter(weights, prefix, parameter->name);
    if (!stored) {
      if (parameter->trained) refuse_missing(weights, parameter->name);
      plan.absent.push_back(parameter);
      continue;
    }
    if (!same_shape(*stored, parameter->shape())) {
      throw Error(
          ErrorKind::input, "model.shape",
          fmt::format("{}: weight \"{}\" is {}; {} makes it {}", escaped(weights.name()), stored->name,
                      shape_text(*stored), weights.config_name(), parameter->shape().text()));
    }
    const io::BlockType* type = io::find_block_type(stored->type);
    const bool int8 = is_int8_matrix(*stored);
    if (!int8 && (type == nullptr || !type->loads())) {
      throw Error(ErrorKind::input, "model.type",
                  fmt::format("{}: weight \"{}\" is {}, which is not supported for weights",
                              escaped(weights.name()), stored->name, stored->type));
    }
    plan.present.emplace_back(parameter, *stored);
    left.erase(stored->name);
    if (int8) {
      check_scales(weights, *stored);
      left.erase(scale_name(stored->name));
    }
  }
  plan.unused.assign(left.begin(), left.end());
  return plan;
}

std::vector<std::string> load_parameters(const WeightSource& weights, Transformer& model) {
  return load_parameters(weights, plan_parameters(weights, model));
}

std::vector<std::string> load_parameters(const WeightSource& weights, ParameterPlan plan) {
  for (const auto& [parameter, tensor] : plan.present) {
    if (!parameter->stored.empty()) give_matrix(weights, tensor, *parameter);
    else if (is_int8_matrix(tensor)) load_int8_matrix(weights, tensor, parameter->value);
    else weights.load(tensor.name, parameter->value);
  }
  for (Parameter* parameter : plan.absent) {  // fixed numbers: zero unless a file says otherwise
    const auto bytes =
        static_cast<std::size_t>(parameter->value.shape().elements()) * size_of(parameter->value.dtype());
    std::fill_n(parameter->value.as<std::byte>(), bytes, std::byte{0});
  }
  return std::move(plan.unused);
}

std::unique_ptr<Transformer> make_transformer(const TransformerConfig& config, const WeightSource& weights) {
  check_amount(config, weights);
  try {
    const UntouchedTensors untouched;  // every parameter is read from the files, or never
    return std::make_unique<Transformer>(config);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", escaped(weights.name()), error.what()));
  }
}

std::string read_config_text(const io::Folder& folder) { return folder.read(kConfig, kLargestConfig); }

DescribedTransformer describe_folder(const io::Folder& folder, const WeightSource& weights) {
  DescribedTransformer described;
  const std::string text = read_config_text(folder);
  described.config = read_config(io::Json::parse(text, folder.path_of(kConfig)));
  // A model whose rows are put in another order is not written back: its file would be another model's.
  if (!has_grouped_rows(described.config)) described.config.source = text;
  drop_missing_head(described.config, weights);
  return described;
}

LoadedTransformer load_transformer(const std::string& path, DType dtype, nn::Weights where) {
  if (is_gguf(path)) return load_gguf(path, dtype, where);
  const io::Folder folder(path);
  const SafetensorsWeights weights(folder);
  TransformerConfig config = describe_folder(folder, weights).config;
  config.dtype = dtype;
  config.weights = place_of(where, dtype);
  LoadedTransformer loaded = load(config, weights);
  loaded.notices.insert(loaded.notices.end(), weights.notices().begin(), weights.notices().end());
  return loaded;
}

}  // namespace headlight::models
