// Families with mixture-of-experts layers: Mixtral, Qwen 3 and GPT-OSS. GGUF files store Mixtral as Llama.
#include "models/family_experts.h"

#include <fmt/format.h>

#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {

nn::ExpertsConfig read_experts(const Hyperparameters& h) {
  nn::ExpertsConfig e;
  e.count = h.count(Key::experts);
  e.used = h.count(Key::experts_used);
  if (e.count < 1 || e.count > 4096) h.refuse(Key::experts, "need 1 to 4096");
  if (e.used < 1 || e.used > e.count) h.refuse(Key::experts_used, fmt::format("need 1 to {}", e.count));
  return e;
}

namespace {

constexpr NameRow kMixtralRows[] = {
    {"router", "block_sparse_moe.gate"},
    {"experts.gate", "block_sparse_moe.experts.{e}.w1"},
    {"experts.gated_up", "block_sparse_moe.experts.{e}.w3"},
    {"experts.down", "block_sparse_moe.experts.{e}.w2"},
};
constexpr NameRow kQwenRows[] = {
    {"router", "mlp.gate"},
    {"experts.gate", "mlp.experts.{e}.gate_proj"},
    {"experts.gated_up", "mlp.experts.{e}.up_proj"},
    {"experts.down", "mlp.experts.{e}.down_proj"},
};
constexpr NameRow kGptOssRows[] = {
    {"attention.sinks", "self_attn.sinks"},
    {"router", "mlp.router"},
    {"experts.gate_up.weight", "mlp.experts.gate_up_proj"},
    {"experts.gate_up.bias", "mlp.experts.gate_up_proj_bias"},
    {"experts.down.weight", "mlp.experts.down_proj"},
    {"experts.down.bias", "mlp.experts.down_proj_bias"},
};
constexpr NameRow kGptOssGgufRows[] = {
    {"attention.sinks", "attn_sinks.weight"},
    {"feed_forward_norm", "post_attention_norm"},
};

TransformerConfig read_mixtral(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = true;
  Draft d = llama_draft(h, usual, {.every = 0});
  d.block.experts = read_experts(h);
  d.block.experts->renormalised = true;
  return decoder_of(d);
}

// Layers in mlp_only_layers, and all except every n-th, have a single feed-forward network.
TransformerConfig read_qwen3_moe(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = usual.head_norm = true;
  usual.needs_inner = !h.gguf();
  Draft d = llama_draft(h, usual, {.every = 0});
  if (!h.flag_or(Key::use_window, false)) d.windows.clear();
  TransformerConfig c = decoder_of(d);
  nn::ExpertsConfig experts = read_experts(h);
  experts.renormalised = h.gguf() || h.flag_or(Key::expert_renormalised, false);
  const Index step = h.count_or(Key::expert_sparse_step, 1);
  if (step < 1) h.refuse(Key::expert_sparse_step, "need 1 or more");
  std::vector<bool> dense(c.decoder.size(), false);
  for (const Index layer : h.counts(Key::dense_layers)) {
    if (layer < 0 || layer >= d.layers)
      h.refuse(Key::dense_layers, fmt::format("there is no layer {}", layer));
    dense[static_cast<std::size_t>(layer)] = true;
  }
  for (std::size_t n = 0; n < c.decoder.size(); ++n) {
    if (dense[n] || (static_cast<Index>(n) + 1) % step != 0) continue;
    c.decoder[n].experts = experts;
    c.decoder[n].feed_forward.inner = h.count(Key::expert_inner);
  }
  return c;
}

// Sinks, windows in every other layer, gates with a limit. Folders alternate an expert's gates and ups in one matrix, [in, out]
// unless it is stored in 4 bits.
TransformerConfig read_gpt_oss(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = usual.qkv_bias = usual.out_bias = true;
  usual.needs_inner = !h.gguf();
  Draft d = llama_draft(h, usual, {.usual = 128, .every = 2});
  d.block.attention.sinks = true;
  nn::FeedForwardConfig& f = d.block.feed_forward;
  f.bias = true;
  f.gate_limit = h.real_or(Key::gate_limit, 7);
  if (!(f.gate_limit > 0)) h.refuse(Key::gate_limit, "need more than 0");
  if (h.gguf()) {
    f.inner = h.count(Key::expert_inner);
  } else {
    f.gate_packed = f.gate_pairs = true;
    const bool packed = h.has(Key::quantization);
    if (packed && h.entry(Key::quantization, "quant_method") != "\"mxfp4\"")
      h.refuse(Key::quantization, fmt::format("quant_method is {}; supported is mxfp4",
                                              h.entry(Key::quantization, "quant_method")));
    f.layout = packed ? nn::WeightLayout::out_in : nn::WeightLayout::in_out;
  }
  d.block.experts = read_experts(h);
  d.block.experts->renormalised = d.block.experts->router_bias = true;
  return decoder_of(d);
}

}  // namespace

extern const Family kMixtral, kQwen3Moe, kGptOss;
const Family kMixtral{"mixtral", "", read_mixtral, like_llama(kMixtralRows)};
const Family kQwen3Moe{"qwen3_moe", "qwen3moe", read_qwen3_moe, like_llama(kQwenRows), gguf_names()};
const Family kGptOss{"gpt_oss", "gpt-oss", read_gpt_oss, like_llama(kGptOssRows),
                     gguf_names(kGptOssGgufRows)};

}  // namespace headlight::models
