#!/usr/bin/env python3
"""The binary interface of libheadlight_c.so is what the list in the repository says.

    check_abi.py LIBRARY HEADER LIST [--write]

The list has every function with its arguments, every structure with its members and every constant: programs that are compiled already
depend on all of them. What is added gets its line by --write; nothing else may change. The library exports the functions of the header
and no others, and the header has only what every language can call: no bit-fields, no variable arguments, no unions, and numbers of
a stated size.
"""

import difflib
import pathlib
import re
import subprocess
import sys

# What other languages cannot call, or what compilers make of different sizes.
FOREIGN = re.compile(r"\w\s*:\s*\d|\.\.\.|\b(?:union|va_list|enum|int|long|short|unsigned|signed|bool|_Bool|wchar_t|time_t)\b")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def one_line(text):
    return " ".join(text.split())


def interface_of(header):
    """(lines of the list, names of functions)."""
    text = COMMENT.sub("", header)
    lines = [one_line(f"#define {name} {value}") for name, value in re.findall(r"^#define (HEADLIGHT_\w+) (.+)$", text, re.MULTILINE)
             if name != "HEADLIGHT_API"]
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    functions = [one_line(found) for found in re.findall(r"^HEADLIGHT_API ([^;{]*);", text, re.MULTILINE)]
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\}", text, re.DOTALL):
        lines += [f"struct {name} {{", *(f"  {one_line(member)};" for member in body.split(";") if member.strip()), "};"]
    for body in re.findall(r"\benum \{(.*?)\}", text, re.DOTALL):
        lines += [f"{one_line(constant)}" for constant in body.split(",") if constant.strip()]
    lines += [f"typedef {one_line(found)};" for found in re.findall(r"^typedef ([^{;]*);", text, re.MULTILINE)]
    lines += [f"{function};" for function in sorted(functions, key=name_of)]
    return lines, {name_of(function) for function in functions}


def name_of(function):
    return re.search(r"(headlight_\w+)\(", function)[1]


def main():
    library, header, listed = sys.argv[1:4]
    lines, declared = interface_of(pathlib.Path(header).read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        pathlib.Path(listed).write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in found.splitlines()}
    problems = [f"{name}: in {what}" for names, what in (
        (declared - exported, "the header, but not exported"), (exported - declared, "the library, but not in the header"))
        for name in sorted(names)]
    problems += [f"not for every language: {line.strip()}" for line in lines if FOREIGN.search(line)]
    kept = pathlib.Path(listed).read_text(encoding="utf-8").splitlines()
    problems += [line for line in difflib.unified_diff(kept, lines, "the list", "the header", lineterm="", n=0)]
    print("\n".join([*problems, f"check_abi: {len(exported)} functions, {len(lines)} lines, {len(problems)} problems"]))
    return 1 if problems or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
