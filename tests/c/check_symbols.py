#!/usr/bin/env python3
"""libheadlight_c.so exports what its header declares, and that is what the list in the repository says.

    check_symbols.py LIBRARY HEADER LIST

The list keeps the ABI from drifting unnoticed: a function that goes, or changes its name, breaks programs that are compiled
already. A new function gets its line.
"""

import pathlib
import re
import subprocess
import sys


def main():
    library, header, listed = sys.argv[1:]
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in lines.splitlines()}
    declared = set(re.findall(r"^HEADLIGHT_API [^(]*?\b(headlight_\w+)\(", pathlib.Path(header).read_text(), re.MULTILINE))
    wanted = set(pathlib.Path(listed).read_text().split())
    problems = [f"{name}: in {what}" for names, what in (
        (wanted - exported, "the list, but not exported"), (exported - wanted, "the library, but not in the list"),
        (declared ^ wanted, "one of header and list, not in both")) for name in sorted(names)]
    print("\n".join([*problems, f"check_symbols: {len(exported)} exported, {len(problems)} problems"]))
    return 1 if problems or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
