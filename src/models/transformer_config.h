// One description for decoders (GPT), encoders (BERT) and encoder-decoders (the 2017 transformer). What
// families do differently is a sum of options; every combination of them is a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/nn.h"

namespace headlight::models {

enum class ModelKind : std::uint8_t { decoder, encoder, encoder_decoder };
enum class PositionKind : std::uint8_t { none, learned, sinusoidal, rope, alibi, relative };

struct TransformerConfig {
  std::string family = "gpt2";  // whose names and config.json its files have: src/models/families.h
  ModelKind kind = ModelKind::decoder;

  Index vocabulary = 0, width = 0;
  Index layers = 0;          // of the decoder, or of an encoder alone
  Index encoder_layers = 0;  // of an encoder-decoder's encoder
  Index heads = 0;
  Index encoder_heads = 0;           // 0: as heads
  Index kv_heads = 0, head_dim = 0;  // 0: as heads, width / heads
  Index inner = 0;                   // of the feed-forward layers; 0: 4 · width
  Index encoder_inner = 0;           // 0: as inner

  // Norms
  nn::NormConfig norm = {};  // its width is set here
  nn::NormPlace norm_place = nn::NormPlace::before;
  nn::BlockShape block_shape = nn::BlockShape::serial;
  bool embedding_norm = false;
  bool final_norm = true;

  // Layers
  nn::Activation activation = nn::Activation::gelu_tanh;
  bool gated = false, gate_packed = false;
  nn::Projections projections = nn::Projections::separate;
  nn::WeightLayout layout = nn::WeightLayout::out_in;
  bool qkv_bias = true, out_bias = true, feed_forward_bias = true;

  // Attention
  bool head_norm = false;  // root mean square norm of each query and key
  std::optional<double> attention_scale = std::nullopt;
  double attention_softcap = 0;
  std::vector<Index> windows = {};  // per layer how many keys it sees, itself included; 0: all. Empty: all

  // Positions
  PositionKind positions = PositionKind::learned;
  Index max_positions = 0;    // of learned and sinusoidal ones
  Index position_offset = 0;  // the first token is number so many in the table
  nn::SinusoidOrder sinusoids = nn::SinusoidOrder::halves;
  nn::RopeConfig rope = {};
  std::optional<nn::RopeConfig> window_rope = std::nullopt;  // of layers with a window; else as all
  Index relative_buckets = 32, relative_distance = 128;

  // Ends
  double embedding_scale = 1;
  Index token_types = 0;     // segments; 0: none
  bool headless = false;     // no logits: an encoder that was stored without its head
  bool masked_head = false;  // a layer, an activation and a norm before the logits, as BERT has them
  bool tied = true;          // logits use the embedding's table
  bool head_bias = false;
  bool logits_bias = false;  // fixed numbers that Marian and BART add to logits
  double head_scale = 1;     // of what logits are made from
  double final_softcap = 0;

  double dropout = 0, attention_dropout = 0;
  double initial_range = 0.02;
  std::int32_t bos = -1, pad = -1, decoder_start = -1;  // token numbers; -1: none
  std::vector<std::int32_t> ends = {};                  // any of them ends a text; the first is written

  bool pad_fixed = false;  // looking up `pad` teaches its embedding nothing; Marian starts sentences with it

  DType dtype = DType::f32;
  nn::Weights weights = nn::Weights::own;  // stored: matrices are given after construction, and not trained
  std::string source = {};                 // the config.json it was read from: given back as it is

  bool operator==(const TransformerConfig&) const = default;
  [[nodiscard]] bool is_end(std::int32_t token) const;
  [[nodiscard]] std::int32_t end() const { return ends.empty() ? -1 : ends.front(); }
};

// One more token that ends a text, unless it is one already or is none (-1).
void add_end(TransformerConfig& config, std::int32_t token);

// Fills in what follows from the rest; throws Error{usage} that names a field which makes no sense.
[[nodiscard]] TransformerConfig completed(TransformerConfig config);

// Numbers that its matrices and tables hold: what a file must have before memory is taken for them.
[[nodiscard]] double least_parameters(const TransformerConfig& config);

struct Sizes {
  Index vocabulary = 0, width = 0, layers = 0, heads = 0, context = 0;
};
// GPT-2: norms before, learned positions, tied.
[[nodiscard]] TransformerConfig gpt_config(const Sizes& sizes);
// Llama: root mean square norms, rotary positions, SwiGLU with an inner width near 8/3 · width.
[[nodiscard]] TransformerConfig llama_config(const Sizes& sizes);
// BERT with a masked-token head.
[[nodiscard]] TransformerConfig bert_config(const Sizes& sizes);
// The 2017 transformer in Marian's form: norms after, sinusoids, as many encoder layers as decoder layers.
[[nodiscard]] TransformerConfig translation_config(const Sizes& sizes);
// "transformer-base": width 512, 8 heads, 6 + 6 layers. Throws Error{usage} that lists the names.
[[nodiscard]] TransformerConfig preset(std::string_view name, Index vocabulary, Index context);

}  // namespace headlight::models
