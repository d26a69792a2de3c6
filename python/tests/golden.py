"""Reads the reference numbers of tests/golden."""

import json
import os
import pathlib
import struct

import numpy as np

SOURCE = pathlib.Path(os.environ.get("HEADLIGHT_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
GOLDEN = SOURCE / "tests" / "golden"
TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "BOOL": np.bool_, "U8": np.uint8}


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + place for place in about["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], TYPES[about["dtype"]]).reshape(about["shape"])
    return tensors


def attention_cases():
    """(name, tensors, options of headlight.attention) of every case."""
    about = json.loads((GOLDEN / "attention" / "cases.json").read_text())
    for name, case in sorted(about.items()):
        tensors = read_safetensors(GOLDEN / "attention" / f"{name}.safetensors")
        options = {"scale": case["scale"], "offset": case["query_offset"], "causal": case["causal"],
                   "prefix": case["prefix"], "softcap": case["softcap"], "k_lengths": case["kv_len"]}
        if case["window"] is not None:
            options["window"] = (case["window"] - 1, None)
        for key, option in (("bias", "bias"), ("sinks", "sinks"), ("alibi_slopes", "alibi")):
            if key in tensors:
                options[option] = tensors[key]
        if "mask" in tensors:
            options["mask"] = tensors["mask"].astype(bool)
        yield name, tensors, options
