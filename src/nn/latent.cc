// Latent attention: queries, keys and values through a low-rank projection.
//
//   queries  query(norm(query_down(x))), or query(x)
//   down(x)  = [c | r]: c makes keys and values, r is the end of every head's key and the part that is rotated
//   up(norm(c)) = [key without its end | value] of each head
#include "nn/attention.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

// Offsets of the parts of a row of `up`, and of a token's keys and values.
struct LatentShape {
  Index heads, head_dim, still, turned, value;

  explicit LatentShape(const MultiHeadAttentionConfig& c)
      : heads(c.heads),
        head_dim(c.head_dim),
        still(c.head_dim - c.latent->turned_dim),
        turned(c.latent->turned_dim),
        value(c.latent->value_dim) {}
  [[nodiscard]] Index up_width() const { return heads * (still + value); }
};

// Keys and values of one token, [k | v], from the output of `up` and the part that all heads share.
template <class T>
void assemble(const LatentShape& l, const T* made, const T* shared, T* k, T* v) {
  for (Index h = 0; h < l.heads; ++h) {
    const T* from = made + h * (l.still + l.value);
    std::copy_n(from, l.still, k + h * l.head_dim);
    std::copy_n(shared, l.turned, k + h * l.head_dim + l.still);
    std::copy_n(from + l.still, l.value, v + h * l.value);
  }
}

// Its backward pass. `dshared` is the sum over the heads.
template <class T>
void take_apart(const LatentShape& l, const T* dk, const T* dv, T* dmade, T* dshared) {
  std::fill_n(dshared, l.turned, T{0});
  for (Index h = 0; h < l.heads; ++h) {
    T* to = dmade + h * (l.still + l.value);
    std::copy_n(dk + h * l.head_dim, l.still, to);
    std::copy_n(dv + h * l.value, l.value, to + l.still);
    for (Index d = 0; d < l.turned; ++d) dshared[d] += dk[h * l.head_dim + l.still + d];
  }
}

}  // namespace

void MultiHeadAttention::make_latent(const std::string& name, DType dtype) {
  const MultiHeadAttentionConfig& c = config_;
  const LatentShape l(c);
  const LatentConfig& latent = *c.latent;
  const bool narrow = latent.query_rank > 0;
  NormConfig norm = latent.norm;
  if (narrow) {
    query_down =
        Linear(name + ".query_down", {c.width, latent.query_rank, c.qkv_bias, c.layout, c.weights}, dtype);
    norm.width = latent.query_rank;
    query_down_norm = Norm(name + ".query_down_norm", norm, dtype);
  }
  query =
      Linear(name + (narrow ? ".query_up" : ".query"),
             {narrow ? latent.query_rank : c.width, c.heads * c.head_dim, false, c.layout, c.weights}, dtype);
  down = Linear(name + ".down", {c.width, latent.rank + l.turned, c.qkv_bias, c.layout, c.weights}, dtype);
  norm.width = latent.rank;
  latent_norm = Norm(name + ".latent_norm", norm, dtype);
  up = Linear(name + ".up", {latent.rank, l.up_width(), false, c.layout, c.weights}, dtype);
}

void MultiHeadAttention::project_latent(Context& ctx, ConstTensorView x, Saved& s) const {
  const LatentShape l(config_);
  const Index tokens = x.dim(0), rank = config_.latent->rank, q_width = l.heads * l.head_dim;
  const TensorView queries = columns_of(s.projected.view(), 0, q_width);
  if (query_down.empty()) {
    query.forward(ctx, x, queries);
  } else {
    s.query_down = query_down.forward(ctx, x);
    s.query_down_normed = query_down_norm.forward(ctx, s.query_down, &s.query_down_norm);
    query.forward(ctx, s.query_down_normed, queries);
  }
  s.down = down.forward(ctx, x);
  s.latent = latent_norm.forward(ctx, columns_of(s.down.view(), 0, rank), &s.latent_norm);
  const Tensor made = up.forward(ctx, s.latent);
  with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_row(ctx, tokens, 2 * q_width, [&](Index t) {
      T* k = s.projected.as<T>() + t * s.projected.dim(1) + q_width;
      assemble<T>(l, made.as<T>() + t * l.up_width(), s.down.as<T>() + t * s.down.dim(1) + rank, k,
                  k + q_width);
    });
  });
}

Tensor MultiHeadAttention::backward_latent(Context& ctx, ConstTensorView x, const Saved& s, Tensor& d) {
  const LatentShape l(config_);
  const Index tokens = x.dim(0), rank = config_.latent->rank, q_width = l.heads * l.head_dim;
  Tensor dmade = Tensor::uninitialized({tokens, l.up_width()}, d.dtype());
  Tensor ddown = Tensor::uninitialized(s.down.shape(), d.dtype());
  with_type(d.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_row(ctx, tokens, 2 * q_width, [&](Index t) {
      const T* dk = d.as<T>() + t * d.dim(1) + q_width;
      take_apart<T>(l, dk, dk + q_width, dmade.as<T>() + t * l.up_width(),
                    ddown.as<T>() + t * ddown.dim(1) + rank);
    });
  });
  const Tensor dlatent = up.backward(ctx, s.latent, dmade);
  latent_norm.backward(ctx, columns_of(s.down.view(), 0, rank), s.latent_norm, dlatent,
                       columns_of(ddown.view(), 0, rank));
  Tensor dx = down.backward(ctx, x, ddown);
  const ConstTensorView dq = columns_of(ConstTensorView(d.view()), 0, q_width);
  if (query_down.empty()) {
    add_to(ctx, query.backward(ctx, x, dq), dx);
    return dx;
  }
  const Tensor dnormed = query.backward(ctx, s.query_down_normed, dq);
  const Tensor dnarrow = query_down_norm.backward(ctx, s.query_down, s.query_down_norm, dnormed);
  add_to(ctx, query_down.backward(ctx, x, dnarrow), dx);
  return dx;
}

}  // namespace headlight::nn
