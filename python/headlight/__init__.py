"""Transformer attention on CPUs: fast, bit-reproducible and fully inspectable.

>>> import numpy as np, headlight
>>> x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]], dtype=np.float32)
>>> headlight.attention(x, x, x, causal=True, scale=1.0)[:, 0].round(4).tolist()
[0.4300000071525574, 0.5058000087738037, 0.5302000045776367]

``attention`` and its relatives take NumPy arrays and anything with ``__dlpack__`` (PyTorch's CPU tensors, for example).
``load`` opens a model; its ``attend`` returns a run with weights, logits, explanations and figures.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._headlight import Error, __version__
from .ops import (
    AttentionGradients,
    AttentionResult,
    KvCache,
    attention,
    attention_backward,
    attention_weights,
    merge,
)

if TYPE_CHECKING:
    from . import compat as compat
    from . import notebook as notebook
    from . import reference as reference
    from . import results as results
    from . import torch as torch
    from .figure import Figure as Figure
    from .hooks import Intervention as Intervention
    from .model import Model as Model
    from .model import load as load
    from .model import model_places as model_places
    from .run import Run as Run

# What takes time to import is imported when it is first used: NumPy, dataclasses, everything about models.
_LATER = {
    "Figure": "figure",
    "Intervention": "hooks",
    "Model": "model",
    "Run": "run",
    "load": "model",
    "model_places": "model",
}
_MODULES = ("compat", "notebook", "reference", "results", "torch")

__all__ = [
    "AttentionGradients",
    "AttentionResult",
    "Error",
    "Figure",
    "Intervention",
    "KvCache",
    "Model",
    "Run",
    "__version__",
    "attention",
    "attention_backward",
    "attention_weights",
    "compat",
    "load",
    "merge",
    "model_places",
    "notebook",
    "reference",
    "results",
    "torch",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LATER:
        value = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'headlight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
