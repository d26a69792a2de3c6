"""Attention weights of a run, by layer and head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Tuple

if TYPE_CHECKING:
    from .run import Run


class Weights:
    """Attention weights by layer and head, computed on request.

    ``weights[layer, head]`` is [query, key]; ``weights["cross", layer, head]`` names a part of an encoder-decoder; slices
    stack: ``weights[2]`` is [head, query, key], ``weights[:, :]`` everything. Rows and columns may follow:
    ``weights[2, 5, -1]`` is the last query's row.
    """

    def __init__(self, run: "Run", part: str) -> None:
        self._run = run
        self._part = part

    def __getitem__(self, at: Any) -> Any:
        at = at if isinstance(at, tuple) else (at,)
        part = self._part
        if at and isinstance(at[0], str):
            part, at = at[0], at[1:]
            if not at:
                return Weights(self._run, part)
        heads = self._run.model.info.parts.get(part, [])
        layers = _numbers(at[0], len(heads), "layer")
        rest: Tuple[Any, ...] = at[2:]
        at_head: Any = at[1] if len(at) > 1 else slice(None)
        stacks = []
        for layer in layers:
            in_layer = heads[layer] if layer < len(heads) else 0
            maps = [self._one(part, layer, head, rest) for head in _numbers(at_head, in_layer, "head")]
            stacks.append(maps[0] if _is_number(at_head) else _stack(maps))
        return stacks[0] if _is_number(at[0]) else _stack(stacks)

    def _one(self, part: str, layer: int, head: int, rest: Tuple[Any, ...]) -> Any:
        data = self._run._data
        if not rest:
            return data.weights(part, layer, head, None, None, None)
        queries = rest[0]
        if isinstance(queries, slice) and queries.step in (None, 1):
            rows = data.weights(part, layer, head, queries, None, None)
            return rows[(slice(None), *rest[1:])]
        return data.weights(part, layer, head, None, None, None)[rest]

    @property
    def shape(self) -> Tuple[int, int, int, int]:
        heads = self._run.model.info.parts[self._part]
        data = self._run._data
        return (len(heads), heads[0], len(data.queries(self._part)["tokens"]), len(data.keys(self._part)["tokens"]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        everything = self[:, :]
        return everything if dtype is None else everything.astype(dtype)

    def __repr__(self) -> str:
        return f"<weights of {self._part} attention, {' x '.join(map(str, self.shape))}>"


def _is_number(at: Any) -> bool:
    return not isinstance(at, (slice, list, tuple, range))


def _numbers(at: Any, count: int, what: str) -> List[int]:
    if isinstance(at, slice):
        return list(range(count))[at]
    if not _is_number(at):
        return [number for one in at for number in _numbers(one, count, what)]
    number = int(at.__index__())
    return [number + count if -count <= number < 0 else number]


def _stack(maps: List[Any]) -> Any:
    import numpy

    return numpy.stack(maps) if maps else numpy.empty((0,), dtype=numpy.float32)
