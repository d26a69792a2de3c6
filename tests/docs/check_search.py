#!/usr/bin/env python3
"""The search of the documentation site, as Chromium runs it from the file system. 77: without Chromium.

    check_search.py SITE
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# A query, and the address that must be among the first three results.
CASES = [("on_residual", "reference/cpp/trace.html"), ("softmax", "learn/03-softmax.html"),
         ("headlight_attention_backward", "reference/c.html"), ("nothing-has-this-name", "")]


def results(site, query):
    address = f"{(pathlib.Path(site) / 'guide' / 'cli.html').resolve().as_uri()}?q={query}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--dump-dom", address], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r'<ul id="found".*?</ul>', done.stdout, re.DOTALL)
    return re.findall(r'href="([^"]+)"', found[0]) if found else [f"no list of results; {done.stderr[-300:]}"]


def main():
    if shutil.which("chromium") is None or not pathlib.Path(sys.argv[1], "search-index.js").exists():
        print("Chromium is not installed, or the site was not made")
        return 77
    problems = []
    for query, wanted in CASES:
        found = results(sys.argv[1], query)
        first = [re.sub(r"^(\.\./)+|#.*", "", address) for address in found[:3]]
        if (wanted not in first) if wanted else found:
            problems.append(f"{query}: found {first}, expected {wanted or 'nothing'}")
    print("\n".join([*problems, f"check_search: {len(CASES)} searches, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
