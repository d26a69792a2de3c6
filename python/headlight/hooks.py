"""Python functions that observe a run or change it."""

from __future__ import annotations

from typing import Any


class Intervention:
    """Changes the outputs of heads in one run. Override either method, or give ``intervene`` a plain callable for ``heads``.

    >>> import headlight
    >>> class Mute(headlight.Intervention):
    ...     def heads(self, event, z):
    ...         if event.layer == 0:
    ...             z[:, 3] = 0     # head 3 of layer 0 says nothing
    >>> model = headlight.load("en")
    >>> changed = model.attend("The cat sat on the mat.", intervene=Mute())
    """

    #: Whether ``heads`` looks at event.k, event.v or event.weights() while a model writes from its cache.
    reads_keys = False

    def heads(self, event: Any, z: Any) -> Any:
        """Called with the outputs of the heads, z [token, head, dim], before the output projection.

        Change z in place, or return an array of its shape.
        """
        return None

    def mask(self, place: Any) -> Any:
        """Booleans that broadcast to [sequence, head, query, key], False for hidden keys; None: all are visible."""
        return None
