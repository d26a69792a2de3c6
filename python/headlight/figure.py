"""Figures of a run, drawn on request."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Union

from . import _headlight


class Figure:
    """A figure that notebooks display. ``svg``, ``png`` and ``pdf`` are the bytes of files.

    >>> import headlight
    >>> run = headlight.load("en").attend("The cat sat on the mat.")
    >>> run.figure(layer=0).svg[:4]
    '<svg'
    """

    def __init__(self, run: Any, options: Dict[str, Any]) -> None:
        self._run = run
        self._options = options
        self._made: Dict[str, bytes] = {}

    def _draw(self, format: str) -> bytes:
        if format not in self._made:
            self._made[format] = _headlight.figure(self._run, format, self._options)
        return self._made[format]

    @property
    def svg(self) -> str:
        text = self._draw("svg").decode()
        return text[text.find("<svg") :]

    @property
    def png(self) -> bytes:
        return self._draw("png")

    @property
    def pdf(self) -> bytes:
        return self._draw("pdf")

    def save(self, path: Union[str, pathlib.Path]) -> None:
        """Writes a .png, .svg or .pdf file; its extension selects the format."""
        path = pathlib.Path(path)
        path.write_bytes(self._draw(path.suffix.lower().lstrip(".")))

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"Figure({', '.join(f'{key}={value!r}' for key, value in self._options.items())})"
