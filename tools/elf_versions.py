"""Which versions of glibc a program or shared library asks for, and how to ask for less.

A library that uses a function of glibc 2.36 names the version GLIBC_2.36, and the loader of an older system refuses the whole
library. `supply` makes it accept functions of that name from any library, so that the archive can bring them.
"""

import struct

DYNSYM, VERSION_NEEDS, VERSION_OF_SYMBOL = 11, 0x6FFFFFFE, 0x6FFFFFFF
ANY_VERSION = 1
HIDDEN = 0x8000


def number_of(version):
    """GLIBC_2.36 -> (2, 36); None for versions of other libraries and GLIBC_PRIVATE."""
    name, _, number = version.partition("_")
    return tuple(int(part) for part in number.split(".")) if name == "GLIBC" and number[:1].isdigit() else None


class Library:
    """The version tables of an ELF file of 64 bits, little-endian; `data` can be written back after changes."""

    def __init__(self, data):
        self.data = bytearray(data)
        if bytes(self.data[:6]) != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits, little-endian")
        (table,) = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        # type, offset, size, link of each section
        headers = [struct.unpack_from("<I16xQQI", self.data, table + size * at + 4) for at in range(count)]
        self.sections = {kind: (offset, length, headers[link][1]) for kind, offset, length, link in headers
                         if kind in (DYNSYM, VERSION_NEEDS, VERSION_OF_SYMBOL)}

    def text(self, start):
        return self.data[start:self.data.index(0, start)].decode()

    def needs(self):
        """(library, version, its index in the table of symbols, place of the entry) of each version that is asked for."""
        at, _, texts = self.sections.get(VERSION_NEEDS, (0, 0, 0))
        while at:
            _, _, library, first, step = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            while True:
                _, _, index, name, onward = struct.unpack_from("<IHHII", self.data, entry)
                yield self.text(texts + library), self.text(texts + name), index, entry
                if not onward:
                    break
                entry += onward
            at = at + step if step else 0

    def symbols(self):
        """(name, index of its version, place of that index) of each dynamic symbol."""
        if VERSION_OF_SYMBOL not in self.sections:
            return
        start, length, texts = self.sections[DYNSYM]
        versions = self.sections[VERSION_OF_SYMBOL][0]
        for number in range(length // 24):
            (name,) = struct.unpack_from("<I", self.data, start + 24 * number)
            (index,) = struct.unpack_from("<H", self.data, versions + 2 * number)
            yield self.text(texts + name), index & ~HIDDEN, versions + 2 * number

    def glibc(self):
        """The newest glibc that is asked for, as (2, 34); () if none is."""
        return max((number_of(version) or () for _, version, _, _ in self.needs()), default=())

    def supply(self, names, floor):
        """Takes `names` from any library where they are asked of a glibc newer than `floor`; returns those names. Other
        functions of such a version stay as they are, and so does the version."""
        needs = list(self.needs())
        done = []
        for library, version, index, entry in needs:
            if (number_of(version) or ()) <= floor:
                continue
            users = [(name, place) for name, used, place in self.symbols() if used == index]
            # An entry cannot be removed. It becomes a second one for an older version of the same library.
            older = [place for other, text, _, place in needs if other == library and () < (number_of(text) or ()) <= floor]
            if any(name not in names for name, _ in users) or not older:
                continue
            for name, place in users:
                struct.pack_into("<H", self.data, place, ANY_VERSION)
                done.append(name)
            for offset in (0, 8):  # hash and name
                self.data[entry + offset:entry + offset + 4] = self.data[older[0] + offset:older[0] + offset + 4]
        return done
