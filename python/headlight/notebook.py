"""The viewer inside a notebook: the offline page in a frame that can reach neither the notebook nor a network."""

from __future__ import annotations

import html
from typing import Any


def frame(page: str, *, height: int = 720) -> str:
    """HTML of a frame with the page inside.

    The frame may run only the script of the page: without allow-same-origin it has a separate origin and no access to cookies,
    storage and the notebook around it.

    >>> frame("<p>&</p>", height=300)
    '<iframe sandbox="allow-scripts" style="width:100%;height:300px;border:0" srcdoc="&lt;p&gt;&amp;&lt;/p&gt;"></iframe>'
    """
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%;height:{int(height)}px;border:0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )


class Page:
    """The result of ``Run.show()``: notebooks display it as a frame. ``html`` is the page itself, ``save`` writes it."""

    def __init__(self, page: str, height: int) -> None:
        self.html = page
        self.height = height

    def save(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        return frame(self.html, height=self.height)

    def __repr__(self) -> str:
        return f"<headlight page, {len(self.html) / 1e6:.2f} MB>"


def progress_bar() -> Any:
    """A function that draws the progress of a call with tqdm, or None if tqdm is not installed. ``progress=True`` calls it."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import]
    except ImportError:
        return None
    bars: dict[str, Any] = {}

    def report(what: str, done: float, total: float) -> None:
        if what not in bars:
            bars[what] = tqdm(total=total, desc=what, leave=False)
        bars[what].update(done - bars[what].n)
        if done >= total:
            bars.pop(what).close()

    return report
