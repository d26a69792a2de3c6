// Merges adapters into the matrices of files.
#pragma once

#include <map>
#include <span>
#include <string>

#include "models/adapter_file.h"
#include "models/weights.h"

namespace headlight::models {

class AdapterMerge {
 public:
  // Throws Error{input} that names the module which the files lack or have in another size.
  AdapterMerge(const std::string& folder, const WeightSource& weights);

  [[nodiscard]] std::int64_t matrices() const { return static_cast<std::int64_t>(modules_.size()); }
  // Adds the adapter's product to a tensor, if the tensor has an adapter.
  void add_to(std::string_view name, std::span<float> matrix) const;

 private:
  AdapterFile file_;
  std::map<std::string, const AdapterFile::Module*, std::less<>> modules_;  // by the name of the matrix
};

}  // namespace headlight::models
