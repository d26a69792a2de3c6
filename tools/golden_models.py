"""Tiny models of every family with made-up weights, and what golden_reference computes of them."""
import json
import struct
import zlib

import numpy as np

import golden_families
import golden_reference
from golden_reference import Weights

VOCABULARY = 20
FAMILIES = dict(golden_reference.FAMILIES, **golden_families.FAMILIES)
SEQ2SEQ = ("t5", "mt5", "bart", "marian", "mbart", "m2m_100", "pegasus", "whisper")
ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert", "mpnet", "nomic_bert", "modernbert",
            "deberta-v2")
SEGMENTS = ("bert", "electra", "albert", "nomic_bert")
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def read_tensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (np.frombuffer(raw[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        elif entry["dtype"] in TYPES:
            values = np.frombuffer(raw[begin:end], TYPES[entry["dtype"]])
        else:
            continue  # masks that old files carry
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def write_tensors(path, tensors):
    names = {np.dtype(code): name for name, code in TYPES.items()}
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        raw = np.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": "BF16" if tensor.dtype == np.dtype("<u2") else names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def padded(rows, fill=0):
    """Arrays of several sequences as one, filled up at the end of axes that differ."""
    shape = np.max([row.shape for row in rows], 0)
    return np.stack([np.pad(row, [(0, s - n) for s, n in zip(shape, row.shape)], constant_values=fill) for row in rows])


def run(c, W, batch):
    """The reference on each sequence of a batch: a list of its results."""
    family = FAMILIES[c["model_type"]]
    if "target" in batch:
        return [family(c, W, source, target) for source, target in zip(batch["ids"], batch["target"])]
    if "types" in batch:
        return [family(c, W, ids, types) for ids, types in zip(batch["ids"], batch["types"])]
    return [family(c, W, ids) for ids in batch["ids"]]


def loss(c, W, batch):
    """Mean cross-entropy over labels that are not -100."""
    total = count = 0
    for result, labels in zip(run(c, W, batch), batch["labels"]):
        logits = result["logits"]
        logits = logits - logits.max(-1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        use = labels != -100
        total -= logs[use, labels[use]].sum()
        count += use.sum()
    return total / count


def slopes(c, W, batch):
    """For each tensor, how fast the loss grows when element i of it grows at the rate cos(1 + 0.7·i): one number that every
    element of the tensor's gradient is part of."""
    found, step = {}, 1e-5
    for name, tensor in sorted(W.tensors.items()):
        direction = np.cos(1 + 0.7 * np.arange(tensor.size)).reshape(tensor.shape)
        at = [loss(c, Weights(dict(W.tensors, **{name: tensor.astype(float) + sign * step * direction})), batch) for sign in (1, -1)]
        found[name] = (at[0] - at[1]) / (2 * step)
    return found


def greedy(c, W, batch, steps):
    """The likeliest token, again and again."""
    outputs = []
    for ids in batch["ids"] if "target" in batch else batch["ids"][:1]:
        written = [c["decoder_start_token_id"]] if "target" in batch else list(ids[:4])
        for _ in range(steps):
            now = {"ids": [ids], "target": [np.array(written)]} if "target" in batch else {"ids": [np.array(written)]}
            written.append(int(run(c, W, now)[0]["logits"][-1].argmax()))
        outputs.append(np.array(written))
    return np.stack(outputs)


def beams(c, W, ids, most=10, count=4):
    """The best of `count` hypotheses: sums of log-probabilities divided by length. Stops when `count` have ended."""
    alive, ended = [(0.0, [c["decoder_start_token_id"]])], []
    for _ in range(most):
        candidates = []
        for score, written in alive:
            logits = run(c, W, {"ids": [ids], "target": [np.array(written)]})[0]["logits"][-1]
            logs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
            candidates += [(score + logs[token], written + [token]) for token in range(len(logs))]
        candidates = sorted(candidates, key=lambda pair: -pair[0])[:2 * count]
        finished = [rank for rank, (_, written) in enumerate(candidates) if written[-1] == c["eos_token_id"]]
        ended += [(candidates[r][0] / (len(candidates[r][1]) - 1), candidates[r][1]) for r in finished if r < count]
        alive = [pair for rank, pair in enumerate(candidates) if rank not in finished][:count]
        if len(ended) >= count:
            break
    else:
        ended += [(score / (len(written) - 1), written) for score, written in alive]
    return max(ended, key=lambda pair: pair[0])


def draw_batch(c, random):
    ids = lambda n: random.integers(3, VOCABULARY, n)
    batch = {"ids": [ids(6), ids(4)]}
    if c["model_type"] == "whisper":  # sound in place of ids
        batch["ids"] = [random.normal(size=(c["num_mel_bins"], 2 * c["max_source_positions"])).astype("<f4") for _ in range(2)]
    if c["model_type"] in SEQ2SEQ:
        batch["labels"] = [ids(4), ids(5)]
        batch["target"] = [np.r_[c["decoder_start_token_id"], labels[:-1]] for labels in batch["labels"]]
    elif c["model_type"] in ENCODERS:
        batch["labels"] = [np.where(np.arange(len(row)) % 3 == 1, ids(len(row)), -100) for row in batch["ids"]]
        if c["model_type"] in SEGMENTS:
            batch["types"] = [(np.arange(len(row)) > 2).astype(int) for row in batch["ids"]]
    else:
        batch["labels"] = [np.r_[row[1:], -100] for row in batch["ids"]]
    return batch


def golden_tensors(c, W, batch):
    """What tests compare with, in the layout of the larger sets: sequences padded at their end."""
    results, out = run(c, W, batch), {}
    integers = lambda rows, fill=0: padded(rows, fill).astype("<i8")
    if c["model_type"] == "whisper":
        out["input_features"] = np.stack(batch["ids"])
    else:
        out["input_ids"] = integers(batch["ids"])
        out["attention_mask"] = integers([np.ones_like(row) for row in batch["ids"]])
    if "target" in batch:
        out["decoder_input_ids"] = integers(batch["target"])
        out["decoder_attention_mask"] = integers([np.ones_like(row) for row in batch["target"]])
    if "types" in batch:
        out["token_type_ids"] = integers(batch["types"])
    if "target" in batch or c["model_type"] in ENCODERS:
        out["labels"] = integers(batch["labels"], -100)
    for key, value in results[0].items():
        name = key.replace("hidden", "hidden_states")
        if key == "logits":
            out[name] = padded([r[key] for r in results]).astype("<f4")
        else:
            for layer in range(len(value)):
                out[f"{name}.{layer}"] = padded([r[key][layer] for r in results]).astype("<f4")
    if "target" in batch:
        out["greedy.output_ids"] = greedy(c, W, batch, 6).astype("<i8")
        best = [beams(c, W, ids) for ids in batch["ids"]]
        out["beam4.output_ids"] = integers([np.array(written) for _, written in best], c["eos_token_id"])
        out["beam4.sequences_scores"] = np.array([score for score, _ in best], "<f4")
    elif c["model_type"] not in ENCODERS:
        out["greedy.output_ids"] = greedy(c, W, batch, 6).astype("<i8")
        out["greedy.prompt_ids"] = out["greedy.output_ids"][:, :4]
    return out


# ---- The models ---------------------------------------------------------------------------------------------------------

def hugging(model_type, **more):
    return dict({"model_type": model_type, "vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}, **more)


def llama_config(model_type, **more):
    return hugging(model_type, **dict(dict(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=4, intermediate_size=12,
        max_position_embeddings=64, rms_norm_eps=1e-5, hidden_act="silu", tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0}), **more))


LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
GEMMA = dict(hidden_act=None, hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True)
SEQ = dict(d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
           encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=10, tie_word_embeddings=True)
T5 = dict(d_model=8, d_kv=4, d_ff=12, num_layers=2, num_decoder_layers=2, num_heads=2, layer_norm_epsilon=1e-6,
          relative_attention_num_buckets=8, relative_attention_max_distance=16, decoder_start_token_id=0, eos_token_id=1)
BERT = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, hidden_act="gelu",
            layer_norm_eps=1e-12, max_position_embeddings=10)
FALCON = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, layer_norm_epsilon=1e-5, alibi=False, bias=False,
              max_position_embeddings=64, parallel_attn=True, tie_word_embeddings=True, ffn_hidden_size=20,
              rope_parameters={"rope_type": "default", "rope_theta": 1000.0})
PHI3 = dict(hidden_size=16, head_dim=None, hidden_act="silu", original_max_position_embeddings=64,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0})

MODELS = {
    "gpt2": hugging("gpt2", n_embd=8, n_layer=2, n_head=2, n_inner=12, n_positions=10, layer_norm_epsilon=1e-5,
                    activation_function="gelu_new"),
    "gpt_neo": hugging("gpt_neo", hidden_size=8, num_layers=2, num_heads=2, intermediate_size=12, max_position_embeddings=10,
                       layer_norm_epsilon=1e-5, activation_function="gelu_new", window_size=3,
                       attention_types=[[["global", "local"], 1]], attention_layers=["global", "local"]),
    "gpt_neox": hugging("gpt_neox", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                        max_position_embeddings=10, layer_norm_eps=1e-5, hidden_act="gelu", use_parallel_residual=True,
                        tie_word_embeddings=False,
                        rope_parameters={"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}),
    "gpt_neox_serial": hugging("gpt_neox", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                               max_position_embeddings=10, layer_norm_eps=1e-5, hidden_act="gelu", use_parallel_residual=False,
                               tie_word_embeddings=False,
                               rope_parameters={"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}),
    "llama": llama_config("llama"),
    "llama_bf16": llama_config("llama", attention_bias=True, mlp_bias=True),
    "llama3_rope": llama_config("llama", rope_parameters=LLAMA3, tie_word_embeddings=True),
    "mistral": llama_config("mistral", sliding_window=3),
    "qwen2_sharded": llama_config("qwen2"),
    "qwen2_window": llama_config("qwen2", use_sliding_window=True, sliding_window=3, max_window_layers=1,
                                 layer_types=["full_attention", "sliding_attention"]),
    "qwen3": llama_config("qwen3", head_dim=6, tie_word_embeddings=True),
    "gemma": llama_config("gemma", num_key_value_heads=1, **GEMMA),
    "gemma2": llama_config("gemma2", sliding_window=3, query_pre_attn_scalar=8, attn_logit_softcapping=5.0,
                           final_logit_softcapping=8.0, layer_types=["sliding_attention", "full_attention"], **GEMMA),
    "gemma3": llama_config("gemma3_text", sliding_window=3, query_pre_attn_scalar=8,
                           layer_types=["sliding_attention", "full_attention"],
                           **dict(GEMMA, rope_parameters={
                               "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
                               "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    "phi": hugging("phi", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, intermediate_size=12,
                   max_position_embeddings=10, layer_norm_eps=1e-5, hidden_act="gelu_new", tie_word_embeddings=False,
                   rope_parameters={"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}),
    "phi3": llama_config("phi3", **PHI3),
    "phi3_longrope": llama_config("phi3", **dict(
        PHI3, original_max_position_embeddings=10,
        rope_parameters={"rope_type": "longrope", "rope_theta": 1000.0, "short_factor": [1.5, 0.75], "long_factor": [9.0, 9.0],
                         "original_max_position_embeddings": 16})),
    "bloom": hugging("bloom", hidden_size=12, n_layer=2, n_head=3, layer_norm_epsilon=1e-5),
    "opt": hugging("opt", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_dim=12, max_position_embeddings=10,
                   activation_function="relu", word_embed_proj_dim=8, do_layer_norm_before=True),
    "falcon": hugging("falcon", multi_query=True, new_decoder_architecture=False, **FALCON),
    "falcon_groups": hugging("falcon", new_decoder_architecture=True, num_kv_heads=2, **FALCON),
    "falcon_alibi": hugging("falcon", multi_query=False, new_decoder_architecture=False, **dict(
        FALCON, alibi=True, parallel_attn=False, bias=True, hidden_size=32, num_attention_heads=16, rope_parameters=None)),
    "bert": hugging("bert", type_vocab_size=2, **BERT),
    "roberta": hugging("roberta", type_vocab_size=1, **dict(BERT, pad_token_id=1)),
    "distilbert": hugging("distilbert", dim=8, n_layers=2, n_heads=2, hidden_dim=12, activation="gelu",
                          max_position_embeddings=10),
    "t5": hugging("t5", feed_forward_proj="relu", **T5),
    "t5_gated": hugging("t5", feed_forward_proj="gated-gelu", tie_word_embeddings=False, **T5),
    "marian": hugging("marian", activation_function="swish", scale_embedding=True, static_position_embeddings=True,
                      decoder_start_token_id=3, **SEQ),
    "bart": hugging("bart", activation_function="gelu", scale_embedding=False, decoder_start_token_id=2, **SEQ),
}


# One tiny model for each kind of layer that the families above do not have.
ROPE = {"rope_type": "default", "rope_theta": 1000.0}
YARN = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 8.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "original_max_position_embeddings": 8}
LAYER_NORMS = dict(rms_norm_eps=None)
LATENT = dict(head_dim=None, kv_lora_rank=6, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=3, first_k_dense_replace=1,
              n_shared_experts=2, moe_intermediate_size=6, num_key_value_heads=4,
              rope_parameters=dict(YARN, mscale=0.707, mscale_all_dim=0.9))
EXPERTS = dict(num_local_experts=4, num_experts_per_tok=2)
NARROW = dict(embedding_size=6, type_vocab_size=2)
BEFORE = dict(SEQ, activation_function="relu", scale_embedding=True, decoder_start_token_id=2)

MODELS.update({
    "gpt2_inverse_layer": dict(MODELS["gpt2"], scale_attn_by_inverse_layer_idx=True),
    "gptj": hugging("gptj", n_embd=8, n_layer=2, n_head=2, n_positions=10, rotary_dim=2, layer_norm_epsilon=1e-5,
                    activation_function="gelu_new", tie_word_embeddings=False),
    "mpt": hugging("mpt", d_model=8, n_layers=2, n_heads=2, max_seq_len=10, expansion_ratio=4, layer_norm_epsilon=1e-5, no_bias=True,
                   attn_config={"alibi": True, "alibi_bias_max": 8, "clip_qkv": None, "qk_ln": False, "softmax_scale": None}),
    "opt_350m": hugging("opt", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_dim=12, max_position_embeddings=10,
                        activation_function="relu", word_embed_proj_dim=6, do_layer_norm_before=False),
    "phi_qk_layernorm": dict(MODELS["phi"], qk_layernorm=True),
    "phi3_long": llama_config("phi3", **dict(
        PHI3, original_max_position_embeddings=5, max_position_embeddings=20,
        rope_parameters={"rope_type": "longrope", "rope_theta": 1000.0, "short_factor": [1.5], "long_factor": [6.0],
                         "original_max_position_embeddings": 5, "partial_rotary_factor": 0.5})),
    "olmo2": llama_config("olmo2"),
    "smollm3": llama_config("smollm3", no_rope_layers=[1, 0], no_rope_layer_interval=2, tie_word_embeddings=True),
    "granite": llama_config("granite", embedding_multiplier=3.0, residual_multiplier=0.6, attention_multiplier=0.3,
                            logits_scaling=2.5, tie_word_embeddings=True),
    "exaone4": llama_config("exaone4", sliding_window=3, layer_types=["sliding_attention", "full_attention"],
                            sliding_window_pattern=2),
    "cohere": llama_config("cohere", layer_norm_eps=1e-5, logit_scale=0.25, tie_word_embeddings=True, **LAYER_NORMS),
    "cohere2": llama_config("cohere2", layer_norm_eps=1e-5, logit_scale=0.25, tie_word_embeddings=True, sliding_window=3,
                            layer_types=["sliding_attention", "full_attention"], sliding_window_pattern=2, **LAYER_NORMS),
    "stablelm": llama_config("stablelm", layer_norm_eps=1e-5, use_qkv_bias=True, num_key_value_heads=4, head_dim=None, hidden_size=16,
                             rope_parameters=dict(ROPE, partial_rotary_factor=0.5), **LAYER_NORMS),
    "starcoder2": llama_config("starcoder2", norm_epsilon=1e-5, use_bias=True, hidden_act="gelu_pytorch_tanh", sliding_window=3,
                               head_dim=None, hidden_size=16, tie_word_embeddings=True, **LAYER_NORMS),
    "nemotron": llama_config("nemotron", norm_eps=1e-5, hidden_act="relu2",
                             rope_parameters=dict(ROPE, partial_rotary_factor=0.5), **LAYER_NORMS),
    "mixtral": llama_config("mixtral", **EXPERTS),
    "qwen3_moe": llama_config("qwen3_moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=6, norm_topk_prob=False),
    "gpt_oss": llama_config("gpt_oss", attention_bias=True, sliding_window=3, layer_types=["sliding_attention", "full_attention"],
                            swiglu_limit=1.5, rope_parameters=dict(YARN, truncate=False), intermediate_size=6, **EXPERTS),
    "llama4": llama_config("llama4_text", num_local_experts=3, num_experts_per_tok=1, interleave_moe_layer_step=2, moe_layers=[1],
                           intermediate_size_mlp=10, attention_chunk_size=3, no_rope_layers=[1, 0], no_rope_layer_interval=2,
                           use_qk_norm=True, attn_temperature_tuning=True, floor_scale=2, attn_scale=0.4, intermediate_size=6),
    "deepseek_v2": llama_config("deepseek_v2", n_routed_experts=4, num_experts_per_tok=2, norm_topk_prob=False,
                                topk_method="greedy", routed_scaling_factor=1.5, n_group=1, topk_group=1, **LATENT),
    "deepseek_v3": llama_config("deepseek_v3", n_routed_experts=6, num_experts_per_tok=3, norm_topk_prob=True, q_lora_rank=5,
                                routed_scaling_factor=2.5, n_group=3, topk_group=2, **LATENT),
    "xlm_roberta": hugging("xlm-roberta", type_vocab_size=1, **dict(BERT, pad_token_id=1)),
    "electra": hugging("electra", **NARROW, **BERT),
    "albert": hugging("albert", num_hidden_groups=1, inner_group_num=1, **NARROW, **dict(BERT, num_hidden_layers=3)),
    "mpnet": hugging("mpnet", relative_attention_num_buckets=32, **dict(BERT, pad_token_id=1)),
    "nomic_bert": hugging("nomic_bert", type_vocab_size=2, rope_parameters=ROPE, **dict(BERT, hidden_act="silu")),
    "modernbert": hugging("modernbert", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=6,
                          hidden_activation="gelu", norm_eps=1e-5, norm_bias=False, max_position_embeddings=10, local_attention=2,
                          decoder_bias=True, classifier_bias=False, layer_types=["full_attention", "sliding_attention"],
                          rope_parameters={"full_attention": dict(ROPE), "sliding_attention": dict(ROPE, rope_theta=100.0)}),
    "deberta": hugging("deberta-v2", type_vocab_size=0, relative_attention=True, position_buckets=4, pos_att_type=["p2c", "c2p"],
                       share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, max_relative_positions=-1, **BERT),
    "mbart": hugging("mbart", **dict(BEFORE, activation_function="gelu", scale_embedding=False)),
    "m2m_100": hugging("m2m_100", **dict(BEFORE, pad_token_id=1)),
    "pegasus": hugging("pegasus", **BEFORE),
    "whisper": hugging("whisper", num_mel_bins=5, max_source_positions=7, max_target_positions=10,
                       **dict(BEFORE, activation_function="gelu", scale_embedding=False, max_position_embeddings=None)),
})


MODELS["gpt2_hub_layout"] = MODELS["gpt2"]
# How the parameters are stored; all others as F16. Rounded before anything is computed, so that a file is what was run.
STORED = {"gpt2": "F32", "gpt2_hub_layout": "F32", "bert": "F32", "llama_bf16": "BF16"}


def write_parameters(folder, name, tensors):
    kind = STORED.get(name, "F16")
    if kind == "BF16":
        tensors = {key: (value.astype("<f4").view("<u4") >> 16).astype("<u2") for key, value in tensors.items()}
    else:
        tensors = {key: value.astype(TYPES[kind]) for key, value in tensors.items()}
    if name == "gpt2_hub_layout":  # no prefix, and buffers that a loader ignores
        tensors = {key.replace("transformer.", ""): value for key, value in tensors.items()}
        for layer in range(2):
            tensors[f"h.{layer}.attn.bias"] = np.tril(np.ones((1, 1, 10, 10), "<f4"))
            tensors[f"h.{layer}.attn.masked_bias"] = np.array(-1e4, "<f4")
    if name != "qwen2_sharded":
        return write_tensors(folder / "model.safetensors", tensors)
    names, files = sorted(tensors), {}
    for part, some in enumerate((names[:9], names[9:])):
        file = f"model-0000{part + 1}-of-00002.safetensors"
        write_tensors(folder / file, {key: tensors[key] for key in some})
        files.update({key: file for key in some})
    write_text(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": files})


def older_spelling(c):
    """The same config as files of transformers 4 have it; None where nothing differs."""
    entry = c.get("rope_parameters")
    if not entry:
        return None
    gone = ("rope_parameters",) if c["model_type"] == "gpt_oss" else ("rope_parameters", "layer_types")
    old = {key: value for key, value in c.items() if key not in gone}
    if c["model_type"] == "nomic_bert":
        return None
    if c["model_type"] == "modernbert":
        return dict(old, global_attn_every_n_layers=2, **{f"{name}_rope_theta": entry[kind]["rope_theta"] for name, kind in (
            ("global", "full_attention"), ("local", "sliding_attention"))})
    if "full_attention" in entry:
        old.update(rope_theta=entry["full_attention"]["rope_theta"], rope_local_base_freq=entry["sliding_attention"]["rope_theta"],
                   sliding_window_pattern=2)
        return old
    if c["model_type"] == "gpt_neox":
        return dict(old, rotary_emb_base=entry["rope_theta"], rotary_pct=entry["partial_rotary_factor"])
    old["rope_theta"] = entry["rope_theta"]
    if "partial_rotary_factor" in entry:
        old["partial_rotary_factor"] = entry["partial_rotary_factor"]
    scaling = {key: value for key, value in entry.items() if key not in ("rope_theta", "partial_rotary_factor")}
    if scaling["rope_type"] != "default":
        old["rope_scaling"] = scaling
    return old


def write_text(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def write(root, names=()):
    for name, c in MODELS.items():
        if names and name not in names:
            continue
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        c = {key: value for key, value in c.items() if value is not None}
        random = np.random.default_rng(zlib.crc32(name.encode()))
        batch = draw_batch(c, random)
        W = Weights({}, random, plus_one=c["model_type"].startswith("gemma") or c["model_type"] == "nemotron")
        run(c, W, batch)
        if name == "llama_bf16":  # float16 has more digits than bfloat16
            W.tensors = {key: (value.astype("<f4").view("<u4") & 0xffff0000).view("<f4") for key, value in W.tensors.items()}
        W = Weights(W.tensors)
        golden = golden_tensors(c, W, batch)
        old = older_spelling(c)
        if old is not None:
            assert all(np.array_equal(a["logits"], b["logits"]) for a, b in zip(run(c, W, batch), run(old, W, batch))), name
            write_text(folder / "config.v4.json", old)
        write_text(folder / "config.json", c)
        write_parameters(folder, name, W.tensors)
        write_tensors(folder / "golden.safetensors", golden)
        write_text(folder / "meta.json", {"loss": loss(c, W, batch), "slopes": {k: float(f"{v:.9g}") for k, v in slopes(c, W, batch).items()}})
        spread = float(np.mean([np.abs(t - 1 / t.shape[-1]).mean() for r in run(c, W, batch) for key in r if "attentions" in key
                                for t in r[key]]))
        print(f"{name}: {sum(t.size for t in W.tensors.values())} parameters, logits up to {np.abs(golden['logits']).max():.1f}, "
              f"attention off uniform by {spread:.2f}")


# ---- Comparison with numbers of others ----------------------------------------------------------------------------------

def read_model(folder, config="config.json"):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        if path.name not in ("golden.safetensors", "grads.safetensors"):
            tensors.update(read_tensors(path))
    return json.loads((folder / config).read_text()), Weights(tensors)


def unpadded(golden, name, mask):
    return [row[use != 0] for row, use in zip(golden[name], golden[mask])]


def check_model(folder, config):
    c, W = read_model(folder, config)
    if c["model_type"] not in FAMILIES:
        return None
    golden = read_tensors(folder / "golden.safetensors")
    batch = {"ids": list(golden["input_features"]) if "input_features" in golden else unpadded(golden, "input_ids", "attention_mask")}
    if "decoder_input_ids" in golden:
        batch["target"] = unpadded(golden, "decoder_input_ids", "decoder_attention_mask")
    if "token_type_ids" in golden:
        batch["types"] = unpadded(golden, "token_type_ids", "attention_mask")
    worst = {"logits": 0.0, "attentions": 0.0, "hidden": 0.0}
    for b, result in enumerate(run(c, W, batch)):
        for key, value in result.items():
            kind = key.split("_")[-1]
            name = key.replace("hidden", "hidden_states")
            for layer, found in enumerate([value] if key == "logits" else value):
                wanted = golden[name if key == "logits" else f"{name}.{layer}"][b]
                if kind == "attentions":
                    wanted = wanted[:, :found.shape[1], :found.shape[2]]
                else:
                    wanted = wanted[:len(found)]
                    if wanted.shape != found.shape:  # OPT-350m: others have the last one after it was narrowed
                        continue
                worst[kind] = max(worst[kind], float(np.abs(found - wanted).max()))
    for b, ids in enumerate(batch["ids"] if "beam4.output_ids" in golden and config == "config.json" else []):
        score, written = beams(c, W, ids)
        assert list(golden["beam4.output_ids"][b][:len(written)]) == written, (folder.name, written, golden["beam4.output_ids"][b])
        worst["beams"] = max(worst.get("beams", 0.0), abs(score - float(golden["beam4.sequences_scores"][b])))
    if (folder / "grads.safetensors").exists() and config == "config.json":
        worst["slopes"] = check_slopes(folder, c, W, batch, golden)
    return worst


def check_slopes(folder, c, W, batch, golden):
    """The largest error of a slope, relative to the tensor's gradient."""
    if "labels" in golden:
        batch["labels"] = unpadded(golden, "labels", "decoder_attention_mask" if "target" in batch else "attention_mask")
    else:
        batch["labels"] = [np.r_[row[1:], -100] for row in batch["ids"]]
    grads, worst = read_tensors(folder / "grads.safetensors"), 0.0
    for name, slope in slopes(c, W, batch).items():
        # Training Marian leaves the row of the padding token as it is; here it is the decoder's first token too.
        frozen = c["model_type"] == "marian" and name == "model.shared.weight" and c["decoder_start_token_id"] == c["pad_token_id"]
        if name in grads and not frozen:
            gradient = grads[name].astype(float)
            wanted = (gradient * np.cos(1 + 0.7 * np.arange(gradient.size)).reshape(gradient.shape)).sum()
            worst = max(worst, abs(slope - wanted) / max(1e-2, np.sqrt((gradient**2).sum())))
    return worst


LIMITS = {"logits": 1e-4, "attentions": 1e-5, "hidden": 1e-4, "slopes": 1e-4, "beams": 1e-4}  # those numbers were computed in float32


def check(root):
    bad = 0
    for folder in sorted(path.parent for path in root.glob("*/golden.safetensors")):
        for config in ("config.json", "config.v4.json"):
            if not (folder / config).exists():
                continue
            try:
                worst = check_model(folder, config)
            except (AssertionError, KeyError) as problem:
                print(f"{folder.name:18} {config:15} FAILED: {type(problem).__name__} {problem}")
                bad = 1
                continue
            if worst is None:
                continue
            good = all(worst.get(kind, 0) < most for kind, most in LIMITS.items())
            bad |= not good
            print(f"{folder.name:18} {config:15} " + "  ".join(f"{k} {v:.1e}" for k, v in worst.items()) + ("" if good else "  FAILED"))
    return int(bad)
