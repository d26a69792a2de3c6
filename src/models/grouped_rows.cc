#include "models/grouped_rows.h"

#include <algorithm>
#include <cstring>

#include "models/families.h"

namespace headlight::models {
namespace {

// The position in the file of row `row` of all queries, keys and values.
std::size_t row_in_file(std::size_t row, const nn::MultiHeadAttentionConfig& c) {
  const auto of = [](Index n) { return static_cast<std::size_t>(n); };
  const std::size_t dim = of(c.head_dim), each = of(c.heads / c.kv_heads), group = each + 2;
  const std::size_t head = row / dim, heads = of(c.heads), kv_heads = of(c.kv_heads);
  if (head < heads) return (head / each * group + head % each) * dim + row % dim;
  const std::size_t value = (head - heads) / kv_heads;  // 0: a key
  return ((head - heads) % kv_heads * group + each + value) * dim + row % dim;
}

// `file` has as many rows as `ordered`, each of `bytes`.
void order_rows(const std::byte* file, std::byte* ordered, std::size_t rows, std::size_t bytes,
                const nn::MultiHeadAttentionConfig& c) {
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(ordered + row * bytes, file + row_in_file(row, c) * bytes, bytes);
}

std::size_t rows_of(const nn::MultiHeadAttentionConfig& c) {
  return static_cast<std::size_t>((c.heads + 2 * c.kv_heads) * c.head_dim);
}

}  // namespace

GroupedRows::GroupedRows(const WeightSource& from, const TransformerConfig& config)
    : from_(from), heads_(config.decoder.front().attention) {
  const std::string first = file_name(names_of(config), "decoder.0.attention.qkv");
  module_ = first.substr(first.find(".0.") + 2) + ".";
}

// The matrix, its bias and, stored in int8, its factors.
bool GroupedRows::is_grouped(std::string_view name) const {
  return name.find(module_) != std::string_view::npos;
}

std::shared_ptr<const GroupedRows::Bytes> GroupedRows::ordered(std::string_view name) const {
  if (const auto found = copies_.find(name); found != copies_.end()) return found->second;
  const std::span<const std::byte> file = from_.bytes(name);
  auto copy = std::make_shared<Bytes>(file.size());
  order_rows(file.data(), copy->data(), rows_of(heads_), file.size() / rows_of(heads_), heads_);
  return copies_.emplace(name, std::move(copy)).first->second;
}

std::span<const std::byte> GroupedRows::bytes(std::string_view name) const {
  if (!is_grouped(name)) return from_.bytes(name);
  return *ordered(name);
}

std::shared_ptr<const void> GroupedRows::owner(std::string_view name) const {
  if (!is_grouped(name)) return from_.owner(name);
  return ordered(name);
}

void GroupedRows::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  if (!is_grouped(name)) return from_.read(name, offset, to);
  const std::span<const std::byte> all = *ordered(name);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
}

void GroupedRows::load(std::string_view name, TensorView to) const {
  if (!is_grouped(name)) return from_.load(name, to);
  Tensor file = Tensor::uninitialized(to.shape(), to.dtype());
  from_.load(name, file);
  const std::size_t bytes = static_cast<std::size_t>(to.shape().elements()) * size_of(to.dtype());
  order_rows(file.as<std::byte>(), to.as<std::byte>(), rows_of(heads_), bytes / rows_of(heads_), heads_);
}

}  // namespace headlight::models
