#include "models/names.h"

#include <algorithm>
#include <cctype>

#include "core/concat.h"

namespace headlight::models {
namespace {

// "decoder.12.attention.query" is the module "attention.query" of layer 12 of the decoder.
struct Path {
  std::string_view stack, layer, module;

  explicit Path(std::string_view name) : module(name) {
    if (!name.starts_with("encoder.") && !name.starts_with("decoder.")) return;
    stack = name.substr(0, 7);
    module.remove_prefix(8);
    const std::size_t digits = std::min(module.find_first_not_of("0123456789"), module.size());
    if (digits == 0 || digits == module.size()) return;
    layer = module.substr(0, digits);
    module.remove_prefix(digits + 1);
  }
};

const NameRow* find_row(const Names& names, const Path& path) {
  const std::string own =
      path.stack.empty() ? std::string(path.module) : concat(path.stack, ".", path.module);
  for (const std::string_view ours : {std::string_view(own), path.module})
    for (const std::span<const NameRow> rows : {names.rows, names.more})
      for (const NameRow& row : rows)
        if (row.ours == ours) return &row;
  return nullptr;
}

// The whole name of a module; empty: it has none.
std::string module_name(const Names& names, std::string_view ours) {
  const Path path(ours);
  const NameRow* row = find_row(names, path);
  if (row == nullptr) return "";
  if (path.module.starts_with("head.") || row->theirs.empty()) return std::string(row->theirs);
  std::string name(names.prefix);
  if (path.stack == "encoder") name += names.encoder;
  if (path.stack == "decoder") name += names.decoder;
  if (!path.layer.empty()) {
    std::string before(names.layer);
    before.replace(before.find("{n}"), 3, path.layer);
    name += before;
  }
  return name + std::string(row->theirs);
}

}  // namespace

std::string file_name(const Names& names, std::string_view parameter) {
  if (std::string whole = module_name(names, parameter); !whole.empty()) return whole;
  const std::size_t dot = parameter.rfind('.');
  const std::string module = module_name(names, parameter.substr(0, dot));
  return module.empty() ? "" : module + std::string(parameter.substr(dot));
}

std::optional<StoredTensor> find_parameter(const WeightSource& weights, const Names& names,
                                           std::string_view parameter) {
  const std::string name = file_name(names, parameter);
  if (auto found = weights.find(name)) return found;
  if (names.prefix.empty() || !name.starts_with(names.prefix)) return std::nullopt;
  return weights.find(std::string_view(name).substr(names.prefix.size()));
}

}  // namespace headlight::models
