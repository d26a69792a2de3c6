// Names of parameters in files. In a model a parameter's name is its path: "decoder.3.attention.query.weight". The files
// of each family use their own names, which are mapped here for reading and writing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/trainable.h"
#include "models/weights.h"

namespace headlight::models {

// A module's name in the model and in files, without ".weight" and ".bias". A module of a layer ("attention.query") has
// the same name in every layer of both stacks, a module of a stack ("final_norm") in both; "encoder.attention_norm"
// belongs to one stack only. A module of an expert ("experts.gate") has the expert's number at {e}; without {e}, files
// have all experts of a layer in one tensor, and the slice of one expert is called NAME[3]: see expert_slices.h.
struct NameRow {
  std::string_view ours, theirs;
};

struct Names {
  std::span<const NameRow> rows = {};
  std::span<const NameRow> more = {};  // used for names missing in `rows`: shared by several families
  std::string_view layer = {};  // prefix of a layer's modules; {n} is its number, unless all layers share one
  std::string_view encoder = {}, decoder = {};  // prefix of all modules of a stack
  std::string_view prefix = {};  // of all names except the prediction head's; files of the bare model omit it
};

// Empty: files of this family cannot store it.
[[nodiscard]] std::string file_name(const Names& names, std::string_view parameter);

// The parameter's name in the files, or its name in the bare model's files; none if it is in neither.
[[nodiscard]] std::optional<StoredTensor> find_parameter(const WeightSource& weights, const Names& names,
                                                         std::string_view parameter);

}  // namespace headlight::models
