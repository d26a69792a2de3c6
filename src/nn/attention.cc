#include "nn/attention.h"

#include "headlight/nn.h"
#include "nn/drive.h"
#include "nn/team_attention.h"

namespace headlight::nn {
namespace {

void check_config(const std::string& name, const MultiHeadAttentionConfig& c) {
  const auto refuse = [&](const std::string& found) {
    throw Error(ErrorKind::usage, "nn.config", concat(name, ": ", found));
  };
  if (c.width < 1 || c.heads < 1 || c.kv_heads < 1 || c.head_dim < 1)
    refuse(concat("width ", c.width, ", ", c.heads, " heads of ", c.head_dim, " and ", c.kv_heads,
                  " key/value heads; need 1 or more of each"));
  if (c.heads % c.kv_heads != 0)
    refuse(concat(c.heads, " query heads cannot share ", c.kv_heads, " key/value heads (", c.heads,
                  " is not a multiple of ", c.kv_heads, ")"));
  if (c.cross && c.projections != Projections::separate)
    refuse("cross-attention has separate projections: its keys come from another sequence");
  if (c.cross && c.rope)
    refuse("cross-attention cannot have rotary positions: queries and keys belong to different sequences");
  if (c.projections == Projections::by_head && c.kv_heads != c.heads)
    refuse("projections stored by head need as many key/value heads as heads");
  if (c.head_norm && c.head_norm_place == HeadNormPlace::all && c.projections == Projections::by_head)
    refuse("a norm over all heads needs contiguous heads: choose another layout than Projections::by_head");
  if (c.latent && (c.cross || c.projections != Projections::separate || c.kv_heads != c.heads || c.head_norm))
    refuse(
        "latent attention needs self-attention, as many key heads as query heads, and no norms of queries "
        "and keys");
  if (c.latent && (c.latent->rank < 1 || c.latent->turned_dim < 1 || c.latent->value_dim < 1 ||
                   c.latent->query_rank < 0 || c.latent->turned_dim >= c.head_dim))
    refuse(concat("latent attention of rank ", c.latent->rank, " with ", c.latent->turned_dim, " of ",
                  c.head_dim, " dimensions rotated and values of ", c.latent->value_dim,
                  "; need 1 or more of each, and fewer rotated dimensions than the head has"));
  if (c.disentangled &&
      (c.cross || c.kv_heads != c.heads || c.head_norm || c.rope || c.disentangled->buckets < 2 ||
       c.disentangled->max_distance <= c.disentangled->buckets / 2))
    refuse(
        "disentangled attention needs self-attention with a key head per query head, 2 buckets or more, a "
        "maximum "
        "distance above half of them, no norms of queries and keys, and no rotary positions");
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const std::string& name, const MultiHeadAttentionConfig& config,
                                       DType dtype)
    : config_(config) {
  if (config_.kv_heads == 0) config_.kv_heads = config_.heads;
  if (config_.head_dim == 0 && config_.heads > 0) {
    if (config_.width % config_.heads != 0) {
      throw Error(ErrorKind::usage, "nn.config",
                  concat(name, ": a width of ", config_.width, " cannot be shared by ", config_.heads,
                         " heads; give head_dim, or a multiple of ", config_.heads));
    }
    config_.head_dim = config_.width / config_.heads;
  }
  check_config(name, config_);
  const MultiHeadAttentionConfig& c = config_;
  const Index q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  if (c.latent) {
    make_latent(name, dtype);
  } else if (c.projections == Projections::separate) {
    query = Linear(name + ".query", {c.width, q_width, c.qkv_bias, c.layout, c.weights}, dtype);
    key = Linear(name + ".key", {c.width, kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
    value = Linear(name + ".value", {c.width, kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
  } else {
    packed = Linear(name + ".qkv", {c.width, q_width + 2 * kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
  }
  out = Linear(name + ".out", {c.heads * c.value_dim(), c.width, c.out_bias, c.layout, c.weights}, dtype);
  if (c.head_norm) {
    const bool all = c.head_norm_place == HeadNormPlace::all;
    NormConfig norm = *c.head_norm;
    norm.width = all ? q_width : c.head_dim;
    query_norm = Norm(name + ".query_norm", norm, dtype);
    norm.width = all ? kv_width : c.head_dim;
    key_norm = Norm(name + ".key_norm", norm, dtype);
  }
  if (c.alibi) slopes_ = alibi_slopes(c.heads, dtype);
  if (c.sinks) sinks = {name + ".sinks", Tensor({c.heads}, dtype), {}, false};
}

MultiHeadAttention::Heads MultiHeadAttention::heads(TensorView projected, TensorView memory_projected) const {
  const MultiHeadAttentionConfig& c = config_;
  const auto part = [&](const TensorView& from, Index first, Index count, Index stride) {
    auto* data = static_cast<std::byte*>(from.data()) + first * static_cast<Index>(size_of(from.dtype()));
    return TensorView(data, from.dtype(), {from.dim(0), count, c.head_dim}, {from.stride(0), stride, 1});
  };
  const Index dim = c.head_dim;
  if (c.projections == Projections::by_head) {
    return {part(projected, 0, c.heads, 3 * dim), part(projected, dim, c.heads, 3 * dim),
            part(projected, 2 * dim, c.heads, 3 * dim)};
  }
  const TensorView& kv = c.cross ? memory_projected : projected;
  const Index first = c.cross ? 0 : c.heads * dim;
  Heads result{part(projected, 0, c.heads, dim), {}, {}};
  if (kv.empty()) return result;  // the keys are in a cache
  result.k = part(kv, first, c.kv_heads, dim);
  result.v = c.latent
                 ? split_heads(columns_of(kv, first + c.kv_heads * dim, c.heads * c.value_dim()), c.heads)
                 : part(kv, first + c.kv_heads * dim, c.kv_heads, dim);
  return result;
}

AttentionOptions MultiHeadAttention::options(const AttentionCall& call) const {
  AttentionOptions o;
  o.scale = config_.scale;
  o.visible = config_.visible;
  o.softcap = config_.softcap;
  if (!slopes_.empty()) o.alibi_slopes = slopes_;
  if (!sinks.value.empty()) o.sinks = sinks.value;
  o.bias = call.bias;
  if (config_.dropout > 0 && call.dropout_seed != 0) {
    const auto place = static_cast<std::uint64_t>(call.layer) * kPlacesPerLayer;
    o.dropout = {config_.dropout, call.dropout_seed, place + 8 + static_cast<std::uint64_t>(config_.part)};
  }
  return o;
}

void MultiHeadAttention::project(Context& ctx, ConstTensorView x, const AttentionCall& call, Saved& s) const {
  const MultiHeadAttentionConfig& c = config_;
  const DType dtype = out.weight.value.dtype();
  const Index q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  const Index values = c.kv_heads * c.value_dim();
  s.projected = Tensor::uninitialized({x.dim(0), c.cross ? q_width : q_width + kv_width + values}, dtype);
  if (c.latent) return project_latent(ctx, x, s);
  if (!packed.empty()) {
    packed.forward(ctx, x, s.projected);
    return;
  }
  if (!c.cross) {
    const Linear::Target targets[] = {{query, columns_of(s.projected.view(), 0, q_width)},
                                      {key, columns_of(s.projected.view(), q_width, kv_width)},
                                      {value, columns_of(s.projected.view(), q_width + kv_width, kv_width)}};
    return Linear::forward_all(ctx, x, targets);
  }
  query.forward(ctx, x, s.projected);
  if (call.cache != nullptr && call.cache->length(0) > 0) return;
  s.memory_projected = Tensor::uninitialized({call.memory.dim(0), 2 * kv_width}, dtype);
  const Linear::Target targets[] = {{key, columns_of(s.memory_projected.view(), 0, kv_width)},
                                    {value, columns_of(s.memory_projected.view(), kv_width, kv_width)}};
  Linear::forward_all(ctx, call.memory, targets);
}

// Norms of queries and keys; cached keys are already normalised.
void MultiHeadAttention::normalize(Context& ctx, Heads& h, Saved& s) const {
  const bool all = config_.head_norm_place == HeadNormPlace::all;
  const auto apply = [&](const Norm& norm, TensorView& x, Tensor& y, Norm::Saved& saved) {
    if (x.empty()) return;
    const TensorView from = all ? joined_heads(x) : x;
    y = Tensor::uninitialized(from.shape(), x.dtype());
    norm.forward(ctx, from, y, &saved);
    x = all ? split_heads(y.view(), x.dim(1)) : y.view();
  };
  apply(query_norm, h.q, s.q_normed, s.q_norm);
  apply(key_norm, h.k, s.k_normed, s.k_norm);
}

void MultiHeadAttention::rotate(Context& ctx, const Heads& h, const AttentionCall& call, Way way) const {
  if (call.positions.empty()) {
    throw Error(ErrorKind::usage, "nn.positions", "attention: rotary positions without positions");
  }
  const Index dim = config_.turned_dim(), first = config_.head_dim - dim;
  for (const TensorView& x : {h.q, h.k}) {
    auto* data = static_cast<std::byte*>(x.data()) + first * static_cast<Index>(size_of(x.dtype()));
    const TensorView part(data, x.dtype(), {x.dim(0), x.dim(1), dim}, {x.stride(0), x.stride(1), 1});
    if (way == Way::forward) call.rope->rotate(ctx, part, call.positions, call.starts);
    else call.rope->rotate_back(ctx, part, call.positions, call.starts);
  }
}

void MultiHeadAttention::grow_queries(const TensorView& q, const AttentionCall& call) const {
  if (!config_.query_growth) return;
  with_type(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (Index t = 0; t < q.dim(0); ++t) {
      const auto place = static_cast<double>(call.positions[static_cast<std::size_t>(t)]);
      const auto factor = static_cast<T>(query_growth(*config_.query_growth, place));
      for (Index h = 0; h < q.dim(1); ++h) {
        T* row = q.as<T>() + t * q.stride(0) + h * q.stride(1);
        for (Index d = 0; d < q.dim(2); ++d) row[d] *= factor;
      }
    }
  });
}

// Norms and rotations of queries and keys, the inputs of attention.
MultiHeadAttention::Heads MultiHeadAttention::prepare(Context& ctx, const AttentionCall& call,
                                                      Saved& s) const {
  const MultiHeadAttentionConfig& c = config_;
  Heads h = heads(s.projected, s.memory_projected.empty() ? TensorView{} : s.memory_projected.view());
  const bool turned_first = c.head_norm_place == HeadNormPlace::turned;
  if (c.head_norm && !turned_first) normalize(ctx, h, s);
  if (c.rope) rotate(ctx, h, call, Way::forward);
  if (c.head_norm && turned_first) normalize(ctx, h, s);
  grow_queries(h.q, call);
  if (c.disentangled) s.terms = distance_terms(ctx, h, call);
  return h;
}

void MultiHeadAttention::attend(Context& ctx, ConstTensorView x, const Heads& h, const AttentionCall& call,
                                Saved& s) const {
  AttentionOptions o = options(call);
  if (!s.terms.empty()) o.bias = s.terms;
  o.q_starts = call.starts;
  o.k_starts = config_.cross ? call.memory_starts : call.starts;
  const TensorView q = packed_heads(h.q), k = packed_heads(h.k), v = packed_heads(h.v);
  const TensorView z = split_heads(s.mixed.view(), config_.heads);
  if (call.intervention != nullptr)
    o.mask = call.intervention->mask(
        {config_.part, call.layer, config_.heads, call.positions, o.q_starts, o.k_starts});
  attend_tokens(ctx, q, k, v, o, packed_heads(z), s.lse);
  if (call.observer == nullptr && call.intervention == nullptr) return;
  const AttentionEvent event{ctx,         call.layer,  config_.part,  q, k, v, s.lse, o, x,
                             call.memory, call.stream, call.positions};
  if (call.observer != nullptr) call.observer->on_attention(event);
  if (call.intervention != nullptr) call.intervention->on_heads(event, z);
}

Tensor MultiHeadAttention::forward(Context& ctx, ConstTensorView x, const AttentionCall& given,
                                   Saved* saved) const {
  const CallScope scope(ctx);
  const DType dtype = out.weight.value.dtype();
  check_matrix(out.weight.name, "x", x, dtype, config_.width);
  const CompleteCall complete(config_, given, x.dim(0), dtype);
  const AttentionCall& call = complete.get();
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  project(ctx, x, call, s);
  const Heads h = prepare(ctx, call, s);
  s.mixed = Tensor::uninitialized({x.dim(0), config_.heads * config_.value_dim()}, dtype);
  s.lse = Tensor::uninitialized({1, config_.heads, x.dim(0)}, dtype);
  if (call.cache != nullptr) decode(ctx, x, h, call, s);
  else attend(ctx, x, h, call, s);
  return out.forward(ctx, s.mixed);
}

void MultiHeadAttention::collect(Parameters& list) {
  query_down.collect(list);
  query_down_norm.collect(list);
  for (Linear* linear : {&query, &key, &value, &packed, &down}) linear->collect(list);
  latent_norm.collect(list);
  up.collect(list);
  query_norm.collect(list);
  key_norm.collect(list);
  if (!sinks.value.empty()) list.push_back(&sinks);
  out.collect(list);
}

}  // namespace headlight::nn
