#!/usr/bin/env python3
"""The golden cases through the C interface, called as other languages call it: structures declared by hand, with ctypes.

    golden_test.py LIBRARY SOURCE
"""

import ctypes as ct
import math
import pathlib
import sys
import unittest

LIBRARY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "python" / "tests"))

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed")
    sys.exit(77)
import golden

TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.int64): 5, np.dtype(bool): 6}
UNBOUNDED, AUTOMATIC = -1, -(2**63)
ENCODER, DECODER, CROSS = 0, 1, 2


class Tensor(ct.Structure):
    _fields_ = [("data", ct.c_void_p), ("dtype", ct.c_int32), ("rank", ct.c_int32), ("shape", ct.c_int64 * 4),
                ("strides", ct.c_int64 * 4)]


class Options(ct.Structure):
    _fields_ = [("size", ct.c_size_t), ("scale", ct.c_double), ("left", ct.c_int64), ("right", ct.c_int64),
                ("prefix", ct.c_int64), ("offset", ct.c_int64), ("chunk", ct.c_int64), ("softcap", ct.c_double),
                ("alibi_slopes", Tensor), ("bias", Tensor), ("mask", Tensor), ("sinks", Tensor),
                ("q_lengths", ct.POINTER(ct.c_int64)), ("k_lengths", ct.POINTER(ct.c_int64)),
                ("q_length_count", ct.c_size_t), ("k_length_count", ct.c_size_t),
                ("q_starts", ct.POINTER(ct.c_int64)), ("k_starts", ct.POINTER(ct.c_int64)),
                ("q_start_count", ct.c_size_t), ("k_start_count", ct.c_size_t),
                ("dropout", ct.c_double), ("dropout_seed", ct.c_uint64), ("dropout_layer", ct.c_uint64)]


def sized(name, *tensors):
    return type(name, (ct.Structure,), {"_fields_": [("size", ct.c_size_t), *((tensor, Tensor) for tensor in tensors)]})


Outputs = sized("Outputs", "out", "lse", "max", "entropy", "sink_weight", "weights", "topk_index", "topk_weight", "received")
Saved = sized("Saved", "q", "k", "v", "out", "lse")
Grads = sized("Grads", "dq", "dk", "dv", "dbias", "dsinks")

library = ct.CDLL(LIBRARY)
library.headlight_error_text.restype = ct.c_char_p


def tensor(array):
    strides = [stride // array.itemsize for stride in array.strides]
    return Tensor(array.ctypes.data, TYPES[array.dtype], array.ndim, (ct.c_int64 * 4)(*array.shape),
                  (ct.c_int64 * 4)(*strides))


def call(name, *arguments):
    status = getattr(library, f"headlight_{name}")(
        *(ct.byref(one) if isinstance(one, ct.Structure) else one for one in arguments))
    if status != 0:
        raise AssertionError(f"{name}: status {status}: {library.headlight_error_text().decode()}")


def options_of(case):
    """The options of headlight.attention as the structure; what it points to is returned beside it."""
    o = Options()
    library.headlight_attention_options_init(ct.byref(o), ct.c_size_t(ct.sizeof(o)))
    kept = []
    o.scale, o.offset = case["scale"], case["offset"]
    if case["causal"]:
        o.right = 0
    if case.get("window"):
        o.left = case["window"][0]
    if case["prefix"] is not None:
        o.prefix = case["prefix"]
    o.softcap = case["softcap"] or 0
    if case["k_lengths"] is not None:
        lengths = (ct.c_int64 * len(case["k_lengths"]))(*case["k_lengths"])
        o.k_lengths, o.k_length_count = lengths, len(case["k_lengths"])
        kept.append(lengths)
    for option, field in (("bias", "bias"), ("mask", "mask"), ("sinks", "sinks"), ("alibi", "alibi_slopes")):
        if option in case:
            setattr(o, field, tensor(case[option]))
            kept.append(case[option])
    return o, kept


class Golden(unittest.TestCase):
    def test_layout(self):
        o = Options()
        library.headlight_attention_options_init(ct.byref(o), ct.c_size_t(ct.sizeof(o)))
        self.assertEqual((o.size, o.left, o.right, o.prefix), (ct.sizeof(Options), UNBOUNDED, UNBOUNDED, UNBOUNDED))
        self.assertEqual(o.offset, AUTOMATIC)
        self.assertTrue(math.isnan(o.scale))

    def test_attention(self):
        count = 0
        for name, t, case in golden.attention_cases():
            limit = 2e-3 if name == "large_scores" else 2e-5
            o, kept = options_of(case)
            out, lse, weights = (np.empty_like(t[key]) for key in ("out", "lse", "probs"))
            outputs = Outputs(size=ct.sizeof(Outputs), out=tensor(out), lse=tensor(lse), weights=tensor(weights))
            q, k, v = (tensor(t[key]) for key in "qkv")
            call("attention", None, q, k, v, o, outputs)
            for got, key in ((out, "out"), (lse, "lse"), (weights, "probs")):
                np.testing.assert_allclose(got, t[key], rtol=limit, atol=limit, err_msg=f"{name} {key}")
            self.check_gradients(name, t, o, out, lse, 50 * limit if name == "large_scores" else 1e-4)
            self.check_decode(name, t, case, o, out)
            count += 1
            del kept
        self.assertEqual(count, 18)

    def check_gradients(self, name, t, o, out, lse, limit):
        wanted = [key for key in ("dq", "dk", "dv", "dbias", "dsinks") if key in t]
        made = {key: np.empty_like(t[key]) for key in wanted}
        saved = Saved(size=ct.sizeof(Saved), q=tensor(t["q"]), k=tensor(t["k"]), v=tensor(t["v"]), out=tensor(out),
                      lse=tensor(lse))
        grads = Grads(size=ct.sizeof(Grads), **{key: tensor(array) for key, array in made.items()})
        call("attention_backward", None, saved, tensor(t["dout"]), o, grads)
        for key in wanted:
            np.testing.assert_allclose(made[key], t[key], rtol=limit, atol=limit, err_msg=f"{name} {key}")

    def check_decode(self, name, t, case, o, out):
        if case["k_lengths"] is not None:  # a cache has lengths of its own
            return
        batch, heads, _, dim = t["k"].shape
        fields = [(key, ct.c_int64) for key in ("items", "kv_heads", "dim", "value_dim", "capacity", "window")]
        kind = type("CacheOptions", (ct.Structure,), {"_fields_": [
            ("size", ct.c_size_t), *fields, ("type", ct.c_int32), ("reserved", ct.c_int32)]})
        about = kind(size=ct.sizeof(kind), items=batch, kv_heads=heads, dim=dim, value_dim=t["v"].shape[3])
        cache = ct.c_void_p()
        call("cache_new", None, about, ct.byref(cache))
        call("cache_append", cache, tensor(t["k"]), tensor(t["v"]))
        again = np.empty_like(out)
        call("attention_decode", None, tensor(t["q"]), cache, o, Outputs(size=ct.sizeof(Outputs), out=tensor(again)))
        np.testing.assert_array_equal(again, out, err_msg=name)
        library.headlight_cache_free(cache)

    def test_models(self):
        for name in ("gpt2", "llama"):
            t = golden.read_safetensors(golden.GOLDEN / name / "golden.safetensors")
            model, run = ct.c_void_p(), ct.c_void_p()
            call("model_open", str(golden.GOLDEN / name).encode(), None, ct.byref(model))
            for sequence, ids in enumerate(t["input_ids"]):
                if not t["attention_mask"][sequence].all():
                    continue
                tokens = np.ascontiguousarray(ids, np.int32)
                call("run_ids", None, model, tokens.ctypes.data_as(ct.c_void_p), ct.c_size_t(len(tokens)), None,
                     ct.c_size_t(0), ct.byref(run))
                logits = np.empty_like(t["logits"][sequence])
                call("run_logits", None, run, ct.c_int64(0), ct.c_int64(len(tokens)), tensor(logits))
                np.testing.assert_allclose(logits, t["logits"][sequence], rtol=1e-4, atol=2e-4)
                weights = np.empty_like(t["attentions.1"][sequence][0])
                call("run_weights", None, run, ct.c_int32(DECODER), ct.c_int64(1), ct.c_int64(0), tensor(weights))
                np.testing.assert_allclose(weights, t["attentions.1"][sequence][0], atol=2e-5)
                library.headlight_run_free(run)
            library.headlight_model_free(model)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
