// Falcon's later models store queries, keys and values of each group of heads together: the group's queries, its
// key, its value. Headlight has all queries first, then keys, then values; this source returns the rows in that
// order. Such a matrix is copied, the others stay in the mapped file.
#pragma once

#include <map>

#include "models/transformer_config.h"
#include "models/weights.h"

namespace headlight::models {

class GroupedRows : public WeightSource {
 public:
  // For a model whose config has rows_in_groups; both must outlive this.
  GroupedRows(const WeightSource& from, const TransformerConfig& config);
  [[nodiscard]] const std::string& name() const override { return from_.name(); }
  [[nodiscard]] std::string_view config_name() const override { return from_.config_name(); }
  [[nodiscard]] std::vector<StoredTensor> tensors() const override { return from_.tensors(); }
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override {
    return from_.find(name);
  }
  [[nodiscard]] std::span<const std::byte> bytes(std::string_view name) const override;
  [[nodiscard]] std::shared_ptr<const void> owner(std::string_view name) const override;
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const override;
  void load(std::string_view name, TensorView to) const override;

 private:
  using Bytes = std::vector<std::byte>;
  [[nodiscard]] std::shared_ptr<const Bytes> ordered(std::string_view name) const;

  [[nodiscard]] bool is_grouped(std::string_view name) const;

  const WeightSource& from_;
  const nn::MultiHeadAttentionConfig& heads_;  // of all layers
  std::string module_;                         // the name of the matrix in files
  mutable std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> copies_;
};

}  // namespace headlight::models
