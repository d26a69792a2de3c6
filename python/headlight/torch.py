"""Attention for PyTorch: an autograd function on CPU tensors, and models that use it.

    import headlight.torch
    out = headlight.torch.attention(q, k, v, causal=True)      # gradients for q, k, v, bias and sinks
    headlight.torch.patch(model)                                # F.scaled_dot_product_attention is headlight's in this model
    model(**inputs)
    weights = headlight.torch.attentions(model)[3].weights()    # of the fourth call of that run: [batch, head, query, key]
    headlight.torch.unpatch(model)
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import threading
import weakref
from typing import Any, Dict, Iterator, List, Optional, cast

import torch  # type: ignore[import]  # not a requirement

from . import ops
from ._headlight import Error
from .compat import mask_options

__all__ = ["Attention", "attention", "attentions", "patch", "patched", "sdpa", "unpatch"]


class _Attention(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, q: Any, k: Any, v: Any, bias: Any, sinks: Any, options: Dict[str, Any]
    ) -> Any:
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
    options: Dict[str, Any] = {"causal": is_causal, "offset": 0 if is_causal else None, "scale": scale}
    options.update(mask_options(attn_mask))
    if _running.runs:
        plain = {name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
        for calls in _running.runs:
            calls.append(Attention(query, key, plain))
    seed = int(torch.randint(2**62, ()).item()) if dropout_p > 0 else None
    return attention(query, key, value, dropout=dropout_p, seed=seed, **options)


class _Running(threading.local):
    """Runs of this thread with headlight's attention, outermost first: the calls of each so far."""

    def __init__(self) -> None:
        self.runs: List[List[Attention]] = []


_running = _Running()
_NAME = "scaled_dot_product_attention"


class _Switch:
    """Stands in for F.scaled_dot_product_attention while any model is patched: headlight's for the threads that run such a
    model, and PyTorch's for all others. PyTorch 1 has no function of this name; there it is headlight's for all."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # the collector may end a patch while this thread holds it
        self.users = 0
        self.before: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return sdpa(*args, **kwargs) if _running.runs or self.before is None else self.before(*args, **kwargs)

    def take(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.before = getattr(torch.nn.functional, _NAME, None)
                setattr(torch.nn.functional, _NAME, self)

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            # Another library that replaced the function after us keeps its own.
            if self.users > 0 or getattr(torch.nn.functional, _NAME, None) is not self:
                return
            if self.before is None:
                delattr(torch.nn.functional, _NAME)
            else:
                setattr(torch.nn.functional, _NAME, self.before)


_switch = _Switch()


class _Seen(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    """Changes nothing. PyTorch's own layers (nn.MultiheadAttention) leave their fused code, which calls no function that can
    be replaced, when such a mode is active."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def patched() -> Iterator[List[Attention]]:
    """Replaces torch.nn.functional.scaled_dot_product_attention by sdpa inside a with block, for this thread. Gives the list
    that receives the calls."""
    calls: List[Attention] = []
    _switch.take()
    _running.runs.append(calls)
    try:
        yield calls
    finally:
        _running.runs.pop()
        _switch.leave()


class _Patch:
    """The addition of patch() to a model: the calls of its last run, of each thread and of all."""

    def __init__(self, model: Any) -> None:
        self.of_thread = threading.local()
        self.calls: Optional[List[Attention]] = None
        fused = any(isinstance(layer, torch.nn.MultiheadAttention) for layer in model.modules())
        self.mode: Any = _Seen if fused else contextlib.nullcontext
        _switch.take()
        self.end = weakref.finalize(model, _switch.leave)

    def run(self, call: Any, args: Any, kwargs: Any) -> Any:
        with patched() as calls, self.mode():
            out = call(*args, **kwargs)
        self.of_thread.calls = self.calls = calls
        return out


# Weak: a model that nobody holds takes its patch along. Not an attribute of the model, which can be copied and pickled.
_patches: "weakref.WeakKeyDictionary[Any, _Patch]" = weakref.WeakKeyDictionary()


@functools.lru_cache(maxsize=None)
def _patched_class(plain: Any) -> Any:
    """A class that runs as `plain` does, with headlight's attention. Copies and pickles of its models are plain ones."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _patches[self].run(functools.partial(plain.__call__, self), args, kwargs)

    def reduce(self: Any, protocol: Any) -> Any:
        made, args, *rest = plain.__reduce_ex__(self, protocol)
        # pickle refuses __newobj__ for another class than that of the object.
        made = object.__new__ if made is copyreg.__newobj__ else made  # type: ignore[attr-defined]
        return (made, tuple(plain if value is type(self) else value for value in args), *rest)

    members = {"__call__": call, "__reduce_ex__": reduce, "__module__": plain.__module__, "__doc__": plain.__doc__,
               "__qualname__": plain.__qualname__, "_headlight_plain": plain}  # fmt: skip
    return type(plain.__name__, (plain,), members)


def patch(model: Any) -> Any:
    """Makes a model use headlight's attention in every run, until ``unpatch``; returns the model. ``attentions`` has the calls
    of its last run. Other models, and code outside the model, keep PyTorch's. Models may run on several threads."""
    if not isinstance(model, torch.nn.Module):
        raise Error(f"patch takes a torch.nn.Module; this is a {type(model).__name__}")
    if model not in _patches:
        _patches[model] = _Patch(model)
        object.__setattr__(model, "__class__", _patched_class(cast(Any, type(model))))
    return model


def unpatch(model: Any) -> Any:
    """Takes back ``patch``; returns the model."""
    if isinstance(model, torch.nn.Module) and model in _patches:
        object.__setattr__(model, "__class__", cast(Any, type(model))._headlight_plain)
        _patches.pop(model).end()
    return model


def attentions(model: Any) -> List[Attention]:
    """The attention calls of a patched model's last run on this thread, or if there is none on any thread, in order: usually one
    for each layer."""
    kept = _patches.get(model) if isinstance(model, torch.nn.Module) else None
    calls: Optional[List[Attention]] = getattr(kept.of_thread, "calls", kept.calls) if kept else None
    if calls is None:
        raise Error("this model has not run since headlight.torch.patch(model); run it first")
    if not calls:
        raise Error(
            "the last run of this model did not call F.scaled_dot_product_attention; load a transformers model with "
            'attn_implementation="sdpa"'
        )
    return calls
