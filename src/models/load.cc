#include "models/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/escape.h"
#include "core/nearest.h"
#include "core/tensor_memory.h"
#include "headlight/error.h"
#include "models/adapter.h"
#include "models/families.h"
#include "models/grouped_rows.h"
#include "models/int8_rows.h"
#include "models/stored_weights.h"

namespace headlight::models {
namespace {

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
              fmt::format("{}: parameter \"{}\" not found among {} tensors{}", escaped(weights.name()), name,
                          known.size(),
                          near.empty() ? "" : fmt::format("; the closest is \"{}\"", escaped(near, 80))));
}

// A config may claim any size; memory is allocated only for parameters that the files contain.
void check_amount(double wanted, const WeightSource& weights) {
  const double there = weights.elements();
  if (wanted <= there) return;
  throw Error(ErrorKind::input, "model.size",
              fmt::format("{}: {} describes a model of {:.0f} parameters; its files have {:.0f}",
                          escaped(weights.name()), weights.config_name(), wanted, there));
}

// Files must pass the same checks as callers.
template <class Make>
auto as_input(const WeightSource& weights, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", escaped(weights.name()), error.what()));
  }
}

}  // namespace

ParameterPlan plan_parameters(const WeightSource& weights, const Parameters& parameters, const Names* names) {
  ParameterPlan plan;
  std::set<std::string_view> left;
  for (const StoredTensor& tensor : weights.tensors()) left.emplace(tensor.name);
  for (Parameter* parameter : parameters) {
    const std::string name = names != nullptr ? file_name(*names, parameter->name) : parameter->name;
    const auto stored =
        names != nullptr ? find_parameter(weights, *names, parameter->name) : weights.find(name);
    if (!stored) {
      // Fixed numbers may be missing from files and are then zero, except fixed positions.
      if (parameter->trained || parameter->name.ends_with(".positions.weight"))
        refuse_missing(weights, name.empty() ? parameter->name : name);
      plan.absent.push_back(parameter);
      continue;
    }
    if (!same_shape(*stored, parameter->shape())) {
      throw Error(
          ErrorKind::input, "model.shape",
          fmt::format("{}: parameter \"{}\" is {}; {} requires {}", escaped(weights.name()), stored->name,
                      shape_text(*stored), weights.config_name(), parameter->shape().text()));
    }
    const io::BlockType* type = io::find_block_type(stored->type);
    const bool int8 = is_int8_matrix(*stored);
    if (!int8 && (type == nullptr || !type->loads())) {
      throw Error(ErrorKind::input, "model.type",
                  fmt::format("{}: parameter \"{}\" is {}, which is not supported for parameters",
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

std::vector<std::string> load_parameters(const WeightSource& weights, ParameterPlan plan) {
  for (const auto& [parameter, tensor] : plan.present) {
    if (!parameter->stored.empty()) give_matrix(weights, tensor, *parameter);
    else if (is_int8_matrix(tensor)) load_int8_matrix(weights, tensor, parameter->value);
    else weights.load(tensor.name, parameter->value);
  }
  for (Parameter* parameter : plan.absent) {  // fixed numbers: zero unless a file has them
    const auto bytes =
        static_cast<std::size_t>(parameter->value.shape().elements()) * size_of(parameter->value.dtype());
    std::fill_n(parameter->value.as<std::byte>(), bytes, std::byte{0});
  }
  return std::move(plan.unused);
}

std::unique_ptr<Transformer> make_transformer(const TransformerConfig& config, const WeightSource& weights) {
  check_amount(least_parameters(config), weights);
  return as_input(weights, [&] {
    const UntouchedTensors untouched;  // all parameters are read from the files
    return std::make_unique<Transformer>(config);
  });
}

std::unique_ptr<RecurrentModel> make_recurrent(const RecurrentModelConfig& c, const WeightSource& weights) {
  const auto width = static_cast<double>(c.width);
  check_amount(static_cast<double>(c.vocabulary) * width + static_cast<double>(c.layers) * 6 * width * width,
               weights);
  return as_input(weights, [&] { return std::make_unique<RecurrentModel>(c); });
}

LoadedTransformer load_transformer(const ModelFiles& files, const TransformerConfig& described,
                                   const LoadOptions& options) {
  TransformerConfig config = described;
  config.dtype = options.dtype;
  config.weights = options.dtype == DType::f32 ? options.weights : nn::Weights::own;
  const WeightSource& weights = files.weights();
  LoadedTransformer loaded;
  loaded.model = make_transformer(config, weights);
  Transformer& model = *loaded.model;
  ParameterPlan plan = plan_parameters(weights, model.parameters(), &files.names(config));
  loaded.unused = config.rows_in_groups
                      ? load_parameters(GroupedRows(weights, model.config()), std::move(plan))
                      : load_parameters(weights, std::move(plan));
  files.check_unused(config, loaded.unused);
  if (!options.adapter.empty()) {
    if (files.gguf() != nullptr)
      throw Error(
          ErrorKind::input, "adapter.model",
          fmt::format("{}: adapters need a model folder; the rows of a GGUF file may be in another order",
                      escaped(files.path())));
    load_adapter(AdapterFile(options.adapter), model);
  }
  loaded.notices = files.notices();
  if (config.head.absent)
    loaded.notices.push_back(fmt::format(
        "{}: was stored without its prediction head; it has attention weights but no logits. For logits, "
        "use a file with the head",
        escaped(weights.name())));
  return loaded;
}

LoadedTransformer load_transformer(const std::string& path, DType dtype, nn::Weights weights) {
  const ModelFiles files(path);
  DescribedTransformer described = files.describe();
  LoadedTransformer loaded = load_transformer(files, described.config, {dtype, weights, {}});
  std::move(described.notices.begin(), described.notices.end(), std::back_inserter(loaded.notices));
  return loaded;
}

namespace {

// A model with an unsupported tokenizer opens without it, with a notice: token ids still work.
FoundTokenizer tokenizer_or_notice(const ModelFiles& files, std::vector<std::string>& notices) {
  try {
    return files.find_tokenizer();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    notices.push_back(fmt::format("{}\nThe tokenizer cannot be used, so texts cannot be read; token ids can.",
                                  error.what()));
    FoundTokenizer none;
    none.why_not = error.what();
    return none;
  }
}

}  // namespace

OpenedModel open_model(const std::string& path, const LoadOptions& options) {
  const ModelFiles files(path);
  OpenedModel opened;
  std::vector<std::string> about_tokenizer;
  FoundTokenizer found = tokenizer_or_notice(files, about_tokenizer);
  opened.tokenizer = std::move(found.tokenizer);
  opened.no_tokenizer = std::move(found.why_not);
  Index rows = 0;
  if (files.is_recurrent()) {
    if (!options.adapter.empty())
      throw Error(ErrorKind::input, "adapter.model",
                  fmt::format("{}: is a recurrent model; adapters are for transformers", escaped(path)));
    opened.recurrent = make_recurrent(files.describe_recurrent(), files.weights());
    (void)load_parameters(files.weights(), plan_parameters(files.weights(), opened.recurrent->parameters()));
    opened.notices = files.notices();
    rows = opened.recurrent->config().vocabulary;
  } else {
    DescribedTransformer described = files.describe();
    if (described.config.kind != ModelKind::encoder)
      for (const TokenId end : found.ends) add_end(described.config, end);
    LoadedTransformer loaded = load_transformer(files, described.config, options);
    opened.transformer = std::move(loaded.model);
    opened.notices = std::move(loaded.notices);
    std::move(described.notices.begin(), described.notices.end(), std::back_inserter(opened.notices));
    rows = opened.transformer->config().vocabulary;
  }
  if (opened.tokenizer) check_vocabulary(*opened.tokenizer, rows, path);
  opened.notices.insert(opened.notices.begin(), about_tokenizer.begin(), about_tokenizer.end());
  return opened;
}

}  // namespace headlight::models
