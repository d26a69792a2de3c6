// Marian (the opus-mt models): the 2017 transformer, norms after, all sines and then all cosines. BART: the same with
// learned positions and a norm of the embeddings. Whisper: BART with norms before sublayers; its encoder reads audio.
#include <cmath>

#include "models/draft.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"embedding", "shared"},
    {"attention.query", "self_attn.q_proj"},
    {"attention.key", "self_attn.k_proj"},
    {"attention.value", "self_attn.v_proj"},
    {"attention.out", "self_attn.out_proj"},
    {"attention_norm", "self_attn_layer_norm"},
    {"cross.query", "encoder_attn.q_proj"},
    {"cross.key", "encoder_attn.k_proj"},
    {"cross.value", "encoder_attn.v_proj"},
    {"cross.out", "encoder_attn.out_proj"},
    {"cross_norm", "encoder_attn_layer_norm"},
    {"feed_forward.up", "fc1"},
    {"feed_forward.down", "fc2"},
    {"feed_forward_norm", "final_layer_norm"},
    {"head.projection", "lm_head"},
    {"head.bias", "final_logits_bias"},
    // BART alone
    {"positions", "embed_positions"},
    {"embedding_norm", "layernorm_embedding"},
    // mBART, M2M-100 and Pegasus
    {"final_norm", "layer_norm"},
};
constexpr NameRow kWhisperRows[] = {
    {"embedding", "decoder.embed_tokens"},
    {"convolution1", "conv1"},
    {"convolution2", "conv2"},
    {"head.projection", "proj_out"},
};
constexpr Names kNames{
    .rows = kRows, .layer = "layers.{n}.", .encoder = "encoder.", .decoder = "decoder.", .prefix = "model."};

constexpr Names kWhisperNames{.rows = kWhisperRows,
                              .more = kRows,
                              .layer = "layers.{n}.",
                              .encoder = "encoder.",
                              .decoder = "decoder.",
                              .prefix = "model."};

// Shared by Marian and BART.
TransformerConfig read_shared(const Hyperparameters& h) {
  TransformerConfig c;
  c.kind = ModelKind::encoder_decoder;
  c.vocabulary = h.count(Key::vocabulary);
  c.width = h.count(Key::width);
  c.max_positions = h.count(Key::context);
  nn::BlockConfig b;
  b.norm_place = nn::NormPlace::after;
  b.feed_forward.activation = h.activation(nn::Activation::relu);
  c.dropout = b.dropout = h.real_or(Key::dropout, 0);
  b.attention.dropout = h.real_or(Key::attention_dropout, 0);
  b.attention.heads = h.count(Key::encoder_heads);
  b.feed_forward.inner = h.count(Key::encoder_inner);
  c.encoder = alike(b, h.layer_count(Key::encoder_layers), Part::encoder);
  b.attention.heads = h.count(Key::decoder_heads);
  b.feed_forward.inner = h.count(Key::decoder_inner);
  c.decoder = alike(b, h.layer_count(Key::decoder_layers), Part::decoder, Cross::yes);
  c.final_norm.reset();
  if (h.flag_or(Key::scale_embedding, false)) c.embedding.scale = std::sqrt(static_cast<double>(c.width));
  c.head.fixed_bias = true;
  c.head.tied = h.flag_or(Key::tied, true);
  c.pad_fixed = true;
  h.expect(Key::shared_embeddings, true, "two vocabularies are not supported");
  c.initial_range = h.real_or(Key::initial_range, 0.02);
  c.bos = h.token(Key::bos);
  for (const std::int32_t end : h.tokens(Key::eos)) add_end(c, end);
  c.pad = h.token(Key::pad);
  c.decoder_start = h.token(Key::decoder_start);
  return c;
}

TransformerConfig read_marian(const Hyperparameters& h) {
  TransformerConfig c = read_shared(h);
  c.embedding.positions = AddedPositions::sinusoidal;
  return c;
}

TransformerConfig read_bart(const Hyperparameters& h) {
  TransformerConfig c = read_shared(h);
  c.embedding.positions = AddedPositions::learned;
  c.embedding.position_offset = 2;
  c.embedding.norm = nn::NormConfig{};
  return c;
}

// Norms before, and one at the end of each stack.
void put_norms_before(TransformerConfig& c) {
  each_layer(c, [](nn::BlockConfig& b) { b.norm_place = nn::NormPlace::before; });
  c.final_norm = nn::NormConfig{};
}

TransformerConfig read_mbart(const Hyperparameters& h) {
  TransformerConfig c = read_bart(h);
  put_norms_before(c);
  return c;
}

TransformerConfig read_pegasus(const Hyperparameters& h) {
  TransformerConfig c = read_marian(h);
  put_norms_before(c);
  return c;
}

// Positions start after the id of the padding token.
TransformerConfig read_m2m100(const Hyperparameters& h) {
  TransformerConfig c = read_marian(h);
  put_norms_before(c);
  c.embedding.sinusoids = nn::SinusoidOrder::halves_to_end;
  c.embedding.position_offset = c.pad + 1;
  c.head.fixed_bias = false;
  return c;
}

// The encoder reads audio, and its positions are in the file; keys have no bias.
TransformerConfig read_whisper(const Hyperparameters& h) {
  TransformerConfig c = read_bart(h);
  put_norms_before(c);
  c.embedding.position_offset = 0;
  c.embedding.norm.reset();
  c.head.fixed_bias = false;
  c.sound = SoundConfig{h.count(Key::sound_bands), h.count(Key::sound_positions)};
  c.fixed_key_bias = true;
  return c;
}

std::string write_marian(const TransformerConfig& c) {
  const nn::BlockConfig &e = c.encoder.front(), &d = c.decoder.front();
  return ConfigWriter()
      .architecture("MarianMTModel")
      .text("model_type", "marian")
      .boolean("is_encoder_decoder", true)
      .integer("vocab_size", c.vocabulary)
      .integer("decoder_vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("d_model", c.width)
      .integer("encoder_layers", static_cast<Index>(c.encoder.size()))
      .integer("decoder_layers", static_cast<Index>(c.decoder.size()))
      .integer("encoder_attention_heads", e.attention.heads)
      .integer("decoder_attention_heads", d.attention.heads)
      .integer("encoder_ffn_dim", e.feed_forward.inner)
      .integer("decoder_ffn_dim", d.feed_forward.inner)
      .text("activation_function", hub_name(d.feed_forward.activation))
      .boolean("scale_embedding", c.embedding.scale != 1)
      .boolean("static_position_embeddings", true)
      .boolean("share_encoder_decoder_embeddings", true)
      .boolean("tie_word_embeddings", c.head.tied)
      .real("dropout", c.dropout)
      .real("attention_dropout", d.attention.dropout)
      .real("activation_dropout", 0)
      .real("init_std", c.initial_range)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .token("decoder_start_token_id", c.decoder_start)
      .null("forced_eos_token_id")
      .text("torch_dtype", "float32")
      .finish();
}

}  // namespace

extern const Family kMarian, kBart, kMbart, kM2m100, kPegasus, kWhisper;
const Family kMarian{"marian", "", read_marian, kNames, {}, write_marian};
const Family kBart{"bart", "", read_bart, kNames};
const Family kMbart{"mbart", "", read_mbart, kNames};
const Family kM2m100{"m2m_100", "", read_m2m100, kNames};
const Family kPegasus{"pegasus", "", read_pegasus, kNames};
const Family kWhisper{"whisper", "", read_whisper, kWhisperNames};

}  // namespace headlight::models
