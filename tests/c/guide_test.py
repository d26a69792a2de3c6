#!/usr/bin/env python3
"""Compiles and runs every C program of docs/guide/c.md, and holds its output to the ```text block that follows.

    guide_test.py COMPILER LIBRARY SOURCE      a line "…" in a text block stands for anything
"""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = re.compile(r"^```c\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    compiler, library, source = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    programs = PROGRAM.findall((source / "docs" / "guide" / "c.md").read_text(encoding="utf-8"))
    for number, (text, expected) in enumerate(programs, 1):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.c")
            path.write_text(text, encoding="utf-8")
            program = path.with_suffix("")
            subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", source / "include", path, "-o", program,
                            library, f"-Wl,-rpath,{library.parent}"], check=True)
            printed = subprocess.run([program], cwd=source, capture_output=True, text=True, check=True, timeout=60).stdout
        rest = " ".join(printed.split())
        for part in (" ".join(part.split()) for part in expected.split("…\n")):
            if part not in rest:
                print(f"program {number} prints\n{printed}which does not have\n{part}")
                return 1
            rest = rest[rest.index(part) + len(part):]
    print(f"{len(programs)} programs of docs/guide/c.md do what it says")
    return 0 if programs else 1


if __name__ == "__main__":
    sys.exit(main())
