#!/usr/bin/env python3
"""Every relative link and image in our Markdown files points at a file that exists."""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def main():
    root = pathlib.Path(sys.argv[1])
    documents = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("models/**/*.md")]
    broken, checked = [], 0
    for document in documents:
        text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in LINK.finditer(text):
            target = (match.group(1) or match.group(2)).split("#")[0]
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            checked += 1
            if not (document.parent / target).exists():
                broken.append(f"{document.relative_to(root)}: no file {target}")
    print("\n".join([*broken, f"check_links: {len(broken)} of {checked} links broken in {len(documents)} files"]))
    return 1 if broken or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
