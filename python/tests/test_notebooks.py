"""Runs every notebook of docs/notebooks, cell by cell as Jupyter would, and displays what its cells return."""

import ast
import contextlib
import io
import json
import os
import re
import tempfile
import unittest

import golden

FOLDER = golden.SOURCE / "docs" / "notebooks"
DISPLAYS = ("_repr_html_", "_repr_svg_", "_repr_png_")


def display(value):
    """What a notebook would show of a cell's value: (kind, data)."""
    for name in DISPLAYS:
        method = getattr(value, name, None)
        if method is not None:
            return name, method()
    return "repr", repr(value)


def run_cell(source, space, name):
    """Runs the statements of a cell; the value of a last expression is displayed."""
    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), space)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    return None if value is None else display(value)


class Notebooks(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def run_notebook(self, path):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        ids = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(ids), len(set(ids)))
        space, shown, asserts = {"__name__": "__main__"}, [], 0
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                with contextlib.redirect_stdout(io.StringIO()):
                    found = run_cell(source, space, f"{path.name} {cell['id']}")
                asserts += source.count("assert ")
                if found is not None:
                    shown.append(found)
            else:
                for link in re.findall(r"\]\((\.\./[^)]+)\)", source):
                    self.assertTrue((path.parent / link).exists(), f"{path.name}: {link}")
        self.assertGreater(asserts, 0, f"{path.name} checks nothing")
        return shown

    def test_every_chapter_has_one(self):
        chapters = [path.stem for path in sorted((golden.SOURCE / "docs" / "learn").glob("[0-9]*.md"))]
        self.assertEqual([path.stem for path in sorted(FOLDER.glob("*.ipynb"))], chapters)

    def test_a_wrong_number_is_noticed(self):
        with self.assertRaises(AssertionError):
            run_cell("x = 2\nassert x == 1", {}, "cell")

    def test_figures_and_frames(self):
        kinds = {kind for path in sorted(FOLDER.glob("1[14]*.ipynb")) for kind, _ in self.run_notebook(path)}
        self.assertLessEqual({"_repr_html_", "_repr_svg_"}, kinds)


def add(path):
    def test(self):
        for kind, data in self.run_notebook(path):
            if kind == "_repr_svg_":
                self.assertTrue(data.startswith("<svg"))
            if kind == "_repr_html_":
                self.assertIn('sandbox="allow-scripts"', data)

    setattr(Notebooks, "test_" + re.sub(r"\W", "_", path.stem), test)


for file in sorted(FOLDER.glob("*.ipynb")):
    if not re.match("1[14]", file.name):
        add(file)

if __name__ == "__main__":
    unittest.main()
