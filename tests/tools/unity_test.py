#!/usr/bin/env python3
"""Files whose local names meet are never compiled together; other files are."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "unity.cmake"
HARNESS = """
cmake_minimum_required(VERSION 3.22)
project(unity LANGUAGES NONE)
set(HEADLIGHT_UNITY ON)
set(CMAKE_BUILD_TYPE Release)
include({script})
file(GLOB sources ${{PROJECT_SOURCE_DIR}}/src/layer/*.cc)
headlight_unite(layer sources)
"""

PLAIN = "namespace x {{\nint {name}_public() {{ return 1; }}\n}}  // namespace x\n"
LOCAL = "namespace x {{\nnamespace {{\n\n{local}\n}}  // namespace\n{use}\n}}  // namespace x\n"

# What two files keep to themselves, and what else they say.
CLASHES = [
    ("int f() { return 1; }", "int f() { return 2; }"),
    ("[[noreturn]] void f(\n    int long_name) { throw 1; }", "template <class T>\nvoid f(T) {}"),
    ("struct Plan {\n  int x;\n};", "enum class Plan { a };"),
    ("constexpr int kA = 1, kB = 2;", "constexpr double kB = 1;"),
    ("constexpr int kNames[] = {1};", "const std::array<int, 2> kNames{1, 2};"),
    ("using Row = int;", "template <class T>\nclass Row {};"),
    ("int f(long x) { return 1; }", "int g() { return f(1); }"),  # the second means a function of a header
]
FREE = [
    ("int f() { return 1; }", "int g() { return 2; }"),
    ("int f() { return 1; }", "int g(const A& a) { return a.f() + a->f() + other::f(); }"),
    ("int f() { return 1; }", "// f() is elsewhere\nint g() { return 2; }"),
]


def batches(folder, files):
    source = folder / "src" / "layer"
    source.mkdir(parents=True)
    for name, text in files.items():
        (source / name).write_text(text)
    (folder / "CMakeLists.txt").write_text(HARNESS.format(script=SCRIPT))
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, capture_output=True)
    return [set(path.read_text().split('"')[1::2]) for path in sorted((folder / "build" / "unity").glob("*.cc"))]


def together(first, second):
    with tempfile.TemporaryDirectory() as folder:
        files = {"a.cc": LOCAL.format(local=first, use=""), "b.cc": LOCAL.format(local=second, use="")}
        found = batches(pathlib.Path(folder), files)
    assert set().union(*found) == {"layer/a.cc", "layer/b.cc"}
    return len(found) == 1


class Unity(unittest.TestCase):
    def test_names_that_meet_are_kept_apart(self):
        for first, second in CLASHES:
            with self.subTest(first=first, second=second):
                self.assertFalse(together(first, second))

    def test_other_files_share_a_batch(self):
        for first, second in FREE:
            with self.subTest(first=first, second=second):
                self.assertTrue(together(first, second))

    def test_a_new_file_moves_no_other(self):
        names = [f"{letter}{number}.cc" for letter in "abcdefgh" for number in range(3)]
        files = {name: PLAIN.format(name=name[:-3]) for name in names}
        with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as after:
            old = batches(pathlib.Path(before), dict(list(files.items())[1:]))
            new = batches(pathlib.Path(after), files)
        self.assertEqual([batch - {"layer/a0.cc"} for batch in new], old)
        self.assertEqual(sum(map(len, new)), len(names))


if __name__ == "__main__":
    unittest.main()
