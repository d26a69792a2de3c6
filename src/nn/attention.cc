#include "nn/attention.h"

#include "headlight/nn.h"
#include "nn/drive.h"

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
  if (c.cross && c.rope) refuse("cross-attention has no rotary positions: its two sequences count apart");
  if (c.projections == Projections::by_head && c.kv_heads != c.heads)
    refuse("projections stored by head need as many key/value heads as heads");
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
  if (c.projections == Projections::separate) {
    query = Linear(name + ".query", {c.width, q_width, c.qkv_bias, c.layout, c.weights}, dtype);
    key = Linear(name + ".key", {c.width, kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
    value = Linear(name + ".value", {c.width, kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
  } else {
    packed = Linear(name + ".qkv", {c.width, q_width + 2 * kv_width, c.qkv_bias, c.layout, c.weights}, dtype);
  }
  out = Linear(name + ".out", {q_width, c.width, c.out_bias, c.layout, c.weights}, dtype);
  if (c.head_norm) {
    NormConfig norm = *c.head_norm;
    norm.width = c.head_dim;
    query_norm = Norm(name + ".query_norm", norm, dtype);
    key_norm = Norm(name + ".key_norm", norm, dtype);
  }
  if (c.alibi) slopes_ = alibi_slopes(c.heads, dtype);
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
  if (kv.empty()) return result;  // they are in a cache
  result.k = part(kv, first, c.kv_heads, dim);
  result.v = part(kv, first + c.kv_heads * dim, c.kv_heads, dim);
  return result;
}

AttentionOptions MultiHeadAttention::options(const AttentionCall& call) const {
  AttentionOptions o;
  o.scale = config_.scale;
  o.visible = config_.visible;
  o.softcap = config_.softcap;
  if (!slopes_.empty()) o.alibi_slopes = slopes_;
  o.bias = call.bias;
  if (config_.dropout > 0 && call.dropout_seed != 0) {
    const auto place = static_cast<std::uint64_t>(config_.layer) * kPlacesPerLayer;
    o.dropout = {config_.dropout, call.dropout_seed, place + 8 + static_cast<std::uint64_t>(config_.part)};
  }
  return o;
}

void MultiHeadAttention::project(Context& ctx, ConstTensorView x, const AttentionCall& call, Saved& s) const {
  const MultiHeadAttentionConfig& c = config_;
  const DType dtype = out.weight.value.dtype();
  const Index q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  s.projected = Tensor::uninitialized({x.dim(0), c.cross ? q_width : q_width + 2 * kv_width}, dtype);
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

// Norms and rotations; what attention reads.
MultiHeadAttention::Heads MultiHeadAttention::prepare(Context& ctx, const AttentionCall& call,
                                                      Saved& s) const {
  const MultiHeadAttentionConfig& c = config_;
  const DType dtype = s.projected.dtype();
  Heads h = heads(s.projected, s.memory_projected.empty() ? TensorView{} : s.memory_projected.view());
  if (c.head_norm) {
    const Index tokens = s.projected.dim(0);
    s.q_normed = Tensor::uninitialized({tokens, c.heads, c.head_dim}, dtype);
    query_norm.forward(ctx, h.q, s.q_normed, &s.q_norm);
    h.q = s.q_normed;
    if (!h.k.empty()) {
      s.k_normed = Tensor::uninitialized(h.k.shape(), dtype);
      key_norm.forward(ctx, h.k, s.k_normed, &s.k_norm);
      h.k = s.k_normed;
    }
  }
  if (!c.rope) return h;
  if (call.positions.empty()) {
    throw Error(ErrorKind::usage, "nn.positions", "attention: rotary positions without positions");
  }
  call.rope->rotate(ctx, h.q, call.positions);
  call.rope->rotate(ctx, h.k, call.positions);
  return h;
}

void MultiHeadAttention::attend(Context& ctx, ConstTensorView x, const Heads& h, const AttentionCall& call,
                                Saved& s) const {
  AttentionOptions o = options(call);
  o.q_starts = call.starts;
  o.k_starts = config_.cross ? call.memory_starts : call.starts;
  const TensorView q = packed_heads(h.q), k = packed_heads(h.k), v = packed_heads(h.v);
  const TensorView z = split_heads(s.mixed.view(), config_.heads);
  if (call.intervention != nullptr)
    o.mask = call.intervention->mask(
        {config_.part, config_.layer, config_.heads, call.positions, o.q_starts, o.k_starts});
  attention_forward(ctx, q, k, v, o, packed_heads(z), s.lse);
  if (call.observer == nullptr && call.intervention == nullptr) return;
  const AttentionEvent event{ctx,         config_.layer, config_.part,  q, k, v, s.lse, o, x,
                             call.memory, call.stream,   call.positions};
  if (call.observer != nullptr) call.observer->on_attention(event);
  if (call.intervention != nullptr) call.intervention->on_heads(event, z);
}

namespace {

// Fills in what the caller left to us: starts, positions, the table of rotations.
class CompleteCall {
 public:
  CompleteCall(const MultiHeadAttentionConfig& config, const AttentionCall& call, Index tokens, DType dtype)
      : starts_(call.starts, tokens),
        memory_starts_(call.memory_starts, call.memory.empty() ? 0 : call.memory.dim(0)),
        call_(call) {
    call_.starts = starts_.get();
    call_.memory_starts = memory_starts_.get();
    if (!config.rope && call_.intervention == nullptr) return;
    if (call_.positions.empty()) {
      positions_ = positions_of(call_.starts);
      if (call_.cache != nullptr && !config.cross) {
        std::size_t token = 0;
        for (Index i = 0; i < starts_.sequences(); ++i)
          for (Index n = call_.starts[static_cast<std::size_t>(i + 1)]; static_cast<Index>(token) < n;
               ++token)
            positions_[token] += call_.cache->length(i);
      }
      call_.positions = positions_;
    }
    if (config.rope && call_.rope == nullptr && tokens > 0) {
      const auto [low, high] = std::minmax_element(call_.positions.begin(), call_.positions.end());
      table_ = RopeTable(*config.rope, config.head_dim, *low, *high + 1, dtype);
      call_.rope = &table_;
    }
  }
  [[nodiscard]] const AttentionCall& get() const { return call_; }

 private:
  StartsOr starts_, memory_starts_;
  AttentionCall call_;
  std::vector<Index> positions_;
  RopeTable table_;
};

}  // namespace

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
  s.mixed = Tensor::uninitialized({x.dim(0), config_.heads * config_.head_dim}, dtype);
  s.lse = Tensor::uninitialized({1, config_.heads, x.dim(0)}, dtype);
  if (call.cache != nullptr) decode(ctx, x, h, call, s);
  else attend(ctx, x, h, call, s);
  return out.forward(ctx, s.mixed);
}

Tensor MultiHeadAttention::backward(Context& ctx, ConstTensorView x, const AttentionCall& given,
                                    const Saved& saved, ConstTensorView dy, TensorView dmemory,
                                    TensorView dbias) {
  const CallScope scope(ctx);
  const MultiHeadAttentionConfig& c = config_;
  const DType dtype = out.weight.value.dtype();
  if (given.intervention != nullptr) {
    throw Error(ErrorKind::usage, "nn.intervention",
                concat(out.weight.name, ": a run whose heads were changed has no gradients; train without"));
  }
  const CompleteCall complete(c, given, x.dim(0), dtype);
  const AttentionCall& call = complete.get();
  const Tensor dmixed = out.backward(ctx, saved.mixed, dy);

  Tensor d = Tensor::uninitialized(saved.projected.shape(), dtype), d_memory;
  if (c.cross) d_memory = Tensor::uninitialized(saved.memory_projected.shape(), dtype);
  const Heads to = heads(d, d_memory.empty() ? TensorView{} : d_memory.view());
  // Attention only reads these; views of heads are the writable kind for forward's sake.
  auto& s = const_cast<Saved&>(saved);
  const Heads from =
      heads(s.projected, s.memory_projected.empty() ? TensorView{} : s.memory_projected.view());
  Heads seen = from, grads = to;
  Tensor dq_normed, dk_normed;
  if (c.head_norm) {
    seen.q = s.q_normed, seen.k = s.k_normed;
    dq_normed = Tensor::uninitialized(s.q_normed.shape(), dtype);
    dk_normed = Tensor::uninitialized(s.k_normed.shape(), dtype);
    grads.q = dq_normed, grads.k = dk_normed;
  }
  AttentionOptions o = options(call);
  o.q_starts = call.starts;
  o.k_starts = c.cross ? call.memory_starts : call.starts;
  const auto heads_of = [&](const Tensor& mixed) {
    return packed_heads(
        split_heads(TensorView(const_cast<void*>(mixed.view().data()), dtype, mixed.shape()), c.heads));
  };
  attention_backward(
      ctx,
      {packed_heads(seen.q), packed_heads(seen.k), packed_heads(seen.v), heads_of(saved.mixed), saved.lse},
      heads_of(dmixed), o, {packed_heads(grads.q), packed_heads(grads.k), packed_heads(grads.v), dbias});
  if (c.rope) {
    call.rope->rotate_back(ctx, grads.q, call.positions);
    call.rope->rotate_back(ctx, grads.k, call.positions);
  }
  if (c.head_norm) {
    query_norm.backward(ctx, from.q, saved.q_norm, grads.q, to.q);
    key_norm.backward(ctx, from.k, saved.k_norm, grads.k, to.k);
  }
  return backward_projections(ctx, x, call, d, d_memory, dmemory);
}

Tensor MultiHeadAttention::backward_projections(Context& ctx, ConstTensorView x, const AttentionCall& call,
                                                const Tensor& d, const Tensor& d_memory, TensorView dmemory) {
  const MultiHeadAttentionConfig& c = config_;
  if (!packed.empty()) return packed.backward(ctx, x, d);
  const Index q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  Tensor dx = Tensor::uninitialized({x.dim(0), c.width}, d.dtype());
  const auto back = [&](Linear& linear, const ConstTensorView& input, const ConstTensorView& part,
                        const TensorView& target, Linear::Write write) {
    if (!target.empty()) linear.backward_input(ctx, part, target, write);
    linear.backward_weight(ctx, input, part);
    linear.backward_bias(ctx, part);
  };
  back(query, x, columns_of(d.view(), 0, q_width), dx, Linear::Write::set);
  const ConstTensorView kv = c.cross ? d_memory.view() : columns_of(d.view(), q_width, 2 * kv_width);
  const ConstTensorView input = c.cross ? ConstTensorView(call.memory) : x;
  const TensorView target = c.cross ? dmemory : dx.view();
  back(key, input, columns_of(kv, 0, kv_width), target, Linear::Write::add);
  back(value, input, columns_of(kv, kv_width, kv_width), target, Linear::Write::add);
  return dx;
}

void MultiHeadAttention::collect(Parameters& list) {
  for (Linear* linear : {&query, &key, &value, &packed}) linear->collect(list);
  query_norm.collect(list);
  key_norm.collect(list);
  out.collect(list);
}

}  // namespace headlight::nn
