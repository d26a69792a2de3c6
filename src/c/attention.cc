// Attention, its gradients, weights and caches.
#include "headlight/attention.h"

#include <cmath>

#include "c/common.h"

namespace headlight::c {
namespace {

Visibility visibility_of(const headlight_attention_options& o) {
  Visibility visible;
  if (o.left != HEADLIGHT_UNBOUNDED) visible.left = o.left;
  if (o.right != HEADLIGHT_UNBOUNDED) visible.right = o.right;
  if (o.prefix != HEADLIGHT_UNBOUNDED) visible.prefix = o.prefix;
  if (o.offset != HEADLIGHT_AUTOMATIC) visible.offset = o.offset;
  visible.chunk = o.chunk;
  return visible;
}

headlight_attention_options defaults() {
  headlight_attention_options o{};
  o.size = sizeof o;
  o.scale = NAN;
  o.left = o.right = o.prefix = HEADLIGHT_UNBOUNDED;
  o.offset = HEADLIGHT_AUTOMATIC;
  return o;
}

}  // namespace

AttentionOptions options_of(const headlight_attention_options* given_options) {
  headlight_attention_options o = defaults();
  if (given_options != nullptr) read_sized(given_options, o, "options");
  AttentionOptions options;
  if (!std::isnan(o.scale)) options.scale = o.scale;
  options.visible = visibility_of(o);
  options.softcap = o.softcap;
  options.alibi_slopes = view_of(o.alibi_slopes, "options.alibi_slopes");
  options.bias = view_of(o.bias, "options.bias");
  options.mask = view_of(o.mask, "options.mask");
  options.sinks = view_of(o.sinks, "options.sinks");
  options.q_lengths = span_of(o.q_lengths, o.q_length_count, "options.q_lengths");
  options.k_lengths = span_of(o.k_lengths, o.k_length_count, "options.k_lengths");
  options.q_starts = span_of(o.q_starts, o.q_start_count, "options.q_starts");
  options.k_starts = span_of(o.k_starts, o.k_start_count, "options.k_starts");
  options.dropout = {o.dropout, o.dropout_seed, o.dropout_layer};
  return options;
}

AttentionOutputs outputs_of(const headlight_attention_outputs* given_outputs) {
  headlight_attention_outputs o{};
  read_sized(given_outputs, o, "outputs");
  AttentionOutputs outputs{.out = view_of(o.out, "outputs.out")};
  outputs.lse = view_of(o.lse, "outputs.lse");
  outputs.max = view_of(o.max, "outputs.max");
  outputs.entropy = view_of(o.entropy, "outputs.entropy");
  outputs.sink_weight = view_of(o.sink_weight, "outputs.sink_weight");
  outputs.weights = view_of(o.weights, "outputs.weights");
  outputs.topk_index = view_of(o.topk_index, "outputs.topk_index");
  outputs.topk_weight = view_of(o.topk_weight, "outputs.topk_weight");
  outputs.received = view_of(o.received, "outputs.received");
  return outputs;
}

}  // namespace headlight::c

using namespace headlight::c;  // NOLINT: this file defines functions of C, which have no namespace

void headlight_attention_options_init(headlight_attention_options* options, std::size_t size) {
  if (options == nullptr || size < sizeof size) return;
  std::memset(options, 0, size);
  const headlight_attention_options all = defaults();
  std::memcpy(options, &all, size < sizeof all ? size : sizeof all);
  options->size = size;
}

headlight_status headlight_attention(headlight_context* context, const headlight_tensor* q,
                                     const headlight_tensor* k, const headlight_tensor* v,
                                     const headlight_attention_options* options,
                                     const headlight_attention_outputs* outputs) {
  return guarded([&] {
    headlight::attention_forward(context_of(context), view_of(q, "q"), view_of(k, "k"), view_of(v, "v"),
                                 options_of(options), outputs_of(outputs));
  });
}

headlight_status headlight_attention_backward(headlight_context* context,
                                              const headlight_attention_saved* saved,
                                              const headlight_tensor* dout,
                                              const headlight_attention_options* options,
                                              const headlight_attention_grads* grads) {
  return guarded([&] {
    headlight_attention_saved s{};
    read_sized(saved, s, "saved");
    headlight_attention_grads g{};
    read_sized(grads, g, "grads");
    headlight::attention_backward(
        context_of(context),
        {view_of(s.q, "saved.q"), view_of(s.k, "saved.k"), view_of(s.v, "saved.v"),
         view_of(s.out, "saved.out"), view_of(s.lse, "saved.lse")},
        view_of(dout, "dout"), options_of(options),
        {view_of(g.dq, "grads.dq"), view_of(g.dk, "grads.dk"), view_of(g.dv, "grads.dv"),
         view_of(g.dbias, "grads.dbias"), view_of(g.dsinks, "grads.dsinks")});
  });
}

headlight_status headlight_attention_weights(headlight_context* context, const headlight_tensor* q,
                                             const headlight_tensor* k, const headlight_tensor* lse,
                                             const headlight_attention_options* options,
                                             const headlight_slice* slice, const headlight_tensor* weights) {
  return guarded([&] {
    headlight_slice s{};
    read_sized(slice, s, "slice");
    headlight::attention_weights(context_of(context), view_of(q, "q"), view_of(k, "k"), view_of(lse, "lse"),
                                 options_of(options),
                                 {.batch = s.batch,
                                  .head = s.head,
                                  .queries = {s.query_begin, s.query_end},
                                  .keys = {s.key_begin, s.key_end}},
                                 view_of(weights, "weights"));
  });
}

headlight_status headlight_merge(headlight_context* context, const headlight_tensor* out,
                                 const headlight_tensor* lse, const headlight_tensor* other_out,
                                 const headlight_tensor* other_lse) {
  return guarded([&] {
    headlight::merge(context_of(context), view_of(out, "out"), view_of(lse, "lse"),
                     view_of(other_out, "other_out"), view_of(other_lse, "other_lse"));
  });
}

headlight_status headlight_cache_new(headlight_context* context, const headlight_cache_options* options,
                                     headlight_cache** cache) {
  return guarded([&] {
    given(cache, "cache") = nullptr;
    headlight_cache_options o{};
    o.items = o.kv_heads = 1;
    read_sized(options, o, "options");
    if (o.type < HEADLIGHT_CACHE_F32 || o.type > HEADLIGHT_CACHE_INT8)
      throw headlight::Error(headlight::ErrorKind::usage, "c.cache", "options.type is not a storage type");
    *cache = new headlight_cache{
        headlight::KvCache(context_of(context), {.items = o.items,
                                                 .kv_heads = o.kv_heads,
                                                 .dim = o.dim,
                                                 .value_dim = o.value_dim,
                                                 .capacity = o.capacity,
                                                 .type = static_cast<headlight::KvType>(o.type),
                                                 .window = o.window})};
  });
}
void headlight_cache_free(headlight_cache* cache) { delete cache; }

headlight_status headlight_cache_append(headlight_cache* cache, const headlight_tensor* k,
                                        const headlight_tensor* v) {
  return guarded([&] { given(cache, "cache").cache.append(view_of(k, "k"), view_of(v, "v")); });
}
headlight_status headlight_cache_length(const headlight_cache* cache, std::int64_t item,
                                        std::int64_t* length) {
  return guarded([&] { given(length, "length") = given(cache, "cache").cache.length(item); });
}
headlight_status headlight_cache_truncate(headlight_cache* cache, std::int64_t item, std::int64_t length) {
  return guarded([&] { given(cache, "cache").cache.truncate(item, length); });
}
headlight_status headlight_cache_fork(headlight_cache* cache, std::int64_t item, std::int64_t* made) {
  return guarded([&] {
    std::int64_t& number = given(made, "made");
    number = given(cache, "cache").cache.fork(item);
  });
}
headlight_status headlight_cache_reset(headlight_cache* cache) {
  return guarded([&] { given(cache, "cache").cache.reset(); });
}

headlight_status headlight_attention_decode(headlight_context* context, const headlight_tensor* q,
                                            const headlight_cache* cache,
                                            const headlight_attention_options* options,
                                            const headlight_attention_outputs* outputs) {
  return guarded([&] {
    headlight::attention_decode(context_of(context), view_of(q, "q"), given(cache, "cache").cache,
                                options_of(options), outputs_of(outputs));
  });
}
