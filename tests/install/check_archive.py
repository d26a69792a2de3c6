#!/usr/bin/env python3
"""Functions of a newer glibc that the archive brings along (tools/elf_versions.py, packaging/archive/glibc_functions.c).

    check_archive.py SOURCE CC

A library that wants arc4random of glibc 2.36 asks for no newer glibc than 2.35 afterwards, and a program that uses it gets the
function of the archive. Leaves with 77 where the C library has no such function.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE, CC = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(SOURCE / "tools"))
import elf_versions  # noqa: E402

NAMES, FLOOR = {"arc4random", "arc4random_buf"}, (2, 35)
WANTS = """#include <stdlib.h>
#include <string.h>
int wanted(void) {
  unsigned char got[64], none[64] = {0};
  memset(got, 0, sizeof got);
  arc4random_buf(got, sizeof got);
  return memcmp(got, none, sizeof got) != 0 && arc4random() != arc4random();
}
"""


def compiled(folder, name, text, *options):
    """The shared library, or None if this system cannot link it."""
    source = folder / "source.c"
    source.write_text(text)
    done = subprocess.run([CC, "-shared", "-fPIC", "-D_GNU_SOURCE", "-Wl,-z,defs", "-o", folder / name, source, *options],
                          capture_output=True, text=True, check=False)
    return folder / name if done.returncode == 0 else None


def main():
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        path = compiled(folder, "libwants.so", WANTS)
        if path is None:
            print("this C library has no arc4random")
            return 77
        library = elf_versions.Library(path.read_bytes())
        if library.glibc() <= FLOOR:
            print("arc4random is not of a newer glibc here")
            return 77
        assert library.supply({"another"}, FLOOR) == [], "a function that is not supplied must keep its version"
        assert library.supply({"arc4random"}, FLOOR) == [], "both functions have the version; it stays if one is missing"
        assert library.glibc() > FLOOR and library.data == path.read_bytes(), library.glibc()
        assert sorted(library.supply(NAMES, FLOOR)) == sorted(NAMES), "both are supplied"
        assert () < library.glibc() <= FLOOR, library.glibc()
        path.write_bytes(library.data)
        shown = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        assert "arc4random_buf" in shown and "GLIBC_2.36" not in shown, shown

        functions = (SOURCE / "packaging" / "archive" / "glibc_functions.c").read_text(encoding="utf-8")
        assert compiled(folder, "libours.so", functions, "-Wall", "-Werror"), "the functions compile"
        (folder / "main.c").write_text("int wanted(void);\nint main(void) { return wanted() ? 0 : 1; }\n")
        subprocess.run([CC, "-o", folder / "main", folder / "main.c", "-L", folder, "-Wl,--no-as-needed", "-lours", "-lwants",
                        "-Wl,-rpath,$ORIGIN"], check=True)
        done = subprocess.run([folder / "main"], env={**os.environ, "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done
        bound = [line for line in done.stderr.splitlines() if "libwants.so" in line and "arc4random" in line]
        assert len(bound) == 2 and all("libours.so" in line.split(" to ")[1] for line in bound), bound
    try:
        elf_versions.Library(b"no library")
    except ValueError:
        print("check_archive: 0 problems")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
