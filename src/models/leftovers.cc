#include "models/leftovers.h"

#include "models/gguf_hyperparameters.h"

namespace headlight::models {
namespace {

enum class When { always, tied, sinusoidal, decoder };

// The suffix of the name, and the condition under which the tensor can be ignored.
struct Leftover {
  std::string_view ending;
  When when = When::always;
};

constexpr Leftover kLeftovers[] = {
    // Buffers: causal masks, the value of masked scores, position numbers, rotary frequencies.
    {".attn.bias", When::decoder},
    {".attn.attention.bias", When::decoder},
    {".attention.bias", When::decoder},
    {".masked_bias", When::decoder},
    {"embeddings.position_ids"},
    {"rotary_emb.inv_freq"},
    {"embed_positions.weights"},
    {"encoder.embed_positions.weight", When::sinusoidal},
    {"decoder.embed_positions.weight", When::sinusoidal},
    // Copies of the embedding table, under the names of all its uses.
    {"lm_head.weight", When::tied},
    {"embed_out.weight", When::tied},
    {"proj_out.weight", When::tied},
    {"cls.predictions.decoder.weight", When::tied},
    {"lm_head.decoder.weight", When::tied},
    {"generator_lm_head.weight", When::tied},
    {"predictions.decoder.weight", When::tied},
    {"decoder.weight", When::tied},
    {"vocab_projector.weight", When::tied},
    {"encoder.embed_tokens.weight"},
    {"decoder.embed_tokens.weight"},
    // Copies of the head's bias.
    {"cls.predictions.decoder.bias"},
    {"lm_head.decoder.bias"},
    {"predictions.decoder.bias"},
    // Heads for other tasks: pooling of the first token, next-sentence prediction.
    {"pooler.dense.weight"},
    {"pooler.dense.bias"},
    {"cls.seq_relationship.weight"},
    {"cls.seq_relationship.bias"},
};

// Tensors of GGUF files: read with the metadata, after the last layer of some encoders, or unused by T5.
constexpr std::string_view kGgufLeftovers[] = {kRopeFactors, kShortFactors, kLongFactors,
                                               "dec.blk.0.cross_attn_rel_b.weight"};

bool holds(When when, const TransformerConfig& c) {
  switch (when) {
    case When::always: break;
    case When::tied: return c.head.tied || c.head.absent;
    case When::sinusoidal: return c.embedding.positions == AddedPositions::sinusoidal;
    case When::decoder: return c.kind == ModelKind::decoder;
  }
  return true;
}

}  // namespace

bool is_known_leftover(const TransformerConfig& config, std::string_view tensor) {
  for (const auto& [ending, when] : kLeftovers) {
    if (!tensor.ends_with(ending) || !holds(when, config)) continue;
    const std::size_t before = tensor.size() - ending.size();
    if (before == 0 || ending.front() == '.' || tensor[before - 1] == '.') return true;
  }
  for (const std::string_view name : kGgufLeftovers)
    if (tensor == name) return true;
  // The vision part of models whose text part is read.
  if (config.family == "gemma3" &&
      (tensor.starts_with("vision_tower.") || tensor.starts_with("multi_modal_projector.")))
    return true;
  return config.head.absent && tensor.starts_with("cls.");
}

}  // namespace headlight::models
