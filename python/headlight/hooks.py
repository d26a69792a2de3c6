"""Python functions that observe a run or change it."""

from __future__ import annotations

from typing import Any, Callable, Optional


class Intervention:
    """Changes a run at one or more places. Pass functions, or derive a class with methods of these names.

    heads(event, z): the outputs of the heads, z [token, head, dim], before the output projection.
    weights(event, w): the attention weights, w [head, query, key]; changed weights are multiplied with the values again.
    residual(event, x): the residual stream, x [token, width]. Layer 0 is what the first block reads, layer n what block n - 1
    wrote.
    mask(place): booleans that broadcast to [sequence, head, query, key], False for hidden keys; None: all are visible.

    The first three change their array in place, or return an array of its shape; an exception ends the run and reaches the
    caller.

    Patching the residual stream of another text into a run, in three lines:

    >>> import headlight
    >>> model, clean = headlight.load("en"), {}
    >>> run = model.attend("The cat sat", observe=lambda e: e.kind == "residual" and clean.update({e.layer: e.x}))
    >>> patch = headlight.Intervention(residual=lambda event, x: clean[event.layer] if event.layer == 2 else None)
    >>> bool((model.attend("The dog ran", intervene=patch).logits == run.logits).all())
    True

    Removing a head, and making another attend to the first token alone:

    >>> class Change(headlight.Intervention):
    ...     def heads(self, event, z):
    ...         if event.layer == 0:
    ...             z[:, 3] = 0
    ...     def weights(self, event, w):
    ...         if event.layer == 1:
    ...             w[2] = 0
    ...             w[2, :, 0] = 1
    >>> changed = model.attend("The cat sat", intervene=Change())
    """

    #: Whether ``heads`` looks at event.k, event.v or event.weights() while a model writes from its cache.
    reads_keys = False

    heads: Any = None
    weights: Any = None
    residual: Any = None
    mask: Any = None

    def __init__(
        self,
        *,
        heads: Optional[Callable[[Any, Any], Any]] = None,
        weights: Optional[Callable[[Any, Any], Any]] = None,
        residual: Optional[Callable[[Any, Any], Any]] = None,
        mask: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        for name, function in (("heads", heads), ("weights", weights), ("residual", residual), ("mask", mask)):
            if function is not None:
                setattr(self, name, function)
