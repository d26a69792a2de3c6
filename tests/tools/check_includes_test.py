#!/usr/bin/env python3
"""Plants one wrong include at a time and expects the checker to name it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes.py"

VISIBLE = "#pragma GCC visibility push(default)\nvoid f();\n#pragma GCC visibility pop\n"

GOOD = {
    "include/headlight/tensor.h": "#include <vector>\n" + VISIBLE,
    "include/headlight/attention.h": '#include "headlight/tensor.h"\n' + VISIBLE,
    "src/core/concat.h": "#include <string>\n",
    "src/kernels/dot.cc": '#include <hwy/highway.h>\n#include "core/concat.h"\n',
    "src/attention/forward.cc": '#include "headlight/attention.h"\n#include "kernels/dot.h"\n',
    "src/io/npy.cc": '#include <simdjson.h>\n#include "headlight/tensor.h"\n',
    "src/cli/main.cc": '#include <CLI/CLI.hpp>\n#include "io/npy.h"\n#include "attention/problem.h"\n',
}

# file, line to add, words the message must have
PLANTED = [
    ("src/core/concat.h", '#include "kernels/dot.h"', "core may not include"),
    ("src/kernels/dot.cc", '#include "attention/problem.h"', "kernels may not include"),
    ("src/kernels/dot.cc", "#include <thread>", "rows, tiles and floats"),
    ("src/attention/forward.cc", "#include <hwy/highway.h>", "src/kernels/ only"),
    ("src/attention/forward.cc", '#include "hwy/highway.h"', "src/kernels/ only"),
    ("src/attention/forward.cc", '#include "io/npy.h"', "attention may not include"),
    ("src/io/npy.cc", '#include "headlight/attention.h"', "belongs to attention"),
    ("src/io/npy.cc", '#include "draw/text.h"', "io may not include"),
    ("src/cli/main.cc", "  #  include <simdjson.h>", "src/io/ only"),
    ("src/cli/main.cc", '#include "headlight/headlight.h"', "for users"),
    ("src/cli/main.cc", '#include "app.h"', "from src/"),
    ("include/headlight/tensor.h", '#include "headlight/attention.h"', "belongs to attention"),
    ("include/headlight/tensor.h", '#include "core/concat.h"', "public header"),
    ("include/headlight/tensor.h", "#include <hwy/highway.h>", "public header"),
    ("src/attic/old.cc", "#include <vector>", "new folder"),
    ("include/headlight/new.h", "#include <vector>", "new public header"),
]


def run(root):
    done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in GOOD.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_good_tree_passes(self):
        status, text = run(self.root)
        self.assertEqual(status, 0, text)
        self.assertIn("0 wrong includes in 7 files", text)

    def test_each_planted_include_is_found(self):
        for name, line, words in PLANTED:
            with self.subTest(name=name, line=line):
                old = GOOD.get(name)
                self.write(name, (old or "") + line + "\n")
                status, text = run(self.root)
                self.assertEqual(status, 1, text)
                self.assertIn(name, text)
                self.assertIn(words, text)
                if old:
                    self.write(name, old)
                else:
                    (self.root / name).unlink()

    def test_a_public_header_is_exported(self):
        self.write("include/headlight/attention.h", "void f();\n")
        status, text = run(self.root)
        self.assertEqual(status, 1, text)
        self.assertIn("include/headlight/attention.h: a public header puts its declarations between", text)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run(folder)[0], 1)


if __name__ == "__main__":
    unittest.main()
