"""tools/check_tidy looks again at what has changed, and only at that."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_tidy"


def tool_at(root):
    """The tool as if it stood in another checkout."""
    loader = importlib.machinery.SourceFileLoader("check_tidy", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_tidy", loader))
    loader.exec_module(module)
    module.ROOT, module.BUILD = root, root / "build" / "tidy"
    return module


class CheckTidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("src/core/a.cc", '#include "core/a.h"\n#include <vector>\nint a;\n')
        self.write("src/core/a.h", '#pragma once\n#  include "headlight/b.h"\n')
        self.write("include/headlight/b.h", "int b;\n")
        self.write("src/core/other.h", "int other;\n")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def key(self, rules=b"", root=None):
        root = root or self.root
        return tool_at(root).key(["tidy", f"-I{root}/src"], root / "src/core/a.cc", rules)

    def test_a_header_of_a_header_counts(self):
        before = self.key()
        self.write("src/core/other.h", "int changed;\n")
        self.assertEqual(self.key(), before)
        self.write("include/headlight/b.h", "int changed;\n")
        self.assertNotEqual(self.key(), before)

    def test_rules_count(self):
        self.assertNotEqual(self.key(b"other rules"), self.key())

    def test_a_batch_and_its_files(self):
        self.write("src/core/c.cc", "int c;\n")
        self.write("build/tidy/unity/core_0.cc", '#include "core/a.cc"\n#include "core/c.cc"\n')
        entry = {"file": str(self.root / "build/tidy/unity/core_0.cc"), "command": "c++ -Isrc -Wall -o a.o -std=c++20"}
        jobs = list(tool_at(self.root).jobs_of(entry))
        self.assertEqual([path.name for _, path in jobs], ["core_0.cc", "a.cc", "c.cc"])
        self.assertEqual([command[-2:] for command, _ in jobs], [["-Isrc", "-std=c++20"]] * 3)
        # Between them, the two kinds of run make every check.
        self.assertEqual(jobs[0][0][2], "--checks=-*,performance-unnecessary-value-param")
        self.assertEqual(jobs[1][0][2], "--checks=-performance-unnecessary-value-param")


if __name__ == "__main__":
    unittest.main()
