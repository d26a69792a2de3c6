"""Builds wheels of headlight with CMake (PEP 517). Uses the standard library alone.

Settings of pip's --config-settings: build-dir=FOLDER (build/wheel unless given; one that is configured already is used as it
is), jobs=N.
"""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", "node_modules"}
LEFT_OUT = {".git", "build", "runs"}  # at the top alone: python/build is what builds


def version():
    header = (ROOT / "include" / "headlight" / "version.h").read_text(encoding="utf-8")
    return re.search(r'kVersion = "([^"]+)"', header).group(1)


def project(key):
    """A value of pyproject.toml that is one line: tomllib is not in every Python that this supports."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(rf'^{key} = "([^"]*)"$', text, re.MULTILINE).group(1)


def list_of(key):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"([^"]*)"', re.search(rf"^{key} = \[(.*?)\]", text, re.MULTILINE | re.DOTALL).group(1))


def metadata():
    lines = ["Metadata-Version: 2.1", f"Name: {project('name')}", f"Version: {version()}",
             f"Summary: {project('description')}", f"Requires-Python: {project('requires-python')}"]
    lines += [f"Requires-Dist: {name}" for name in list_of("dependencies")]
    lines += [f"Classifier: {name}" for name in list_of("classifiers")]
    lines += ["Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + (ROOT / "README.md").read_text(encoding="utf-8")


def tag():
    """The extension uses Python's limited API only, so one wheel is for every version from the first that has it."""
    text = (ROOT / "cmake" / "python.cmake").read_text(encoding="utf-8")
    major, minor = re.search(r"Py_LIMITED_API=0x(\w\w)(\w\w)0000", text).groups()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"cp{int(major, 16)}{int(minor, 16)}-abi3-{platform}"


def compile_package(settings, prefix):
    """Builds the extension and installs the package below prefix; returns its folder."""
    build = pathlib.Path(settings.get("build-dir", ROOT / "build" / "wheel")).resolve()
    if not (build / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                        "-DHEADLIGHT_UNITY=ON", "-DHEADLIGHT_PYTHON=ON", "-DHEADLIGHT_DIST=OFF", f"-DPython3_EXECUTABLE={sys.executable}"],
                       check=True)
    jobs = str(settings.get("jobs", os.cpu_count() or 1))
    subprocess.run(["cmake", "--build", build, "--parallel", jobs, "--target", "headlight_python"], check=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "python", "--strip"], check=True,
                   stdout=subprocess.DEVNULL)
    return next(pathlib.Path(prefix).glob("**/headlight/__init__.py")).parent


def model_files():
    """The default models: what a folder of models/ needs to be opened, with its card and licence."""
    for path in sorted((ROOT / "models").glob("**/*")):
        if path.is_file() and path.suffix in (".json", ".safetensors", ".md", ".txt"):
            yield path, f"headlight/models/{path.relative_to(ROOT / 'models').as_posix()}"


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data):
        # A fixed time: the same sources make the same wheel.
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append((name, f"sha256={digest}", len(data)))

    def close(self, folder):
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows([*self.record, (f"{folder}/RECORD", "", "")])
        self.zip.writestr(zipfile.ZipInfo(f"{folder}/RECORD", (2020, 1, 1, 0, 0, 0)), rows.getvalue())
        self.zip.close()


def wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: headlight_build\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What pip asks first; without it pip would build a wheel twice."""
    info = pathlib.Path(metadata_directory, f"{project('name')}-{version()}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(metadata(), encoding="utf-8")
    (info / "WHEEL").write_text(wheel_text(), encoding="utf-8")
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"{project('name')}-{version()}"
    info = f"{name}.dist-info"
    file = f"{name}-{tag()}.whl"
    with tempfile.TemporaryDirectory() as prefix:
        package = compile_package(config_settings or {}, prefix)
        wheel = Wheel(pathlib.Path(wheel_directory, file))
        for path in sorted(package.glob("**/*")):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.add(f"headlight/{path.relative_to(package).as_posix()}", path.read_bytes())
    for path, place in model_files():
        wheel.add(place, path.read_bytes())
    wheel.add(f"{info}/METADATA", metadata().encode())
    wheel.add(f"{info}/WHEEL", wheel_text().encode())
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close(info)
    return file


def build_sdist(sdist_directory, config_settings=None):
    name = f"{project('name')}-{version()}"
    with tarfile.open(pathlib.Path(sdist_directory, f"{name}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(ROOT.iterdir()):
            if path.name not in LEFT_OUT:
                archive.add(path, f"{name}/{path.name}",
                            filter=lambda entry: None if CACHES & set(entry.name.split("/")) else entry)
        data = metadata().encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return f"{name}.tar.gz"
