#include "serve/matrices.h"

#include "inspect/head_matrices.h"
#include "io/json_writer.h"
#include "serve/payload.h"

namespace headlight::serve {
namespace {

void append(std::string& out, const inspect::MatrixRows& rows) {
  for (const inspect::Numbers& row : rows.weights)
    for (const double x : row) append_number(out, static_cast<float>(x));
  for (const double x : rows.bias) append_number(out, static_cast<float>(x));
}

void append(std::string& out, ConstTensorView x) {
  for (Index i = 0; i < x.dim(0); ++i)
    for (Index d = 0; d < x.dim(1); ++d) append_number(out, static_cast<float>(x.at(i, d)));
}

// Concatenated head outputs, [row, heads·value_dim]; for a single head the others are zeros.
Tensor joined(const Tensor& z, std::optional<Index> only) {
  const Index heads = z.dim(1), rows = z.dim(2), dim = z.dim(3);
  Tensor out({rows, heads * dim}, z.dtype());
  for (Index head = 0; head < heads; ++head)
    for (Index i = 0; i < rows && (!only || *only == head); ++i)
      for (Index d = 0; d < dim; ++d) out.view().set(i, head * dim + d, z.at(Index{0}, head, i, d));
  return out;
}

}  // namespace

std::size_t head_matrices_size(const Run& run, Part part, Index layer) {
  const StoredAttention& a = *run.state().find(part, layer);
  const Index width = inspect::attention_layer(run.state().loaded(), part, layer).config().width;
  return static_cast<std::size_t>(4 * width * (2 * a.dim() + a.value_dim() + 3 * a.queries() + a.keys()));
}

std::string head_matrices(Context& ctx, const Run& run, Part part, Index layer, Index head) {
  const StoredAttention& a = *run.state().find(part, layer);
  const nn::MultiHeadAttention& module = inspect::attention_layer(run.state().loaded(), part, layer);
  const nn::MultiHeadAttentionConfig& c = module.config();
  const inspect::HeadMatrices m = inspect::head_matrices(module, head);
  std::string out;
  io::JsonWriter w;
  w.begin_object().field("width", c.width).field("heads", c.heads).field("has_bias", c.qkv_bias);
  w.field("has_out_bias", c.out_bias).field("has_memory", !a.memory().empty());
  w.field("latent", c.latent.has_value()).end_object();
  append_json(out, w.take());
  append(out, m.out);
  const Tensor z = head_outputs(ctx, a);
  append(out, module.out.forward(ctx, joined(z, head)));
  append(out, module.out.forward(ctx, joined(z, std::nullopt)));
  if (!c.latent) {  // else no matrix leads from x to q and k: a latent vector lies between
    append(out, m.q);
    append(out, m.k);
  }
  append(out, a.x());
  if (!a.memory().empty()) append(out, a.memory());
  return out;
}

}  // namespace headlight::serve
