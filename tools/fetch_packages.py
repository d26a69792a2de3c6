#!/usr/bin/env python3
"""Gets the packages of web/package-lock.json, each checked against its hash, without npm.

    tools/fetch_packages.py LOCK FOLDER     into FOLDER/node_modules; does nothing when they are there

$NPM_CONFIG_REGISTRY names another registry. Exits 77 ("skip") when the network cannot be reached. No package's
scripts are run. Standard library only.
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import platform
import shutil
import sys
import tarfile
import urllib.error
import urllib.request

SKIP = 77
CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def fits(package):
    """Packages for other systems are in the lock as well."""
    return "linux" in package.get("os", ["linux"]) and CPU in package.get("cpu", [CPU])


def download(registry, name, version):
    url = f"{registry}/{name}/-/{name.split('/')[-1]}-{version}.tgz"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def check(name, data, integrity):
    method, expected = integrity.split("-", 1)
    found = base64.b64encode(hashlib.new(method, data).digest()).decode()
    if found != expected:
        raise SystemExit(f"fetch_packages: {name} is not what the lock says ({method} differs)")


def unpack(data, folder):
    """Files only, below the folder only: an archive names its files as it likes."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            path = pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:])
            if not member.isfile() or path.is_absolute() or ".." in path.parts:
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.extractfile(member).read())
            target.chmod(0o755 if member.mode & 0o100 else 0o644)


def main():
    lock, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    stamp, text = folder / "fetched", lock.read_text(encoding="utf-8")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == text:
        return 0
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    shutil.rmtree(folder / "node_modules", ignore_errors=True)
    for place, package in json.loads(text)["packages"].items():
        if not place.startswith("node_modules/") or not fits(package):
            continue
        name = place.rsplit("node_modules/", 1)[1]
        try:
            data = download(registry, name, package["version"])
        except (urllib.error.URLError, TimeoutError) as problem:
            print(f"fetch_packages: {name}: {problem}", file=sys.stderr)
            return SKIP
        check(name, data, package["integrity"])
        unpack(data, folder / place)
    stamp.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
