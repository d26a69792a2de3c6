"""Every model family that Headlight opens, in float64 and plain NumPy: one sequence at a time, no cache, no padding.

Written to be compared with: each function follows the family's published definition and shares no code with src/. Used by
tools/make-golden, which writes tests/golden with it and checks it against larger sets of reference numbers.

A function takes (config, W, ids) and returns a dict with "logits" [token, vocabulary], "attentions" (one [head, query, key]
per layer) and "hidden" (the residual stream before each layer; the last entry is what the head reads). Encoder-decoders take
the source and the decoder's input, and have these lists with "encoder_", "decoder_" and "cross_" before their names.
W(name, shape) is the tensor of that name; see Weights.
"""
import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}
ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_new"]
ACTIVATIONS["swish"] = ACTIVATIONS["silu"]


class Weights:
    """The tensors of a file by name. With a random generator, a tensor that is missing is made up, so that running a model
    once writes down which tensors it has, and in which shapes."""

    def __init__(self, tensors, random=None, plus_one=False):
        self.tensors, self.random, self.plus_one = tensors, random, plus_one

    def __call__(self, name, *shape):
        for known in (name, name.split(".", 1)[-1]):  # files may leave the model's prefix out
            if known in self.tensors:
                assert self.tensors[known].shape == shape, (known, self.tensors[known].shape, shape)
                return self.tensors[known].astype(np.float64)
        assert self.random is not None, f"no tensor {name}"
        values = self.random.normal(size=shape)
        norms = ("norm.weight", "LayerNorm.weight", "norm1.weight", "norm2.weight", "norm_1.weight", "norm_2.weight", "norm_f.weight",
                 "emb_ln.weight")
        if name.endswith(norms) or ".ln_" in name and name.endswith(".weight"):
            values = 0.3 * values + (0 if self.plus_one else 1)
        elif len(shape) == 1 or name == "final_logits_bias":
            values *= 0.3
        elif "embed" not in name and "wte" not in name and "wpe" not in name and "shared" not in name:
            values *= 1.2 / math.sqrt(min(shape))
        # Numbers that float16 has, so that files of 16 and of 32 bits hold the same model.
        self.tensors[name] = values.astype(np.float16)
        return self(name, *shape)

    def linear(self, name, x, out, bias=True):
        y = x @ self(name + ".weight", out, x.shape[-1]).T
        return y + self(name + ".bias", out) if bias else y

    def layer_norm(self, name, x, eps):
        x = x - x.mean(-1, keepdims=True)
        width = x.shape[-1]
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
        return x * self(name + ".weight", width) + self(name + ".bias", width)

    def rms_norm(self, name, x, eps, plus=0):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * (plus + self(name + ".weight", x.shape[-1]))


def attend(q, k, v, scale, visible, softcap=None, bias=0):
    """q [head, query, dim], k and v [group, key, dim]: several heads in a row share a group. -> [query, head·dim], weights"""
    share = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, share, 0), np.repeat(v, share, 0)
    scores = scale * (q @ k.transpose(0, 2, 1))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(visible, scores + bias, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1), weights


def heads(x, n):  # [token, head·dim] -> [head, token, dim]
    return x.reshape(len(x), n, -1).transpose(1, 0, 2)


def causal(n, window=None):
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return (j <= i) & (i - j < (window or n))


def everything(n, m):
    return np.ones((n, m), bool)


def rope_settings(c, kind=None):
    """rope_parameters of today's config.json, or rope_theta and rope_scaling of older ones."""
    entry = c.get("rope_parameters")
    if entry and kind in entry:
        entry = entry[kind]
    if not entry:
        entry = dict(c.get("rope_scaling") or {}, rope_theta=c.get("rope_theta", c.get("rotary_emb_base", 10000.0)))
        if kind == "sliding_attention":
            entry = {"rope_theta": c["rope_local_base_freq"]}
    return entry


def rotary_share(c):
    entry = c.get("rope_parameters") or {}
    return entry.get("partial_rotary_factor", c.get("partial_rotary_factor", c.get("rotary_pct", 1)))


def rotate(x, settings, dims, c):
    """Turns pairs (i, i + dims/2) of the first `dims` numbers of each head of x [head, token, dim] by its token's place."""
    turns = settings["rope_theta"] ** (-np.arange(0, dims, 2) / dims)
    size, kind = 1.0, settings.get("rope_type", settings.get("type", "default"))
    if kind == "linear":
        turns = turns / settings["factor"]
    elif kind == "llama3":
        low, high, before = (settings[n] for n in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
        wave = 2 * math.pi / turns
        smooth = np.clip((before / wave - low) / (high - low), 0, 1)
        turns = (1 - smooth) * turns / settings["factor"] + smooth * turns
    elif kind in ("longrope", "su"):
        before = settings.get("original_max_position_embeddings", c.get("original_max_position_embeddings"))
        turns = turns / np.array(settings["long_factor" if x.shape[1] > before else "short_factor"])
        size = math.sqrt(1 + math.log(c["max_position_embeddings"] / before) / math.log(before))
    else:
        assert kind == "default", kind
    angles = np.arange(x.shape[1])[:, None] * turns
    cos, sin = size * np.cos(angles), size * np.sin(angles)
    a, b = x[..., :dims // 2], x[..., dims // 2:dims]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, x[..., dims:]], -1)


def decoder_result(hidden, attentions, logits):
    return {"hidden": hidden, "attentions": attentions, "logits": logits}


def gpt2(c, W, ids):
    width, n, eps = c["n_embd"], len(ids), c["layer_norm_epsilon"]
    inner = c.get("n_inner") or 4 * width

    def conv(name, x, out):  # stored [in, out]
        return x @ W(name + ".weight", x.shape[1], out) + W(name + ".bias", out)

    table = W("transformer.wte.weight", c["vocab_size"], width)
    x = table[ids] + W("transformer.wpe.weight", c["n_positions"], width)[:n]
    hidden, attentions = [x], []
    for layer in range(c["n_layer"]):
        at = f"transformer.h.{layer}."
        q, k, v = np.split(conv(at + "attn.c_attn", W.layer_norm(at + "ln_1", x, eps), 3 * width), 3, 1)
        q, k, v = (heads(t, c["n_head"]) for t in (q, k, v))
        scale = q.shape[2] ** -0.5 / (layer + 1 if c.get("scale_attn_by_inverse_layer_idx") else 1)
        mixed, weights = attend(q, k, v, scale, causal(n))
        x = x + conv(at + "attn.c_proj", mixed, width)
        up = ACTIVATIONS[c["activation_function"]](conv(at + "mlp.c_fc", W.layer_norm(at + "ln_2", x, eps), inner))
        x = x + conv(at + "mlp.c_proj", up, width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("transformer.ln_f", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def gpt_neo(c, W, ids):
    width, n, eps = c["hidden_size"], len(ids), c["layer_norm_epsilon"]
    kinds = c.get("attention_layers") or [kind for kinds, times in c["attention_types"] for kind in kinds * times]
    inner = c.get("intermediate_size") or 4 * width
    table = W("transformer.wte.weight", c["vocab_size"], width)
    x = table[ids] + W("transformer.wpe.weight", c["max_position_embeddings"], width)[:n]
    hidden, attentions = [x], []
    for layer in range(c["num_layers"]):
        at = f"transformer.h.{layer}."
        y = W.layer_norm(at + "ln_1", x, eps)
        q, k, v = (heads(W.linear(f"{at}attn.attention.{p}_proj", y, width, bias=False), c["num_heads"]) for p in "qkv")
        window = c["window_size"] if kinds[layer] == "local" else None
        mixed, weights = attend(q, k, v, 1, causal(n, window))  # scores are not scaled
        x = x + W.linear(at + "attn.attention.out_proj", mixed, width)
        up = ACTIVATIONS[c["activation_function"]](W.linear(at + "mlp.c_fc", W.layer_norm(at + "ln_2", x, eps), inner))
        x = x + W.linear(at + "mlp.c_proj", up, width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("transformer.ln_f", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def gpt_neox(c, W, ids):
    width, n, eps, h = c["hidden_size"], len(ids), c["layer_norm_eps"], c["num_attention_heads"]
    dims, settings = int(width // h * (rotary_share(c) if "rope_parameters" in c else c.get("rotary_pct", 0.25))), rope_settings(c)
    x = W("gpt_neox.embed_in.weight", c["vocab_size"], width)[ids]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"gpt_neox.layers.{layer}."
        qkv = W.linear(at + "attention.query_key_value", W.layer_norm(at + "input_layernorm", x, eps), 3 * width)
        q, k, v = qkv.reshape(n, h, 3, width // h).transpose(2, 1, 0, 3)  # head by head: query, key, value
        q, k = rotate(q, settings, dims, c), rotate(k, settings, dims, c)
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n))
        y = W.linear(at + "attention.dense", mixed, width)
        before = x if c["use_parallel_residual"] else x + y
        up = W.linear(at + "mlp.dense_h_to_4h", W.layer_norm(at + "post_attention_layernorm", before, eps), c["intermediate_size"])
        x = x + y + W.linear(at + "mlp.dense_4h_to_h", ACTIVATIONS[c["hidden_act"]](up), width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("gpt_neox.final_layer_norm", x, eps)
    return decoder_result(hidden, attentions, W.linear("embed_out", hidden[-1], c["vocab_size"], bias=False))


def windows(c, layers, every=None):
    """Keys that each layer sees; None for all. Without layer_types: each `every`-th layer sees all (Gemma), or those before
    max_window_layers do (Qwen)."""
    window = c.get("sliding_window")
    if c.get("layer_types"):
        return [window if kind == "sliding_attention" else None for kind in c["layer_types"]]
    return [window if n >= c.get("max_window_layers", 0) and (every is None or (n + 1) % every) else None for n in range(layers)]


def llama(c, W, ids, qkv_bias=None, head_norm=False, window=False):
    """Llama, and what differs in Mistral (window), Qwen 2 (qkv_bias) and Qwen 3 (head_norm)."""
    width, n, eps, h = c["hidden_size"], len(ids), c["rms_norm_eps"], c["num_attention_heads"]
    groups, dim = c["num_key_value_heads"], c.get("head_dim") or width // h
    bias = c.get("attention_bias", False)
    qkv_bias = bias if qkv_bias is None else qkv_bias
    seen = windows(c, c["num_hidden_layers"]) if window else [None] * c["num_hidden_layers"]
    table = W("model.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        y = W.rms_norm(at + "input_layernorm", x, eps)
        q = heads(W.linear(at + "self_attn.q_proj", y, h * dim, qkv_bias), h)
        k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", y, groups * dim, qkv_bias), groups) for p in "kv")
        if head_norm:
            q, k = W.rms_norm(at + "self_attn.q_norm", q, eps), W.rms_norm(at + "self_attn.k_norm", k, eps)
        q, k = (rotate(t, rope_settings(c), dim, c) for t in (q, k))
        mixed, weights = attend(q, k, v, dim**-0.5, causal(n, seen[layer]))
        x = x + W.linear(at + "self_attn.o_proj", mixed, width, bias)
        y = W.rms_norm(at + "post_attention_layernorm", x, eps)
        gate, up = (W.linear(f"{at}mlp.{p}_proj", y, c["intermediate_size"], c.get("mlp_bias", False)) for p in ("gate", "up"))
        x = x + W.linear(at + "mlp.down_proj", ACTIVATIONS[c["hidden_act"]](gate) * up, width, c.get("mlp_bias", False))
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.rms_norm("model.norm", x, eps)
    head = table if c["tie_word_embeddings"] else W("lm_head.weight", c["vocab_size"], width)
    return decoder_result(hidden, attentions, hidden[-1] @ head.T)


def mistral(c, W, ids):
    return llama(c, W, ids, window=True)


def qwen2(c, W, ids):
    return llama(dict(c, attention_bias=False), W, ids, qkv_bias=True, window=c.get("use_sliding_window", False))


def qwen3(c, W, ids):
    return llama(c, W, ids, head_norm=True, window=c.get("use_sliding_window", False))


def gemma(c, W, ids):
    """Gemma 1, 2 and 3: norms store their weights less one; 2 and 3 have four norms a layer, caps or norms of heads."""
    first, third = c["model_type"] == "gemma", c["model_type"] == "gemma3_text"
    width, n, eps, h, dim = c["hidden_size"], len(ids), c["rms_norm_eps"], c["num_attention_heads"], c["head_dim"]
    groups, layers = c["num_key_value_heads"], c["num_hidden_layers"]
    seen = [None] * layers if first else windows(c, layers, c.get("sliding_window_pattern", 6) if third else 2)
    scale = dim**-0.5 if first else c["query_pre_attn_scalar"] ** -0.5
    act = ACTIVATIONS["gelu_pytorch_tanh"]
    norm = lambda name, x: W.rms_norm(name, x, eps, plus=1)
    table = W("model.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids] * math.sqrt(width)
    hidden, attentions = [x], []
    for layer in range(layers):
        at = f"model.layers.{layer}."
        y = norm(at + "input_layernorm", x)
        q = heads(W.linear(at + "self_attn.q_proj", y, h * dim, bias=False), h)
        k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", y, groups * dim, bias=False), groups) for p in "kv")
        if third:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        settings = rope_settings(c, ("sliding_attention" if seen[layer] else "full_attention") if third else None)
        q, k = rotate(q, settings, dim, c), rotate(k, settings, dim, c)
        mixed, weights = attend(q, k, v, scale, causal(n, seen[layer]), c.get("attn_logit_softcapping"))
        y = W.linear(at + "self_attn.o_proj", mixed, width, bias=False)
        x = x + (y if first else norm(at + "post_attention_layernorm", y))
        y = norm(at + ("post_attention_layernorm" if first else "pre_feedforward_layernorm"), x)
        gate, up = (W.linear(f"{at}mlp.{p}_proj", y, c["intermediate_size"], bias=False) for p in ("gate", "up"))
        y = W.linear(at + "mlp.down_proj", act(gate) * up, width, bias=False)
        x = x + (y if first else norm(at + "post_feedforward_layernorm", y))
        hidden.append(x), attentions.append(weights)
    hidden[-1] = norm("model.norm", x)
    logits, cap = hidden[-1] @ table.T, c.get("final_logit_softcapping")
    return decoder_result(hidden, attentions, cap * np.tanh(logits / cap) if cap else logits)


def phi(c, W, ids):
    width, n, eps, h = c["hidden_size"], len(ids), c["layer_norm_eps"], c["num_attention_heads"]
    dim = width // h
    dims, settings = int(dim * rotary_share(c)), rope_settings(c)
    x = W("model.embed_tokens.weight", c["vocab_size"], width)[ids]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        y = W.layer_norm(at + "input_layernorm", x, eps)
        q, k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", y, width), h) for p in "qkv")
        if c.get("qk_layernorm"):
            q, k = (W.layer_norm(f"{at}self_attn.{p}_layernorm", t, eps) for p, t in (("q", q), ("k", k)))
        q, k = rotate(q, settings, dims, c), rotate(k, settings, dims, c)
        mixed, weights = attend(q, k, v, dim**-0.5, causal(n))
        up = ACTIVATIONS[c["hidden_act"]](W.linear(at + "mlp.fc1", y, c["intermediate_size"]))
        x = x + W.linear(at + "self_attn.dense", mixed, width) + W.linear(at + "mlp.fc2", up, width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("model.final_layernorm", x, eps)
    return decoder_result(hidden, attentions, W.linear("lm_head", hidden[-1], c["vocab_size"]))


def phi3(c, W, ids):
    width, n, eps, h, groups = c["hidden_size"], len(ids), c["rms_norm_eps"], c["num_attention_heads"], c["num_key_value_heads"]
    dim, inner, settings = width // h, c["intermediate_size"], rope_settings(c)
    dims, seen = int(dim * rotary_share(c)), windows(c, c["num_hidden_layers"])
    table = W("model.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        y = W.linear(at + "self_attn.qkv_proj", W.rms_norm(at + "input_layernorm", x, eps), (h + 2 * groups) * dim, bias=False)
        q, k, v = np.split(heads(y, h + 2 * groups), [h, h + groups])
        q, k = rotate(q, settings, dims, c), rotate(k, settings, dims, c)
        mixed, weights = attend(q, k, v, dim**-0.5, causal(n, seen[layer]))
        x = x + W.linear(at + "self_attn.o_proj", mixed, width, bias=False)
        y = W.linear(at + "mlp.gate_up_proj", W.rms_norm(at + "post_attention_layernorm", x, eps), 2 * inner, bias=False)
        x = x + W.linear(at + "mlp.down_proj", ACTIVATIONS[c["hidden_act"]](y[:, :inner]) * y[:, inner:], width, bias=False)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.rms_norm("model.norm", x, eps)
    head = table if c.get("tie_word_embeddings") else W("lm_head.weight", c["vocab_size"], width)
    return decoder_result(hidden, attentions, hidden[-1] @ head.T)


def alibi_slopes(h):
    def powers(count):
        return [2 ** (-8 * (i + 1) / count) for i in range(count)]

    whole = 2 ** int(math.log2(h))
    return np.array(powers(whole) + powers(2 * whole)[0::2][:h - whole])


def bloom(c, W, ids):
    width, n, eps, h = c["hidden_size"], len(ids), c["layer_norm_epsilon"], c["n_head"]
    bias = alibi_slopes(h)[:, None, None] * np.arange(n)
    table = W("transformer.word_embeddings.weight", c["vocab_size"], width)
    x = W.layer_norm("transformer.word_embeddings_layernorm", table[ids], eps)
    hidden, attentions = [x], []
    for layer in range(c["n_layer"]):
        at = f"transformer.h.{layer}."
        qkv = W.linear(at + "self_attention.query_key_value", W.layer_norm(at + "input_layernorm", x, eps), 3 * width)
        q, k, v = qkv.reshape(n, h, 3, width // h).transpose(2, 1, 0, 3)  # head by head: query, key, value
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n), bias=bias)
        x = x + W.linear(at + "self_attention.dense", mixed, width)
        up = W.linear(at + "mlp.dense_h_to_4h", W.layer_norm(at + "post_attention_layernorm", x, eps), 4 * width)
        x = x + W.linear(at + "mlp.dense_4h_to_h", ACTIVATIONS["gelu_new"](up), width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("transformer.ln_f", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def to_bfloat16(x):
    bits = np.asarray(x, "<f4").view("<u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype("<u4").view("<f4").astype(np.float64)


def falcon(c, W, ids):
    """One key/value head (multi_query), or groups of [queries…, key, value] with a norm each for attention and feed-forward. With
    alibi there is no rotation, and slope·position of the key, rounded to bfloat16 as positions and slopes are, is scaled like scores."""
    width, n, eps, h = c["hidden_size"], len(ids), c["layer_norm_epsilon"], c["num_attention_heads"]
    grouped, bias = c.get("new_decoder_architecture", False), c.get("bias", False)
    groups = c["num_kv_heads"] if grouped else 1 if c.get("multi_query", True) else h
    dim, inner, settings = width // h, c.get("ffn_hidden_size") or 4 * width, rope_settings(c)
    bias_of_keys = 0
    if c.get("alibi"):
        slopes = to_bfloat16(2.0 ** (-8 / h * np.arange(1, h + 1)))  # h is a power of two
        bias_of_keys = dim**-0.5 * to_bfloat16(slopes[:, None, None] * to_bfloat16(np.arange(n)))
    table = W("transformer.word_embeddings.weight", c["vocab_size"], width)
    x = table[ids]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"transformer.h.{layer}."
        y = W.layer_norm(at + ("ln_attn" if grouped else "input_layernorm"), x, eps)
        z = W.layer_norm(at + "ln_mlp", x, eps) if grouped else y
        qkv = W.linear(at + "self_attention.query_key_value", y, (h + 2 * groups) * dim, bias)
        qkv = qkv.reshape(n, groups, h // groups + 2, dim).transpose(1, 2, 0, 3)
        q, k, v = qkv[:, :-2].reshape(h, n, dim), qkv[:, -2], qkv[:, -1]
        if not c.get("alibi"):
            q, k = rotate(q, settings, dim, c), rotate(k, settings, dim, c)
        mixed, weights = attend(q, k, v, dim**-0.5, causal(n), bias=bias_of_keys)
        if not c.get("parallel_attn", True):
            z = x + W.linear(at + "self_attention.dense", mixed, width, bias)
            z = W.layer_norm(at + "post_attention_layernorm", z, eps)
        up = ACTIVATIONS[c.get("activation", "gelu")](W.linear(at + "mlp.dense_h_to_4h", z, inner, bias))
        x = x + W.linear(at + "self_attention.dense", mixed, width, bias) + W.linear(at + "mlp.dense_4h_to_h", up, width, bias)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("transformer.ln_f", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def opt(c, W, ids):
    width, n, h, eps = c["hidden_size"], len(ids), c["num_attention_heads"], 1e-5
    table = W("model.decoder.embed_tokens.weight", c["vocab_size"], width)
    x = table[ids] + W("model.decoder.embed_positions.weight", c["max_position_embeddings"] + 2, width)[2:2 + n]
    hidden, attentions = [x], []
    for layer in range(c["num_hidden_layers"]):
        at = f"model.decoder.layers.{layer}."
        y = W.layer_norm(at + "self_attn_layer_norm", x, eps)
        q, k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", y, width), h) for p in "qkv")
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(n))
        x = x + W.linear(at + "self_attn.out_proj", mixed, width)
        up = ACTIVATIONS[c["activation_function"]](W.linear(at + "fc1", W.layer_norm(at + "final_layer_norm", x, eps), c["ffn_dim"]))
        x = x + W.linear(at + "fc2", up, width)
        hidden.append(x), attentions.append(weights)
    hidden[-1] = W.layer_norm("model.decoder.final_layer_norm", x, eps)
    return decoder_result(hidden, attentions, hidden[-1] @ table.T)


def post_norm_layer(W, x, kv, h, act, inner, eps, names):
    """A layer of BERT and of BART's encoder: norms after each step. names: q, k, v, out, norm, up, down, last norm."""
    q_name, k_name, v_name, out, norm, up, down, last = names
    width = x.shape[1]
    q, k, v = heads(W.linear(q_name, x, width), h), heads(W.linear(k_name, kv, width), h), heads(W.linear(v_name, kv, width), h)
    mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, everything(len(x), len(kv)))
    x = W.layer_norm(norm, x + W.linear(out, mixed, width), eps)
    return W.layer_norm(last, x + W.linear(down, act(W.linear(up, x, inner)), width), eps), weights


def bert(c, W, ids, types=None):
    """BERT and RoBERTa with its kin, whose positions begin after their padding token."""
    family = "bert" if c["model_type"] == "bert" else "roberta"
    width, n, h, eps, first = c["hidden_size"], len(ids), c["num_attention_heads"], c["layer_norm_eps"], 0
    if family == "roberta":
        first = c["pad_token_id"] + 1
    at = family + ".embeddings."
    table = W(at + "word_embeddings.weight", c["vocab_size"], width)
    x = table[ids] + W(at + "position_embeddings.weight", c["max_position_embeddings"], width)[first:first + n]
    x = x + W(at + "token_type_embeddings.weight", c["type_vocab_size"], width)[np.zeros(n, int) if types is None else types]
    x = W.layer_norm(at + "LayerNorm", x, eps)
    hidden, attentions, act = [x], [], ACTIVATIONS[c["hidden_act"]]
    for layer in range(c["num_hidden_layers"]):
        at = f"{family}.encoder.layer.{layer}."
        x, weights = post_norm_layer(W, x, x, h, act, c["intermediate_size"], eps, [
            at + "attention.self.query", at + "attention.self.key", at + "attention.self.value", at + "attention.output.dense",
            at + "attention.output.LayerNorm", at + "intermediate.dense", at + "output.dense", at + "output.LayerNorm"])
        hidden.append(x), attentions.append(weights)
    dense, norm, bias = (("lm_head.dense", "lm_head.layer_norm", "lm_head.bias") if family == "roberta" else
                         ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"))
    y = W.layer_norm(norm, ACTIVATIONS["gelu"](W.linear(dense, x, width)), eps)
    return decoder_result(hidden, attentions, y @ table.T + W(bias, c["vocab_size"]))


def distilbert(c, W, ids):
    width, n, eps = c["dim"], len(ids), 1e-12
    at = "distilbert.embeddings."
    table = W(at + "word_embeddings.weight", c["vocab_size"], width)
    x = table[ids] + W(at + "position_embeddings.weight", c["max_position_embeddings"], width)[:n]
    x = W.layer_norm(at + "LayerNorm", x, eps)
    hidden, attentions, act = [x], [], ACTIVATIONS[c["activation"]]
    for layer in range(c["n_layers"]):
        at = f"distilbert.transformer.layer.{layer}."
        x, weights = post_norm_layer(W, x, x, c["n_heads"], act, c["hidden_dim"], eps, [
            at + "attention.q_lin", at + "attention.k_lin", at + "attention.v_lin", at + "attention.out_lin",
            at + "sa_layer_norm", at + "ffn.lin1", at + "ffn.lin2", at + "output_layer_norm"])
        hidden.append(x), attentions.append(weights)
    y = W.layer_norm("vocab_layer_norm", ACTIVATIONS["gelu"](W.linear("vocab_transform", x, width)), eps)
    return decoder_result(hidden, attentions, y @ table.T + W("vocab_projector.bias", c["vocab_size"]))


def bart(c, W, source, target):
    """BART, and Marian: fixed sines in place of learned positions, and no norm of embeddings."""
    marian, width, eps = c["model_type"] == "marian", c["d_model"], 1e-5
    table, act = W("model.shared.weight", c["vocab_size"], width), ACTIVATIONS[c["activation_function"]]

    def embed(part, ids):
        x = table[ids] * (math.sqrt(width) if c.get("scale_embedding") else 1)
        if marian:
            angles = np.arange(len(ids))[:, None] / 10000 ** (np.arange(0, width, 2) / width)
            return x + np.concatenate([np.sin(angles), np.cos(angles)], 1)
        x = x + W(f"model.{part}.embed_positions.weight", c["max_position_embeddings"] + 2, width)[2:2 + len(ids)]
        return W.layer_norm(f"model.{part}.layernorm_embedding", x, eps)

    x = embed("encoder", source)
    result = {"encoder_hidden": [x], "encoder_attentions": [], "cross_attentions": [], "decoder_attentions": []}
    for layer in range(c["encoder_layers"]):
        at = f"model.encoder.layers.{layer}."
        x, weights = post_norm_layer(W, x, x, c["encoder_attention_heads"], act, c["encoder_ffn_dim"], eps, [
            *(f"{at}self_attn.{p}_proj" for p in ("q", "k", "v", "out")), at + "self_attn_layer_norm",
            at + "fc1", at + "fc2", at + "final_layer_norm"])
        result["encoder_hidden"].append(x), result["encoder_attentions"].append(weights)
    memory, x, h = x, embed("decoder", target), c["decoder_attention_heads"]
    result["decoder_hidden"] = [x]
    for layer in range(c["decoder_layers"]):
        at = f"model.decoder.layers.{layer}."
        q, k, v = (heads(W.linear(f"{at}self_attn.{p}_proj", x, width), h) for p in "qkv")
        mixed, weights = attend(q, k, v, q.shape[2] ** -0.5, causal(len(x)))
        result["decoder_attentions"].append(weights)
        x = W.layer_norm(at + "self_attn_layer_norm", x + W.linear(at + "self_attn.out_proj", mixed, width), eps)
        x, weights = post_norm_layer(W, x, memory, h, act, c["decoder_ffn_dim"], eps, [
            *(f"{at}encoder_attn.{p}_proj" for p in ("q", "k", "v", "out")), at + "encoder_attn_layer_norm",
            at + "fc1", at + "fc2", at + "final_layer_norm"])
        result["cross_attentions"].append(weights), result["decoder_hidden"].append(x)
    result["logits"] = x @ table.T + W("final_logits_bias", 1, c["vocab_size"])
    return result


def t5_bucket(distance, c, both_sides):
    """Which entry of the table a key at this distance (key - query) has."""
    buckets, far = c["relative_attention_num_buckets"], c["relative_attention_max_distance"]
    first = 0
    if both_sides:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    return first + min(buckets - 1, exact + int(math.log(distance / exact) / math.log(far / exact) * (buckets - exact)))


def t5(c, W, source, target):
    width, h, dim, eps, inner = c["d_model"], c["num_heads"], c["d_kv"], c["layer_norm_epsilon"], c["d_ff"]
    table = W("shared.weight", c["vocab_size"], width)
    gated = c["feed_forward_proj"].startswith("gated-")
    act = ACTIVATIONS["gelu_new" if gated else "relu"]

    def attention(name, x, kv, visible, bias):  # scores are not scaled
        q = heads(W.linear(name + ".q", x, h * dim, bias=False), h)
        k, v = (heads(W.linear(f"{name}.{p}", kv, h * dim, bias=False), h) for p in "kv")
        mixed, weights = attend(q, k, v, 1, visible, bias=bias)
        return W.linear(name + ".o", mixed, width, bias=False), weights

    def feed_forward(name, x):
        y = W.rms_norm(name + ".layer_norm", x, eps)
        at = name + ".DenseReluDense."
        up = act(W.linear(at + ("wi_0" if gated else "wi"), y, inner, bias=False))
        if gated:
            up = up * W.linear(at + "wi_1", y, inner, bias=False)
        return x + W.linear(at + "wo", up, width, bias=False)

    def bias_of(part, n, both_sides):
        rows = W(f"{part}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", c["relative_attention_num_buckets"], h)
        places = [[t5_bucket(j - i, c, both_sides) for j in range(n)] for i in range(n)]
        return rows[np.array(places)].transpose(2, 0, 1)

    x = table[source]
    result = {"encoder_hidden": [x], "encoder_attentions": [], "cross_attentions": [], "decoder_attentions": []}
    bias = bias_of("encoder", len(source), True)
    for layer in range(c["num_layers"]):
        at = f"encoder.block.{layer}.layer."
        y, weights = attention(at + "0.SelfAttention", *2 * [W.rms_norm(at + "0.layer_norm", x, eps)],
                               everything(len(x), len(x)), bias)
        x = feed_forward(at + "1", x + y)
        result["encoder_hidden"].append(x), result["encoder_attentions"].append(weights)
    memory = result["encoder_hidden"][-1] = W.rms_norm("encoder.final_layer_norm", x, eps)
    x = table[target]
    result["decoder_hidden"] = [x]
    bias = bias_of("decoder", len(target), False)
    for layer in range(c["num_decoder_layers"]):
        at = f"decoder.block.{layer}.layer."
        y, weights = attention(at + "0.SelfAttention", *2 * [W.rms_norm(at + "0.layer_norm", x, eps)], causal(len(x)), bias)
        x = x + y
        result["decoder_attentions"].append(weights)
        y, weights = attention(at + "1.EncDecAttention", W.rms_norm(at + "1.layer_norm", x, eps), memory,
                               everything(len(x), len(memory)), 0)
        x = feed_forward(at + "2", x + y)
        result["cross_attentions"].append(weights), result["decoder_hidden"].append(x)
    x = result["decoder_hidden"][-1] = W.rms_norm("decoder.final_layer_norm", x, eps)
    tied = c.get("tie_word_embeddings", True)
    head = table if tied else W("lm_head.weight", c["vocab_size"], width)
    result["logits"] = (x * width**-0.5 if c.get("scale_decoder_outputs", tied) else x) @ head.T
    return result


FAMILIES = {
    "gpt2": gpt2, "gpt_neo": gpt_neo, "gpt_neox": gpt_neox, "llama": llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3,
    "gemma": gemma, "gemma2": gemma, "gemma3_text": gemma, "phi": phi, "phi3": phi3, "bloom": bloom, "falcon": falcon,
    "opt": opt, "bert": bert, "roberta": bert, "xlm-roberta": bert, "camembert": bert, "distilbert": distilbert, "bart": bart,
    "marian": bart, "t5": t5, "mt5": t5,
}
