"""The package itself: examples in docstrings, types, import time, the wheel."""

import csv
import doctest
import importlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import golden
import headlight

MODULES = ("", ".ops", ".reference", ".model", ".run", ".figure", ".hooks", ".notebook", ".compat")


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


class Package(unittest.TestCase):
    def test_examples_in_docstrings(self):
        total = 0
        for name in MODULES:
            module = importlib.import_module(f"headlight{name}")
            failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            self.assertEqual(failed, 0, module.__name__)
            total += tried
        self.assertGreater(total, 40)

    def test_types(self):
        try:
            importlib.import_module("mypy")
        except ImportError:
            self.skipTest("mypy is not installed")
        sources = golden.SOURCE / "python" / "headlight"
        files = [str(path) for path in sources.glob("*.py*") if path.suffix in (".py", ".pyi") and path.stem != "torch"]
        with tempfile.TemporaryDirectory() as cache:
            found = python("-m", "mypy", "--strict", "--no-warn-unused-ignores", "--follow-imports=skip",
                           "--allow-subclassing-any", "--cache-dir", cache, *files)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_import_is_light(self):
        code = "import sys, headlight; print(sorted({'numpy', 'dataclasses', 'torch'} & set(sys.modules)))"
        self.assertEqual(python("-c", code).stdout.strip(), "[]")

    def test_everything_that_is_named_is_there(self):
        for name in headlight.__all__:
            if name != "torch":
                self.assertTrue(hasattr(headlight, name), name)
        self.assertRaises(AttributeError, getattr, headlight, "nothing")

    def test_error(self):
        self.assertTrue(issubclass(headlight.Error, Exception))
        with self.assertRaises(headlight.Error) as raised:
            headlight.load("/nowhere")
        self.assertIn(raised.exception.kind, ("file", "input", "usage"))

    def test_an_open_stream_does_not_keep_the_interpreter(self):
        code = ("import headlight; s = headlight.load('en').generate('Once', max_tokens=200, stream=True); next(s);"
                "print('ends')")
        done = python("-c", code, timeout=60)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ends"), done.stderr)


class SourceFile(unittest.TestCase):
    def test_sources_have_what_builds_them(self):
        sys.path.insert(0, str(golden.SOURCE / "python" / "build"))
        import headlight_build

        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(pathlib.Path(folder, headlight_build.build_sdist(folder))) as archive:
                names = {name.partition("/")[2] for name in archive.getnames()}
        for name in ("PKG-INFO", "pyproject.toml", "python/build/headlight_build.py", "CMakeLists.txt", "src/core/tensor.cc",
                     "web/page.html", "models/headlight-en/model.safetensors"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if "__pycache__" in name or name.startswith((".git/", "build/"))])


class WheelFile(unittest.TestCase):
    def test_wheel_works_elsewhere(self):
        build = pathlib.Path(headlight.__file__).parents[2]
        if not (build / "CMakeCache.txt").exists():
            self.skipTest("the package was not made by CMake in a build folder")
        sys.path.insert(0, str(golden.SOURCE / "python" / "build"))
        import headlight_build

        with tempfile.TemporaryDirectory() as folder:
            name = headlight_build.build_wheel(folder, {"build-dir": str(build), "jobs": "1"})
            with zipfile.ZipFile(pathlib.Path(folder, name)) as wheel:
                names = wheel.namelist()
                info = f"headlight-{headlight.__version__}.dist-info"
                rows = list(csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode())))
                self.assertEqual(sorted(row[0] for row in rows), sorted(names))
                self.assertIn("headlight/models/headlight-en/model.safetensors", names)
                self.assertIn("headlight/py.typed", names)
                wheel.extractall(pathlib.Path(folder, "site"))
            environment = {key: value for key, value in os.environ.items() if not key.startswith("HEADLIGHT")}
            environment["PYTHONPATH"] = str(pathlib.Path(folder, "site"))
            done = python("-c", "import headlight; print(headlight.load('en').attend('A cat').weights[0, 0].shape)",
                          cwd=folder, env=environment)
            self.assertEqual(done.stdout.strip(), "(2, 2)", done.stderr)


if __name__ == "__main__":
    unittest.main()
