"""Attention for PyTorch: an autograd function on CPU tensors, and a context in which models use it.

    import headlight.torch
    out = headlight.torch.attention(q, k, v, causal=True)      # gradients for q, k, v, bias and sinks
    headlight.torch.patch(model)                                # F.scaled_dot_product_attention is headlight's
    model(**inputs)
    weights = headlight.torch.attentions(model)[3].weights()    # of the fourth call of that run: [batch, head, query, key]
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Optional

import torch

from . import ops
from ._headlight import Error
from .compat import mask_options

__all__ = ["Attention", "attention", "attentions", "patch", "patched", "sdpa"]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, bias: Any, sinks: Any, options: Dict[str, Any]) -> Any:
        given = dict(options)
        if bias is not None:
            given["bias"] = bias.detach()
        if sinks is not None:
            given["sinks"] = sinks.detach()
        q, k, v = q.detach(), k.detach(), v.detach()
        out, lse = ops.attention(q, k, v, return_lse=True, **given)
        ctx.given = given
        ctx.dtypes = (None if bias is None else bias.dtype, None if sinks is None else sinks.dtype)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Any) -> Any:  # type: ignore[override]
        q, k, v, out, lse = (tensor.detach() for tensor in ctx.saved_tensors)
        wants_bias, wants_sinks = ctx.needs_input_grad[3], ctx.needs_input_grad[4]
        grads = ops.attention_backward(
            q, k, v, out, lse, dout.detach(), return_dbias=wants_bias, return_dsinks=wants_sinks, **ctx.given
        )
        dbias = grads.dbias.to(ctx.dtypes[0]) if wants_bias else None
        dsinks = grads.dsinks.to(ctx.dtypes[1]) if wants_sinks else None
        return grads.dq, grads.dk, grads.dv, dbias, dsinks, None


def attention(q: Any, k: Any, v: Any, *, bias: Any = None, sinks: Any = None, **options: Any) -> Any:
    """As headlight.attention, with gradients. Dropout needs a seed: the backward pass drops the same weights."""
    return _Attention.apply(q, k, v, bias, sinks, options)


class Attention:
    """One attention call of a patched model. Keeps queries and keys; weights are computed on request."""

    def __init__(self, q: Any, k: Any, options: Dict[str, Any]) -> None:
        self.q, self.k, self.options = q.detach(), k.detach(), options

    def weights(self) -> Any:
        """[batch, head, query, key], without dropout."""
        return ops.attention(self.q, self.k, self.k, return_weights=True, **self.options).weights

    def __repr__(self) -> str:
        return f"<attention of queries {list(self.q.shape)} and keys {list(self.k.shape)}>"


def sdpa(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Any:
    """As torch.nn.functional.scaled_dot_product_attention, with gradients. The seed of dropout is PyTorch's."""
    options = {"causal": is_causal, "offset": 0 if is_causal else None, "scale": scale, **mask_options(attn_mask)}
    if _kept is not None:
        plain = {name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
        _kept.append(Attention(query, key, plain))
    seed = int(torch.randint(2**62, ()).item()) if dropout_p > 0 else None
    return attention(query, key, value, dropout=dropout_p, seed=seed, **options)


# The calls of the patched model that runs now; None: none does.
_kept: Optional[List[Attention]] = None


@contextlib.contextmanager
def patched() -> Iterator[None]:
    """Replaces torch.nn.functional.scaled_dot_product_attention by sdpa inside a with block."""
    functional = torch.nn.functional
    name = "scaled_dot_product_attention"
    before = getattr(functional, name, None)
    setattr(functional, name, sdpa)
    try:
        yield
    finally:
        if before is None:
            delattr(functional, name)
        else:
            setattr(functional, name, before)


def patch(model: Any) -> Any:
    """Makes a model always use headlight's attention; returns the model. ``attentions`` has the calls of its last run."""
    forward = model.forward

    def with_headlight(*args: Any, **kwargs: Any) -> Any:
        global _kept
        outer, _kept = _kept, []
        try:
            with patched():
                out = forward(*args, **kwargs)
            model.headlight_attentions = _kept
            return out
        finally:
            _kept = outer

    model.forward = with_headlight
    return model


def attentions(model: Any) -> List[Attention]:
    """The attention calls of the last run of a patched model, in order: usually one for each layer."""
    kept: Optional[List[Attention]] = getattr(model, "headlight_attentions", None)
    if kept is None:
        raise Error("this model has not run since headlight.torch.patch(model); run it first")
    return kept
