#!/usr/bin/env python3
"""A document follows its source, and a stale one is noticed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "include_code.py"
SOURCE = "int a;\n  // [sum]\n  int sum(int x) {\n    return x;\n  }\n  // [/sum]\nint b;\n"
PAGE = "# Page\n\n<!-- include: src/sum.cc#sum -->\n\nAfter.\n"


class IncludeCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "src").mkdir()
        (self.root / "docs").mkdir()
        self.source, self.page = self.root / "src/sum.cc", self.root / "docs/page.md"
        self.source.write_text(SOURCE, encoding="utf-8")
        self.page.write_text(PAGE, encoding="utf-8")

    def run_tool(self, *options):
        done = subprocess.run([sys.executable, TOOL, self.root, *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_code_is_inserted_and_then_stable(self):
        self.assertEqual(self.run_tool("--check")[0], 1)
        self.assertEqual(self.run_tool()[0], 0)
        text = self.page.read_text(encoding="utf-8")
        self.assertIn("```cpp\nint sum(int x) {\n  return x;\n}\n```\n\nAfter.", text)
        self.assertEqual(self.run_tool("--check"), (0, ""))

    def test_changed_source_is_noticed_and_replaced(self):
        self.run_tool()
        self.source.write_text(SOURCE.replace("return x", "return x + 1"), encoding="utf-8")
        status, text = self.run_tool("--check")
        self.assertEqual(status, 1)
        self.assertIn("docs/page.md: out of date", text)
        self.run_tool()
        page = self.page.read_text(encoding="utf-8")
        self.assertIn("return x + 1;", page)
        self.assertEqual(page.count("```"), 2)

    def test_a_lost_mark_is_an_error(self):
        self.source.write_text(SOURCE.replace("// [/sum]", ""), encoding="utf-8")
        status, text = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn('"// [/sum]"', text)


if __name__ == "__main__":
    unittest.main()
