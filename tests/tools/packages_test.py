#!/usr/bin/env python3
"""tools/lib.sh names the right packages on systems that have different ones."""

import os
import pathlib
import subprocess
import tempfile
import unittest

LIB = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lib.sh"

DPKG_QUERY = """#!/bin/sh
for name; do :; done
case " $INSTALLED " in *" $name "*) printf 'ii ' ;; *) exit 1 ;; esac
"""
APT_CACHE = """#!/bin/sh
for name; do :; done
case " $KNOWN " in *" $name "*) echo "Package: $name" ;; *) exit 100 ;; esac
"""


def missing(choices, installed="", known=""):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-cache", APT_CACHE)):
            path = pathlib.Path(folder, name)
            path.write_text(text)
            path.chmod(0o755)
        script = f'exec 3>&1; root=/; log=/dev/null; . "{LIB}"; missing_packages "$@"'
        done = subprocess.run(["bash", "-c", script, "bash", *choices], capture_output=True, text=True, check=True,
                              env={"PATH": f"{folder}:{os.environ['PATH']}", "INSTALLED": installed, "KNOWN": known})
    return done.stdout.split()


class Packages(unittest.TestCase):
    def test_what_is_installed_is_not_asked_for(self):
        self.assertEqual(missing(["a", "b"], installed="a"), ["b"])
        self.assertEqual(missing(["a|b"], installed="b", known="a b"), [])

    def test_the_first_that_the_system_knows(self):
        self.assertEqual(missing(["a|b"], known="a b"), ["a"])
        self.assertEqual(missing(["a|b"], known="b"), ["b"])
        self.assertEqual(missing(["a|b"]), ["a"])

    def test_what_can_be_left_out(self):
        self.assertEqual(missing(["a|"], known="a"), ["a"])
        self.assertEqual(missing(["a|"]), [])


if __name__ == "__main__":
    unittest.main()
