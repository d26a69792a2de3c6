"""Gets the peers' libraries into build/peers without installing anything.

Debian packages are downloaded with everything they need that is not installed, and unpacked into a
folder; the npm package is downloaded and unpacked likewise. Needs no root.
"""

import pathlib
import re
import shutil
import subprocess

# peer -> the packages it comes from
PEERS = {
    "openblas": ["libopenblas0-pthread"],
    "blis": ["libblis4-pthread"],
    "onednn": ["libdnnl[0-9.]+"],  # a pattern: the name has the version
    "libtorch": ["libtorch-dev", "libopenblas0-pthread"],
    "onnxruntime": [],
}
# for training steps: bench/peers/train
TRAINERS = {"pytorch": ["python3-torch", "libopenblas0-pthread"]}
NPM_PACKAGE = "onnxruntime-node"
LIBRARIES = {"openblas": "libopenblas.so.0", "blis": "libblis.so.4", "onednn": "libdnnl.so.*"}
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Peers:
    """Packages of this system's Debian, or of another suite together with that suite's C library."""

    def __init__(self, work, suite=None):
        self.npm = work / "npm"
        self.folder = work / suite if suite else work
        self.root = self.folder / "root"  # Debian packages, unpacked
        self.suite = suite
        self.missing = {}               # peer -> why
        self.apt = []                   # options of apt-get

    def read_suite(self):
        """Lists of the suite, beside the system's own; nothing counts as installed."""
        place = self.folder / "apt"
        (place / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (place / "status").touch()
        known = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).stdout.split()
        if not known:
            return False  # the system's own lists were never read: apt-get update
        (place / "sources.list").write_text(f"deb [signed-by={KEYS}] {known[0]} {self.suite} main\n")
        settings = {"Dir::Etc::sourcelist": place / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
                    "Dir::State::lists": place / "lists", "Dir::State::status": place / "status",
                    "Dir::Cache": place, "APT::Sandbox::User": "root"}
        self.apt = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
        return run(["apt-get", *self.apt, "update"]).returncode == 0

    def loader(self):
        """What a program is started by: a newer C library comes with a loader of its own."""
        if not self.suite:
            return []
        found = sorted(self.root.glob("usr/lib/*/ld-linux-*.so.*"))
        return [str(found[0]), "--library-path", ":".join(self.library_folders())] if found else []

    def library_folders(self):
        """For LD_LIBRARY_PATH: wherever an unpacked package keeps a shared library; OpenBLAS before the plain BLAS."""
        if not self.root.exists():
            return []
        shared = [*self.root.glob("usr/lib/**/*.so*"), *self.root.glob("lib/**/*.so*")]
        folders = {path.parent for path in shared if "python" not in str(path)}
        return sorted((str(folder) for folder in folders), key=lambda folder: ("openblas" not in folder, folder))

    def python_folders(self):
        """For PYTHONPATH."""
        return [str(path) for path in [self.root / "usr/lib/python3/dist-packages"] if path.exists()]

    def arguments(self, peer):
        if peer == "onnxruntime":
            return [str(find_onnxruntime(self.npm))]
        if peer not in LIBRARIES:
            return []
        names = {path.name for folder in self.library_folders() for path in pathlib.Path(folder).glob(LIBRARIES[peer])}
        return [min(names, key=len, default=LIBRARIES[peer])]  # of libdnnl.so.3 and libdnnl.so.3.6 the first


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def first_line(text):
    lines = [line for line in text.strip().splitlines() if not line.startswith(("WARNING", "W:", "npm warn"))]
    return without_places(lines[0]) if lines else "no message"


def without_places(text):
    """A message as the report may show it: package tools name hosts and folders of this machine."""
    text = re.sub(r"\S*://\S*", "…", text)
    return re.sub(r"(?<![\w.])/(?:[^\s/:]+/)*([^\s/:]+)", r"\1", text)


def real_names(peers, patterns):
    """The newest package of each pattern."""
    names = []
    for pattern in patterns:
        if "[" not in pattern:
            names.append(pattern)
            continue
        found = run(["apt-cache", *peers.apt, "search", "--names-only", f"^{pattern}$"]).stdout.split("\n")
        names += sorted(line.split()[0] for line in found if line)[-1:]
    return names


def missing_packages(peers, packages):
    """What apt would install for these, besides what is installed."""
    plan = run(["apt-get", *peers.apt, "install", "--simulate", "--no-install-recommends", *packages])
    if plan.returncode != 0:
        return None, first_line(plan.stderr)
    return [line.split()[1] for line in plan.stdout.splitlines() if line.startswith("Inst ")], None


def fetch_debian(peer, peers, offline):
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return "this machine has no apt"
    names, problem = missing_packages(peers, real_names(peers, {**PEERS, **TRAINERS}[peer]))
    if problem:
        return problem
    folder = peers.folder / "debs"
    folder.mkdir(exist_ok=True)
    absent = [name for name in names if not any(folder.glob(f"{name}_*.deb"))]
    if absent and offline:
        return f"package {absent[0]} is not here (--offline)"
    if absent:
        done = run(["apt-get", *peers.apt, "download", *absent], cwd=folder)
        if done.returncode != 0:
            return f"package {absent[0]} cannot be downloaded: {first_line(done.stderr)}"
    peers.root.mkdir(exist_ok=True)
    for name in names:
        mark = peers.root / f".{name}"
        if mark.exists():
            continue
        package = sorted(folder.glob(f"{name}_*.deb"))[-1]
        done = run(["dpkg", "-x", str(package), str(peers.root)])
        if done.returncode != 0:
            return f"package {name} cannot be unpacked: {first_line(done.stderr)}"
        mark.touch()
    return None


def find_onnxruntime(folder):
    """The library for this processor; the package ships several."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(run(["uname", "-m"]).stdout.strip(), "x64")
    found = sorted(folder.glob(f"package/bin/*/linux/{machine}/libonnxruntime.so*"))
    return found[0] if found else None


def fetch_npm(peers, offline):
    if find_onnxruntime(peers.npm):
        return None
    if offline:
        return f"npm package {NPM_PACKAGE} is not here (--offline)"
    if not shutil.which("npm"):
        return "this machine has no npm"
    peers.npm.mkdir(exist_ok=True)
    # npm pack downloads and runs nothing; the package's install script would fetch GPU libraries.
    done = run(["npm", "pack", NPM_PACKAGE], cwd=peers.npm)
    archives = sorted(peers.npm.glob("*.tgz"))
    if done.returncode != 0 or not archives:
        return f"npm package {NPM_PACKAGE} cannot be downloaded: {first_line(done.stderr)}"
    done = run(["tar", "-xzf", str(archives[-1]), "--wildcards", "package/bin/*/linux/*"], cwd=peers.npm)
    if done.returncode != 0 or not find_onnxruntime(peers.npm):
        return f"npm package {NPM_PACKAGE} has no library for this machine"
    return None


def fetch(wanted, work, offline, say, suite=None):
    peers = Peers(pathlib.Path(work), suite)
    if suite and not peers.read_suite() and not offline:
        say(f"  packages of {suite} cannot be listed")
    for peer in wanted:
        if peer not in PEERS and peer not in TRAINERS:
            raise SystemExit(f"error: no peer is called {peer}; there are {', '.join(PEERS)}")
        say(f"fetching {peer}")
        problem = fetch_npm(peers, offline) if peer == "onnxruntime" else fetch_debian(peer, peers, offline)
        if problem:
            peers.missing[peer] = problem
            say(f"  not available: {problem}")
    return peers
