#include "models/adapter.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/families.h"
#include "models/numbers.h"

namespace headlight::models {
namespace {

constexpr std::string_view kWeight = ".weight";

// "decoder.3.attention.query.weight" → "attention.query"
std::string_view module_in_layer(std::string_view name) {
  name.remove_suffix(kWeight.size());
  name.remove_prefix(std::min(name.find('.') + 1, name.size()));
  name.remove_prefix(std::min(name.find('.') + 1, name.size()));
  return name;
}

// The name of a matrix's module in the files of a folder: "transformer.h.3.attn.c_attn".
std::string file_module(const TransformerConfig& config, const nn::Linear& linear) {
  std::string name = file_name(names_of(config), linear.weight.name);
  if (name.size() <= kWeight.size() || !name.ends_with(kWeight))
    throw Error(ErrorKind::usage, "adapter.name",
                concat(config.family, ": files of this family have no module for ", linear.weight.name));
  name.resize(name.size() - kWeight.size());
  return name;
}

// The same without the prefix of a layer's modules: "attn.c_attn".
std::string_view behind_layer(std::string_view module) {
  for (std::size_t at = 0; (at = module.find_first_of("0123456789", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(module.find_first_not_of("0123456789", at), module.size());
    if (at > 0 && module[at - 1] == '.' && end < module.size() && module[end] == '.')
      return module.substr(end + 1);
    at = end;
  }
  return module;
}

bool is_target(std::string_view target, std::string_view ours, std::string_view theirs) {
  const auto begins = [&](std::string_view part) {
    return ours == part || (ours.starts_with(part) && ours.size() > part.size() && ours[part.size()] == '.');
  };
  if (begins(target) || (target == "attention" && begins("cross"))) return true;
  return AdapterFile::same_module(target, theirs) && theirs.size() >= target.size();
}

// Some files store rows in another order than the model, so the rows of an adapter would not match.
void check_rows(const TransformerConfig& config) {
  if (!config.rows_in_groups) return;
  throw Error(
      ErrorKind::usage, "adapter.rows",
      concat(
          config.family,
          ": adapters are not supported for models that store queries, keys and values in groups of heads"));
}

}  // namespace

std::vector<nn::Linear*> adaptable(Transformer& model) {
  std::vector<nn::Linear*> list;
  const auto add = [&](nn::Linear& linear) {
    if (!linear.empty()) list.push_back(&linear);
  };
  const auto add_attention = [&](nn::MultiHeadAttention& a) {
    for (nn::Linear* linear : {&a.query, &a.key, &a.value, &a.packed, &a.out}) add(*linear);
  };
  for (const Part part : {Part::encoder, Part::decoder}) {
    for (nn::Block& block : model.stack(part).blocks) {
      add_attention(block.attention);
      add_attention(block.cross);
      for (nn::Linear* linear : {&block.feed_forward.gate, &block.feed_forward.up, &block.feed_forward.down})
        add(*linear);
    }
  }
  return list;
}

void load_adapter(const AdapterFile& file, Transformer& model) {
  check_rows(model.config());
  const std::vector<nn::Linear*> matrices = adaptable(model);
  for (const AdapterFile::Module& module : file.modules()) {
    const auto found = std::find_if(matrices.begin(), matrices.end(), [&](const nn::Linear* linear) {
      return AdapterFile::same_module(module.name, file_module(model.config(), *linear));
    });
    if (found == matrices.end())
      throw Error(
          ErrorKind::input, "adapter.module",
          concat(escaped(file.folder()), ": the adapter is for a module \"", escaped(module.name, 100),
                 "\", which is not an attention or feed-forward module of this model\n"
                 "The adapter was trained for \"",
                 escaped(file.base(), 100), "\"."));
    nn::Linear& linear = **found;
    if (linear.config().in != module.in() || linear.config().out != module.out())
      throw Error(ErrorKind::input, "adapter.shape",
                  concat(escaped(file.folder()), ": \"", escaped(module.name, 100), "\" goes from ",
                         module.in(), " to ", module.out(), "; that of this model from ", linear.config().in,
                         " to ", linear.config().out,
                         "\n"
                         "The adapter was trained for \"",
                         escaped(file.base(), 100), "\"."));
    linear.adapt(module.rank(), file.scale(module));
    linear.adapter.a.value = file.load(*module.a, model.config().dtype);
    linear.adapter.b.value = file.load(*module.b, model.config().dtype);
  }
}

void merge_adapters(Context& ctx, Transformer& model) {
  for (nn::Linear* linear : adaptable(model)) linear->merge_adapter(ctx);
}

AdaptedTransformer::AdaptedTransformer(std::unique_ptr<Transformer> model, const AdapterConfig& config,
                                       std::uint64_t seed)
    : model_(std::move(model)), config_(config) {
  check_rows(model_->config());
  for (Parameter* parameter : model_->parameters()) parameter->trained = false;
  std::set<std::string> unused(config.targets.begin(), config.targets.end()), known;
  for (nn::Linear* linear : adaptable(*model_)) {
    const std::string theirs = file_module(model_->config(), *linear);
    const std::string_view ours = module_in_layer(linear->weight.name);
    known.emplace(ours);
    bool wanted = false;
    for (const std::string& target : config.targets) {
      if (!is_target(target, ours, theirs)) continue;
      unused.erase(target);
      wanted = true;
    }
    if (!wanted) continue;
    linear->adapt(config.rank, config.alpha / static_cast<double>(config.rank));
    adapted_.push_back(linear);
  }
  if (adapted_.empty() || !unused.empty()) {
    std::string names;
    for (const std::string& name : known) names += concat(names.empty() ? "" : ", ", name);
    throw Error(ErrorKind::usage, "adapter.targets",
                concat("lora.targets: ",
                       unused.empty()
                           ? "names nothing"
                           : concat("\"", escaped(*unused.begin(), 60), "\" is not a module of this model"),
                       "\n  It has ", names,
                       "; \"attention\" and \"feed_forward\" mean all modules of these layers."));
  }
  initialize(seed);
}

Parameters AdaptedTransformer::parameters() {
  Parameters list;
  for (nn::Linear* linear : adapted_) list.insert(list.end(), {&linear->adapter.a, &linear->adapter.b});
  return list;
}

// PEFT's initialisation: A like a linear layer, B zero, so that the model starts unchanged.
void AdaptedTransformer::initialize(std::uint64_t seed) {
  for (std::size_t i = 0; i < adapted_.size(); ++i) {
    nn::LowRank& adapter = adapted_[i]->adapter;
    const double limit = 1 / std::sqrt(static_cast<double>(adapted_[i]->config().in));
    InitialNumbers(seed, i).fill(adapter.a.value, InitialNumbers::Shape::uniform, limit);
    adapter.b.value = Tensor(adapter.b.value.shape(), adapter.b.value.dtype());
  }
}

std::string AdaptedTransformer::config_json() const {
  std::set<std::string> modules;
  for (const nn::Linear* linear : adapted_)
    modules.emplace(behind_layer(file_module(model_->config(), *linear)));
  const ModelKind kind = model_->config().kind;
  const std::string_view task = kind == ModelKind::decoder           ? "CAUSAL_LM"
                                : kind == ModelKind::encoder_decoder ? "SEQ_2_SEQ_LM"
                                                                     : "FEATURE_EXTRACTION";
  return adapter_json(config_, {modules.begin(), modules.end()},
                      adapted_.front()->config().layout == nn::WeightLayout::in_out, task);
}

std::string AdaptedTransformer::file_name(const Parameter& parameter) const {
  for (const nn::Linear* linear : adapted_) {
    const bool a = &parameter == &linear->adapter.a;
    if (!a && &parameter != &linear->adapter.b) continue;
    return concat(kAdapterPrefix, file_module(model_->config(), *linear),
                  a ? ".lora_A.weight" : ".lora_B.weight");
  }
  throw Error(ErrorKind::usage, "adapter.name", concat(parameter.name, ": is not part of the adapter"));
}

}  // namespace headlight::models
