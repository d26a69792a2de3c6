"""Python in the documentation runs, and prints what the page says.

The ```python blocks of a page are one program, in order. A ```text block right after one is what it prints; a line "…" in it
stands for anything.
"""

import contextlib
import io
import os
import re
import tempfile
import unittest

import golden

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "docs/guide/python.md")


def programs(text):
    """Pairs (source, expected output or None)."""
    blocks = list(FENCE.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None]):
        if block.group(1) != "python":
            continue
        expected = None
        if following and following.group(1) == "text" and not text[block.end() : following.start()].strip():
            expected = following.group(2)
        yield block.group(2), expected


def in_order(expected, printed):
    """Whether the parts of `expected` between lines "…" are in `printed`, one after the other."""
    rest = " ".join(printed.split())
    for part in re.split(r"^…$", expected, flags=re.MULTILINE):
        part = " ".join(part.split())
        if part not in rest:
            return False
        rest = rest[rest.index(part) + len(part) :]
    return True


class Pages(unittest.TestCase):
    def test_pages(self):
        for page in PAGES:
            text = (golden.SOURCE / page).read_text(encoding="utf-8")
            found = list(programs(text))
            self.assertTrue(found, f"{page} has no Python")
            names = {"__name__": page}
            with tempfile.TemporaryDirectory() as folder:
                here = os.getcwd()
                os.chdir(folder)
                try:
                    for number, (source, expected) in enumerate(found, 1):
                        printed = io.StringIO()
                        with self.subTest(page=page, block=number), contextlib.redirect_stdout(printed):
                            exec(compile(source, f"{page}, block {number}", "exec"), names)
                        if expected is not None:
                            self.assertTrue(in_order(expected, printed.getvalue()),
                                            f"{page}, block {number} prints\n{printed.getvalue()}")
                finally:
                    os.chdir(here)


if __name__ == "__main__":
    unittest.main()
