#!/usr/bin/env python3
"""Keeps code shown in the documents equal to the code of the library.

    tools/include_code.py            rewrites README.md and docs/**/*.md where the source has changed
    tools/include_code.py --check    changes nothing; exits 1 when something is out of date

In a document,

    <!-- include: src/attention/reference.cc#forward -->

is followed by a code block with what stands between the lines `// [forward]` and `// [/forward]` of
that file, less its common indentation. The block is made when it is missing. Without `#name` it is
the whole file.
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = re.compile(r"^<!-- include: (?P<file>[^#\s]+)(?:#(?P<name>\S+))? -->\n(?:\n?```\w*\n.*?^```\n)?",
                  re.MULTILINE | re.DOTALL)
LANGUAGE = {".cc": "cpp", ".h": "cpp", ".py": "python", ".sh": "sh", ".json": "json"}


class Problem(Exception):
    pass


def fragment(root, file, name):
    path = root / file
    if not path.is_file():
        raise Problem(f"no file {file}")
    lines = path.read_text(encoding="utf-8").splitlines()
    if name:
        marks = [line.strip().removeprefix("//").removeprefix("#").strip() for line in lines]
        if marks.count(f"[{name}]") != 1 or marks.count(f"[/{name}]") != 1:
            raise Problem(f"{file} needs one line \"// [{name}]\" and one line \"// [/{name}]\"")
        lines = lines[marks.index(f"[{name}]") + 1:marks.index(f"[/{name}]")]
        # Other fragments may begin or end inside this one; their marks are not for the reader.
        lines = [line for line in lines if not re.fullmatch(r"\s*(//|#) \[/?\w+\]", line)]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def expand(root, text):
    def block(match):
        file, name = match["file"], match["name"]
        code = fragment(root, file, name)
        mark = f"<!-- include: {file}{'#' + name if name else ''} -->"
        return f"{mark}\n```{LANGUAGE.get(pathlib.Path(file).suffix, 'text')}\n{code}\n```\n"

    # A document that explains the mark shows it inside a code block or indented; those stay.
    return MARK.sub(block, text)


def main():
    check = "--check" in sys.argv[1:]
    places = [arg for arg in sys.argv[1:] if not arg.startswith("--")]
    root = pathlib.Path(places[0]) if places else ROOT
    status = 0
    for document in sorted([*root.glob("README.md"), *root.glob("docs/**/*.md")]):
        old = document.read_text(encoding="utf-8")
        try:
            new = expand(root, old)
        except Problem as problem:
            print(f"{document.relative_to(root)}: {problem}")
            status = 1
            continue
        if new == old:
            continue
        if check:
            print(f"{document.relative_to(root)}: out of date; run tools/include_code.py")
            status = 1
        else:
            document.write_text(new, encoding="utf-8")
            print(f"{document.relative_to(root)}: brought up to date")
    return status


if __name__ == "__main__":
    sys.exit(main())
