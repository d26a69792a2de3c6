#include "serve/payload.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "inspect/head_matrices.h"
#include "inspect/recorder.h"
#include "io/json_writer.h"
#include "session/view.h"

namespace headlight::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian");

constexpr Index kAtlasCells = 64;

void append_size(std::string& out, std::uint32_t x) {
  const auto bytes = std::bit_cast<std::array<char, 4>>(x);
  out.append(bytes.data(), bytes.size());
}

inspect::AttentionMap map_of(Context& ctx, const StoredAttention& attention, inspect::MapRequest request) {
  inspect::MapRecorder recorder(std::move(request));
  recorder.on_attention(attention.event(ctx));
  return std::move(recorder.maps().front());
}

inspect::AttentionMap map_of(Context& ctx, const StoredAttention& attention, Index head, Range rows = {},
                             Index most_cells = 0) {
  return map_of(ctx, attention,
                {.part = attention.part(),
                 .heads = {{attention.layer(), static_cast<int>(head)}},
                 .rows = rows,
                 .most_cells = most_cells});
}

void append_map(std::string& out, const inspect::AttentionMap& map) {
  for (Index i = 0; i < map.rows; ++i)
    for (Index j = 0; j < map.columns; ++j)
      append_number(out, map.sees(i, j) ? map.at(i, j) : std::numeric_limits<float>::quiet_NaN());
}

// Rows of one head of a view [1, head, token, dim].
void append_vectors(std::string& out, ConstTensorView x, Index head) {
  for (Index t = 0; t < x.dim(2); ++t)
    for (Index d = 0; d < x.dim(3); ++d) append_number(out, static_cast<float>(x.at(0, head, t, d)));
}

// How queries and keys are rotated by position, if they are.
void write_rope(io::JsonWriter& w, const Run& run, const StoredAttention& attention) {
  const bool cross = attention.part() == Part::cross;
  const nn::MultiHeadAttentionConfig& layer =
      inspect::attention_layer(run.state().loaded(), attention.part(), attention.layer()).config();
  if (cross || !layer.rope) {
    w.value(nullptr);
    return;
  }
  const nn::RopeConfig& rope = *layer.rope;
  const Index dims = rope.dims > 0 ? rope.dims : layer.turned_dim();
  w.begin_object().field("first", layer.head_dim - layer.turned_dim()).field("dims", dims);
  w.field("interleaved", rope.interleaved);
  w.field("factor", nn::rope_attention_factor(rope));
  w.field("angles", nn::rope_frequencies(rope, dims, attention.keys())).end_object();
}

std::string head_json(const Run& run, const StoredAttention& a, const AttentionEvent& event, Index head) {
  const AttentionOptions& o = event.options;
  const auto number = [&](const ConstTensorView& list) {
    return list.empty() ? std::nullopt : std::optional(list.at(head));
  };
  const Index group = a.heads() / a.kv_heads();
  const nn::MultiHeadAttentionConfig& layer =
      inspect::attention_layer(run.state().loaded(), a.part(), a.layer()).config();
  io::JsonWriter w;
  w.begin_object().field("part", name_of(a.part())).field("layer", a.layer()).field("head", head);
  w.field("kv_head", head / group).field("group", group).field("rows", a.queries());
  w.field("columns", a.keys()).field("dim", a.dim()).field("value_dim", a.value_dim());
  w.field("scale", o.scale.value_or(1 / std::sqrt(static_cast<double>(a.dim())))).field("softcap", o.softcap);
  w.field("slope", number(o.alibi_slopes)).field("sink", number(o.sinks));
  w.field("has_bias", !o.bias.empty()).field("head_norm", layer.head_norm.has_value());
  w.field("offset", o.visible.position(0, a.queries(), a.keys()));
  write_rope(w.key("rope"), run, a);
  return w.end_object().take();
}

void append_bias(std::string& out, const StoredAttention& a, ConstTensorView bias, Index head, Range rows) {
  const auto at = [&](int axis, Index place) { return bias.dim(axis) == 1 ? Index{0} : place; };
  for (Index i = rows.begin; i < rows.end; ++i)
    for (Index j = 0; j < a.keys(); ++j)
      append_number(out, static_cast<float>(bias.at(0, at(1, head), at(2, i), at(3, j))));
}

template <class Each>
void each_head(const Run& run, Part part, const Each& each) {
  for (Index layer = 0; layer < run.model().info().find(part)->layers(); ++layer) {
    const StoredAttention& attention = *run.state().find(part, layer);
    for (Index head = 0; head < attention.heads(); ++head) each(attention, head);
  }
}

}  // namespace

void append_number(std::string& out, float x) {
  const auto bytes = std::bit_cast<std::array<char, 4>>(x);
  out.append(bytes.data(), bytes.size());
}

void append_json(std::string& out, std::string json) {
  json.append((4 - json.size() % 4) % 4, ' ');
  append_size(out, static_cast<std::uint32_t>(json.size()));
  out += json;
}

std::size_t all_weights_count(const Run& run, Part part) {
  const StoredAttention& first = *run.state().find(part, 0);
  return static_cast<std::size_t>(run.model().info().find(part)->layers() * first.heads() * first.queries() *
                                  first.keys());
}

std::string all_weights(Context& ctx, const Run& run, Part part) {
  std::string out;
  out.reserve(4 * all_weights_count(run, part));
  each_head(run, part, [&](const StoredAttention& attention, Index head) {
    append_map(out, map_of(ctx, attention, head));
  });
  return out;
}

std::string row_weights(Context& ctx, const Run& run, Part part, Index query) {
  std::string out;
  each_head(run, part, [&](const StoredAttention& attention, Index head) {
    append_map(out, map_of(ctx, attention, head, {query, query + 1}));
  });
  return out;
}

std::string atlas(Context& ctx, const Run& run, Part part, std::optional<Index> layer) {
  std::string out;
  each_head(run, part, [&](const StoredAttention& attention, Index head) {
    if (layer && *layer != attention.layer()) return;
    const inspect::AttentionMap map = map_of(ctx, attention, head, {}, kAtlasCells);
    if (out.empty()) {
      append_size(out, static_cast<std::uint32_t>(map.rows));
      append_size(out, static_cast<std::uint32_t>(map.columns));
    }
    for (Index i = 0; i < map.rows; ++i) {
      for (Index j = 0; j < map.columns; ++j) {
        const double root = std::sqrt(std::min(1.0, std::max(0.0, double{map.at(i, j)})));
        out += map.sees(i, j) ? static_cast<char>(1 + std::lround(254 * root)) : '\0';
      }
    }
  });
  return out;
}

Tensor head_outputs(Context& ctx, const StoredAttention& a) {
  const AttentionEvent event = a.event(ctx);
  Tensor z({1, a.heads(), a.queries(), a.value_dim()}, event.q.dtype());
  attention_forward(ctx, event.q, event.k, event.v, event.options, z);
  return z;
}

std::string map_window(Context& ctx, const Run& run, const Head& head, const MapWindow& window) {
  std::string out;
  append_map(out, map_of(ctx, *run.state().find(head.part, head.layer),
                         {.part = head.part,
                          .heads = {head.place()},
                          .rows = window.rows,
                          .columns = window.columns,
                          .in_cell = window.in_cell,
                          .of = window.of}));
  return out;
}

std::string derived_map(Context& ctx, const Run& run, Part part, const std::vector<HeadPlace>& heads) {
  ViewRequest request{.part = part, .heads = heads, .every_weight = true};
  if (heads.empty()) request.rollout = true;
  else request.mean = MeanOver::layers;
  std::string out;
  append_map(out, session::make_view(ctx, run, request).numbers.front());
  return out;
}

std::string head_numbers(Context& ctx, const Run& run, const Head& place, std::optional<Index> query) {
  const StoredAttention& a = *run.state().find(place.part, place.layer);
  const AttentionEvent event = a.event(ctx);
  const Index head = place.head, kv = head / (a.heads() / a.kv_heads());
  const Range rows = query ? Range{*query, *query + 1} : Range{0, a.queries()};
  std::string out;
  append_json(out, head_json(run, a, event, head));
  append_map(out, map_of(ctx, a, head, rows));
  append_vectors(out, event.q, head);
  append_vectors(out, event.k, kv);
  append_vectors(out, event.v, kv);
  append_vectors(out, head_outputs(ctx, a), head);
  for (Index i = 0; i < a.queries(); ++i) append_number(out, static_cast<float>(event.lse.at(0, head, i)));
  if (!event.options.bias.empty()) append_bias(out, a, event.options.bias, head, rows);
  return out;
}

}  // namespace headlight::serve
