#!/usr/bin/env python3
"""libheadlight.so exports what the public headers declare, and nothing else.

    check_shared.py LIBRARY INCLUDE_FOLDER [--attention]

With --attention, for a library of that component alone: it needs nothing but the C++ runtime and is under 5 MB.
"""

import os
import pathlib
import re
import subprocess
import sys

RUNTIME = re.compile(r"^(libstdc\+\+|libm|libgcc_s|libc|ld-linux[a-z0-9-]*)\.so")
LIMIT = 5_000_000
# Some that must be there: a function, a class with a virtual table, a member.
EXPECTED = ["headlight::attention(", "typeinfo for headlight::Error", "headlight::Tensor::Tensor(", "headlight::KvCache::"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def name_of(symbol):
    """A demangled symbol without its result, parameters, template arguments and local parts."""
    symbol = re.sub(r"^(typeinfo( name)?|vtable|guard variable|VTT) for ", "", symbol)
    symbol = re.sub(r"\[abi:\w+\]", "", symbol)
    name, depth = "", 0
    for i, c in enumerate(symbol):
        if c == "<" and not symbol[:i].endswith("operator"):
            depth += 1
        elif c == ">" and depth > 0:
            depth -= 1
        elif c == "(" and depth == 0:
            break
        elif depth == 0:
            name += c
    return name.split(" ")[-1]


def words_of(symbol):
    return [word for word in re.split(r"[^\w~]+", name_of(symbol)) if word and not word.startswith("operator")]


def check_exports(path, folder):
    public = set(re.findall(r"\w+", "".join(header.read_text() for header in pathlib.Path(folder).glob("**/*.h"))))
    symbols = [line.split(" ", 2)[2] for line in run("nm", "-DC", "--defined-only", path).splitlines()]
    symbols = [symbol for symbol in symbols if not symbol.startswith("HEADLIGHT")]
    wrong = [symbol for symbol in symbols
             if not name_of(symbol).startswith("headlight::")
             or any(word.lstrip("~") not in public for word in words_of(symbol))]
    missing = [name for name in EXPECTED if not any(symbol.startswith(name) for symbol in symbols)]
    print(f"{path}: exports {len(symbols)} symbols")
    for symbol in wrong:
        print(f"exported, but in no public header: {symbol}")
    for name in missing:
        print(f"not exported: {name}")
    return not wrong and not missing


def check_alone(path):
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", path))
    wrong = [name for name in needed if not RUNTIME.match(name)]
    size = os.path.getsize(path)
    print(f"{path}: {size} bytes, needs {', '.join(needed)}")
    if wrong:
        print(f"not allowed: {', '.join(wrong)}")
    if size >= LIMIT:
        print(f"too large: the limit is {LIMIT} bytes")
    if not needed:
        print("no NEEDED entries found: is this a shared library?")
    return not wrong and size < LIMIT and bool(needed)


def main():
    good = check_exports(sys.argv[1], sys.argv[2])
    if "--attention" in sys.argv[3:]:
        good = check_alone(sys.argv[1]) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
