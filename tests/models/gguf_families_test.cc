// Architectures of which there is no GGUF file at hand: golden folders turned into GGUF as its converters do
// (packed projections, whole norms, interleaved rows), loaded, and compared with the golden numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "headlight/positions.h"
#include "models/golden.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::GgufWriter;
using Names = std::vector<std::pair<std::string, std::string>>;

struct Row {
  const char* folder;
  const char* architecture;
  Names names;  // hub's name, GGUF's name; {n} is a layer's number
};

const Names kGemmaNames = {{"model.embed_tokens.weight", "token_embd.weight"},
                           {"lm_head.weight", "output.weight"},
                           {"model.norm.weight", "output_norm.weight"},
                           {"model.layers.{n}.input_layernorm.weight", "blk.{n}.attn_norm.weight"},
                           {"model.layers.{n}.self_attn.q_proj.weight", "blk.{n}.attn_q.weight"},
                           {"model.layers.{n}.self_attn.k_proj.weight", "blk.{n}.attn_k.weight"},
                           {"model.layers.{n}.self_attn.v_proj.weight", "blk.{n}.attn_v.weight"},
                           {"model.layers.{n}.self_attn.q_norm.weight", "blk.{n}.attn_q_norm.weight"},
                           {"model.layers.{n}.self_attn.k_norm.weight", "blk.{n}.attn_k_norm.weight"},
                           {"model.layers.{n}.self_attn.o_proj.weight", "blk.{n}.attn_output.weight"},
                           {"model.layers.{n}.mlp.gate_proj.weight", "blk.{n}.ffn_gate.weight"},
                           {"model.layers.{n}.mlp.up_proj.weight", "blk.{n}.ffn_up.weight"},
                           {"model.layers.{n}.mlp.down_proj.weight", "blk.{n}.ffn_down.weight"}};

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}
// Each also with ".bias" in place of ".weight".
Names with_biases(const Names& names) {
  Names all = names;
  for (const auto& [hub, own] : names)
    all.emplace_back(hub.substr(0, hub.size() - 6) + "bias", own.substr(0, own.size() - 6) + "bias");
  return all;
}
const Names kOneNormMore = {{"model.layers.{n}.post_attention_layernorm.weight", "blk.{n}.ffn_norm.weight"}};
const Names kPostNorms = {
    {"model.layers.{n}.post_attention_layernorm.weight", "blk.{n}.post_attention_norm.weight"},
    {"model.layers.{n}.pre_feedforward_layernorm.weight", "blk.{n}.ffn_norm.weight"},
    {"model.layers.{n}.post_feedforward_layernorm.weight", "blk.{n}.post_ffw_norm.weight"}};

const Names kBloomNames =
    with_biases({{"transformer.word_embeddings.weight", "token_embd.weight"},
                 {"transformer.word_embeddings_layernorm.weight", "token_embd_norm.weight"},
                 {"transformer.h.{n}.input_layernorm.weight", "blk.{n}.attn_norm.weight"},
                 {"transformer.h.{n}.self_attention.query_key_value.weight", "blk.{n}.attn_qkv.weight"},
                 {"transformer.h.{n}.self_attention.dense.weight", "blk.{n}.attn_output.weight"},
                 {"transformer.h.{n}.post_attention_layernorm.weight", "blk.{n}.ffn_norm.weight"},
                 {"transformer.h.{n}.mlp.dense_h_to_4h.weight", "blk.{n}.ffn_up.weight"},
                 {"transformer.h.{n}.mlp.dense_4h_to_h.weight", "blk.{n}.ffn_down.weight"},
                 {"transformer.ln_f.weight", "output_norm.weight"}});

const Names kGpt2Names = with_biases({{"transformer.wte.weight", "token_embd.weight"},
                                      {"transformer.wpe.weight", "position_embd.weight"},
                                      {"transformer.h.{n}.ln_1.weight", "blk.{n}.attn_norm.weight"},
                                      {"transformer.h.{n}.attn.c_attn.weight", "blk.{n}.attn_qkv.weight"},
                                      {"transformer.h.{n}.attn.c_proj.weight", "blk.{n}.attn_output.weight"},
                                      {"transformer.h.{n}.ln_2.weight", "blk.{n}.ffn_norm.weight"},
                                      {"transformer.h.{n}.mlp.c_fc.weight", "blk.{n}.ffn_up.weight"},
                                      {"transformer.h.{n}.mlp.c_proj.weight", "blk.{n}.ffn_down.weight"},
                                      {"transformer.ln_f.weight", "output_norm.weight"}});

const Names kOutputNorms = {
    {"model.layers.{n}.post_attention_layernorm.weight", "blk.{n}.post_attention_norm.weight"},
    {"model.layers.{n}.post_feedforward_layernorm.weight", "blk.{n}.post_ffw_norm.weight"}};
const Names kPlainForward = {{"model.layers.{n}.mlp.c_fc.weight", "blk.{n}.ffn_up.weight"},
                             {"model.layers.{n}.mlp.c_proj.weight", "blk.{n}.ffn_down.weight"}};
// Matrices of all experts become one tensor.
const Names kMixtralExperts = {
    {"model.layers.{n}.block_sparse_moe.gate.weight", "blk.{n}.ffn_gate_inp.weight"},
    {"model.layers.{n}.block_sparse_moe.experts.{e}.w1.weight", "blk.{n}.ffn_gate_exps.weight"},
    {"model.layers.{n}.block_sparse_moe.experts.{e}.w3.weight", "blk.{n}.ffn_up_exps.weight"},
    {"model.layers.{n}.block_sparse_moe.experts.{e}.w2.weight", "blk.{n}.ffn_down_exps.weight"}};
const Names kMptNames = {{"transformer.wte.weight", "token_embd.weight"},
                         {"transformer.norm_f.weight", "output_norm.weight"},
                         {"transformer.blocks.{n}.norm_1.weight", "blk.{n}.attn_norm.weight"},
                         {"transformer.blocks.{n}.attn.Wqkv.weight", "blk.{n}.attn_qkv.weight"},
                         {"transformer.blocks.{n}.attn.out_proj.weight", "blk.{n}.attn_output.weight"},
                         {"transformer.blocks.{n}.norm_2.weight", "blk.{n}.ffn_norm.weight"},
                         {"transformer.blocks.{n}.ffn.up_proj.weight", "blk.{n}.ffn_up.weight"},
                         {"transformer.blocks.{n}.ffn.down_proj.weight", "blk.{n}.ffn_down.weight"}};

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {"gpt2", "gpt2", kGpt2Names},
      {"llama", "llama", with(kGemmaNames, kOneNormMore)},
      {"qwen2_sharded", "qwen2", with(with_biases(kGemmaNames), kOneNormMore)},
      {"qwen3", "qwen3", with(kGemmaNames, kOneNormMore)},
      {"llama3_rope", "llama", with(kGemmaNames, kOneNormMore)},
      {"gemma", "gemma", with(kGemmaNames, kOneNormMore)},
      {"gemma2", "gemma2", with(kGemmaNames, kPostNorms)},
      {"gemma3", "gemma3", with(kGemmaNames, kPostNorms)},
      {"phi3",
       "phi3",
       {{"model.embed_tokens.weight", "token_embd.weight"},
        {"model.norm.weight", "output_norm.weight"},
        {"lm_head.weight", "output.weight"},
        {"model.layers.{n}.input_layernorm.weight", "blk.{n}.attn_norm.weight"},
        {"model.layers.{n}.self_attn.qkv_proj.weight", "blk.{n}.attn_qkv.weight"},
        {"model.layers.{n}.self_attn.o_proj.weight", "blk.{n}.attn_output.weight"},
        {"model.layers.{n}.post_attention_layernorm.weight", "blk.{n}.ffn_norm.weight"},
        {"model.layers.{n}.mlp.gate_up_proj.weight", "blk.{n}.ffn_up.weight"},
        {"model.layers.{n}.mlp.down_proj.weight", "blk.{n}.ffn_down.weight"}}},
      {"phi", "phi2",
       with_biases({{"model.embed_tokens.weight", "token_embd.weight"},
                    {"model.final_layernorm.weight", "output_norm.weight"},
                    {"lm_head.weight", "output.weight"},
                    {"model.layers.{n}.input_layernorm.weight", "blk.{n}.attn_norm.weight"},
                    {"model.layers.{n}.self_attn.q_proj.weight", "blk.{n}.attn_q.weight"},
                    {"model.layers.{n}.self_attn.k_proj.weight", "blk.{n}.attn_k.weight"},
                    {"model.layers.{n}.self_attn.v_proj.weight", "blk.{n}.attn_v.weight"},
                    {"model.layers.{n}.self_attn.dense.weight", "blk.{n}.attn_output.weight"},
                    {"model.layers.{n}.mlp.fc1.weight", "blk.{n}.ffn_up.weight"},
                    {"model.layers.{n}.mlp.fc2.weight", "blk.{n}.ffn_down.weight"}})},
      {"olmo2", "olmo2", with(kGemmaNames, kOutputNorms)},
      {"exaone4", "exaone4", with(kGemmaNames, kOutputNorms)},
      {"granite", "granite", with(kGemmaNames, kOneNormMore)},
      {"cohere", "command-r", kGemmaNames},
      {"cohere2", "cohere2", kGemmaNames},
      {"stablelm", "stablelm", with_biases(with(kGemmaNames, kOneNormMore))},
      {"starcoder2", "starcoder2", with_biases(with(with(kGemmaNames, kOneNormMore), kPlainForward))},
      {"nemotron", "nemotron", with_biases(with(kGemmaNames, kOneNormMore))},
      {"mixtral", "llama", with(with(kGemmaNames, kOneNormMore), kMixtralExperts)},
      {"mpt", "mpt", kMptNames},
      {"bloom", "bloom", kBloomNames},
      {"falcon", "falcon", kBloomNames},
      {"gpt_neox", "gptneox",
       with_biases({{"gpt_neox.embed_in.weight", "token_embd.weight"},
                    {"gpt_neox.final_layer_norm.weight", "output_norm.weight"},
                    {"embed_out.weight", "output.weight"},
                    {"gpt_neox.layers.{n}.input_layernorm.weight", "blk.{n}.attn_norm.weight"},
                    {"gpt_neox.layers.{n}.attention.query_key_value.weight", "blk.{n}.attn_qkv.weight"},
                    {"gpt_neox.layers.{n}.attention.dense.weight", "blk.{n}.attn_output.weight"},
                    {"gpt_neox.layers.{n}.post_attention_layernorm.weight", "blk.{n}.ffn_norm.weight"},
                    {"gpt_neox.layers.{n}.mlp.dense_h_to_4h.weight", "blk.{n}.ffn_up.weight"},
                    {"gpt_neox.layers.{n}.mlp.dense_4h_to_h.weight", "blk.{n}.ffn_down.weight"}})},
      {"bert", "bert",
       with_biases(
           {{"bert.embeddings.word_embeddings.weight", "token_embd.weight"},
            {"bert.embeddings.position_embeddings.weight", "position_embd.weight"},
            {"bert.embeddings.token_type_embeddings.weight", "token_types.weight"},
            {"bert.embeddings.LayerNorm.weight", "token_embd_norm.weight"},
            {"bert.encoder.layer.{n}.attention.self.query.weight", "blk.{n}.attn_q.weight"},
            {"bert.encoder.layer.{n}.attention.self.key.weight", "blk.{n}.attn_k.weight"},
            {"bert.encoder.layer.{n}.attention.self.value.weight", "blk.{n}.attn_v.weight"},
            {"bert.encoder.layer.{n}.attention.output.dense.weight", "blk.{n}.attn_output.weight"},
            {"bert.encoder.layer.{n}.attention.output.LayerNorm.weight", "blk.{n}.attn_output_norm.weight"},
            {"bert.encoder.layer.{n}.intermediate.dense.weight", "blk.{n}.ffn_up.weight"},
            {"bert.encoder.layer.{n}.output.dense.weight", "blk.{n}.ffn_down.weight"},
            {"bert.encoder.layer.{n}.output.LayerNorm.weight", "blk.{n}.layer_output_norm.weight"}})}};
  return list;
}

std::string filled(std::string name, Index layer) {
  if (const std::size_t at = name.find("{n}"); at != std::string::npos)
    name.replace(at, 3, std::to_string(layer));
  return name;
}

// Row r of the result is row order(r).
template <class Order>
Tensor reordered(const Tensor& from, const Order& order) {
  Tensor to(from.shape());
  const Index rows = from.dim(0), columns = from.shape().elements() / rows;
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < columns; ++i)
      to.as<float>()[r * columns + i] = from.as<float>()[order(r) * columns + i];
  return to;
}

Tensor transposed(const Tensor& from) {
  Tensor to({from.dim(1), from.dim(0)});
  for (Index r = 0; r < to.dim(0); ++r)
    for (Index i = 0; i < to.dim(1); ++i) to.view().set(r, i, from.at(i, r));
  return to;
}

// What a converter does to a tensor.
Tensor converted(Tensor tensor, const std::string& name, const TransformerConfig& c,
                 const std::string& architecture) {
  const nn::MultiHeadAttentionConfig& a = c.main()[0].attention;
  const Index dim = a.head_dim;
  if (a.layout == nn::WeightLayout::in_out && name.starts_with("blk.") && tensor.rank() == 2)
    return transposed(tensor);
  if (a.projections == nn::Projections::by_head && name.find("attn_qkv") != std::string::npos) {
    return reordered(tensor, [&](Index r) {  // [q | k | v] from [head, 3, dim]
      const Index part = r / (a.heads * dim), head = r / dim % a.heads;
      return (head * 3 + part) * dim + r % dim;
    });
  }
  if ((architecture == "llama" || architecture == "granite") &&
      (name.find("attn_q.") != std::string::npos || name.find("attn_k.") != std::string::npos))
    return reordered(tensor, [&](Index r) { return r / dim * dim + r % 2 * (dim / 2) + r % dim / 2; });
  if (c.main()[0].norm.weight_plus_one && name.ends_with("norm.weight"))
    for (Index i = 0; i < tensor.shape().elements(); ++i) tensor.as<float>()[i] += 1;
  return tensor;
}

void write_metadata(GgufWriter& w, const TransformerConfig& c, const std::string& a) {
  const nn::BlockConfig& block = c.main()[0];
  const nn::MultiHeadAttentionConfig& heads = block.attention;
  const auto count = [&](const std::string& key, Index value) {
    w.number(a + "." + key, static_cast<std::uint32_t>(value));
  };
  w.text("general.architecture", a);
  count("context_length", c.max_positions > 0 ? c.max_positions : 64);
  count("embedding_length", c.width);
  count("block_count", static_cast<Index>(c.main().size()));
  count("feed_forward_length", block.feed_forward.inner);
  count("attention.head_count", heads.heads);
  count("attention.head_count_kv", heads.kv_heads);
  count("attention.key_length", heads.head_dim);
  count("attention.value_length", heads.head_dim);
  const bool rms = block.norm.kind == nn::NormKind::rms;
  w.number(a + (rms ? ".attention.layer_norm_rms_epsilon" : ".attention.layer_norm_epsilon"),
           static_cast<float>(block.norm.eps));
  const bool rotates = c.main().back().attention.rope.has_value();
  const nn::MultiHeadAttentionConfig& last = rotates ? c.main().back().attention : heads;  // which sees all
  if (last.rope) {
    w.number(a + ".rope.freq_base", static_cast<float>(last.rope->theta));
    count("rope.dimension_count", last.rope->dims > 0 ? last.rope->dims : heads.head_dim);
  }
  if (heads.softcap > 0) w.number(a + ".attn_logit_softcapping", static_cast<float>(heads.softcap));
  if (c.head.softcap > 0) w.number(a + ".final_logit_softcapping", static_cast<float>(c.head.softcap));
  if (heads.scale) w.number(a + ".attention.scale", static_cast<float>(*heads.scale));
  if (block.residual_scale != 1) w.number(a + ".residual_scale", static_cast<float>(block.residual_scale));
  if (a == "granite") w.number(a + ".embedding_scale", static_cast<float>(c.embedding.scale));
  if (c.head.scale != 1)
    w.number(a + ".logit_scale", static_cast<float>(a == "granite" ? 1 / c.head.scale : c.head.scale));
  if (block.experts) {
    count("expert_count", block.experts->count);
    count("expert_used_count", block.experts->used);
  }
  std::vector<bool> slides;
  Index window = 0;
  for (const nn::BlockConfig& b : c.main()) {
    slides.push_back(b.attention.visible.left != Visibility::kUnbounded);
    if (slides.back()) window = b.attention.visible.left + 1;
  }
  if (window == 0) return;
  count("attention.sliding_window", window);
  w.list<bool>(a + ".attention.sliding_window_pattern", slides);
}

// The factors that are used, and others that are not.
void write_longrope(GgufWriter& w, const TransformerConfig& c) {
  const nn::RopeConfig& rope = *c.decoder[0].attention.rope;
  const auto half = static_cast<Index>(rope.factors.size());
  Tensor near({half}), far({half});
  for (Index i = 0; i < half; ++i) {
    near.as<float>()[i] = static_cast<float>(rope.factors[static_cast<std::size_t>(i)]);
    far.as<float>()[i] = static_cast<float>(rope.long_factors[static_cast<std::size_t>(i)]);
  }
  w.number("phi3.rope.scaling.original_context_length",
           static_cast<std::uint32_t>(rope.scaling.original_positions));
  w.number("phi3.rope.scaling.attn_factor", static_cast<float>(rope.scaling.attention_factor));
  w.tensor("rope_factors_short.weight", near);
  w.tensor("rope_factors_long.weight", far);
}

void write_rope_factors(GgufWriter& w, const TransformerConfig& c) {
  const nn::MultiHeadAttentionConfig& heads = c.main()[0].attention;
  if (!heads.rope) return;
  if (!heads.rope->factors.empty()) write_longrope(w, c);
  if (heads.rope->scaling.kind != nn::RopeScaling::Kind::llama3) return;
  nn::RopeConfig plain = *heads.rope;
  plain.scaling = {};
  const auto fast = nn::rope_frequencies(plain, heads.head_dim, 1),
             slow = nn::rope_frequencies(*heads.rope, heads.head_dim, 1);
  Tensor factors({heads.head_dim / 2});
  for (std::size_t i = 0; i < fast.size(); ++i)
    factors.as<float>()[i] = static_cast<float>(fast[i] / slow[i]);
  w.tensor("rope_freqs.weight", factors);
}

Tensor all_experts(const WeightSource& weights, const std::string& name, Index count) {
  Tensor all;
  for (Index e = 0; e < count; ++e) {
    std::string one = name;
    one.replace(one.find("{e}"), 3, std::to_string(e));
    const auto stored = weights.find(one);
    Tensor tensor{Shape(stored->shape)};
    weights.load(one, tensor);
    if (all.empty()) all = Tensor({count, tensor.dim(0), tensor.dim(1)});
    const Index each = tensor.shape().elements();
    std::copy_n(tensor.as<float>(), each, all.as<float>() + e * each);
  }
  return all;
}

GgufWriter gguf_of(const std::filesystem::path& path, const Row& row) {
  const ModelFiles files(path.string());
  const WeightSource& weights = files.weights();
  const TransformerConfig c = files.describe().config;
  GgufWriter w;
  write_metadata(w, c, row.architecture);
  write_rope_factors(w, c);
  for (const auto& [hub, own] : row.names)
    for (Index n = 0; n < (hub.find("{n}") == std::string::npos ? 1 : static_cast<Index>(c.main().size()));
         ++n) {
      if (hub.find("{e}") != std::string::npos) {
        w.tensor(filled(own, n), all_experts(weights, filled(hub, n), c.main()[0].experts->count));
        continue;
      }
      const auto stored = weights.find(filled(hub, n));
      if (!stored) continue;
      Tensor tensor{Shape(stored->shape)};
      weights.load(stored->name, tensor);
      w.tensor(filled(own, n), converted(std::move(tensor), own, c, row.architecture));
    }
  return w;
}

class Collector : public Observer {
 public:
  void on_attention(const AttentionEvent& event) override {
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < event.q.dim(1); ++h) weights.push_back(event.weights(b, h));
  }
  std::vector<Tensor> weights;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double worst = 0;
  for (Index i = 0; i < a.shape().elements(); ++i)
    worst = std::max(worst,
                     std::abs(static_cast<double>(a.as<float>()[i]) - static_cast<double>(b.as<float>()[i])));
  return worst;
}

class GgufFamily : public ::testing::TestWithParam<std::string> {};

// The folder's own model is compared with the golden numbers elsewhere; here the file's with the folder's.
void expect_equal_to_folder(const Row& row, const std::filesystem::path& golden,
                            const std::filesystem::path& path) {
  const headlight::testing::TempFolder temp;
  std::ofstream(temp.path("m.gguf"), std::ios::binary) << gguf_of(path, row).text();
  const LoadedTransformer file = load_transformer(temp.path("m.gguf")),
                          folder = load_transformer(path.string());
  EXPECT_EQ(file.notices.empty(), !file.model->config().head.absent);
  Context ctx({.threads = 2});
  const Batch batch = golden_batch(Golden(golden), folder.model->config());
  Collector own, theirs;
  const auto run = [&](const Transformer& model, Collector& collector) {
    const RunOptions options{.observer = &collector, .types = batch.type_ids};
    return folder.model->config().kind == ModelKind::encoder ? model.encode(ctx, batch.input, options)
                                                             : model.logits(ctx, batch.input, options);
  };
  const Tensor found = run(*file.model, own), wanted = run(*folder.model, theirs);
  EXPECT_LT(largest_difference(found, wanted), 2e-5);
  ASSERT_EQ(own.weights.size(), theirs.weights.size());
  ASSERT_FALSE(own.weights.empty());
  for (std::size_t i = 0; i < own.weights.size(); ++i)
    EXPECT_LT(largest_difference(own.weights[i], theirs.weights[i]), 5e-6) << i;
}

const Row& row_of(const std::string& folder) {
  for (const Row& row : rows())
    if (folder == row.folder) return row;
  ADD_FAILURE() << folder << " has no row";
  return rows().front();
}

TEST_P(GgufFamily, ComputesWhatTheFolderDoes) {
  const std::filesystem::path path = GetParam();
  expect_equal_to_folder(row_of(path.filename().string()), path, path);
}

TEST(GgufFamilies, LongRotationsAreThoseOfTheFolder) {
  const std::filesystem::path path = headlight::testing::golden_folder("phi3_longrope");
  expect_equal_to_folder(row_of("phi3"), path, path);
}

std::vector<std::string> folders() {
  std::vector<const char*> names;
  for (const Row& row : rows()) names.push_back(row.folder);
  return headlight::testing::golden_folders(names);
}
INSTANTIATE_TEST_SUITE_P(All, GgufFamily, ::testing::ValuesIn(folders()), headlight::testing::golden_name);

}  // namespace
}  // namespace headlight::models
