// Whole models as another implementation computed them (tests/golden, and the larger set): inputs without their padding.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "models/expert_slices.h"
#include "models/families.h"
#include "models/load.h"
#include "support/safetensors_reader.h"
#include "support/shared_data.h"

namespace headlight::models {

struct Golden {
  std::filesystem::path folder;
  std::map<std::string, Tensor> tensors;

  explicit Golden(const std::filesystem::path& path)
      : folder(path), tensors(headlight::testing::read_safetensors(path / "golden.safetensors")) {}

  [[nodiscard]] const Tensor& at(const std::string& name) const { return tensors.at(name); }
  [[nodiscard]] bool has(const std::string& name) const { return tensors.count(name) > 0; }

  // Rows of ids where the mask is 1, end to end.
  [[nodiscard]] Tokens tokens(const std::string& ids, const std::string& mask) const {
    Tokens result;
    const Tensor &id = at(ids), &use = at(mask);
    for (Index b = 0; b < id.dim(0); ++b) {
      std::vector<std::int32_t> row;
      for (Index t = 0; t < id.dim(1); ++t)
        if (use.at(b, t) != 0) row.push_back(static_cast<std::int32_t>(id.at(b, t)));
      result.append(row);
    }
    return result;
  }
  // Features in place of ids.
  [[nodiscard]] Tokens sound(Index positions) const {
    Tokens result;
    result.features = std::make_shared<const Tensor>(at("input_features").clone());
    for (Index b = 0; b < result.features->dim(0); ++b)
      result.append(std::vector<std::int32_t>(static_cast<std::size_t>(positions)));
    return result;
  }
  // Numbers beside the tokens, such as labels.
  [[nodiscard]] std::vector<std::int32_t> beside(const std::string& values, const std::string& mask) const {
    const Tokens rows = tokens(values, mask);
    return rows.ids;
  }
  // Column of the n-th token of row b that is not padding. Sound features have no padding and no mask.
  [[nodiscard]] Index column(const std::string& mask, Index b, Index n) const {
    if (!has(mask) && has("input_features")) return n;
    const Tensor& use = at(mask);
    for (Index t = 0; t < use.dim(1); ++t)
      if (use.at(b, t) != 0 && n-- == 0) return t;
    ADD_FAILURE() << "row " << b << " is shorter";
    return 0;
  }
};

inline void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(std::memcmp(a.as<float>(), b.as<float>(),
                        static_cast<std::size_t>(a.shape().elements()) * sizeof(float)),
            0);
}

// The batch on which the golden loss and gradients were computed.
inline Batch golden_batch(const Golden& golden, const TransformerConfig& config) {
  Batch batch;
  if (config.kind == ModelKind::encoder_decoder) {
    batch.source =
        config.sound ? golden.sound(config.sound->positions) : golden.tokens("input_ids", "attention_mask");
    batch.input = golden.tokens("decoder_input_ids", "decoder_attention_mask");
    if (golden.has("labels")) batch.targets = golden.beside("labels", "decoder_attention_mask");
    return batch;
  }
  batch.input = golden.tokens("input_ids", "attention_mask");
  if (config.kind == ModelKind::encoder) {
    batch.targets = golden.beside("labels", "attention_mask");
    if (golden.has("token_type_ids")) batch.type_ids = golden.beside("token_type_ids", "attention_mask");
    return batch;
  }
  for (std::size_t s = 0; s + 1 < batch.input.starts.size(); ++s) {
    for (Index t = batch.input.starts[s] + 1; t < batch.input.starts[s + 1]; ++t)
      batch.targets.push_back(batch.input.ids[static_cast<std::size_t>(t)]);
    batch.targets.push_back(kIgnored);
  }
  return batch;
}

// All of them; those that have a second spelling of their config; those that have gradients. The larger set lacks some.
inline constexpr const char* kGoldenFamilies[] = {"gpt2",          "gpt2_hub_layout",
                                                  "gpt_neo",       "gpt_neox",
                                                  "llama",         "llama3_rope",
                                                  "llama_bf16",    "qwen2_sharded",
                                                  "qwen3",         "gemma",
                                                  "gemma2",        "gemma3",
                                                  "mistral",       "phi",
                                                  "phi3",          "bloom",
                                                  "opt",           "falcon",
                                                  "bert",          "distilbert",
                                                  "roberta",       "t5",
                                                  "t5_gated",      "marian",
                                                  "bart",          "gpt_neox_serial",
                                                  "falcon_groups", "qwen2_window",
                                                  "phi3_longrope", "gpt2_inverse_layer",
                                                  "gptj",          "mpt",
                                                  "opt_350m",      "phi_qk_layernorm",
                                                  "phi3_long",     "olmo2",
                                                  "smollm3",       "granite",
                                                  "exaone4",       "cohere",
                                                  "cohere2",       "stablelm",
                                                  "starcoder2",    "nemotron",
                                                  "mixtral",       "qwen3_moe",
                                                  "gpt_oss",       "llama4",
                                                  "deepseek_v2",   "deepseek_v3",
                                                  "xlm_roberta",   "electra",
                                                  "albert",        "mpnet",
                                                  "nomic_bert",    "modernbert",
                                                  "deberta",       "mbart",
                                                  "m2m_100",       "pegasus",
                                                  "falcon_alibi",  "whisper"};
inline constexpr const char* kGoldenSpellings[] = {
    "gpt_neox",         "llama",           "llama3_rope",  "llama_bf16",
    "qwen2_sharded",    "qwen3",           "gemma",        "gemma2",
    "gemma3",           "mistral",         "phi",          "phi3",
    "falcon",           "gpt_neox_serial", "qwen2_window", "phi3_longrope",
    "phi_qk_layernorm", "phi3_long",       "olmo2",        "smollm3",
    "granite",          "exaone4",         "cohere",       "cohere2",
    "stablelm",         "starcoder2",      "nemotron",     "mixtral",
    "qwen3_moe",        "gpt_oss",         "llama4",       "deepseek_v2",
    "deepseek_v3",      "modernbert"};
inline constexpr const char* kGoldenGradients[] = {"gpt2",
                                                   "gpt_neo",
                                                   "gpt_neox",
                                                   "llama",
                                                   "llama3_rope",
                                                   "qwen2_sharded",
                                                   "qwen3",
                                                   "gemma",
                                                   "gemma2",
                                                   "gemma3",
                                                   "mistral",
                                                   "phi",
                                                   "phi3",
                                                   "bloom",
                                                   "opt",
                                                   "falcon",
                                                   "bert",
                                                   "distilbert",
                                                   "roberta",
                                                   "t5",
                                                   "t5_gated",
                                                   "marian",
                                                   "bart",
                                                   "gpt_neox_serial",
                                                   "qwen2_window",
                                                   "phi3_longrope",
                                                   "gpt2_inverse_layer",
                                                   "gptj",
                                                   "mpt",
                                                   "opt_350m",
                                                   "phi_qk_layernorm",
                                                   "phi3_long",
                                                   "olmo2",
                                                   "smollm3",
                                                   "granite",
                                                   "exaone4",
                                                   "cohere",
                                                   "cohere2",
                                                   "stablelm",
                                                   "starcoder2",
                                                   "nemotron",
                                                   "mixtral",
                                                   "qwen3_moe",
                                                   "gpt_oss",
                                                   "llama4",
                                                   "deepseek_v2",
                                                   "deepseek_v3",
                                                   "xlm_roberta",
                                                   "electra",
                                                   "albert",
                                                   "mpnet",
                                                   "nomic_bert",
                                                   "modernbert",
                                                   "mbart",
                                                   "m2m_100",
                                                   "pegasus",
                                                   "falcon_alibi",
                                                   "whisper"};

}  // namespace headlight::models
