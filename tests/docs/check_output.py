#!/usr/bin/env python3
"""Runs the commands of documents and holds their output to what the document prints.

A ```sh block that is followed directly by a ```text block: what the block says must be in the output, in order; a line "…"
stands for anything, and spaces and line ends count as one space. `headlight` is the program given with --program. A document without such a pair fails.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

PAIR = re.compile(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def missing_part(expected, output):
    """The first part of `expected` (between lines "…") that does not come where it should, or None."""
    rest = " ".join(output.split())
    for part in re.split(r"^…$", expected, flags=re.MULTILINE):
        part = " ".join(part.split())
        if part not in rest:
            return part
        rest = rest.partition(part)[2]
    return None


def check(document, program):
    problems, pairs = [], list(PAIR.finditer(document.read_text(encoding="utf-8")))
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    for pair in pairs:
        done = subprocess.run(["/bin/sh", "-c", pair.group(1)], capture_output=True, text=True, env=environment,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        missing = missing_part(pair.group(2), done.stdout)
        if done.returncode != 0 or missing is not None:
            problems.append(f"{document}: {pair.group(1).strip()}: status {done.returncode}, does not print\n"
                            f"{missing}\nbut\n{done.stdout}{done.stderr}")
    if not pairs:
        problems.append(f"{document}: no command with its output")
    return problems, len(pairs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--documents", type=pathlib.Path, nargs="+", required=True)
    args = parser.parse_args()
    problems, commands = [], 0
    for document in args.documents:
        found, count = check(document, args.program)
        problems += found
        commands += count
    print("\n".join([*problems, f"check_output: {commands} commands in {len(args.documents)} documents, "
                     f"{len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
