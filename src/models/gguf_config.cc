#include "models/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/family_tools.h"
#include "models/gguf_metadata.h"

namespace headlight::models {
namespace {

constexpr Index kMostLayers = 10000;
constexpr Index kMostPositions = Index{1} << 24;  // a longer context is not believed

void rms_norms(const GgufMetadata& m, TransformerConfig& c) {
  c.norm = {.kind = nn::NormKind::rms, .eps = m.epsilon("attention.layer_norm_rms_epsilon"), .bias = false};
}
void layer_norms(const GgufMetadata& m, TransformerConfig& c) {
  c.norm = {.kind = nn::NormKind::layer, .eps = m.epsilon("attention.layer_norm_epsilon")};
}

// ---- What architectures do differently. Gates, biases and norms of heads are there when their tensors are.

void qwen(const GgufMetadata& m, TransformerConfig& c) {
  rms_norms(m, c);
  c.activation = nn::Activation::silu;
  c.gated = true;
  c.positions = PositionKind::rope;
}

// Rows of queries and keys stand in the order of their pairs: no other architecture here has that.
void llama(const GgufMetadata& m, TransformerConfig& c) {
  qwen(m, c);
  c.rope.interleaved = true;
}

// Norms of GGUF files hold their weights whole, unlike those of Gemma's own files.
void gemma(const GgufMetadata& m, TransformerConfig& c) {
  qwen(m, c);
  c.activation = nn::Activation::gelu_tanh;
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
}

// Which layers look at all tokens is in a key, or known of the architecture: every so many.
void windows(const GgufMetadata& m, TransformerConfig& c, Index usual, Index every) {
  const Index window = m.window(usual);
  const std::vector<bool> slides = m.sliding_layers(c.layers, every);
  for (Index n = 0; window > 0 && n < c.layers; ++n)
    c.windows.push_back(slides[static_cast<std::size_t>(n)] ? window : 0);
}

// The scale of scores is often in no key: the largest of each generation has one of its own.
void gemma_scale(const GgufMetadata& m, TransformerConfig& c, Index largest_layers) {
  c.attention_scale = m.real("attention.scale");
  if (c.attention_scale) return;
  const Index dims = c.layers == largest_layers ? c.width / c.heads : c.head_dim;
  c.attention_scale = 1 / std::sqrt(static_cast<double>(dims));
}

void gemma2(const GgufMetadata& m, TransformerConfig& c) {
  gemma(m, c);
  c.norm_place = nn::NormPlace::both;
  c.attention_softcap = m.real("attn_logit_softcapping").value_or(50);
  c.final_softcap = m.real("final_logit_softcapping").value_or(30);
  gemma_scale(m, c, 46);
  windows(m, c, 4096, 2);
}

void gemma3(const GgufMetadata& m, TransformerConfig& c) {
  gemma(m, c);
  c.norm_place = nn::NormPlace::both;
  c.final_softcap = m.real("final_logit_softcapping").value_or(0);
  c.rope.theta = 1e6;
  c.window_rope = nn::RopeConfig{.theta = m.real("rope.freq_base_swa").value_or(1e4)};
  gemma_scale(m, c, 62);
  windows(m, c, 1024, 6);
}

void phi2(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.activation = nn::Activation::gelu_tanh;
  c.block_shape = nn::BlockShape::parallel_one_norm;
  c.positions = PositionKind::rope;
}

void phi3(const GgufMetadata& m, TransformerConfig& c) {
  qwen(m, c);
  c.projections = nn::Projections::packed;
  c.gate_packed = true;
  const Index window = m.window(0);
  if (window > 0) c.windows.assign(static_cast<std::size_t>(c.layers), window);
}

void falcon(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.activation = nn::Activation::gelu;
  c.projections = nn::Projections::packed;
  c.block_shape = nn::BlockShape::parallel_one_norm;
  c.positions = PositionKind::rope;
  if (m.file().find_tensor("blk.0.attn_norm_2.weight") == nullptr) return;
  c.block_shape = nn::BlockShape::parallel;  // 40B and 180B
  c.family = "gguf-falcon";
}

void neox(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.activation = nn::Activation::gelu;
  c.projections = nn::Projections::packed;
  c.block_shape =
      m.boolean("use_parallel_residual").value_or(true) ? nn::BlockShape::parallel : nn::BlockShape::serial;
  c.positions = PositionKind::rope;
}

void bloom(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.projections = nn::Projections::packed;
  c.embedding_norm = true;
  c.positions = PositionKind::alibi;
}

void gpt2(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.projections = nn::Projections::packed;
}

// Stored without the head that it was trained with.
void bert(const GgufMetadata& m, TransformerConfig& c) {
  layer_norms(m, c);
  c.kind = ModelKind::encoder;
  c.norm_place = nn::NormPlace::after;
  c.embedding_norm = true;
  c.final_norm = false;
  c.activation = nn::Activation::gelu;
  c.headless = true;
  if (const io::GgufTensor* types = m.file().find_tensor("token_types.weight"); types != nullptr)
    c.token_types = types->shape.rank == 2 ? types->shape[0] : 0;
}

// The distance from which on all keys are in the last bucket is in no key: all models have the same.
void t5(const GgufMetadata& m, TransformerConfig& c) {
  rms_norms(m, c);
  c.family = "gguf-t5";
  c.kind = ModelKind::encoder_decoder;
  c.encoder_layers = c.layers;
  if (m.has("decoder_block_count")) c.layers = m.count("decoder_block_count", "layers", kMostLayers);
  c.gated = m.file().find_tensor("dec.blk.0.ffn_gate.weight") != nullptr;
  c.activation = c.gated ? nn::Activation::gelu_tanh : nn::Activation::relu;
  c.attention_scale = 1;
  c.positions = PositionKind::relative;
  c.relative_buckets = m.count("attention.relative_buckets_count", "buckets", 1 << 20);
  c.relative_distance = 128;
  // A model that has no table of its own for logits makes them from scaled values.
  if (m.file().find_tensor("output.weight") == nullptr)
    c.head_scale = 1 / std::sqrt(static_cast<double>(c.width));
  c.decoder_start = c.pad;
  if (m.has("decoder_start_token_id"))
    c.decoder_start =
        static_cast<std::int32_t>(m.count("decoder_start_token_id", "token_id", c.vocabulary - 1, 0));
}

struct Architecture {
  std::string_view name;
  void (*set)(const GgufMetadata& m, TransformerConfig& c);
};
constexpr Architecture kArchitectures[] = {
    {"llama", llama},   {"qwen2", qwen}, {"qwen3", qwen}, {"gemma", gemma},   {"gemma2", gemma2},
    {"gemma3", gemma3}, {"phi2", phi2},  {"phi3", phi3},  {"falcon", falcon}, {"gptneox", neox},
    {"bloom", bloom},   {"gpt2", gpt2},  {"bert", bert},  {"t5", t5}};

const Architecture& architecture_of(const io::Gguf& file) {
  const auto name = file.text("general.architecture");
  std::string known;
  for (const Architecture& one : kArchitectures) {
    if (name == one.name) return one;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  }
  throw Error(ErrorKind::input, "gguf.architecture",
              name ? fmt::format("{}: models of the architecture \"{}\" are not known here; known are {}",
                                 escaped(file.name()), escaped(*name, 40), known)
                   : fmt::format("{}: lacks general.architecture, so it is no model; known are {}",
                                 escaped(file.name()), known));
}

// ---- What all have -----------------------------------------------------------------------------------

void read_sizes(const GgufMetadata& m, TransformerConfig& c) {
  c.family = "gguf";
  c.width = m.count("embedding_length", "width");
  c.layers = m.count("block_count", "layers", kMostLayers);
  c.inner = m.count("feed_forward_length", "width");
  c.heads = m.count("attention.head_count", "heads");
  c.kv_heads = m.has("attention.head_count_kv") ? m.count("attention.head_count_kv", "heads") : c.heads;
  if (c.heads % c.kv_heads != 0)
    m.refuse("heads", fmt::format("{} heads cannot share {} heads of keys", c.heads, c.kv_heads));
  if (m.has("attention.key_length")) {
    c.head_dim = m.count("attention.key_length", "heads");
    if (m.has("attention.value_length") && m.count("attention.value_length", "heads") != c.head_dim)
      m.refuse("heads", "keys and values of different lengths are not supported");
  } else {
    if (c.width % c.heads != 0)
      m.refuse("heads", fmt::format("a width of {} cannot be shared by {} heads", c.width, c.heads));
    c.head_dim = c.width / c.heads;
  }
  if (m.has("expert_count") && m.count("expert_count", "experts", 1 << 20, 0) > 0)
    m.refuse("experts", "mixtures of experts are not supported");
}

void read_embedding(const GgufMetadata& m, TransformerConfig& c) {
  const io::GgufTensor* table = m.file().find_tensor("token_embd.weight");
  if (table == nullptr) m.refuse("vocabulary", "has no tensor \"token_embd.weight\", so it is no model");
  if (table->shape.rank != 2 || table->shape[1] != c.width) {
    m.refuse("width", fmt::format("tensor \"token_embd.weight\" is {} {}; embedding_length is {}",
                                  table->type->name, table->shape.text(), c.width));
  }
  c.vocabulary = table->shape[0];
  std::int32_t eos = -1, eot = -1, eom = -1;  // of a text, of a turn, of a message
  for (const auto& [key, id] :
       {std::pair("bos", &c.bos), {"eos", &eos}, {"padding", &c.pad}, {"eot", &eot}, {"eom", &eom}}) {
    const auto found = m.file().integer(fmt::format("tokenizer.ggml.{}_token_id", key));
    if (!found) continue;
    if (*found < 0 || *found >= c.vocabulary)
      m.refuse("token_id",
               fmt::format("the {} token has the id {} in a vocabulary of {}", key, *found, c.vocabulary));
    *id = static_cast<std::int32_t>(*found);
  }
  for (const std::int32_t end : {eos, eot, eom}) add_end(c, end);
  const io::GgufValue* tokens = m.file().find_value("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->count > static_cast<std::uint64_t>(c.vocabulary))
    m.refuse("tokens", fmt::format("{} tokens for a vocabulary of {}", tokens->count, c.vocabulary));
}

void read_presence(const io::Gguf& file, TransformerConfig& c) {
  const auto has = [&](std::string_view name) { return file.find_tensor(name) != nullptr; };
  c.qkv_bias = has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias");
  c.out_bias = has("blk.0.attn_output.bias");
  c.feed_forward_bias = has("blk.0.ffn_up.bias");
  c.head_norm = has("blk.0.attn_q_norm.weight");
  c.tied = !has("output.weight");
  c.head_bias = has("output.bias");
}

void read_context(const GgufMetadata& m, DescribedTransformer& described) {
  TransformerConfig& c = described.config;
  c.max_positions = m.count("context_length", "context", std::numeric_limits<Index>::max());
  if (c.positions == PositionKind::relative) c.max_positions = 0;  // what it was trained with limits nothing
  if (c.positions == PositionKind::learned || c.max_positions <= kMostPositions) return;
  described.notices.push_back(fmt::format("{}: a context of {} tokens is not believed; {} is used",
                                          escaped(m.file().name()), c.max_positions, kMostPositions));
  c.max_positions = kMostPositions;
}

}  // namespace

DescribedTransformer describe_gguf(const io::Gguf& file) {
  const Architecture& architecture = architecture_of(file);
  const GgufMetadata m(file, architecture.name);
  DescribedTransformer described;
  TransformerConfig& c = described.config;
  if (file.integer("split.count").value_or(1) > 1 && file.files() == 1)
    m.refuse("split", "is one of several files of a model; open the first of them");
  read_sizes(m, c);
  read_embedding(m, c);
  architecture.set(m, c);
  read_presence(file, c);
  if (c.positions == PositionKind::rope) m.read_rope(c);
  read_context(m, described);
  if (const std::string wrong = settle_longrope(c); !wrong.empty()) m.refuse("rope", "longrope: " + wrong);
  try {
    c = completed(c);
  } catch (const Error& error) {
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", escaped(file.name()), error.what()));
  }
  return described;
}

}  // namespace headlight::models
