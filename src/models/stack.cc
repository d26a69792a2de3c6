#include "models/stack.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

constexpr std::uint64_t kEmbeddingPlace = 1U << 20;  // beyond any layer's

[[noreturn]] void refuse_length(Index tokens, Index positions) {
  throw Error(ErrorKind::input, "model.context",
              concat("transformer: a sequence has ", tokens, " tokens or more; this model has positions for ",
                     positions));
}

nn::BlockConfig block_config(const TransformerConfig& c, Part part, Index layer) {
  const bool encoder = part == Part::encoder, causal = c.kind != ModelKind::encoder && !encoder;
  nn::MultiHeadAttentionConfig a;
  a.width = c.width;
  a.heads = encoder ? c.encoder_heads : c.heads;
  a.kv_heads = encoder ? c.encoder_heads : c.kv_heads;
  if (c.kind != ModelKind::encoder_decoder) a.heads = c.heads, a.kv_heads = c.kv_heads;
  a.head_dim = c.head_dim;
  a.projections = c.projections;
  a.qkv_bias = c.qkv_bias;
  a.out_bias = c.out_bias;
  a.layout = c.layout;
  a.weights = c.weights;
  if (c.head_norm) {
    a.head_norm = c.norm;
    a.head_norm->kind = nn::NormKind::rms;
  }
  a.visible = causal ? Visibility::causal() : Visibility::all();
  const Index window = c.windows.empty() ? 0 : c.windows[static_cast<std::size_t>(layer)];
  if (window > 0) a.visible.left = window - 1;
  if (c.positions == PositionKind::rope) a.rope = window > 0 && c.window_rope ? *c.window_rope : c.rope;
  a.alibi = c.positions == PositionKind::alibi;
  a.scale = c.attention_scale;
  a.softcap = c.attention_softcap;
  a.dropout = c.attention_dropout;
  a.layer = static_cast<int>(layer);
  a.part = part;

  nn::BlockConfig b;
  b.attention = a;
  if (c.kind == ModelKind::encoder_decoder && !encoder) {
    b.cross = a;
    b.cross->cross = true;
    b.cross->projections = nn::Projections::separate;
    b.cross->visible = Visibility::all();
    b.cross->rope.reset();
    b.cross->alibi = false;
    b.cross->part = Part::cross;
  }
  b.feed_forward = {c.width,       encoder ? c.encoder_inner : c.inner,
                    c.activation,  c.gated,
                    c.gate_packed, c.feed_forward_bias,
                    c.layout,      c.weights};
  b.norm = c.norm;
  b.norm_place = c.norm_place;
  b.shape = c.block_shape;
  b.dropout = c.dropout;
  return b;
}

}  // namespace

Stack::Stack(const TransformerConfig& config, Part part) : config_(config), part_(part) {
  const TransformerConfig& c = config_;
  const std::string name(name_of(part));
  const Index layers =
      c.kind == ModelKind::encoder_decoder && part == Part::encoder ? c.encoder_layers : c.layers;
  const Index places = c.max_positions + c.position_offset;
  if (c.positions == PositionKind::learned)
    positions = nn::Embedding(name + ".positions", places, c.width, c.dtype, c.weights);
  if (c.positions == PositionKind::sinusoidal) {
    sinusoids_ = nn::Embedding(name + ".sinusoids", places, c.width, c.dtype);
    sinusoids_.weight.value = nn::sinusoidal_positions(places, c.width, c.sinusoids, c.dtype);
  }
  if (c.token_types > 0) types = nn::Embedding(name + ".types", c.token_types, c.width, c.dtype, c.weights);
  if (c.embedding_norm) embedding_norm = nn::Norm(name + ".embedding_norm", c.norm, c.dtype);
  if (c.positions == PositionKind::relative) {
    const Index heads = part == Part::encoder ? c.encoder_heads : c.heads;
    relative = nn::RelativeBias(
        name + ".relative", {c.relative_buckets, c.relative_distance, heads, part == Part::encoder}, c.dtype);
  }
  blocks.reserve(static_cast<std::size_t>(layers));
  for (Index n = 0; n < layers; ++n)
    blocks.emplace_back(concat(name, ".", n), block_config(c, part, n), c.dtype);
  if (c.final_norm) final_norm = nn::Norm(name + ".final_norm", c.norm, c.dtype);
}

// What all blocks of one run share.
struct Stack::Shared {
  std::vector<Index> positions;  // of every token in its sequence
  std::vector<Index> past;       // tokens of each sequence that came before; empty: none
  nn::RopeTable rope, window_rope;
  Tensor bias;

  Shared(const TransformerConfig& c, const StackCall& call)
      : positions(nn::positions_of(call.tokens.starts)) {
    if (call.caches != nullptr && !call.caches->self.empty()) {
      std::size_t token = 0;
      for (Index s = 0; s < call.tokens.sequences(); ++s) {
        past.push_back(call.caches->self.front().length(s));
        const auto end = static_cast<std::size_t>(call.tokens.starts[static_cast<std::size_t>(s + 1)]);
        for (; token < end; ++token) positions[token] += past.back();
      }
    }
    if (c.positions != PositionKind::rope || positions.empty()) return;
    const auto [low, high] = std::minmax_element(positions.begin(), positions.end());
    const Index head_dim = c.head_dim > 0 ? c.head_dim : c.width / c.heads;
    // Factors without a rule for what lies beyond the context that they were made for.
    const nn::RopeScaling& scaling = c.rope.scaling;
    if (scaling.kind == nn::RopeScaling::Kind::none && scaling.original_positions > 0 &&
        *high >= scaling.original_positions)
      refuse_length(*high + 1, scaling.original_positions);
    rope = nn::RopeTable(c.rope, head_dim, *low, *high + 1, c.dtype);
    if (c.window_rope) window_rope = nn::RopeTable(*c.window_rope, head_dim, *low, *high + 1, c.dtype);
  }
};

nn::BlockCall Stack::block_call(const Shared& shared, const StackCall& call, std::size_t layer) const {
  nn::BlockCall b;
  b.dropout_seed = call.dropout_seed;
  b.self.starts = call.tokens.starts;
  b.self.positions = shared.positions;
  const bool windowed = !config_.windows.empty() && config_.windows[layer] > 0;
  if (config_.positions == PositionKind::rope)
    b.self.rope = windowed && config_.window_rope ? &shared.window_rope : &shared.rope;
  if (!shared.bias.empty()) b.self.bias = shared.bias;
  b.self.dropout_seed = call.dropout_seed;
  b.self.observer = call.observer;
  b.self.intervention = call.intervention;
  b.cross = b.self;
  b.cross.bias = {};
  b.cross.rope = nullptr;
  b.cross.memory = call.memory.x;
  b.cross.memory_starts = call.memory.starts;
  if (call.caches != nullptr) {
    b.self.cache = &call.caches->self[layer];
    if (!call.caches->cross.empty()) b.cross.cache = &call.caches->cross[layer];
  }
  return b;
}

Tensor Stack::relative_bias(const Shared& shared, const StackCall& call) const {
  const std::vector<Index>& starts = call.tokens.starts;
  Index longest = 0, keys = 0;
  bool alike = true;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const Index n = starts[s + 1] - starts[s], before = shared.past.empty() ? 0 : shared.past[s];
    longest = std::max(longest, n);
    keys = std::max(keys, n + before);
    alike = alike && (shared.past.empty() || before == shared.past.front());
  }
  if (alike) return relative.forward(shared.past.empty() ? 0 : shared.past.front(), longest, keys);
  // Sequences that stand at different places: a table for each.
  const Index heads = relative.table.value.dim(1), each = heads * longest * keys;
  Tensor bias = Tensor::uninitialized({call.tokens.sequences(), heads, longest, keys}, config_.dtype);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const Tensor one = relative.forward(shared.past[s], longest, keys);
    const std::size_t bytes = static_cast<std::size_t>(each) * size_of(config_.dtype);
    std::copy_n(one.as<std::byte>(), bytes, bias.as<std::byte>() + s * bytes);
  }
  return bias;
}

Tensor Stack::embed(Context& ctx, const nn::Embedding& embedding, const StackCall& call, const Shared& shared,
                    Saved& s) const {
  const TransformerConfig& c = config_;
  const Index tokens = call.tokens.size();
  Tensor x = Tensor::uninitialized({tokens, c.width}, c.dtype);
  embedding.forward(ctx, call.tokens.ids, x, c.embedding_scale);
  if (!positions.empty() || !sinusoids_.empty()) {
    s.position_ids.clear();
    for (const Index p : shared.positions) {
      if (p >= c.max_positions) refuse_length(p + 1, c.max_positions);
      s.position_ids.push_back(static_cast<std::int32_t>(p + c.position_offset));
    }
  }
  if (!positions.empty()) positions.forward_add(ctx, s.position_ids, x);
  if (!sinusoids_.empty()) sinusoids_.forward_add(ctx, s.position_ids, x);
  if (!types.empty()) {
    if (call.types.empty()) types.forward_add(ctx, std::vector<std::int32_t>(call.tokens.ids.size()), x);
    else types.forward_add(ctx, call.types, x);
  }
  if (!embedding_norm.empty()) {
    s.embedded = std::move(x);
    x = embedding_norm.forward(ctx, s.embedded, &s.embedding_norm);
  }
  if (c.dropout > 0 && call.dropout_seed != 0)
    nn::drop(ctx, {c.dropout, call.dropout_seed, kEmbeddingPlace}, x, x);
  return x;
}

Tensor Stack::forward(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                      Saved* saved) const {
  Shared shared(config_, call);
  if (config_.positions == PositionKind::relative) shared.bias = relative_bias(shared, call);
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  Tensor x = embed(ctx, embedding, call, shared, s);
  const auto watch = [&](std::size_t layer) {
    if (call.observer != nullptr)
      call.observer->on_residual({part_, static_cast<int>(layer), x, call.tokens.starts});
  };
  watch(0);
  if (saved != nullptr) s.blocks.resize(blocks.size());
  s.inputs.clear();
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    const nn::BlockCall block = block_call(shared, call, n);
    Tensor y = blocks[n].forward(ctx, x, block, saved != nullptr ? &s.blocks[n] : nullptr);
    if (saved != nullptr) s.inputs.push_back(std::move(x));
    x = std::move(y);
    watch(n + 1);
  }
  if (final_norm.empty()) return x;
  Tensor y = final_norm.forward(ctx, x, &s.final_norm);
  if (saved != nullptr) s.inputs.push_back(std::move(x));
  return y;
}

void Stack::backward(Context& ctx, nn::Embedding& embedding, const StackCall& call, const Saved& saved,
                     Tensor dx, TensorView dmemory) {
  Shared shared(config_, call);
  if (config_.positions == PositionKind::relative) shared.bias = relative_bias(shared, call);
  if (!final_norm.empty()) final_norm.backward(ctx, saved.inputs.back(), saved.final_norm, dx, dx);
  Tensor dbias;
  if (!shared.bias.empty()) dbias = Tensor::uninitialized(shared.bias.shape(), config_.dtype);
  for (std::size_t n = blocks.size(); n-- > 0;) {
    const nn::BlockCall block = block_call(shared, call, n);
    dx = blocks[n].backward(ctx, saved.inputs[n], block, saved.blocks[n], std::move(dx), dmemory,
                            dbias.empty() ? TensorView{} : dbias.view());
    if (!dbias.empty()) relative.backward(0, dbias);
  }
  if (config_.dropout > 0 && call.dropout_seed != 0)
    nn::drop(ctx, {config_.dropout, call.dropout_seed, kEmbeddingPlace}, dx, dx);
  if (!embedding_norm.empty()) embedding_norm.backward(ctx, saved.embedded, saved.embedding_norm, dx, dx);
  if (!types.empty()) {
    if (call.types.empty()) types.backward(ctx, std::vector<std::int32_t>(call.tokens.ids.size()), dx);
    else types.backward(ctx, call.types, dx);
  }
  if (!positions.empty()) positions.backward(ctx, saved.position_ids, dx);
  embedding.backward(ctx, call.tokens.ids, dx, config_.embedding_scale, config_.pad_fixed ? config_.pad : -1);
}

void Stack::collect(Parameters& list) {
  positions.collect(list);
  types.collect(list);
  embedding_norm.collect(list);
  if (!relative.table.value.empty()) list.push_back(&relative.table);
  for (nn::Block& block : blocks) block.collect(list);
  final_norm.collect(list);
}

StackCaches Stack::make_caches(const Context& ctx, Index items) const {
  StackCaches caches;
  for (const nn::Block& block : blocks) {
    caches.self.push_back(block.attention.make_cache(ctx, items));
    if (block.config().cross) caches.cross.push_back(block.cross.make_cache(ctx, items));
  }
  return caches;
}

}  // namespace headlight::models
