#!/usr/bin/env python3
"""libheadlight.so links nothing but Highway and the C++ runtime, and is under 5 MB."""

import os
import re
import subprocess
import sys

ALLOWED = re.compile(r"^(libhwy|libstdc\+\+|libm|libgcc_s|libc|ld-linux[a-z0-9-]*)\.so")
LIMIT = 5_000_000


def main():
    path = sys.argv[1]
    listing = subprocess.run(["readelf", "--dynamic", "--wide", path], capture_output=True, text=True, check=True)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", listing.stdout)
    wrong = [name for name in needed if not ALLOWED.match(name)]
    size = os.path.getsize(path)
    print(f"{path}: {size} bytes, needs {', '.join(needed)}")
    if wrong:
        print(f"not allowed: {', '.join(wrong)}")
    if size >= LIMIT:
        print(f"too large: the limit is {LIMIT} bytes")
    if not needed:
        print("no NEEDED entries found: is this a shared library?")
    return 1 if wrong or size >= LIMIT or not needed else 0


if __name__ == "__main__":
    sys.exit(main())
