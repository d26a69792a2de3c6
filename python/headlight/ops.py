"""Attention on arrays. Results have the type of the inputs: NumPy arrays, PyTorch tensors, …

q is [batch, head, query, dim], k [batch, kv_head, key, dim], v [batch, kv_head, key, value dim]. The batch axis, or the batch
and head axes, may be omitted in all three; results then lack them too. Arrays with a contiguous last axis are read in place, with
any strides; others are copied first.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

from . import _headlight

Window = Union[int, Tuple[Optional[int], Optional[int]]]
Part = Union[slice, Tuple[int, int]]
Numbers = Any  # an array or a sequence of numbers


class AttentionResult(tuple):  # type: ignore[type-arg]
    """The requested outputs, in the order out, lse, entropy, weights, topk_index, topk_weight.

    Unpacking gives the requested outputs; the attributes of all others are None.
    """

    out: Any
    lse: Any
    entropy: Any
    weights: Any
    topk_index: Any
    topk_weight: Any
    _names: Tuple[str, ...] = ("out", "lse", "entropy", "weights", "topk_index", "topk_weight")

    def __new__(cls, *values: Any) -> "AttentionResult":
        self = tuple.__new__(cls, [value for value in values if value is not None])
        for name, value in zip(cls._names, values):
            setattr(self, name, value)
        return self

    def __getnewargs__(self) -> Tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._names)

    def __repr__(self) -> str:
        given = (name for name in self._names if getattr(self, name) is not None)
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"


class AttentionGradients(AttentionResult):
    """dq, dk, dv, and dbias and dsinks if requested."""

    dq: Any
    dk: Any
    dv: Any
    dbias: Any
    dsinks: Any
    _names = ("dq", "dk", "dv", "dbias", "dsinks")


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: Optional[Window] = None,
    prefix: Optional[int] = None,
    offset: Optional[int] = None,
    chunk: Optional[int] = None,
    scale: Optional[float] = None,
    mask: Any = None,
    bias: Any = None,
    alibi: Union[bool, Numbers, None] = None,
    softcap: Optional[float] = None,
    sinks: Optional[Numbers] = None,
    q_lengths: Optional[Sequence[int]] = None,
    k_lengths: Optional[Sequence[int]] = None,
    q_starts: Optional[Sequence[int]] = None,
    k_starts: Optional[Sequence[int]] = None,
    dropout: float = 0.0,
    seed: Optional[int] = None,
    return_lse: bool = False,
    return_entropy: bool = False,
    return_weights: bool = False,
    topk: int = 0,
    threads: Optional[int] = None,
) -> Any:
    """softmax(q·kᵀ·scale + bias)·v, with the same bits on any number of threads.

    causal: no query sees a later key. Queries are aligned to the end of the keys.
    window: number of visible keys up to and including the query's own, or a pair (earlier, later); None is unbounded.
    prefix: causal, except that all queries see this number of first keys.
    offset: the position of query 0 among the keys (default: number of keys minus number of queries).
    chunk: positions are cut into chunks of this size; no query sees a key of an earlier chunk. Implies causal.
    scale: factor of q·k (default: 1/sqrt(dim)).
    mask: booleans, True where a query may see a key; broadcasts to [batch, head, query, key], as does bias.
    alibi: a slope for each head, or True for the usual ones.
    softcap: scores become cap·tanh(score/cap).
    sinks: one additional logit for each head, without a value.
    q_lengths, k_lengths: number of tokens of each batch item without padding.
    q_starts, k_starts: packed sequences, batch 1: sequence s has the tokens starts[s] to starts[s+1]-1.
    dropout: the share of weights to drop; seed: of the random choice.
    return_lse, return_entropy, return_weights, topk: also the log of the softmax's denominator [batch, head, query], the
    entropy of each row in nats, the weights [batch, head, query, key], the topk keys with the largest weights of each row.
    threads: maximum number of threads (default: one per core).

    Returns out, or an AttentionResult if more outputs are requested.

    >>> import numpy as np
    >>> x = np.eye(3, dtype=np.float32)
    >>> out, lse = attention(x, x, x, causal=True, return_lse=True)
    >>> out.shape, lse.shape
    ((3, 3), (3,))
    >>> attention(x, x, x, causal=True, topk=1).topk_index.tolist()
    [[0], [1], [2]]
    >>> attention(x, x[:2], x)
    Traceback (most recent call last):
        ...
    headlight.Error: attention: v has tokens 3 but k has 2; need the same (tokens 2)
    """
    result = _headlight.attention(
        q, k, v, causal, window, prefix, offset, chunk, scale, mask, bias, alibi, softcap, sinks, q_lengths, k_lengths,
        q_starts, k_starts, dropout, seed, return_lse, return_entropy, return_weights, topk, threads, False,
    )  # fmt: skip
    return AttentionResult(*result) if type(result) is tuple else result


def attention_backward(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    dout: Any,
    *,
    causal: bool = False,
    window: Optional[Window] = None,
    prefix: Optional[int] = None,
    offset: Optional[int] = None,
    chunk: Optional[int] = None,
    scale: Optional[float] = None,
    mask: Any = None,
    bias: Any = None,
    alibi: Union[bool, Numbers, None] = None,
    softcap: Optional[float] = None,
    sinks: Optional[Numbers] = None,
    q_lengths: Optional[Sequence[int]] = None,
    k_lengths: Optional[Sequence[int]] = None,
    q_starts: Optional[Sequence[int]] = None,
    k_starts: Optional[Sequence[int]] = None,
    dropout: float = 0.0,
    seed: Optional[int] = None,
    return_dbias: bool = False,
    return_dsinks: bool = False,
    threads: Optional[int] = None,
) -> AttentionGradients:
    """Gradients of a loss with respect to q, k and v, given dout, its gradient with respect to out.

    Takes the arguments and results of the forward call (out, and lse by return_lse=True). dbias has the shape of bias,
    summed over broadcast axes.

    >>> import numpy as np
    >>> q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 5, 4))
    >>> out, lse = attention(q, k, v, causal=True, return_lse=True)
    >>> dq, dk, dv = attention_backward(q, k, v, out, lse, np.ones_like(out), causal=True)
    >>> bool(np.allclose(dv.sum(), out.size))
    True
    """
    return AttentionGradients(*_headlight.attention_backward(
        q, k, v, causal, window, prefix, offset, chunk, scale, mask, bias, alibi, softcap, sinks, q_lengths, k_lengths,
        q_starts, k_starts, dropout, seed, out, lse, dout, return_dbias, return_dsinks, threads, False,
    ))  # fmt: skip


def attention_weights(
    q: Any,
    k: Any,
    lse: Any,
    *,
    batch: int = 0,
    head: int = 0,
    queries: Optional[Part] = None,
    keys: Optional[Part] = None,
    causal: bool = False,
    window: Optional[Window] = None,
    prefix: Optional[int] = None,
    offset: Optional[int] = None,
    chunk: Optional[int] = None,
    scale: Optional[float] = None,
    mask: Any = None,
    bias: Any = None,
    alibi: Union[bool, Numbers, None] = None,
    softcap: Optional[float] = None,
    sinks: Optional[Numbers] = None,
    q_lengths: Optional[Sequence[int]] = None,
    k_lengths: Optional[Sequence[int]] = None,
    q_starts: Optional[Sequence[int]] = None,
    k_starts: Optional[Sequence[int]] = None,
    threads: Optional[int] = None,
) -> Any:
    """A section of one head's weights, recomputed from lse: [queries, keys].

    queries and keys are slices or pairs (begin, end) (default: all). Only the requested rows are allocated, so ten rows of
    32,768 tokens need little memory.

    >>> import numpy as np
    >>> q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 5, 4))
    >>> result = attention(q, k, v, causal=True, return_lse=True, return_weights=True)
    >>> rows = attention_weights(q, k, result.lse, head=1, queries=slice(3, 5), causal=True)
    >>> bool(np.allclose(rows, result.weights[0, 1, 3:5]))
    True
    """
    return _headlight.attention_weights(
        q, k, lse, causal, window, prefix, offset, chunk, scale, mask, bias, alibi, softcap, sinks, q_lengths, k_lengths,
        q_starts, k_starts, None, None, batch, head, queries, keys, threads,
    )  # fmt: skip


def merge(out: Any, lse: Any, other_out: Any, other_lse: Any, *, threads: Optional[int] = None) -> Tuple[Any, Any]:
    """Merges attention over two sets of keys into attention over both: a new (out, lse).

    >>> import numpy as np
    >>> q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 6, 4))
    >>> whole = attention(q, k, v)
    >>> near = attention(q, k[:, :, :3], v[:, :, :3], return_lse=True)
    >>> far = attention(q, k[:, :, 3:], v[:, :, 3:], return_lse=True)
    >>> bool(np.allclose(merge(*near, *far)[0], whole))
    True
    """
    result: Tuple[Any, Any] = _headlight.merge(out, lse, other_out, other_lse, threads)
    return result


class KvCache(_headlight.KvCache):
    """A cache of keys and values of growing sequences, and attention of new queries over them.

    dtype is the storage type: 'f32' (the bits of attention() on the same keys), 'f16', 'bf16' or 'int8'. Threads may
    share a cache; calls are serialised.

    >>> import numpy as np
    >>> q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 6, 16)).astype(np.float32)
    >>> cache = KvCache(kv_heads=2, dim=16)
    >>> cache.append(k, v)
    >>> cache.length()
    6
    >>> bool((cache.attention(q) == attention(q, k, v, causal=True)).all())
    True
    """

    def attention(
        self,
        q: Any,
        *,
        causal: bool = True,
        window: Optional[Window] = None,
        prefix: Optional[int] = None,
        offset: Optional[int] = None,
        chunk: Optional[int] = None,
        scale: Optional[float] = None,
        mask: Any = None,
        bias: Any = None,
        alibi: Union[bool, Numbers, None] = None,
        softcap: Optional[float] = None,
        sinks: Optional[Numbers] = None,
        q_lengths: Optional[Sequence[int]] = None,
        return_lse: bool = False,
        threads: Optional[int] = None,
    ) -> Any:
        """Attention of the newest tokens over everything in the cache, including themselves: append first."""
        options = (causal, window, prefix, offset, chunk, scale, mask, bias, alibi, softcap, sinks, q_lengths, None, None,
                   None, None, None)  # fmt: skip
        out, lse = self._decode(q, options, return_lse, threads)
        return AttentionResult(out, lse) if return_lse else out
