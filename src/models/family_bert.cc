// BERT with its masked-token head, RoBERTa and DistilBERT: norms after, learned positions, segments. GGUF files of
// BERT lack the head that it was trained with.
#include "models/family_bert.h"

#include "models/family_gguf.h"

namespace headlight::models {

Draft encoder_draft(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = layer_norm(h, 1e-12), .activation = nn::Activation::gelu});
  TransformerConfig& c = d.c;
  d.block.norm_place = nn::NormPlace::after;
  c.embedding.positions = AddedPositions::learned;
  c.embedding.norm = d.block.norm;
  c.final_norm.reset();
  if (h.gguf()) {
    c.head.absent = true;
  } else {
    c.head.masked = MaskedHead{d.block.feed_forward.activation, d.block.norm};
    c.head.bias = true;
  }
  h.expect(Key::decodes, false, "an encoder that decodes is not supported");
  if (h.has(Key::position_type) && h.text(Key::position_type) != "absolute")
    h.refuse(Key::position_type, "only absolute positions are supported");
  return d;
}

namespace {

constexpr NameRow kDistilRows[] = {
    {"attention.query", "attention.q_lin"}, {"attention.key", "attention.k_lin"},
    {"attention.value", "attention.v_lin"}, {"attention.out", "attention.out_lin"},
    {"attention_norm", "sa_layer_norm"},    {"feed_forward.up", "ffn.lin1"},
    {"feed_forward.down", "ffn.lin2"},      {"feed_forward_norm", "output_layer_norm"},
    {"head.transform", "vocab_transform"},  {"head.norm", "vocab_layer_norm"},
    {"head.projection", "vocab_projector"}, {"head.bias", "vocab_projector.bias"},
};
constexpr NameRow kGgufEncoderRows[] = {
    {"attention_norm", "attn_output_norm"},
    {"feed_forward_norm", "layer_output_norm"},
};

TransformerConfig read_bert(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  d.c.embedding.token_types = h.count_or(Key::token_types, h.gguf() ? 0 : 2);
  return encoder_of(d);
}

TransformerConfig read_roberta(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  d.c.embedding.token_types = h.count_or(Key::token_types, 2);
  d.c.embedding.position_offset = d.c.pad + 1;  // rows of the table up to that of padding are unused
  d.c.max_positions -= d.c.embedding.position_offset;
  return encoder_of(d);
}

TransformerConfig read_distilbert(const Hyperparameters& h) { return encoder_of(encoder_draft(h)); }

std::string write(const TransformerConfig& c) {
  const nn::BlockConfig& b = c.encoder.front();
  return ConfigWriter()
      .architecture("BertForMaskedLM")
      .text("model_type", "bert")
      .integer("vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("hidden_size", c.width)
      .integer("num_hidden_layers", static_cast<Index>(c.encoder.size()))
      .integer("num_attention_heads", b.attention.heads)
      .integer("intermediate_size", b.feed_forward.inner)
      .integer("type_vocab_size", c.embedding.token_types)
      .text("hidden_act", hub_name(b.feed_forward.activation))
      .real("layer_norm_eps", b.norm.eps)
      .real("hidden_dropout_prob", c.dropout)
      .real("attention_probs_dropout_prob", b.attention.dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.head.tied)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

constexpr Names kDistilNames{
    .rows = kDistilRows, .more = kBertLayerRows, .layer = "transformer.layer.{n}.", .prefix = "distilbert."};

}  // namespace

extern const Family kBert, kRoberta, kXlmRoberta, kCamembert, kDistilbert;
const Family kBert{"bert", "bert", read_bert, like_bert(kBertRows, "bert."), gguf_names(kGgufEncoderRows),
                   write};
const Family kRoberta{"roberta", "", read_roberta, like_bert(kRobertaRows, "roberta.")};
const Family kXlmRoberta{"xlm-roberta", "", read_roberta, like_bert(kRobertaRows, "roberta.")};
const Family kCamembert{"camembert", "", read_roberta, like_bert(kRobertaRows, "roberta.")};
const Family kDistilbert{"distilbert", "", read_distilbert, kDistilNames};

}  // namespace headlight::models
