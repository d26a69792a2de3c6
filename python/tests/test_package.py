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
        files = [str(path) for path in sources.glob("*.py*") if path.suffix in (".py", ".pyi")]
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
    """pip builds a wheel without network, and the wheel works in a virtual environment that knows nothing of the checkout."""

    def test_pip_wheel_and_install(self):
        build = pathlib.Path(headlight.__file__).parents[2]
        if not (build / "CMakeCache.txt").exists():
            self.skipTest("the package was not made by CMake in a build folder")
        if python("-c", "import pip, venv").returncode != 0:
            self.skipTest("pip or venv is not installed")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("HEADLIGHT", "PYTHON"))}
        with tempfile.TemporaryDirectory() as folder:
            made = python("-m", "pip", "wheel", golden.SOURCE, "--no-index", "--no-deps", "--wheel-dir", folder, "--config-settings",
                          f"build-dir={build}", "--config-settings", "jobs=1", cwd=folder, env=environment)
            wheels = list(pathlib.Path(folder).glob("*.whl"))
            self.assertEqual((made.returncode, len(wheels)), (0, 1), made.stdout + made.stderr)
            self.check_record(wheels[0])
            inside = pathlib.Path(folder, "venv")
            self.assertEqual(python("-m", "venv", "--without-pip", "--system-site-packages", inside, env=environment).returncode, 0)
            own = inside / "bin" / "python"
            for command in ([sys.executable, "-m", "pip", "--python", own, "install", "--no-index", "--no-deps", "-q", wheels[0]],
                            [own, golden.SOURCE / "tests" / "install" / "package.py"]):
                done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(str(inside), done.stdout)

    def check_record(self, path):
        tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        self.assertRegex(path.name, rf"^headlight-[\d.]+-{tag}-{tag}-linux_\w+\.whl$")
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            rows = list(csv.reader(io.StringIO(wheel.read(f"headlight-{headlight.__version__}.dist-info/RECORD").decode())))
        self.assertEqual(sorted(row[0] for row in rows), sorted(names))
        self.assertIn("headlight/models/headlight-en/model.safetensors", names)
        self.assertIn("headlight/py.typed", names)


if __name__ == "__main__":
    unittest.main()
