"""Reads and writes the parameters of a model's folder, for the tools that compute with them. Needs NumPy."""

import json
import struct

import numpy

DTYPES = {"F32": numpy.float32, "I8": numpy.int8}


def read(folder):
    """The parameters of folder/model.safetensors, in F32, or in I8 with a scale per row, all as float32."""
    data = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    for name in [name for name in tensors if name.endswith("_scale")]:
        scale, matrix = tensors.pop(name), name.removesuffix("_scale")
        tensors[matrix] = tensors[matrix].astype(numpy.float32) * scale[:, None]
    return tensors


def write(path, tensors):
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        blobs.append(numpy.ascontiguousarray(tensor, numpy.float32).tobytes())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
