"""The attention operator in float64, with its gradients, and small cases that use each of its options."""
import json
import zlib

import numpy as np

from golden_models import read_tensors, write_tensors, write_text

KEYS = {"scale": None, "query_offset": None, "causal": False, "window": None, "prefix": None, "softcap": None, "kv_len": None}


def visible(case, b, n, m):
    """Which keys each query sees: [query, key]."""
    places = np.arange(n)[:, None] + case["query_offset"]
    keys = np.arange(m)[None, :]
    seen = np.ones((n, m), bool)
    if case["causal"]:
        seen = keys <= places
    if case["prefix"] is not None:  # causal, but for the first keys
        seen &= (keys <= places) | (keys < case["prefix"])
    if case["window"]:
        seen &= keys > places - case["window"]
    if case["kv_len"]:
        seen &= keys < case["kv_len"][b]
    return seen


def forward(case, t):
    """Scores, weights, output and log-sum-exp for every [batch, head]."""
    batch, h, n, dim = t["q"].shape
    share, m = h // t["k"].shape[1], t["k"].shape[2]
    full = {"scores": np.zeros((batch, h, n, m)), "slope": np.ones((batch, h, n, m)), "probs": np.zeros((batch, h, n, m)),
            "out": np.zeros((batch, h, n, t["v"].shape[3])), "lse": np.zeros((batch, h, n)), "sink": np.zeros((batch, h, n))}
    for b in range(batch):
        for a in range(h):
            s = case["scale"] * t["q"][b, a] @ t["k"][b, a // share].T
            if case["softcap"]:
                s = case["softcap"] * np.tanh(s / case["softcap"])
                full["slope"][b, a] = 1 - (s / case["softcap"]) ** 2
            if "alibi_slopes" in t:
                s = s - t["alibi_slopes"][a] * abs(np.arange(n)[:, None] + case["query_offset"] - np.arange(m))
            if "bias" in t:
                s = s + np.broadcast_to(t["bias"], (batch, h, n, m))[b, a]
            s = np.where(visible(case, b, n, m), s, -np.inf)
            if "mask" in t:
                s = np.where(np.broadcast_to(t["mask"], (batch, h, n, m))[b, a] != 0, s, -np.inf)
            sink = t["sinks"][a] if "sinks" in t else -np.inf
            top = np.maximum(s.max(1, initial=-np.inf), sink)
            top = np.where(np.isneginf(top), 0, top)
            e = np.exp(s - top[:, None])
            total = e.sum(1) + np.exp(sink - top)
            with np.errstate(divide="ignore"):
                full["lse"][b, a] = np.log(total) + top
            divisor = np.where(total == 0, 1, total)
            full["probs"][b, a] = e / divisor[:, None]
            full["sink"][b, a] = np.exp(sink - top) / divisor
            full["out"][b, a] = full["probs"][b, a] @ t["v"][b, a // share]
    return full


def gradients(case, t, full):
    """Of sum(out · dout), by the rules of softmax: dscore = p · (dp - sum(p · dp))."""
    batch, h, n, _ = t["q"].shape
    share = h // t["k"].shape[1]
    d = {"d" + name: np.zeros_like(t[name]) for name in "qkv"}
    if "sinks" in t:
        d["dsinks"] = np.zeros(h)
    if "bias" in t:
        d["dbias"] = np.zeros_like(t["bias"])
    for b in range(batch):
        for a in range(h):
            g, p = a // share, full["probs"][b, a]
            dp = t["dout"][b, a] @ t["v"][b, g].T
            mean = (p * dp).sum(1)
            ds = p * (dp - mean[:, None])
            if "bias" in t:
                place = tuple(i if size > 1 else 0 for i, size in zip((b, a), t["bias"].shape))
                d["dbias"][place] += ds if t["bias"].shape[2] > 1 else ds.sum(0, keepdims=True)
            if "sinks" in t:
                d["dsinks"][a] -= (full["sink"][b, a] * mean).sum()
            ds = ds * full["slope"][b, a] * case["scale"]
            d["dq"][b, a] = ds @ t["k"][b, g]
            d["dk"][b, g] += ds.T @ t["q"][b, a]
            d["dv"][b, g] += p.T @ t["dout"][b, a]
    return d


# name: [batch, heads, kv_heads, queries, keys, dim, dim of v], and options; a value of True makes tensors up.
CASES = {
    "full": ([2, 2, 2, 5, 7, 8, 8], {}),
    "causal": ([1, 2, 2, 7, 7, 4, 4], {"causal": True}),
    "causal_groups": ([1, 6, 2, 6, 9, 16, 16], {"causal": True}),
    "one_key_head": ([1, 3, 1, 4, 11, 5, 3], {"scale": 0.7}),
    "decode": ([2, 4, 2, 1, 17, 8, 8], {"causal": True}),
    "window": ([1, 2, 2, 9, 9, 8, 8], {"causal": True, "window": 3}),
    "prefix": ([1, 2, 2, 8, 8, 4, 4], {"prefix": 3}),
    "offset_dead_rows": ([1, 2, 1, 6, 4, 4, 4], {"causal": True, "query_offset": -2}),
    "lengths": ([3, 2, 2, 4, 6, 4, 4], {"kv_len": [6, 2, 0]}),
    "softcap": ([1, 2, 2, 5, 9, 4, 4], {"softcap": 2.0, "scale": 1.0}),
    "alibi": ([1, 3, 3, 7, 7, 8, 8], {"causal": True, "alibi_slopes": True}),
    "bias_of_heads": ([2, 2, 2, 4, 6, 4, 4], {"bias": [1, 2, 4, 6]}),
    "bias_of_minus_infinity": ([2, 2, 2, 5, 6, 8, 8], {"bias": [2, 1, 1, 6], "infinite": True}),
    "mask": ([1, 2, 2, 6, 8, 4, 4], {"mask": [1, 1, 6, 8]}),
    "sinks": ([1, 4, 2, 5, 8, 8, 8], {"causal": True, "sinks": True}),
    "sinks_and_window": ([1, 2, 2, 9, 9, 4, 4], {"causal": True, "window": 2, "sinks": True, "softcap": 3.0}),
    "large_scores": ([1, 2, 2, 4, 9, 4, 4], {"scale": 40.0}),
    "many_keys": ([1, 2, 1, 3, 140, 4, 4], {"causal": True}),
}


def draw(name):
    (batch, h, groups, n, m, dim, dim_v), options = CASES[name]
    random = np.random.default_rng(zlib.crc32(name.encode()))
    number = lambda *shape: random.normal(size=shape).astype("<f4").astype(float)
    case = dict(KEYS, scale=dim**-0.5, query_offset=m - n)
    case.update({key: value for key, value in options.items() if key in KEYS})
    t = {"q": number(batch, h, n, dim), "k": number(batch, groups, m, dim), "v": number(batch, groups, m, dim_v),
         "dout": number(batch, h, n, dim_v)}
    if "alibi_slopes" in options:
        t["alibi_slopes"] = np.abs(number(h))
    if "sinks" in options:
        t["sinks"] = number(h)
    if "bias" in options:
        t["bias"] = number(*options["bias"])
        if "infinite" in options:
            t["bias"][0, ..., -2:] = -np.inf
            t["bias"][1] = -np.inf  # this batch item sees nothing
    if "mask" in options:
        t["mask"] = (random.random(options["mask"]) < 0.6).astype(float)
        t["mask"][..., 2, :] = 0  # this query sees nothing
    return case, t


def write(root):
    root.mkdir(parents=True, exist_ok=True)
    about = {}
    for name in CASES:
        case, t = draw(name)
        full = forward(case, t)
        t.update({key: full[key] for key in ("out", "lse", "probs")}, **gradients(case, t, full))
        write_tensors(root / f"{name}.safetensors", {key: value.astype("<f4") for key, value in t.items()})
        about[name] = case
    write_text(root / "cases.json", about)


def check(root):
    """Compares with numbers of others: FOLDER/attention/cases.json and its files."""
    bad, folder = 0, root / "attention"
    if not (folder / "cases.json").exists():
        return 0
    for name, case in json.loads((folder / "cases.json").read_text()).items():
        wanted = {key: value.astype(float) for key, value in read_tensors(folder / f"{name}.safetensors").items()}
        case = dict(KEYS, **{key: value for key, value in case.items() if key in KEYS})
        full = forward(case, wanted)
        found = dict(full, **gradients(case, wanted, full))
        worst = 0.0
        for key in ("out", "lse", "dq", "dk", "dv", "probs"):
            if key in wanted:
                assert (np.isfinite(found[key]) == np.isfinite(wanted[key])).all(), (name, key)
                use = np.isfinite(wanted[key])
                limit = 1 + np.abs(wanted[key][use])
                worst = max(worst, float((np.abs(found[key][use] - wanted[key][use]) / limit).max(initial=0)))
        bad |= worst > 1e-6
        print(f"attention/{name:20} {worst:.1e}" + ("  FAILED" if worst > 1e-6 else ""))
    return int(bad)
