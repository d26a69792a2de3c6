"""The package itself: examples in docstrings, types, the time of an import and of a call, progress bars, the wheel."""

import ast
import csv
import doctest
import importlib
import importlib.util
import inspect
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import timeit
import types
import unittest
import unittest.mock
import zipfile

import golden
import headlight

MODULES = ("", ".ops", ".reference", ".model", ".run", ".figure", ".hooks", ".notebook", ".compat")


USER = """
import numpy as np
import headlight
from headlight.results import Statistics
x = np.zeros((1, 2, 3, 4), np.float32)
model: headlight.Model = headlight.load("en")
run: headlight.Run = model.attend("The cat", observe=lambda event: None)
statistics: Statistics = run.statistics(0, 0)
strongest: float = model.sweep("The cat").strongest.kl
headlight.attention(x, x, x, causal=True, window=(3, None), return_lse=True, topk=2)
headlight.attention_backward(x, x, x, x, x, x).dq
headlight.KvCache(kv_heads=2, dim=4).append(x, x)
try:
    model.attend("The cat", target=[3])
except headlight.Error as error:
    kind: str = error.kind
headlight.attention(x, x, x, True)  # wrong
headlight.attention(x, x, x, casual=True)  # wrong
headlight.KvCache(2, 4)  # wrong
model.attend(3)  # wrong
wrong: int = run.first_look().query_text  # wrong
"""


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

    def test_the_stub_is_the_module(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            found = python("-m", "mypy.stubtest", "--concise", "headlight._headlight", cwd=folder)
        # Python gives no signature of __init__ of a class in C; that of the class itself is compared.
        problems = [line for line in found.stdout.splitlines() if not re.search(r"KvCache\.__init__ is inconsistent|^(Found|Success)", line)]
        self.assertEqual(problems, [], found.stderr)
        self.assertIn("(*, kv_heads, dim, value_dim=0,", str(inspect.signature(headlight._headlight.KvCache)))

    def test_the_stub_has_the_texts_of_the_module(self):
        stub = ast.parse((golden.SOURCE / "python" / "headlight" / "_headlight.pyi").read_text(encoding="utf-8"))
        texts = 0
        for node in (node for node in stub.body if isinstance(node, ast.ClassDef)):
            native = getattr(headlight._headlight, node.name)
            members = [(getattr(native, item.name), item) for item in node.body if isinstance(item, ast.FunctionDef)]
            for thing, item in [(native, node), *members]:
                text = " ".join((ast.get_docstring(item) or "").split())
                self.assertTrue((thing.__doc__ or "").strip().endswith(text), f"{item.name}: {thing.__doc__}")
                texts += bool(text)
        self.assertGreater(texts, 15)

    def test_types_of_a_user(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "user.py")
            path.write_text(USER, encoding="utf-8")
            found = python("-m", "mypy", "--strict", "--cache-dir", folder, path, cwd=folder)
        wanted = [number for number, line in enumerate(USER.splitlines(), 1) if line.endswith("# wrong")]
        told = [int(number) for number in re.findall(r"user\.py:(\d+): error", found.stdout)]
        self.assertEqual(told, wanted, found.stdout + found.stderr)

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


def build_type():
    """Of the build folder that the package is in; None: it is installed."""
    cache = pathlib.Path(headlight.__file__).parents[2] / "CMakeCache.txt"
    found = cache.exists() and re.search(r"^CMAKE_BUILD_TYPE:\w+=(\w+)", cache.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else None


@unittest.skipUnless(build_type() in (None, "Release"), "built without optimisation")
class Time(unittest.TestCase):
    """The best of several attempts in processor time, which does not count what else the machine does."""

    def test_import(self):
        code = "import time; start = time.process_time(); import headlight; print(time.process_time() - start)"
        best = min(float(python("-c", code).stdout) for _ in range(9))
        self.assertLess(best, 0.1)

    def test_a_tiny_call(self):
        import numpy as np

        x = np.ones((1, 1, 8, 8), np.float32)
        for options in ({}, {"causal": True}, {"return_lse": True}):
            calls = timeit.repeat(lambda: headlight.attention(x, x, x, **options), timer=time.thread_time, number=200, repeat=100)
            best = min(calls) / 200
            self.assertLess(best, 5e-6, options)


class Progress(unittest.TestCase):
    """headlight.notebook.progress_bar, with a stand-in for tqdm that notes what it is told."""

    def test_bars(self):
        bars = []

        class Bar:
            def __init__(self, total, desc, leave):
                self.n, self.total, self.desc, self.closed = 0, total, desc, False
                bars.append(self)

            def update(self, steps):
                self.n += steps

            def close(self):
                self.closed = True

        module = types.ModuleType("tqdm.auto")
        module.tqdm = Bar
        model = headlight.load("en")
        with unittest.mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": module}):
            model.label_heads(["The cat sat on the mat."], progress=headlight.notebook.progress_bar())
            one = len(bars)
            model.label_heads(["The cat sat on the mat."], progress=True)
            model.label_heads(["The cat sat on the mat."], progress=False)
        self.assertGreater(one, 0)
        self.assertEqual(len(bars), 2 * one)
        for bar in bars:
            self.assertEqual((bar.n, bar.closed), (bar.total, True), bar.desc)

    def test_without_tqdm(self):
        with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            progress = headlight.notebook.progress_bar()
            self.assertTrue(headlight.load("en").label_heads(["The cat sat."], progress=True))
        self.assertIsNone(progress)
        self.assertTrue(headlight.load("en").label_heads(["The cat sat."], progress=progress))

    def test_what_is_no_function(self):
        with self.assertRaisesRegex(headlight.Error, "progress is 3; need True"):
            headlight.load("en").label_heads(["The cat sat."], progress=3)


class Extension(unittest.TestCase):
    """One extension module for all versions of Python."""

    FILE = pathlib.Path(headlight._headlight.__file__)

    def test_it_uses_the_limited_interface(self):
        self.assertEqual(self.FILE.name, "_headlight.abi3.so")
        found = subprocess.run(["nm", "-D", "--undefined-only", self.FILE], capture_output=True, text=True, check=True).stdout
        names = set(re.findall(r" U (_?Py\w+)", found))
        self.assertGreater(len(names), 50)
        # The header hides functions of the full interface, but not every private name.
        private = {name for name in names if name.startswith("_")}
        self.assertLessEqual(private, {"_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_Dealloc"})

    def test_other_versions_of_python(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import headlight; m = headlight.load('en'); "
                "print(m.generate('Once upon', max_tokens=4).text, m.tokenize('The cat').text)")
        wanted = python("-c", code, self.FILE.parents[1])
        self.assertEqual(wanted.returncode, 0, wanted.stderr)
        tried = []
        for minor in range(10, 30):
            name = shutil.which(f"python3.{minor}")
            same = name and subprocess.run([name, "-c", "import sys; print(sys.abiflags)"], capture_output=True, text=True, check=False)
            if not same or same.returncode != 0 or same.stdout.strip():
                continue  # none, or one of another build: with debug information, or without a lock
            done = subprocess.run([name, "-c", code, self.FILE.parents[1]], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, wanted.stdout), f"{name}: {done.stderr}")
            tried.append(minor)
        self.assertTrue(tried)


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
        self.assertRegex(path.name, r"^headlight-[\d.]+-cp310-abi3-linux_\w+\.whl$")
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            rows = list(csv.reader(io.StringIO(wheel.read(f"headlight-{headlight.__version__}.dist-info/RECORD").decode())))
        self.assertEqual(sorted(row[0] for row in rows), sorted(names))
        self.assertIn("headlight/models/headlight-en/model.safetensors", names)
        self.assertIn("headlight/py.typed", names)


if __name__ == "__main__":
    unittest.main()
