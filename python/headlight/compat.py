"""The call signatures of other libraries, so that existing code can switch in one line.

    torch.nn.functional.scaled_dot_product_attention  ->  headlight.compat.torch_sdpa
    flash_attn.flash_attn_func                        ->  headlight.compat.flash_attn_func
    bertviz.head_view(attention, tokens)              ->  bertviz.head_view(*headlight.compat.bertviz(run))

They take NumPy arrays as well as tensors. Gradients: headlight.torch.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _headlight, ops


def torch_sdpa(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    seed: Optional[int] = None,
) -> Any:
    """As torch.nn.functional.scaled_dot_product_attention: causal rows are aligned to the first key, floats in attn_mask are
    added to the scores. A row that sees no key is 0, where PyTorch has NaN. dropout_p needs a seed.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(1, 2, 4, 8)).astype(np.float32)
    >>> torch_sdpa(x, x, x, is_causal=True).shape
    (1, 2, 4, 8)
    """
    if is_causal and attn_mask is not None:
        raise _headlight.Error("attn_mask and is_causal are given; need one of them")
    if not enable_gqa and len(query.shape) > 2 and query.shape[-3] != key.shape[-3]:
        raise _headlight.Error(
            f"query has {query.shape[-3]} heads and key {key.shape[-3]}; need the same, or enable_gqa=True"
        )
    return ops.attention(
        query, key, value, causal=is_causal, offset=0 if is_causal else None, scale=scale, dropout=dropout_p, seed=seed,
        **mask_options(attn_mask),
    )  # fmt: skip


def mask_options(attn_mask: Any) -> Dict[str, Any]:
    """PyTorch's attn_mask as an option: booleans hide keys, floats are added."""
    if attn_mask is None:
        return {}
    return {"mask" if str(attn_mask.dtype) in ("bool", "torch.bool") else "bias": attn_mask}


def flash_attn_func(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    *,
    seed: Optional[int] = None,
) -> Any:
    """As flash_attn.flash_attn_func: arrays are [batch, token, head, dim], which is read in place; -1 in window_size is
    unbounded. deterministic has no effect: results always are. With return_attn_probs (out, lse, weights).

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(1, 4, 2, 8)).astype(np.float32)
    >>> flash_attn_func(x, x, x, causal=True).shape
    (1, 4, 2, 8)
    """
    left, right = window_size
    result = ops.attention(
        q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2), causal=causal, scale=softmax_scale, softcap=softcap or None,
        alibi=alibi_slopes, window=(None if left < 0 else left, None if right < 0 else right), dropout=dropout_p, seed=seed,
        return_lse=return_attn_probs, return_weights=return_attn_probs,
    )  # fmt: skip
    if not return_attn_probs:
        return result.swapaxes(1, 2)
    return result.out.swapaxes(1, 2), result.lse, result.weights


class BertViz(NamedTuple):
    """The first two arguments of bertviz.head_view and model_view."""

    attention: Tuple[Any, ...]
    tokens: List[str]


def bertviz(run: Any, part: Optional[str] = None) -> BertViz:
    """The weights of a run as BertViz and transformers (output_attentions=True) have them: for each layer [1, head, query, key].

    >>> import headlight
    >>> run = headlight.load("en").attend("The cat sat on the mat.")
    >>> attention, tokens = bertviz(run)
    >>> len(attention) == len(run.model.info.parts["decoder"])
    True
    >>> attention[0].shape[2] == len(tokens)
    True
    """
    part = part or run.part
    layers = tuple(run.weights[part, layer][None] for layer in range(len(run.model.info.parts[part])))
    return BertViz(layers, run.keys(part).texts)


def from_attentions(attentions: Any) -> Any:
    """The attentions of transformers (output_attentions=True) as one array [layer, head, query, key].

    >>> import numpy as np
    >>> from_attentions((np.zeros((1, 2, 3, 3)), np.ones((1, 2, 3, 3)))).shape
    (2, 2, 3, 3)
    """
    import numpy

    layers = [numpy.asarray(layer.detach() if hasattr(layer, "detach") else layer) for layer in attentions]
    for number, layer in enumerate(layers):
        if layer.ndim != 4 or layer.shape[0] != 1:
            raise _headlight.Error(f"layer {number} is {list(layer.shape)}; need [1, head, query, key]: one text")
    return numpy.stack([layer[0] for layer in layers])
