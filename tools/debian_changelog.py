#!/usr/bin/env python3
"""Writes Debian's changelog of a version from its section of CHANGELOG.md.

    debian_changelog.py [--maintainer "NAME <ADDRESS>"] CHANGELOG.md VERSION OUTPUT.gz

With OUTPUT "-" the section itself is printed, as release notes. The date is that of the section's heading, "## 0.2.0 (2026-11-18)",
so that the same sources make the same bytes.
"""

import argparse
import datetime
import email.utils
import gzip
import pathlib
import re
import sys
import textwrap

HEADING = re.compile(r"^## (?P<version>\S+)(?: \((?P<date>\d{4}-\d{2}-\d{2})\))?$", re.MULTILINE)


def section_of(text, version):
    """(date, text) of a version's section; exits when there is none."""
    headings = list(HEADING.finditer(text))
    for heading, following in zip(headings, [*headings[1:], None]):
        if heading["version"] == version:
            if heading["date"] is None:
                sys.exit(f"CHANGELOG.md: the section {version} has no date; expected \"## {version} (YYYY-MM-DD)\"")
            return heading["date"], text[heading.end():following.start() if following else len(text)].strip()
    sys.exit(f"CHANGELOG.md: no section {version}; expected a heading \"## {version} (YYYY-MM-DD)\"")


def entries_of(section):
    """The list items, each as one line."""
    items = re.findall(r"^- (.*(?:\n  .*)*)", section, re.MULTILINE)
    return [" ".join(item.split()) for item in items]


def debian_text(section, date, version, maintainer):
    when = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc)
    lines = [f"headlight ({version}) unstable; urgency=medium", ""]
    for entry in entries_of(section):
        lines += textwrap.wrap(entry, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False,
                               break_on_hyphens=False)
    lines += ["", f" -- {maintainer}  {email.utils.format_datetime(when)}", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--maintainer", default="Headlight developers <dev@headlight.invalid>")
    parser.add_argument("changelog", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("output")
    args = parser.parse_args()
    date, section = section_of(args.changelog.read_text(encoding="utf-8"), args.version)
    if args.output == "-":
        print(section)
        return
    output = pathlib.Path(args.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(gzip.compress(debian_text(section, date, args.version, args.maintainer).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
