"""More families in float64 and plain NumPy, in the form of golden_reference.py: those whose layers differ by an option or two.

Each family is a description of its layers (`Layer`), run by one function per kind of model. Norm places: "before" is
x + f(norm(x)), "output" x + norm(f(x)), "after" norm(x + f(x)), "parallel" x + f(n) + g(n) with n = norm(x).
"""
import math

import numpy as np

from golden_reference import (ACTIVATIONS, attend, causal, decoder_result, everything, heads, opt, rope_settings, rotary_share,
                              t5_bucket)

ACTIVATIONS["relu2"] = lambda x: np.maximum(x, 0) ** 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def frequencies(settings, dims, c, length):
    """Angle per position of each pair, and the factor of cos and sin."""
    theta, kind = settings["rope_theta"], settings.get("rope_type", settings.get("type", "default"))
    turns = theta ** (-np.arange(0, dims, 2) / dims)
    before = settings.get("original_max_position_embeddings", c.get("original_max_position_embeddings"))
    if kind == "default":
        return turns, 1.0
    if kind == "linear":
        return turns / settings["factor"], 1.0
    if kind == "longrope":
        factor = settings["long_factor" if length > before else "short_factor"]
        return turns / np.array(factor), math.sqrt(1 + math.log(c["max_position_embeddings"] / before) / math.log(before))
    if kind == "llama3":
        low, high = settings["low_freq_factor"], settings["high_freq_factor"]
        ratio = before * turns / (2 * math.pi)
        smooth = np.clip((ratio - low) / (high - low), 0, 1) if high > low else (ratio >= low).astype(float)
        return (1 - smooth) * turns / settings["factor"] + smooth * turns, 1.0
    assert kind == "yarn", kind
    place = lambda n: dims * math.log(before / (n * 2 * math.pi)) / (2 * math.log(theta))
    low, high = place(settings["beta_fast"]), place(settings["beta_slow"])
    if settings.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    ramp = np.clip((np.arange(dims // 2) - low) / max(high - low, 0.001), 0, 1)
    turns = turns / settings["factor"] * ramp + turns * (1 - ramp)
    growth = lambda m: 0.1 * m * math.log(settings["factor"]) + 1
    if settings.get("mscale") and settings.get("mscale_all_dim"):
        return turns, growth(settings["mscale"]) / growth(settings["mscale_all_dim"])
    return turns, growth(1)


def turned(x, settings, c, dims=None, neighbours=False):
    """x [head, token, dim]: the first `dims` numbers, pairs (i, i + dims/2) or neighbours."""
    dims = dims or x.shape[-1]
    turns, size = frequencies(settings, dims, c, x.shape[1])
    angles = np.arange(x.shape[1])[:, None] * turns
    cos, sin = size * np.cos(angles), size * np.sin(angles)
    y = x.copy()
    first, second = (slice(0, dims, 2), slice(1, dims, 2)) if neighbours else (slice(0, dims // 2), slice(dims // 2, dims))
    a, b = x[..., first], x[..., second]
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


def norm(W, name, x, eps, kind="rms", bias=True, plus=0):
    if kind == "rms":
        return W.rms_norm(name, x, eps)
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * (plus + W(name + ".weight", x.shape[-1]))
    return x + W(name + ".bias", x.shape[-1]) if bias else x


def attend_with_sinks(q, k, v, scale, visible, sinks):
    share = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, share, 0), np.repeat(v, share, 0)
    scores = np.where(visible, scale * (q @ k.transpose(0, 2, 1)), -np.inf)
    scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], scores.shape[:2] + (1,))], -1)
    weights = softmax(scores)[..., :-1]
    return (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1), weights


def chosen(values, count):
    """1 where a value is among the `count` best of its row."""
    rank = np.argsort(np.argsort(-values, -1, kind="stable"), -1)
    return rank < count


def experts(W, x, logits, weights, one):
    """Sum of weight · one(expert, rows) over the experts of each token. weights [token, expert], 0 where not chosen."""
    y = np.zeros_like(x)
    for e in range(logits.shape[1]):
        use = weights[:, e] != 0
        answer = one(e, x)  # all rows, so that every expert's tensors are known
        y[use] += weights[use, e][:, None] * answer[use]
    return y


def gated(W, at, x, inner, act, names=("gate_proj", "up_proj", "down_proj"), bias=False):
    gate, up, down = names
    y = act(W.linear(at + gate, x, inner, bias)) * W.linear(at + up, x, inner, bias)
    return W.linear(at + down, y, x.shape[-1], bias)


def kinds_of(c, layers):
    if c.get("layer_types"):
        return c["layer_types"]
    if c.get("sliding_window_pattern") and c.get("sliding_window"):
        return ["full_attention" if (n + 1) % c["sliding_window_pattern"] == 0 else "sliding_attention" for n in range(layers)]
    return ["full_attention"] * layers


def llama_kin(c, W, ids):
    """SmolLM 3, Granite, OLMo 2, EXAONE 4, Cohere, Cohere 2, StableLM, StarCoder 2, Nemotron, Mixtral, Qwen 3 MoE, GPT-OSS,
    Llama 4."""
    family, width, n, h = c["model_type"], c["hidden_size"], len(ids), c["num_attention_heads"]
    groups, layers = c.get("num_key_value_heads") or h, c["num_hidden_layers"]
    dim = c.get("head_dim") or width // h
    settings, kinds = rope_settings(c), kinds_of(c, layers)
    rms = "rms_norm_eps" in c
    eps = c.get("rms_norm_eps") or c.get("layer_norm_eps") or c.get("norm_epsilon") or c.get("norm_eps")
    plus, norm_bias = (1 if family == "nemotron" else 0), family not in ("cohere", "cohere2")
    N = lambda name, x: norm(W, name, x, eps, "rms" if rms else "layer", norm_bias, plus)
    everywhere = family == "starcoder2" and c["use_bias"]
    qkv_bias = everywhere or c.get("use_qkv_bias", False) or c.get("attention_bias", False)
    out_bias = everywhere or c.get("attention_bias", False)
    act = ACTIVATIONS[c["hidden_act"]]
    place = {"olmo2": "output", "exaone4": "output", "cohere": "parallel", "cohere2": "parallel"}.get(family, "before")
    table = W("model.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids] * c.get("embedding_multiplier", 1)
    hidden, attentions, routers = [x], [], []

    def attention(at, layer, y):
        parts = [(p, count) for p, count in (("q", h), ("k", groups), ("v", groups))]
        q, k, v = (W.linear(f"{at}{p}_proj", y, count * dim, qkv_bias) for p, count in parts)
        if family == "olmo2":
            q, k = N(at + "q_norm", q), N(at + "k_norm", k)
        q, k, v = heads(q, h), heads(k, groups), heads(v, groups)
        if family in ("exaone4", "qwen3_moe"):
            q, k = N(at + "q_norm", q), N(at + "k_norm", k)
        window = c.get("sliding_window") if kinds[layer] == "sliding_attention" or family in ("starcoder2", "mixtral") else None
        rotates = True
        if family in ("smollm3", "llama4_text"):
            rotates = c["no_rope_layers"][layer] != 0
        if family == "cohere2" or family == "exaone4" and c.get("sliding_window"):
            rotates = window is not None
        visible = causal(n, window)
        if family == "llama4_text":
            if rotates:
                chunk = np.arange(n) // c["attention_chunk_size"]
                visible = visible & (chunk[:, None] == chunk[None, :])
        if rotates:
            dims = int(dim * rotary_share(c))
            q, k = (turned(t, settings, c, dims, family in ("cohere", "cohere2", "llama4_text")) for t in (q, k))
            if family == "llama4_text" and c["use_qk_norm"]:
                q, k = (t / np.sqrt((t**2).mean(-1, keepdims=True) + eps) for t in (q, k))
        elif family == "llama4_text" and c["attn_temperature_tuning"]:
            q = q * (np.log1p(np.floor((np.arange(n) + 1) / c["floor_scale"])) * c["attn_scale"] + 1)[:, None]
        scale = c.get("attention_multiplier", dim**-0.5)
        if family == "gpt_oss":
            mixed, weights = attend_with_sinks(q, k, v, scale, visible, W(at + "sinks", h))
        else:
            mixed, weights = attend(q, k, v, scale, visible)
        attentions.append(weights)
        return W.linear(at + "o_proj", mixed, width, out_bias)

    def route(name, y, count, bias=False):
        logits = W.linear(name, y, count, bias)
        routers.append(logits)
        return logits

    def feed_forward(at, layer, y):
        inner = c["intermediate_size"]
        if family == "starcoder2":
            return W.linear(at + "mlp.c_proj", act(W.linear(at + "mlp.c_fc", y, inner, everywhere)), width, everywhere)
        if family == "nemotron":
            return W.linear(at + "mlp.down_proj", act(W.linear(at + "mlp.up_proj", y, inner, False)), width, False)
        if family == "mixtral":
            at += "block_sparse_moe."
            logits = route(at + "gate", y, c["num_local_experts"])
            weights = softmax(logits) * chosen(logits, c["num_experts_per_tok"])
            weights = weights / weights.sum(-1, keepdims=True)
            return experts(W, y, logits, weights, lambda e, t: gated(W, f"{at}experts.{e}.", t, inner, act, ("w1", "w3", "w2")))
        if family == "qwen3_moe":
            at += "mlp."
            count = c.get("num_experts") or c["num_local_experts"]
            logits = route(at + "gate", y, count)
            weights = softmax(logits) * chosen(logits, c["num_experts_per_tok"])
            if c["norm_topk_prob"]:
                weights = weights / weights.sum(-1, keepdims=True)
            return experts(W, y, logits, weights, lambda e, t: gated(W, f"{at}experts.{e}.", t, c["moe_intermediate_size"], act))
        if family == "gpt_oss":
            at += "mlp."
            count = c["num_local_experts"]
            logits = route(at + "router", y, count, True)
            weights = softmax(np.where(chosen(logits, c["num_experts_per_tok"]), logits, -np.inf))
            up_down = W(at + "experts.gate_up_proj", count, width, 2 * inner), W(at + "experts.down_proj", count, inner, width)
            biases = W(at + "experts.gate_up_proj_bias", count, 2 * inner), W(at + "experts.down_proj_bias", count, width)
            limit = c.get("swiglu_limit", 7.0)

            def one(e, t):
                both = t @ up_down[0][e] + biases[0][e]
                gate, up = np.minimum(both[:, 0::2], limit), np.clip(both[:, 1::2], -limit, limit)
                return ((up + 1) * gate * sigmoid(1.702 * gate)) @ up_down[1][e] + biases[1][e]
            return experts(W, y, logits, weights, one)
        if family == "llama4_text":
            at += "feed_forward."
            if layer not in c["moe_layers"]:
                return gated(W, at, y, c["intermediate_size_mlp"], act)
            count = c["num_local_experts"]
            logits = route(at + "router", y, count)
            weights = sigmoid(logits) * chosen(logits, c["num_experts_per_tok"])
            up_down = W(at + "experts.gate_up_proj", count, width, 2 * inner), W(at + "experts.down_proj", count, inner, width)
            out = gated(W, at + "shared_expert.", y, inner, act)
            for e in range(count):  # the weight is that of what the expert reads
                both = (y * weights[:, e:e + 1]) @ up_down[0][e]
                out = out + (act(both[:, :inner]) * both[:, inner:]) @ up_down[1][e]
            return out
        return gated(W, at + "mlp.", y, inner, act)

    times = c.get("residual_multiplier", 1)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        if place == "parallel":
            y = N(at + "input_layernorm", x)
            x = x + attention(at + "self_attn.", layer, y) + feed_forward(at, layer, y)
        elif place == "output":
            x = x + N(at + "post_attention_layernorm", attention(at + "self_attn.", layer, x))
            x = x + N(at + "post_feedforward_layernorm", feed_forward(at, layer, x))
        else:
            x = x + times * attention(at + "self_attn.", layer, N(at + "input_layernorm", x))
            x = x + times * feed_forward(at, layer, N(at + "post_attention_layernorm", x))
        hidden.append(x)
    hidden[-1] = N("model.norm", x)
    head = table if c.get("tie_word_embeddings") else W("lm_head.weight", c["vocab_size"], width)
    return decoder_result(hidden, attentions, hidden[-1] @ head.T / c.get("logits_scaling", 1) * c.get("logit_scale", 1))


def deepseek(c, W, ids):
    """Latent attention; the first layers have one feed-forward, the others experts."""
    width, n, h, eps = c["hidden_size"], len(ids), c["num_attention_heads"], c["rms_norm_eps"]
    still, moving, value, rank = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"], c["kv_lora_rank"]
    settings, act, dim = rope_settings(c), ACTIVATIONS[c["hidden_act"]], still + moving
    scale = dim**-0.5
    if settings.get("mscale_all_dim"):
        scale *= (0.1 * settings["mscale_all_dim"] * math.log(settings["factor"]) + 1) ** 2
    table = W("model.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids]
    hidden, attentions = [x], []

    def weights_of(at, logits):
        if c["model_type"] == "deepseek_v2":
            return softmax(logits) * chosen(logits, c["num_experts_per_tok"]) * c["routed_scaling_factor"]
        scores = sigmoid(logits)
        choice = scores + W(at + "gate.e_score_correction_bias", logits.shape[1])
        parts = choice.reshape(n, c["n_group"], -1)
        best = np.sort(parts, -1)[..., -2:].sum(-1)
        choice = np.where(chosen(best, c["topk_group"])[..., None], parts, -np.inf).reshape(n, -1)
        weights = scores * chosen(choice, c["num_experts_per_tok"])
        return weights / weights.sum(-1, keepdims=True) * c["routed_scaling_factor"]

    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        y, a = W.rms_norm(at + "input_layernorm", x, eps), at + "self_attn."
        if c.get("q_lora_rank"):
            q = W.rms_norm(a + "q_a_layernorm", W.linear(a + "q_a_proj", y, c["q_lora_rank"], False), 1e-6)
            q = heads(W.linear(a + "q_b_proj", q, h * dim, False), h)
        else:
            q = heads(W.linear(a + "q_proj", y, h * dim, False), h)
        down = W.linear(a + "kv_a_proj_with_mqa", y, rank + moving, False)
        kv = heads(W.linear(a + "kv_b_proj", W.rms_norm(a + "kv_a_layernorm", down[:, :rank], 1e-6), h * (still + value), False), h)
        q_end = turned(q[..., still:], settings, c, neighbours=True)
        k_end = turned(down[None, :, rank:], settings, c, neighbours=True)
        q = np.concatenate([q[..., :still], q_end], -1)
        k = np.concatenate([kv[..., :still], np.repeat(k_end, h, 0)], -1)
        mixed, weights = attend(q, k, kv[..., still:], scale, causal(n))
        x = x + W.linear(a + "o_proj", mixed, width, False)
        y, m = W.rms_norm(at + "post_attention_layernorm", x, eps), at + "mlp."
        if layer < c["first_k_dense_replace"]:
            x = x + gated(W, m, y, c["intermediate_size"], act)
        else:
            logits, inner = W.linear(m + "gate", y, c["n_routed_experts"], False), c["moe_intermediate_size"]
            x = x + gated(W, m + "shared_experts.", y, c["n_shared_experts"] * inner, act)
            x = x + experts(W, y, logits, weights_of(m, logits), lambda e, t: gated(W, f"{m}experts.{e}.", t, inner, act))
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.rms_norm("model.norm", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ W("lm_head.weight", c["vocab_size"], width).T)


def gptj(c, W, ids):
    width, n, h, eps = c["n_embd"], len(ids), c["n_head"], c["layer_norm_epsilon"]
    inner = c.get("n_inner") or 4 * width
    x = W("transformer.wte.weight", c["vocab_size"], width)[ids]
    hidden, attentions = [x], []
    for layer in range(c["n_layer"]):
        at = f"transformer.h.{layer}."
        y = W.layer_norm(at + "ln_1", x, eps)
        q, k, v = (heads(W.linear(f"{at}attn.{p}_proj", y, width, False), h) for p in "qkv")
        q, k = (turned(t, {"rope_theta": 10000.0}, c, c["rotary_dim"], True) for t in (q, k))
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n))
        up = ACTIVATIONS[c["activation_function"]](W.linear(at + "mlp.fc_in", y, inner))
        x = x + W.linear(at + "attn.out_proj", mixed, width, False) + W.linear(at + "mlp.fc_out", up, width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("transformer.ln_f", x, eps)
    return decoder_result(hidden, attentions, W.linear("lm_head", hidden[-1], c["vocab_size"]))


def mpt(c, W, ids):
    width, n, h, eps = c["d_model"], len(ids), c["n_heads"], c["layer_norm_epsilon"]
    slopes = 2.0 ** (-8 * (np.arange(h) + 1) / h)
    bias = slopes[:, None, None] * (np.arange(n) - (n - 1))
    N = lambda name, x: norm(W, name, x, eps, "layer", False)
    table = W("transformer.wte.weight", c["vocab_size"], width)
    x = table[ids]
    hidden, attentions = [x], []
    for layer in range(c["n_layers"]):
        at = f"transformer.blocks.{layer}."
        q, k, v = (heads(t, h) for t in np.split(W.linear(at + "attn.Wqkv", N(at + "norm_1", x), 3 * width, False), 3, 1))
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n), bias=bias)
        x = x + W.linear(at + "attn.out_proj", mixed, width, False)
        up = ACTIVATIONS["gelu"](W.linear(at + "ffn.up_proj", N(at + "norm_2", x), 4 * width, False))
        x = x + W.linear(at + "ffn.down_proj", up, width, False)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = N("transformer.norm_f", x)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def opt_350m(c, W, ids):
    """OPT, or OPT-350m: a narrow table with layers on the way in and out, norms after each step."""
    if c["word_embed_proj_dim"] == c["hidden_size"]:
        return opt(c, W, ids)
    width, narrow, n, h, eps = c["hidden_size"], c["word_embed_proj_dim"], len(ids), c["num_attention_heads"], 1e-5
    table = W("model.decoder.embed_tokens.weight", c["vocab_size"], narrow)
    x = W.linear("model.decoder.project_in", table[ids], width, False)
    x = x + W("model.decoder.embed_positions.weight", c["max_position_embeddings"] + 2, width)[2:2 + n]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"model.decoder.layers.{layer}."
        q, k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", x, width), h) for p in "qkv")
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n))
        x = W.layer_norm(at + "self_attn_layer_norm", x + W.linear(at + "self_attn.out_proj", mixed, width), eps)
        up = ACTIVATIONS[c["activation_function"]](W.linear(at + "fc1", x, c["ffn_dim"]))
        x = W.layer_norm(at + "final_layer_norm", x + W.linear(at + "fc2", up, width), eps)
        hidden.append(x), attentions.append(weights)
    return decoder_result(hidden, attentions, W.linear("model.decoder.project_out", x, narrow, False) @ table.T)


def masked_head(W, x, width, act, eps, names, norm_bias=True, dense_bias=True):
    dense, norm_name = names
    y = act(W.linear(dense, x, width, dense_bias))
    return norm(W, norm_name, y, eps, "layer", norm_bias)


def bert_kin(c, W, ids, types=None):
    """ELECTRA, ALBERT, MPNet, NomicBERT, DeBERTa v2: norms after each step."""
    family, width, n, h = c["model_type"], c["hidden_size"], len(ids), c["num_attention_heads"]
    eps, act, layers = c["layer_norm_eps"], ACTIVATIONS[c["hidden_act"]], c["num_hidden_layers"]
    root = {"electra": "electra.", "albert": "albert.", "mpnet": "mpnet.", "nomic_bert": "nomic_bert.", "deberta-v2": "deberta."}[family]
    narrow = c.get("embedding_size", width) if family in ("electra", "albert") else width
    at = root + "embeddings."
    table = W(at + "word_embeddings.weight", c["vocab_size"], narrow)
    x = table[ids]
    if family in ("electra", "albert", "mpnet"):
        first = c["pad_token_id"] + 1 if family == "mpnet" else 0
        x = x + W(at + "position_embeddings.weight", c["max_position_embeddings"], narrow)[first:first + n]
    if family in ("electra", "albert", "nomic_bert"):
        x = x + W(at + "token_type_embeddings.weight", c["type_vocab_size"], narrow)[np.zeros(n, int) if types is None else types]
    x = W.layer_norm(root + "emb_ln" if family == "nomic_bert" else at + "LayerNorm", x, eps)
    if family in ("electra", "albert"):
        x = W.linear(root + ("embeddings_project" if family == "electra" else "encoder.embedding_hidden_mapping_in"), x, width)
    bias, scale = 0, (width // h) ** -0.5
    if family == "mpnet":
        rows = W(root + "encoder.relative_attention_bias.weight", 32, h)
        settings = {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128}
        places = [[t5_bucket(j - i, settings, True) for j in range(n)] for i in range(n)]
        bias = rows[np.array(places)].transpose(2, 0, 1)
    if family == "deberta-v2":
        size = c["position_buckets"]
        table_of_distances = W(root + "encoder.rel_embeddings.weight", 2 * size, width)
        table_of_distances = W.layer_norm(root + "encoder.LayerNorm", table_of_distances, eps)
        rows = np.array([[deberta_bucket(i - j, size, c["max_position_embeddings"]) for j in range(n)] for i in range(n)])
        scale = (3 * (width // h)) ** -0.5
    hidden, attentions = [x], []
    for layer in range(layers):
        at = {"albert": root + "encoder.albert_layer_groups.0.albert_layers.0.", "nomic_bert": f"{root}encoder.layers.{layer}."}.get(
            family, f"{root}encoder.layer.{layer}.")
        q_name, k_name, v_name, out, first_norm, up, down, last_norm = (at + part for part in {
            "electra": ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                        "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
            "albert": ("attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn",
                       "ffn_output", "full_layer_layer_norm"),
            "mpnet": ("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm",
                      "intermediate.dense", "output.dense", "output.LayerNorm"),
            "nomic_bert": ("", "", "", "attn.out_proj", "norm1", "", "mlp.fc2", "norm2"),
            "deberta-v2": ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj",
                           "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense", "output.dense",
                           "output.LayerNorm")}[family])
        biased = family != "nomic_bert"
        if family == "nomic_bert":
            q, k, v = (heads(t, h) for t in np.split(W.linear(at + "attn.Wqkv", x, 3 * width, False), 3, 1))
            q, k = (turned(t, rope_settings(c), c) for t in (q, k))
        else:
            q, k, v = (heads(W.linear(name, x, width), h) for name in (q_name, k_name, v_name))
        if family == "deberta-v2":
            of_key, of_query = (heads(W.linear(name, table_of_distances, width), h) for name in (k_name, q_name))
            to = np.take_along_axis(q @ of_key.transpose(0, 2, 1), np.broadcast_to(rows, (h, n, n)), 2)
            back = np.take_along_axis(k @ of_query.transpose(0, 2, 1), np.broadcast_to(rows.T, (h, n, n)), 2).transpose(0, 2, 1)
            bias = scale * (to + back)
        mixed, weights = attend(q, k, v, scale, everything(n, n), bias=bias)
        x = W.layer_norm(first_norm, x + W.linear(out, mixed, width, biased), eps)
        inner = c["intermediate_size"]
        if family == "nomic_bert":
            y = W.linear(at + "mlp.fc11", x, inner, False) * act(W.linear(at + "mlp.fc12", x, inner, False))
        else:
            y = act(W.linear(up, x, inner))
        x = W.layer_norm(last_norm, x + W.linear(down, y, width, biased), eps)
        hidden.append(x), attentions.append(weights)
    head, head_norm, head_bias = {
        "electra": ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias"),
        "albert": ("predictions.dense", "predictions.LayerNorm", "predictions.bias"),
        "mpnet": ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
        "nomic_bert": ("cls.predictions.transform.dense", "cls.predictions.transform.layer_norm", "cls.predictions.bias"),
        "deberta-v2": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")}[family]
    curve = ACTIVATIONS["gelu"] if family in ("electra", "mpnet") else act
    y = masked_head(W, x, narrow, curve, eps, (head, head_norm))
    return decoder_result(hidden, attentions, y @ table.T + W(head_bias, c["vocab_size"]))


def deberta_bucket(distance, size, most):
    half, far = size // 2, abs(distance)
    if far > half:
        far = math.ceil(math.log(far / half) / math.log((most - 1) / half) * (half - 1)) + half
    return min(max((far if distance > 0 else -far) + size, 0), 2 * size - 1)


def modernbert(c, W, ids):
    width, n, h, eps, inner = c["hidden_size"], len(ids), c["num_attention_heads"], c["norm_eps"], c["intermediate_size"]
    N = lambda name, x: norm(W, name, x, eps, "layer", False)
    every = c.get("global_attn_every_n_layers", 3)
    kinds = c.get("layer_types") or ["full_attention" if i % every == 0 else "sliding_attention" for i in range(c["num_hidden_layers"])]
    thetas = {"full_attention": c.get("global_rope_theta"), "sliding_attention": c.get("local_rope_theta")}
    table = W("model.embeddings.tok_embeddings.weight", c["vocab_size"], width)
    x = N("model.embeddings.norm", table[ids])
    hidden, attentions = [x], []
    for layer, kind in enumerate(kinds):
        at = f"model.layers.{layer}."
        y = x if layer == 0 else N(at + "attn_norm", x)
        q, k, v = (heads(t, h) for t in np.split(W.linear(at + "attn.Wqkv", y, 3 * width, False), 3, 1))
        settings = c["rope_parameters"][kind] if "rope_parameters" in c else {"rope_theta": thetas[kind]}
        q, k = (turned(t, settings, c) for t in (q, k))
        near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= c["local_attention"] // 2
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, near if kind == "sliding_attention" else everything(n, n))
        x = x + W.linear(at + "attn.Wo", mixed, width, False)
        y = W.linear(at + "mlp.Wi", N(at + "mlp_norm", x), 2 * inner, False)
        x = x + W.linear(at + "mlp.Wo", ACTIVATIONS["gelu"](y[:, :inner]) * y[:, inner:], width, False)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = x = N("model.final_norm", x)
    y = masked_head(W, x, width, ACTIVATIONS["gelu"], eps, ("head.dense", "head.norm"), False, False)
    return decoder_result(hidden, attentions, y @ table.T + W("decoder.bias", c["vocab_size"]))


def hear(c, W, features):
    """Whisper's encoder: features [band, frame], two convolutions of three taps, the second of every other frame."""
    x, width = features, c["d_model"]
    for name, stride in (("conv1", 1), ("conv2", 2)):
        kernels, sides = W(f"model.encoder.{name}.weight", width, len(x), 3), np.pad(x, ((0, 0), (1, 1)))
        windows = np.stack([sides[:, t:t + 3] for t in range(0, x.shape[1], stride)])  # [position, channel, tap]
        y = np.einsum("tck,ock->ot", windows, kernels) + W(f"model.encoder.{name}.bias", width)[:, None]
        x = ACTIVATIONS["gelu"](y)
    return x.T + W("model.encoder.embed_positions.weight", c["max_source_positions"], width)


def bart_before(c, W, source, target):
    """mBART, M2M-100, Pegasus, Whisper: BART with norms before each step and one at the end of both stacks."""
    family, width, eps = c["model_type"], c["d_model"], 1e-5
    table = W("model.decoder.embed_tokens.weight" if family == "whisper" else "model.shared.weight", c["vocab_size"], width)
    act = ACTIVATIONS[c["activation_function"]]

    def embed(part, ids):
        if family == "whisper" and part == "encoder":
            return hear(c, W, ids)
        if family == "whisper":
            return table[ids] + W("model.decoder.embed_positions.weight", c["max_target_positions"], width)[:len(ids)]
        x, places = table[ids] * (math.sqrt(width) if c["scale_embedding"] else 1), np.arange(len(ids))[:, None]
        if family == "mbart":
            x = x + W(f"model.{part}.embed_positions.weight", c["max_position_embeddings"] + 2, width)[2:2 + len(ids)]
            return W.layer_norm(f"model.{part}.layernorm_embedding", x, eps)
        half = np.arange(width // 2)
        if family == "m2m_100":
            angles = (places + c["pad_token_id"] + 1) * np.exp(-half * math.log(10000) / (width // 2 - 1))
        else:
            angles = places / 10000 ** (2 * half / width)
        return x + np.concatenate([np.sin(angles), np.cos(angles)], 1)

    def attention(name, x, kv, h, visible):
        q = heads(W.linear(name + ".q_proj", x, width), h)
        k, v = (heads(W.linear(f"{name}.{p}_proj", kv, width, p == "v" or family != "whisper"), h) for p in "kv")
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, visible)
        return W.linear(name + ".out_proj", mixed, width), weights

    def feed_forward(at, x, inner):
        return x + W.linear(at + "fc2", act(W.linear(at + "fc1", W.layer_norm(at + "final_layer_norm", x, eps), inner)), width)

    x = embed("encoder", source)
    result = {"encoder_hidden": [x], "encoder_attentions": [], "cross_attentions": [], "decoder_attentions": []}
    for layer in range(c["encoder_layers"]):
        at = f"model.encoder.layers.{layer}."
        y = W.layer_norm(at + "self_attn_layer_norm", x, eps)
        y, weights = attention(at + "self_attn", y, y, c["encoder_attention_heads"], everything(len(x), len(x)))
        x = feed_forward(at, x + y, c["encoder_ffn_dim"])
        result["encoder_hidden"].append(x), result["encoder_attentions"].append(weights)
    memory = result["encoder_hidden"][-1] = W.layer_norm("model.encoder.layer_norm", x, eps)
    x, h = embed("decoder", target), c["decoder_attention_heads"]
    result["decoder_hidden"] = [x]
    for layer in range(c["decoder_layers"]):
        at = f"model.decoder.layers.{layer}."
        y = W.layer_norm(at + "self_attn_layer_norm", x, eps)
        y, weights = attention(at + "self_attn", y, y, h, causal(len(x)))
        x = x + y
        result["decoder_attentions"].append(weights)
        y, weights = attention(at + "encoder_attn", W.layer_norm(at + "encoder_attn_layer_norm", x, eps), memory, h,
                               everything(len(x), len(memory)))
        x = feed_forward(at, x + y, c["decoder_ffn_dim"])
        result["cross_attentions"].append(weights), result["decoder_hidden"].append(x)
    x = result["decoder_hidden"][-1] = W.layer_norm("model.decoder.layer_norm", x, eps)
    result["logits"] = x @ table.T + (0 if family in ("m2m_100", "whisper") else W("final_logits_bias", 1, c["vocab_size"]))
    return result


FAMILIES = {name: llama_kin for name in ("smollm3", "granite", "olmo2", "exaone4", "cohere", "cohere2", "stablelm", "starcoder2",
                                         "nemotron", "mixtral", "qwen3_moe", "gpt_oss", "llama4_text")}
FAMILIES.update({name: bert_kin for name in ("electra", "albert", "mpnet", "nomic_bert", "deberta-v2")})
FAMILIES.update({"deepseek_v2": deepseek, "deepseek_v3": deepseek, "gptj": gptj, "mpt": mpt, "opt": opt_350m, "modernbert": modernbert,
                 "mbart": bart_before, "m2m_100": bart_before, "pegasus": bart_before, "whisper": bart_before})
