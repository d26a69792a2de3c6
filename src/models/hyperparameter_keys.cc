#include "models/hyperparameter_keys.h"

namespace headlight::models {
namespace {

// clang-format off
constexpr KeyRow kRows[] = {
  {Key::vocabulary,        {"vocab_size"}, GgufWay::rows_of_tensor, {"token_embd.weight"}, "vocabulary"},
  {Key::width,             {"hidden_size", "n_embd", "d_model", "dim", "n_embed"}, GgufWay::value, {"embedding_length"}, "width"},
  {Key::layers,            {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, GgufWay::value, {"block_count"}, "layers"},
  {Key::encoder_layers,    {"encoder_layers", "num_layers"}, GgufWay::value, {"block_count"}, "layers"},
  {Key::decoder_layers,    {"decoder_layers", "num_decoder_layers"}, GgufWay::value, {"decoder_block_count"}, "layers"},
  {Key::heads,             {"num_attention_heads", "n_head", "n_heads", "num_heads"}, GgufWay::value, {"attention.head_count"}, "heads"},
  {Key::encoder_heads,     {"encoder_attention_heads"}},
  {Key::decoder_heads,     {"decoder_attention_heads"}},
  {Key::kv_heads,          {"num_key_value_heads", "num_kv_heads"}, GgufWay::value, {"attention.head_count_kv"}, "heads"},
  {Key::head_dim,          {"head_dim", "d_kv"}, GgufWay::value, {"attention.key_length"}, "heads"},
  {Key::value_dim,         {}, GgufWay::value, {"attention.value_length"}, "heads"},
  {Key::inner,             {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim", "ffn_hidden_size"}, GgufWay::value, {"feed_forward_length"}, "width"},
  {Key::encoder_inner,     {"encoder_ffn_dim"}},
  {Key::decoder_inner,     {"decoder_ffn_dim"}},
  {Key::context,           {"max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions"}, GgufWay::value, {"context_length"}, "context"},
  {Key::token_types,       {"type_vocab_size"}, GgufWay::rows_of_tensor, {"token_types.weight"}, "vocabulary"},
  {Key::embedding_width,   {"word_embed_proj_dim", "embedding_size"}},
  {Key::sound_bands,       {"num_mel_bins"}},
  {Key::sound_positions,   {"max_source_positions"}},
  {Key::experts,           {"num_local_experts", "num_experts", "n_routed_experts"}, GgufWay::value, {"expert_count"}, "experts"},
  {Key::experts_used, {"num_experts_per_tok", "experts_per_token"}, GgufWay::value, {"expert_used_count"}, "experts"},
  {Key::expert_inner, {"moe_intermediate_size"}, GgufWay::value, {"expert_feed_forward_length"}, "width"},
  {Key::shared_experts, {"n_shared_experts"}, GgufWay::value, {"expert_shared_count"}, "experts"},
  {Key::expert_groups, {"n_group"}, GgufWay::value, {"expert_group_count"}, "experts"},
  {Key::expert_groups_used, {"topk_group"}, GgufWay::value, {"expert_group_used_count"}, "experts"},
  {Key::expert_choice, {"topk_method"}},
  {Key::expert_score, {"scoring_func"}},
  {Key::expert_renormalised, {"norm_topk_prob"}, GgufWay::value, {"expert_weights_norm"}, "experts"},
  {Key::expert_scale, {"routed_scaling_factor"}, GgufWay::value, {"expert_weights_scale"}, "number"},
  {Key::expert_layers, {"moe_layers"}},
  {Key::expert_every, {"interleave_moe_layer_step", "moe_layer_freq"}, GgufWay::value, {"interleave_moe_layer_step"}, "experts"},
  {Key::expert_sparse_step, {"decoder_sparse_step"}},
  {Key::dense_layers, {"mlp_only_layers"}},
  {Key::dense_first, {"first_k_dense_replace"}, GgufWay::value, {"leading_dense_block_count"}, "experts"},
  {Key::dense_inner, {"intermediate_size_mlp"}},
  {Key::gate_limit, {"swiglu_limit"}},
  {Key::latent_rank, {"kv_lora_rank"}, GgufWay::value, {"attention.kv_lora_rank"}, "width"},
  {Key::latent_query_rank, {"q_lora_rank"}, GgufWay::value, {"attention.q_lora_rank"}, "width"},
  {Key::still_dim, {"qk_nope_head_dim"}},
  {Key::turned_dim, {"qk_rope_head_dim"}, GgufWay::value, {"rope.dimension_count"}, "rope"},
  {Key::latent_value_dim, {"v_head_dim"}, GgufWay::value, {"attention.value_length_mla"}, "heads"},

  {Key::rms_epsilon,       {"rms_norm_eps", "layer_norm_epsilon"}, GgufWay::value, {"attention.layer_norm_rms_epsilon"}, "epsilon"},
  {Key::layer_epsilon,     {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"}, GgufWay::value, {"attention.layer_norm_epsilon"}, "epsilon"},
  {Key::norm_before,       {"do_layer_norm_before"}},
  {Key::no_final_norm,     {"_remove_final_layer_norm"}},
  {Key::norm_weights,      {"layer_norm_elementwise_affine"}},
  {Key::norm_bias, {"norm_bias"}},

  {Key::activation,        {"hidden_act", "hidden_activation", "activation_function", "activation"}},
  {Key::feed_forward,      {"feed_forward_proj"}, GgufWay::has_tensor, {"blk.0.ffn_gate.weight", "dec.blk.0.ffn_gate.weight"}},
  {Key::parallel,          {"use_parallel_residual", "parallel_attn"}, GgufWay::value, {"use_parallel_residual"}, "kind"},
  {Key::parallel_norms,    {"num_ln_in_parallel_attn"}, GgufWay::has_tensor, {"blk.0.attn_norm_2.weight"}},
  {Key::stream_of_norms,   {"apply_residual_connection_post_layernorm"}},
  {Key::qkv_bias,          {"attention_bias", "use_qkv_bias"}, GgufWay::has_tensor, {"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"}},
  {Key::out_bias,          {"attention_bias"}, GgufWay::has_tensor, {"blk.0.attn_output.bias"}},
  {Key::feed_forward_bias, {"mlp_bias"}, GgufWay::has_tensor, {"blk.0.ffn_up.bias"}},
  {Key::all_bias,          {"bias", "enable_bias", "use_bias"}},

  {Key::head_norm,         {}, GgufWay::has_tensor, {"blk.0.attn_q_norm.weight"}},
  {Key::head_layer_norm,   {"qk_layernorm"}},
  {Key::unit_heads, {"use_qk_norm"}},
  {Key::attention_scale,   {"attention_multiplier"}, GgufWay::value, {"attention.scale"}, "number"},
  {Key::scale_scores,      {"scale_attn_weights"}},
  {Key::scale_by_layer,    {"scale_attn_by_inverse_layer_idx"}},
  {Key::query_scale,       {"query_pre_attn_scalar"}},
  {Key::attention_softcap, {"attn_logit_softcapping"}, GgufWay::value, {"attn_logit_softcapping"}, "number"},
  {Key::window,            {"sliding_window", "window_size"}, GgufWay::value, {"attention.sliding_window"}, "window"},
  {Key::use_window,        {"use_sliding_window"}},
  {Key::full_layers,       {"max_window_layers"}},
  {Key::cross_attention,   {"add_cross_attention"}},
  {Key::decodes,           {"is_decoder"}},
  {Key::multi_query,       {"multi_query"}},
  {Key::groups,            {"new_decoder_architecture"}},
  {Key::chunk, {"attention_chunk_size"}, GgufWay::value, {"attention.chunk_size"}, "window"},
  {Key::query_growth, {"attn_temperature_tuning"}},
  {Key::query_growth_every, {"floor_scale"}},
  {Key::query_growth_scale, {"attn_scale"}},
  {Key::attention_settings, {"attn_config"}},
  {Key::both_sides, {"local_attention"}},
  {Key::full_every, {"global_attn_every_n_layers"}},

  {Key::alibi,             {"alibi"}},
  {Key::position_type,     {"position_embedding_type"}},
  {Key::rotated_dims, {"rotary_dim"}},
  {Key::rotating_layers, {"no_rope_layers"}},
  {Key::rotating_every, {"no_rope_layer_interval"}},
  {Key::pairs_interleaved, {"rope_interleave"}},
  {Key::distances, {"relative_attention"}},
  {Key::distance_buckets, {"position_buckets"}},
  {Key::distance_terms, {"pos_att_type"}},
  {Key::distance_shared, {"share_att_key"}},
  {Key::distance_norm, {"norm_rel_ebd"}},
  {Key::distance_most, {"max_relative_positions"}},
  {Key::added_positions, {"position_biased_input"}},
  {Key::distance_convolution, {"conv_kernel_size"}},
  {Key::buckets,           {"relative_attention_num_buckets"}, GgufWay::value, {"attention.relative_buckets_count"}, "buckets"},
  {Key::bucket_distance,   {"relative_attention_max_distance"}},

  {Key::scale_embedding,   {"scale_embedding"}},
  {Key::embedding_scale, {"embedding_multiplier"}, GgufWay::value, {"embedding_scale"}, "number"},
  {Key::residual_scale, {"residual_multiplier"}, GgufWay::value, {"residual_scale"}, "number"},
  {Key::logits_divisor, {"logits_scaling"}, GgufWay::value, {"logit_scale"}, "number"},
  {Key::logits_factor, {"logit_scale"}, GgufWay::value, {"logit_scale"}, "number"},
  {Key::tied,              {"tie_word_embeddings"}, GgufWay::lacks_tensor, {"output.weight"}},
  {Key::head_bias,         {}, GgufWay::has_tensor, {"output.bias"}},
  {Key::scale_output,      {"scale_decoder_outputs"}, GgufWay::lacks_tensor, {"output.weight"}},
  {Key::final_softcap,     {"final_logit_softcapping"}, GgufWay::value, {"final_logit_softcapping"}, "number"},
  {Key::shared_embeddings, {"share_encoder_decoder_embeddings"}},
  {Key::layer_groups, {"num_hidden_groups"}},
  {Key::layers_in_group, {"inner_group_num"}},
  {Key::masked_bias, {"classifier_bias"}},
  {Key::masked_activation, {"classifier_activation"}},
  {Key::projection_bias, {"decoder_bias"}},
  {Key::expansion, {"expansion_ratio"}},

  {Key::dropout,           {"resid_pdrop", "hidden_dropout_prob", "hidden_dropout", "resid_dropout", "dropout_rate", "dropout", "residual_dropout"}},
  {Key::attention_dropout, {"attn_pdrop", "attention_probs_dropout_prob", "attention_dropout"}},
  {Key::initial_range,     {"initializer_range", "init_std"}},

  {Key::quantization, {"quantization_config"}},

  {Key::bos,               {"bos_token_id"}, GgufWay::tokenizer, {"bos_token_id"}, "token_id"},
  {Key::eos,               {"eos_token_id"}, GgufWay::tokenizer, {"eos_token_id", "eot_token_id", "eom_token_id"}, "token_id"},
  {Key::pad,               {"pad_token_id"}, GgufWay::tokenizer, {"padding_token_id"}, "token_id"},
  {Key::decoder_start,     {"decoder_start_token_id"}, GgufWay::value, {"decoder_start_token_id"}, "token_id"},
};
// clang-format on

// The index of a row is its key.
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (static_cast<std::size_t>(kRows[i].key) != i) return false;
  return std::size(kRows) == static_cast<std::size_t>(Key::decoder_start) + 1;
}
static_assert(in_order());

}  // namespace

const KeyRow& row_of(Key key) { return kRows[static_cast<std::size_t>(key)]; }

}  // namespace headlight::models
