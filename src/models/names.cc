#include "models/names.h"

#include <algorithm>
#include <cctype>

#include "core/concat.h"

namespace headlight::models {
namespace {

// "decoder.12.attention.query" is the module "attention.query" of layer 12 of the decoder.
// "decoder.12.experts.3.gate" is "experts.gate" of its expert 3.
struct Path {
  std::string_view stack, layer, expert;
  std::string module;

  explicit Path(std::string_view name) : module(name) {
    if (!name.starts_with("encoder.") && !name.starts_with("decoder.")) return;
    stack = name.substr(0, 7);
    name.remove_prefix(8);
    layer = take_number(name);
    module = name;
    if (!name.starts_with(kExperts)) return;
    name.remove_prefix(kExperts.size());
    expert = take_number(name);
    if (!expert.empty()) module = concat(kExperts, name);
  }

 private:
  static constexpr std::string_view kExperts = "experts.";
  // "12.rest" becomes "rest".
  static std::string_view take_number(std::string_view& name) {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0 || digits == name.size() || name[digits] != '.') return {};
    const std::string_view number = name.substr(0, digits);
    name.remove_prefix(digits + 1);
    return number;
  }
};

const NameRow* find_row(const Names& names, const Path& path) {
  const std::string own = path.stack.empty() ? path.module : concat(path.stack, ".", path.module);
  for (const std::string_view ours : {std::string_view(own), std::string_view(path.module)})
    for (const std::span<const NameRow> rows : {names.rows, names.more})
      for (const NameRow& row : rows)
        if (row.ours == ours) return &row;
  return nullptr;
}

// The full name of a module; empty: it has no name.
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
    if (const std::size_t at = before.find("{n}"); at != std::string::npos) before.replace(at, 3, path.layer);
    name += before;
  }
  std::string theirs(row->theirs);
  if (const std::size_t at = theirs.find("{e}"); at != std::string::npos) theirs.replace(at, 3, path.expert);
  return name + theirs;
}

// The suffix of a tensor that has all experts of a layer.
std::string slice_of(const Names& names, std::string_view ours) {
  const Path path(ours);
  if (path.expert.empty()) return "";
  const NameRow* row = find_row(names, path);
  if (row == nullptr || row->theirs.find("{e}") != std::string_view::npos) return "";
  return concat("[", path.expert, "]");
}

}  // namespace

std::string file_name(const Names& names, std::string_view parameter) {
  if (std::string whole = module_name(names, parameter); !whole.empty())
    return whole + slice_of(names, parameter);
  const std::size_t dot = parameter.rfind('.');
  const std::string_view ours = parameter.substr(0, dot);
  const std::string module = module_name(names, ours);
  return module.empty() ? "" : concat(module, parameter.substr(dot), slice_of(names, ours));
}

std::optional<StoredTensor> find_parameter(const WeightSource& weights, const Names& names,
                                           std::string_view parameter) {
  const std::string name = file_name(names, parameter);
  if (auto found = weights.find(name)) return found;
  if (names.prefix.empty() || !name.starts_with(names.prefix)) return std::nullopt;
  return weights.find(std::string_view(name).substr(names.prefix.size()));
}

}  // namespace headlight::models
