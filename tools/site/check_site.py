"""A folder of HTML pages: every file and every anchor that a page names must exist, and no table shows an escaped stroke."""

import html
import pathlib
import posixpath
import re


def problems(folder, also=()):
    """One line for each. `also`: addresses that must exist."""
    pages = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in pathlib.Path(folder).glob("**/*.html")}
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    found = [f"navigation: no page {name}" for name in also if name not in pages]
    for name, text in sorted(pages.items()):
        found += [f"{name}: a table has \\| in {table[:80]}" for table in re.findall(r"<td>.*?</td>", text, re.DOTALL) if r"\|" in table]
        for target in sorted(set(re.findall(r'(?:href|src)="([^"]*)"', re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)))):
            target = html.unescape(target)
            if re.match(r"[a-z]+:|//", target):
                continue
            path, _, anchor = target.partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if to.startswith("..") or not (pathlib.Path(folder) / to).is_file():
                found.append(f"{name}: no file {target}")
            elif anchor and to in anchors and html.unescape(anchor) not in anchors[to]:
                found.append(f"{name}: no anchor {target}")
    return found
