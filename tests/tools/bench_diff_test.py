#!/usr/bin/env python3
"""tools/bench_diff flags what got slower, and nothing else."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench_diff"


def bucket(name, percent=None, us=None):
    return {"name": name, "threads": 1, "ms": None if us else 1.0, "us": us, "gflops": None, "gbs": None,
            "percent_of_limit": percent, "ratio_to_unfused": None}


class BenchDiff(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def diff(self, old, new, *options):
        paths = []
        for name, buckets in (("old.json", old), ("new.json", new)):
            paths.append(self.root / name)
            paths[-1].write_text(json.dumps({"peak_gflops": {}, "dram_gbs": {}, "buckets": buckets}))
        done = subprocess.run([sys.executable, TOOL, *paths, *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_noise_is_not_a_regression(self):
        code, text = self.diff([bucket("a", 80.0)], [bucket("a", 76.5)])
        self.assertEqual(code, 0)
        self.assertNotIn("worse", text)

    def test_a_regression_is(self):
        code, text = self.diff([bucket("a", 80.0), bucket("b", 50.0)], [bucket("a", 75.0), bucket("b", 60.0)])
        self.assertEqual(code, 1)
        self.assertIn("1 of 2 buckets", text)

    def test_microseconds_count_the_other_way(self):
        self.assertEqual(self.diff([bucket("tiny", us=0.5)], [bucket("tiny", us=0.6)])[0], 1)
        self.assertEqual(self.diff([bucket("tiny", us=0.5)], [bucket("tiny", us=0.4)])[0], 0)

    def test_new_and_gone_buckets_are_shown(self):
        code, text = self.diff([bucket("a", 80.0)], [bucket("b", 80.0)])
        self.assertEqual(code, 0)
        self.assertIn("only in the old file", text)
        self.assertIn("only in the new file", text)

    def test_limit(self):
        self.assertEqual(self.diff([bucket("a", 80.0)], [bucket("a", 75.0)], "--limit", "10")[0], 0)

    def test_a_file_that_is_no_result(self):
        (self.root / "x.json").write_text("[]")
        done = subprocess.run([sys.executable, TOOL, self.root / "x.json", self.root / "x.json"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith("error: "))


if __name__ == "__main__":
    unittest.main()
