#include "models/stack.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/team.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

constexpr std::uint64_t kEmbeddingPlace = 1U << 20;  // larger than any layer's

[[noreturn]] void refuse_sound(const std::string& what) {
  throw Error(ErrorKind::usage, "model.sound", concat("transformer: ", what));
}

[[noreturn]] void refuse_length(Index tokens, Index positions) {
  throw Error(ErrorKind::input, "model.context",
              concat("transformer: a sequence has ", tokens, " tokens or more; this model has positions for ",
                     positions));
}

}  // namespace

Stack::Stack(const TransformerConfig& config, Part part) : config_(config), part_(part) {
  const TransformerConfig& c = config_;
  const EmbeddingConfig& e = c.embedding;
  const std::string name(name_of(part));
  const Index places = c.positions_of(part) + e.position_offset;
  const Index width = e.widened == EmbeddingConfig::Widened::sum ? c.table_width() : c.width;
  if (e.positions == AddedPositions::learned)
    positions = nn::Embedding(name + ".positions", places, width, c.dtype, c.weights);
  if (c.sound && part == Part::encoder) {
    sound = SoundReader(name, *c.sound, c.width, c.dtype);
    positions.weight.trained = false;  // sinusoids, although files contain them
  }
  if (e.positions == AddedPositions::sinusoidal) {
    sinusoids_ = nn::Embedding(name + ".sinusoids", places, width, c.dtype);
    sinusoids_.weight.value = nn::sinusoidal_positions(places, width, e.sinusoids, c.dtype);
  }
  if (e.token_types > 0) types = nn::Embedding(name + ".types", e.token_types, width, c.dtype, c.weights);
  if (e.width > 0)
    widening =
        nn::Linear(name + ".widening",
                   {.in = e.width, .out = c.width, .bias = e.widening_bias, .weights = c.weights}, c.dtype);
  if (e.norm) embedding_norm = nn::Norm(name + ".embedding_norm", *e.norm, c.dtype);
  const std::vector<nn::BlockConfig>& layers = c.layers(part);
  if (c.relative) {
    const Index heads = layers.front().attention.heads;
    relative =
        nn::RelativeBias(name + ".relative",
                         {c.relative->buckets, c.relative->distance, heads, part == Part::encoder}, c.dtype);
  }
  if (const auto& terms = layers.front().attention.disentangled) {
    distances = nn::Embedding(name + ".distances", 2 * terms->buckets, c.width, c.dtype, c.weights);
    if (c.distance_norm) distance_norm = nn::Norm(name + ".distance_norm", *c.distance_norm, c.dtype);
  }
  blocks.reserve(layers.size());
  for (nn::BlockConfig block : layers) {
    if (c.one_layer && !blocks.empty()) break;
    block.attention.weights = block.feed_forward.weights = c.weights;
    if (block.cross) block.cross->weights = c.weights;
    blocks.emplace_back(concat(name, ".", blocks.size()), block, c.dtype);
    if (c.fixed_key_bias)
      blocks.back().attention.key.bias.trained = blocks.back().cross.key.bias.trained = false;
  }
  if (c.final_norm) final_norm = nn::Norm(name + ".final_norm", *c.final_norm, c.dtype);
}

// Data shared by all blocks of one run.
struct Stack::Shared {
  std::vector<Index> positions;             // of every token in its sequence
  std::vector<Index> past;                  // number of earlier tokens of each sequence; empty: none
  std::vector<const nn::RopeTable*> ropes;  // by layer; null: no rotation
  Tensor bias;
  Tensor distances;  // after their norm

  Shared(const Context& ctx, const TransformerConfig& c, Part part, const StackCall& call)
      : positions(nn::positions_of(call.tokens.starts)) {
    if (call.caches != nullptr && !call.caches->self.empty()) {
      std::size_t token = 0;
      for (Index s = 0; s < call.tokens.sequences(); ++s) {
        past.push_back(call.caches->self.front().length(s));
        const auto end = static_cast<std::size_t>(call.tokens.starts[static_cast<std::size_t>(s + 1)]);
        for (; token < end; ++token) positions[token] += past.back();
      }
    }
    for (const nn::BlockConfig& block : c.layers(part)) ropes.push_back(rope_of(block.attention, c.dtype));
    if (const TokenShare* share = tokens_of(ctx))
      positions = {positions.begin() + share->begin, positions.begin() + share->end};
  }

 private:
  // Layers with equal rotations share a table.
  struct Table {
    nn::RopeConfig config;
    Index head_dim = 0;
    nn::RopeTable table;
  };
  const nn::RopeTable* rope_of(const nn::MultiHeadAttentionConfig& a, DType dtype) {
    if (!a.rope || positions.empty()) return nullptr;
    for (const Table& known : tables_)
      if (known.head_dim == a.turned_dim() && known.config == *a.rope) return &known.table;
    const auto [low, high] = std::minmax_element(positions.begin(), positions.end());
    tables_.push_back(
        {*a.rope, a.turned_dim(), nn::RopeTable(*a.rope, a.turned_dim(), *low, *high + 1, dtype)});
    return &tables_.back().table;
  }

  std::deque<Table> tables_;
};

nn::BlockCall Stack::block_call(const Shared& shared, const StackCall& call, std::size_t layer) const {
  nn::BlockCall b;
  b.dropout_seed = call.dropout_seed;
  b.self.layer = static_cast<int>(layer);
  b.self.starts = call.tokens.starts;
  b.self.positions = shared.positions;
  b.self.rope = shared.ropes[layer];
  if (!shared.bias.empty()) b.self.bias = shared.bias;
  if (!shared.distances.empty()) b.self.distances = shared.distances;
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
  // Sequences at different positions: one table for each.
  const Index heads = relative.table.value.dim(1), each = heads * longest * keys;
  Tensor bias = Tensor::uninitialized({call.tokens.sequences(), heads, longest, keys}, config_.dtype);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const Tensor one = relative.forward(shared.past[s], longest, keys);
    const std::size_t bytes = static_cast<std::size_t>(each) * size_of(config_.dtype);
    std::copy_n(one.as<std::byte>(), bytes, bias.as<std::byte>() + s * bytes);
  }
  return bias;
}

Tensor Stack::embed_tokens(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                           Saved& s) const {
  const Tokens& tokens = call.tokens;
  if (sound.empty()) {
    if (tokens.features != nullptr) refuse_sound("sound features were given to a model that reads tokens");
    Tensor x = Tensor::uninitialized({tokens.size(), config_.table_width()}, config_.dtype);
    embedding.forward(ctx, tokens.ids, x, config_.embedding.scale);
    return x;
  }
  if (tokens.features == nullptr) refuse_sound("this model reads sound features, not text or token ids");
  Tensor x = sound.forward(ctx, *tokens.features, s.sound);
  if (x.dim(0) != tokens.size() || tokens.features->dim(0) != tokens.sequences())
    refuse_sound(concat(tokens.size(), " places in ", tokens.sequences(), " sequences for sound features of ",
                        x.dim(0), " in ", tokens.features->dim(0)));
  return x;
}

Tensor Stack::embed(Context& ctx, const nn::Embedding& embedding, const StackCall& call, const Shared& shared,
                    Saved& s) const {
  const TransformerConfig& c = config_;
  const Index most = c.positions_of(part_);
  Tensor x = embed_tokens(ctx, embedding, call, s);
  const auto widen = [&] {
    s.narrow = std::move(x);
    x = widening.forward(ctx, s.narrow);
  };
  if (widens(EmbeddingConfig::Widened::tokens)) widen();
  if (!positions.empty() || !sinusoids_.empty()) {
    s.position_ids.clear();
    for (const Index p : shared.positions) {
      if (p >= most) refuse_length(p + 1, most);
      s.position_ids.push_back(static_cast<std::int32_t>(p + c.embedding.position_offset));
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
  if (widens(EmbeddingConfig::Widened::sum)) widen();
  if (c.dropout > 0 && call.dropout_seed != 0)
    nn::drop(ctx, {c.dropout, call.dropout_seed, kEmbeddingPlace}, x, x);
  return x;
}

// [1, head, 1, key]: the same for all queries, as in training.
Tensor Stack::key_bias(const Shared& shared) const {
  const auto rounded = [](double x) {  // to bf16, ties to even
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    return static_cast<double>(std::bit_cast<float>((bits + 0x7FFFU + (bits >> 16 & 1U)) & 0xFFFF0000U));
  };
  const nn::MultiHeadAttentionConfig& a = config_.layers(part_).front().attention;
  const Index keys = 1 + *std::max_element(shared.positions.begin(), shared.positions.end());
  const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(a.head_dim)));
  const Tensor slopes = nn::alibi_slopes(a.heads, DType::f32);
  Tensor bias = Tensor::uninitialized({1, a.heads, 1, keys}, config_.dtype);
  for (Index h = 0; h < a.heads; ++h)
    for (Index k = 0; k < keys; ++k)
      bias.view().set(0, h, 0, k, scale * rounded(rounded(slopes.at(h)) * rounded(static_cast<double>(k))));
  return bias;
}

Stack::Shared Stack::share(Context& ctx, const StackCall& call) const {
  Shared shared(ctx, config_, part_, call);
  if (config_.relative) shared.bias = relative_bias(shared, call);
  if (config_.key_slopes && !shared.positions.empty()) shared.bias = key_bias(shared);
  if (distances.empty()) return shared;
  const Index rows = distances.weight.shape()[0];
  std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  shared.distances = Tensor::uninitialized({rows, config_.width}, config_.dtype);
  distances.forward(ctx, all, shared.distances);
  if (!distance_norm.empty()) shared.distances = distance_norm.forward(ctx, shared.distances);
  return shared;
}

Tensor Stack::forward(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                      Saved* saved) const {
  const Shared shared = share(ctx, call);
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  Tensor x = embed(ctx, embedding, call, shared, s);
  const auto watch = [&](std::size_t layer) {
    const ResidualEvent event{part_, static_cast<int>(layer), x, call.tokens.starts};
    if (call.observer != nullptr) call.observer->on_residual(event);
    if (call.intervention != nullptr) call.intervention->on_residual(event, x);
  };
  watch(0);
  const bool keeps = saved != nullptr && !call.recompute;
  if (keeps) s.blocks.resize(layers());
  s.inputs.clear();
  for (std::size_t n = 0; n < layers(); ++n) {
    const nn::BlockCall call_of_block = block_call(shared, call, n);
    Tensor y = block(n).forward(ctx, x, call_of_block, keeps ? &s.blocks[n] : nullptr);
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
  const Shared shared = share(ctx, call);
  if (!final_norm.empty()) final_norm.backward(ctx, saved.inputs.back(), saved.final_norm, dx, dx);
  Tensor dbias;
  if (config_.relative && !shared.bias.empty())
    dbias = Tensor::uninitialized(shared.bias.shape(), config_.dtype);
  for (std::size_t n = layers(); n-- > 0;) {
    const nn::BlockCall call_of_block = block_call(shared, call, n);
    nn::Block& one = blocks[config_.one_layer ? 0 : n];
    nn::Block::Saved again;
    if (call.recompute) (void)one.forward(ctx, saved.inputs[n], call_of_block, &again);
    const nn::Block::Saved& kept = call.recompute ? again : saved.blocks[n];
    dx = one.backward(ctx, saved.inputs[n], call_of_block, kept, std::move(dx), dmemory,
                      dbias.empty() ? TensorView{} : dbias.view());
    if (call.guiding != nullptr && static_cast<Index>(n) == call.guiding->guide.layer)
      learn_links(ctx, one.attention, kept.attention, saved.inputs[n], call.tokens.starts, *call.guiding, dx);
    if (!dbias.empty()) relative.backward(0, dbias);
    if (call.ready && !config_.one_layer) {
      Parameters done;
      one.collect(done);
      call.ready(done);
    }
  }
  embed_backward(ctx, embedding, call, saved, std::move(dx));
}

void Stack::embed_backward(Context& ctx, nn::Embedding& embedding, const StackCall& call, const Saved& saved,
                           Tensor dx) {
  if (config_.dropout > 0 && call.dropout_seed != 0)
    nn::drop(ctx, {config_.dropout, call.dropout_seed, kEmbeddingPlace}, dx, dx);
  if (widens(EmbeddingConfig::Widened::sum)) dx = widening.backward(ctx, saved.narrow, dx);
  if (!embedding_norm.empty()) embedding_norm.backward(ctx, saved.embedded, saved.embedding_norm, dx, dx);
  if (!types.empty()) {
    if (call.types.empty()) types.backward(ctx, std::vector<std::int32_t>(call.tokens.ids.size()), dx);
    else types.backward(ctx, call.types, dx);
  }
  if (!positions.empty()) positions.backward(ctx, saved.position_ids, dx);
  if (widens(EmbeddingConfig::Widened::tokens)) dx = widening.backward(ctx, saved.narrow, dx);
  if (!sound.empty()) return sound.backward(ctx, saved.sound, std::move(dx));
  embedding.backward(ctx, call.tokens.ids, dx, config_.embedding.scale, config_.pad_fixed ? config_.pad : -1);
}

void Stack::collect(Parameters& list) {
  sound.collect(list);
  positions.collect(list);
  types.collect(list);
  embedding_norm.collect(list);
  widening.collect(list);
  distances.collect(list);
  distance_norm.collect(list);
  if (!relative.table.value.empty()) list.push_back(&relative.table);
  for (nn::Block& block : blocks) block.collect(list);
  final_norm.collect(list);
}

StackCaches Stack::make_caches(const Context& ctx, Index items) const {
  StackCaches caches;
  for (std::size_t n = 0; n < layers(); ++n) {
    caches.self.push_back(block(n).attention.make_cache(ctx, items));
    if (block(n).config().cross) caches.cross.push_back(block(n).cross.make_cache(ctx, items));
  }
  return caches;
}

}  // namespace headlight::models
