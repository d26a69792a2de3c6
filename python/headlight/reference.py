"""Attention as readable code: float64, plain loops, no SIMD, no threads. The reference of every test.

The same arguments and results as headlight.attention and headlight.attention_backward; ``threads`` has no effect.

>>> import numpy as np, headlight
>>> x = np.random.default_rng(0).normal(size=(1, 2, 4, 8)).astype(np.float32)
>>> float(abs(headlight.reference.attention(x, x, x) - headlight.attention(x, x, x)).max()) < 1e-6
True
"""

from __future__ import annotations

import inspect
from typing import Any

from . import _headlight, ops

_OPTIONS = (
    "causal", "window", "prefix", "offset", "chunk", "scale", "mask", "bias", "alibi", "softcap", "sinks", "q_lengths",
    "k_lengths", "q_starts", "k_starts", "dropout", "seed",
)  # fmt: skip
_FORWARD = inspect.signature(ops.attention)
_BACKWARD = inspect.signature(ops.attention_backward)


def attention(*args: Any, **kwargs: Any) -> Any:
    """headlight.attention by the reference implementation."""
    given = _FORWARD.bind(*args, **kwargs)
    given.apply_defaults()
    a = given.arguments
    result = _headlight.attention(
        a["q"], a["k"], a["v"], *(a[name] for name in _OPTIONS), a["return_lse"], a["return_entropy"],
        a["return_weights"], a["topk"], a["threads"], True,
    )  # fmt: skip
    return ops.AttentionResult(*result) if type(result) is tuple else result


def attention_backward(*args: Any, **kwargs: Any) -> ops.AttentionGradients:
    """headlight.attention_backward by the reference implementation."""
    given = _BACKWARD.bind(*args, **kwargs)
    given.apply_defaults()
    a = given.arguments
    return ops.AttentionGradients(*_headlight.attention_backward(
        a["q"], a["k"], a["v"], *(a[name] for name in _OPTIONS), a["out"], a["lse"], a["dout"], a["return_dbias"],
        a["return_dsinks"], a["threads"], True,
    ))  # fmt: skip


attention.__signature__ = _FORWARD  # type: ignore[attr-defined]
attention_backward.__signature__ = _BACKWARD  # type: ignore[attr-defined]
