#!/usr/bin/env python3
"""Compiles and runs every complete C++ program in the given documents.

A ```cpp block with a main() is a program. When a ```text block follows it directly, that is what the
program must print. A document without any program fails: a test that finds nothing tests nothing.
"""

import argparse
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text):
    """Pairs (source, expected output or None)."""
    blocks = list(FENCE.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None]):
        if block.group(1) != "cpp" or "int main(" not in block.group(2):
            continue
        expected = None
        if following and following.group(1) == "text" and len(text[block.end():following.start()].split("\n\n")) <= 3:
            expected = following.group(2)
        yield block.group(2), expected


def run(source, expected, name, args):
    path = pathlib.Path(args.work, name)
    path.with_suffix(".cc").write_text(source, encoding="utf-8")
    command = [args.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O1", "-I", args.include,
               str(path.with_suffix(".cc")), "-o", str(path), *args.link]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{name} does not compile:\n{done.stderr}"
    done = subprocess.run([path], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return f"{name} ends with status {done.returncode}:\n{done.stdout}{done.stderr}"
    if expected is not None and done.stdout.split() != expected.split():
        return f"{name} prints\n{done.stdout}but the document says\n{expected}"
    print(f"{name}: compiled and ran" + (", prints what the document says" if expected else ""))
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--documents", nargs="+", required=True)
    parser.add_argument("--link", nargs="+", default=[])
    # -pthread looks like an option to argparse; what it does not know is for the linker.
    args, more = parser.parse_known_args()
    args.link += more
    pathlib.Path(args.work).mkdir(parents=True, exist_ok=True)
    status = 0
    for document in args.documents:
        found = list(programs(pathlib.Path(document).read_text(encoding="utf-8")))
        if not found:
            print(f"{document}: no C++ program found")
            status = 1
        for number, (source, expected) in enumerate(found, 1):
            wrong = run(source, expected, f"{pathlib.Path(document).stem}_{number}", args)
            if wrong:
                print(wrong)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
