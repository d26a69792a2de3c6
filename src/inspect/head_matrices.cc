#include "inspect/head_matrices.h"

namespace headlight::inspect {
namespace {

// A part of a layer's weight matrix: some rows and columns, and the biases of the rows.
MatrixRows rows_of(const nn::Linear& linear, Range rows, Range columns) {
  const bool transposed = linear.config().layout == nn::WeightLayout::in_out;
  MatrixRows out;
  for (Index r = rows.begin; r < rows.end; ++r) {
    Numbers row;
    for (Index c = columns.begin; c < columns.end; ++c)
      row.push_back(transposed ? linear.weight.at(c, r) : linear.weight.at(r, c));
    out.weights.push_back(std::move(row));
    out.bias.push_back(linear.config().bias ? linear.bias.value.at(r) : 0);
  }
  return out;
}

// The matrix rows that compute a head's queries, keys or values: in a separate matrix, or in one for all three.
enum class Kind : std::uint8_t { query, key, value };
MatrixRows projection(const nn::MultiHeadAttention& a, const nn::Linear& own, Kind kind, Index head) {
  const nn::MultiHeadAttentionConfig& c = a.config();
  const auto which = static_cast<Index>(kind);
  Index first = 0;
  switch (c.projections) {
    case nn::Projections::separate: first = head; break;
    case nn::Projections::by_head: first = 3 * head + which; break;
    case nn::Projections::packed:
      first = head + (kind == Kind::query ? 0 : kind == Kind::key ? c.heads : c.heads + c.kv_heads);
      break;
  }
  const nn::Linear& linear = c.projections == nn::Projections::separate ? own : a.packed;
  return rows_of(linear, {first * c.head_dim, (first + 1) * c.head_dim}, {0, linear.config().in});
}

}  // namespace

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

Numbers MatrixRows::apply(const Numbers& x) const {
  Numbers y(weights.size());
  for (std::size_t r = 0; r < y.size(); ++r) y[r] = dot(weights[r], x) + bias[r];
  return y;
}

const nn::MultiHeadAttention& attention_layer(const LoadedModel& loaded, Part part, Index layer) {
  const nn::Block& block = loaded.model->stack(part).block(static_cast<std::size_t>(layer));
  return part == Part::cross ? block.cross : block.attention;
}

MatrixRows all_rows(const nn::Linear& linear) {
  return rows_of(linear, {0, linear.config().out}, {0, linear.config().in});
}

HeadMatrices head_matrices(const nn::MultiHeadAttention& a, Index head) {
  const nn::MultiHeadAttentionConfig& c = a.config();
  HeadMatrices m;
  if (c.latent) {
    const Index still = c.head_dim - c.latent->turned_dim, value = c.value_dim(),
                first = head * (still + value);
    m.kv_head = head;
    m.q = rows_of(a.query, {head * c.head_dim, (head + 1) * c.head_dim}, {0, a.query.config().in});
    m.k = rows_of(a.up, {first, first + still}, {0, c.latent->rank});
    m.v = rows_of(a.up, {first + still, first + still + value}, {0, c.latent->rank});
    m.out = rows_of(a.out, {0, c.width}, {head * value, (head + 1) * value});
    return m;
  }
  m.kv_head = head / (c.heads / c.kv_heads);
  m.q = projection(a, a.query, Kind::query, head);
  m.k = projection(a, a.key, Kind::key, m.kv_head);
  m.v = projection(a, a.value, Kind::value, m.kv_head);
  m.out = rows_of(a.out, {0, c.width}, {head * c.head_dim, (head + 1) * c.head_dim});
  return m;
}

}  // namespace headlight::inspect
