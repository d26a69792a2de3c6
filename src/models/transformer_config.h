// Configuration of a transformer, layer by layer: decoders (GPT), encoders (BERT) and encoder-decoders (the 2017
// transformer). Each layer has its own config.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/block_equal.h"

namespace headlight::models {

enum class ModelKind : std::uint8_t { decoder, encoder, encoder_decoder };

// Embeddings and the vectors added to them before the first layer. Rotations, slopes and windows belong to layers.
enum class AddedPositions : std::uint8_t { none, learned, sinusoidal };
struct EmbeddingConfig {
  AddedPositions positions = AddedPositions::none;
  Index position_offset = 0;  // row of the first token in the table
  nn::SinusoidOrder sinusoids = nn::SinusoidOrder::halves;
  double scale = 1;       // of the embeddings of tokens
  Index token_types = 0;  // segments; 0: none
  // Width of the tables; 0: that of the model. If it differs, a layer widens either the sum of all embeddings after its norm
  // (`widened` sum), or only the embeddings of tokens.
  Index width = 0;
  enum class Widened : std::uint8_t { tokens, sum };
  Widened widened = Widened::tokens;
  bool widening_bias = false;
  std::optional<nn::NormConfig> norm = std::nullopt;  // of the sum
  bool operator==(const EmbeddingConfig&) const = default;
};

// T5: a learned number for each distance, the same in all layers of a stack.
struct RelativePositions {
  Index buckets = 32, distance = 128;
  bool operator==(const RelativePositions&) const = default;
};

// Whisper: the encoder reads frames of audio features, not tokens: sound_reader.h.
struct SoundConfig {
  Index bands = 0;      // numbers of a frame
  Index positions = 0;  // of the encoder: one for two frames
  bool operator==(const SoundConfig&) const = default;
};

// A layer, an activation and a norm before the logits, as BERT has them.
struct MaskedHead {
  nn::Activation activation = nn::Activation::gelu;
  nn::NormConfig norm = {};
  bool bias = true;
  bool operator==(const MaskedHead&) const = default;
};
struct HeadConfig {
  bool absent = false;  // no logits: an encoder without its prediction head
  std::optional<MaskedHead> masked = std::nullopt;
  bool tied = true;  // logits use the embedding's table
  bool bias = false;
  bool fixed_bias = false;  // of Marian and BART: added to logits, not trained
  double scale = 1;         // of the input of the logits
  bool narrowed = false;    // a layer projects the stream to the width of the embedding's table before logits
  double softcap = 0;
  bool operator==(const HeadConfig&) const = default;
};

// What generation_config.json says about the tokens of translations.
struct WritingRules {
  std::vector<std::int32_t> never = {};  // bad_words_ids: tokens that are not written
  bool renormalized = false;             // renormalize_logits: probabilities are those without these tokens
  bool forced_end = false;               // forced_eos_token_id: the last token of the longest text is its end
  bool operator==(const WritingRules&) const = default;
};

struct TransformerConfig {
  std::string family = "gpt2";  // the family whose file format it uses: src/models/families.h
  ModelKind kind = ModelKind::decoder;
  Index vocabulary = 0, width = 0;
  Index max_positions = 0;  // longest input in tokens; 0: no known limit

  EmbeddingConfig embedding = {};
  std::vector<nn::BlockConfig> encoder = {}, decoder = {};  // one entry for each layer
  std::optional<nn::NormConfig> final_norm = nn::NormConfig{};
  std::optional<RelativePositions> relative = std::nullopt;
  // Falcon's ALiBi: scores get slope · position of the key before they are scaled; the sum is rounded to bf16.
  bool key_slopes = false;
  std::optional<nn::NormConfig> distance_norm = std::nullopt;  // DeBERTa: of the table of distances
  std::optional<SoundConfig> sound = std::nullopt;             // input of the encoder instead of tokens
  bool fixed_key_bias = false;  // files have no bias for keys: it is zero and not trained
  bool one_layer = false;       // all layers of a stack share the parameters of the first one
  HeadConfig head = {};

  double dropout = 0;  // of embeddings
  double initial_range = 0.02;
  std::int32_t bos = -1, pad = -1, decoder_start = -1;  // token ids; -1: none
  std::vector<std::int32_t> ends = {};                  // any of them ends a text; the first is written
  WritingRules writing = {};
  bool pad_fixed = false;  // the embedding of `pad` is not trained; Marian starts sentences with it

  bool rows_in_groups =
      false;  // files have queries, keys and values of each group of heads together: grouped_rows.h
  DType dtype = DType::f32;
  nn::Weights weights = nn::Weights::own;  // stored: matrices are given after construction, and not trained
  std::string source = {};                 // the config.json it was read from, returned unchanged

  bool operator==(const TransformerConfig&) const = default;
  // The stack whose output gives the logits.
  [[nodiscard]] const std::vector<nn::BlockConfig>& main() const {
    return kind == ModelKind::encoder ? encoder : decoder;
  }
  [[nodiscard]] const std::vector<nn::BlockConfig>& layers(Part part) const {
    return part == Part::encoder ? encoder : decoder;
  }
  [[nodiscard]] bool is_end(std::int32_t token) const;
  // The largest number of tokens, or of sound positions, of a part; 0: no known limit.
  [[nodiscard]] Index positions_of(Part part) const {
    return sound && part == Part::encoder ? sound->positions : max_positions;
  }
  // Of the table of tokens.
  [[nodiscard]] Index table_width() const { return embedding.width > 0 ? embedding.width : width; }
  [[nodiscard]] std::int32_t end() const { return ends.empty() ? -1 : ends.front(); }
};

// Adds an end token, unless it is already one or is -1.
void add_end(TransformerConfig& config, std::int32_t token);

// Changes all layers of both stacks, or all their attention, including cross-attention.
void each_layer(TransformerConfig& config, const std::function<void(nn::BlockConfig&)>& change);
void each_attention(TransformerConfig& config,
                    const std::function<void(nn::MultiHeadAttentionConfig&)>& change);

// Sets one kind of positions for the whole model.
enum class PositionKind : std::uint8_t { none, learned, sinusoidal, rope, alibi };
void set_positions(TransformerConfig& config, PositionKind kind, const nn::RopeConfig& rope = {});

// `layers` equal layers of a part: decoders are causal, and have cross-attention when `cross`.
enum class Cross : std::uint8_t { no, yes };
[[nodiscard]] std::vector<nn::BlockConfig> alike(nn::BlockConfig block, Index layers, Part part,
                                                 Cross cross = Cross::no);

// Fills in derived fields; throws Error{usage} that names an invalid field.
[[nodiscard]] TransformerConfig completed(TransformerConfig config);

// Why it cannot be trained, in one sentence; empty: it can be.
[[nodiscard]] std::string why_not_trained(const TransformerConfig& config);

// Number of parameters in matrices and tables: files must have as many before memory is allocated.
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
