#include "models/draft.h"

namespace headlight::models {

nn::NormConfig rms_norm(const Hyperparameters& h, double eps) {
  return {.kind = nn::NormKind::rms, .eps = h.epsilon(Key::rms_epsilon, eps), .bias = false};
}

nn::NormConfig layer_norm(const Hyperparameters& h, double eps) {
  return {.kind = nn::NormKind::layer, .eps = h.epsilon(Key::layer_epsilon, eps)};
}

Index Draft::head_dim() const {
  const Index heads = std::max<Index>(1, block.attention.heads);
  return block.attention.head_dim > 0 ? block.attention.head_dim : c.width / heads;
}

Draft draft(const Hyperparameters& h, const Usual& usual) {
  Draft d;
  TransformerConfig& c = d.c;
  nn::MultiHeadAttentionConfig& a = d.block.attention;
  nn::FeedForwardConfig& f = d.block.feed_forward;
  c.width = h.count(Key::width);
  d.layers = h.layer_count(Key::layers);
  if (usual.needs_inner || h.has(Key::inner)) f.inner = h.count(Key::inner);
  a.heads = h.count(Key::heads);
  a.kv_heads = h.count_or(Key::kv_heads, 0);
  a.head_dim = h.count_or(Key::head_dim, 0);
  if (!usual.experts && h.count_or(Key::experts, 0) > 0)
    h.refuse(Key::experts, "mixtures of experts are not supported for this family");
  c.vocabulary = h.count(Key::vocabulary);
  if (!usual.context || h.has(Key::context)) c.max_positions = h.count(Key::context);
  else c.max_positions = *usual.context;

  d.block.norm = usual.norm;
  c.final_norm = usual.norm;
  const bool says_activation = usual.needs_activation || h.has(Key::activation);
  f.activation = says_activation ? h.activation(usual.activation) : usual.activation;
  f.gated = usual.gated;
  a.qkv_bias = h.flag_or(Key::qkv_bias, usual.qkv_bias);
  a.out_bias = h.flag_or(Key::out_bias, usual.out_bias);
  f.bias = h.flag_or(Key::feed_forward_bias, usual.feed_forward_bias);
  if (h.flag_or(Key::head_norm, usual.head_norm)) {
    a.head_norm = usual.norm;
    a.head_norm->kind = nn::NormKind::rms;
  }
  c.head.tied = h.flag_or(Key::tied, usual.tied);
  c.head.bias = h.flag_or(Key::head_bias, false);

  c.dropout = d.block.dropout = h.real_or(Key::dropout, 0);
  a.dropout = h.real_or(Key::attention_dropout, 0);
  c.initial_range = h.real_or(Key::initial_range, 0.02);
  c.bos = h.token(Key::bos);
  for (const std::int32_t end : h.tokens(Key::eos)) add_end(c, end);
  c.pad = h.token(Key::pad);
  return d;
}

TransformerConfig decoder_of(const Draft& draft) {
  TransformerConfig c = draft.c;
  c.decoder = alike(draft.block, draft.layers, Part::decoder);
  for (std::size_t n = 0; n < draft.windows.size(); ++n) {
    if (draft.windows[n] == 0) continue;
    c.decoder[n].attention.visible.left = draft.windows[n] - 1;
    if (draft.window_rope) c.decoder[n].attention.rope = draft.window_rope;
  }
  return c;
}

void skip_rotations(const Hyperparameters& h, TransformerConfig& c, Index every) {
  const std::vector<Index> rotating = h.counts(Key::rotating_layers);
  if (!rotating.empty() && rotating.size() != c.decoder.size())
    h.refuse(Key::rotating_layers, "need a number for each layer");
  every = h.count_or(Key::rotating_every, every);
  if (every < 1) h.refuse(Key::rotating_every, "need 1 or more");
  for (std::size_t n = 0; n < c.decoder.size(); ++n) {
    const bool rotates = rotating.empty() ? (static_cast<Index>(n) + 1) % every != 0 : rotating[n] != 0;
    if (!rotates) c.decoder[n].attention.rope.reset();
  }
}

TransformerConfig encoder_of(const Draft& draft) {
  TransformerConfig c = draft.c;
  c.kind = ModelKind::encoder;
  c.encoder = alike(draft.block, draft.layers, Part::encoder);
  return c;
}

ConfigWriter& ConfigWriter::text(std::string_view key, std::string_view value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::integer(std::string_view key, std::int64_t value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::token(std::string_view key, std::int32_t value) {
  writer_.field(key, value < 0 ? std::nullopt : std::optional(value));
  return *this;
}
ConfigWriter& ConfigWriter::tokens(std::string_view key, std::span<const std::int32_t> values) {
  if (values.size() <= 1) return token(key, values.empty() ? -1 : values.front());
  writer_.field(key, values);
  return *this;
}
ConfigWriter& ConfigWriter::real(std::string_view key, double value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::boolean(std::string_view key, bool value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::null(std::string_view key) {
  writer_.field(key, nullptr);
  return *this;
}
ConfigWriter& ConfigWriter::architecture(std::string_view name) {
  writer_.key("architectures").begin_list().value(name).end_list();
  return *this;
}
std::string ConfigWriter::finish() { return writer_.end_object().take_line(); }

}  // namespace headlight::models
