#!/usr/bin/env python3
"""The files of packaging/ as far as they can be checked without their package managers.

    check_packaging.py SOURCE CMAKE

Versions are the library's, options exist, packages that the Dockerfile installs are those of tools/lib.sh. Ruby runs Homebrew's
formula, CMake vcpkg's portfile and Python Conan's recipe, with stand-ins for the functions of their package managers; CMake accepts
the options that each of them gives it.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

SOURCE, CMAKE = pathlib.Path(sys.argv[1]), sys.argv[2]
PACKAGING = SOURCE / "packaging"
INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}


def text_of(*parts):
    return SOURCE.joinpath(*parts).read_text(encoding="utf-8")


def check_versions():
    version = re.search(r'kVersion = "([^"]+)"', text_of("include", "headlight", "version.h"))[1]
    found = {
        "homebrew/headlight.rb": re.search(r"headlight-([\d.]+)\.tar\.gz", text_of("packaging", "homebrew", "headlight.rb"))[1],
        "vcpkg/headlight/vcpkg.json": json.loads(text_of("packaging", "vcpkg", "headlight", "vcpkg.json"))["version"],
        "conan/conanfile.py": re.search(r'version = "([^"]+)"', text_of("packaging", "conan", "conanfile.py"))[1],
        "CHANGELOG.md": (re.search(r"^## (\d\S+) \(", text_of("CHANGELOG.md"), re.MULTILINE) or ["", "none"])[1],
    }
    return [f"{name}: version {other}, expected {version}" for name, other in found.items() if other != version]


def check_options():
    known = set(re.findall(r"(?:option|set)\((\w+)", "".join(
        path.read_text(encoding="utf-8") for path in [SOURCE / "CMakeLists.txt", *SOURCE.glob("cmake/*.cmake")])))
    problems = []
    for path in sorted(PACKAGING.rglob("*")):
        if path.is_file() and path.suffix != ".md":
            for name in re.findall(r"(?:\b|-D)(HEADLIGHT_\w+)", path.read_text(encoding="utf-8")):
                if name not in known:
                    problems.append(f"{path.name}: CMake knows no option {name}")
    return problems


def check_dockerfile():
    text = re.sub(r"^#.*\n", "", text_of("packaging", "docker", "Dockerfile"), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    problems = [f"Dockerfile: unknown instruction: {line}" for line in lines if line.split()[0] not in INSTRUCTIONS]
    if not lines[0].startswith("FROM "):
        problems.append("Dockerfile: does not begin with FROM")
    for line in lines:
        if line.split()[0] in ("ENTRYPOINT", "CMD"):
            json.loads(line.split(None, 1)[1])
    stages = set(re.findall(r"FROM \S+ AS (\w+)", text))
    problems += [f"Dockerfile: no stage {name}" for name in re.findall(r"from=(\w+)", text) if name not in stages]
    installed = set(re.search(r"install -y --no-install-recommends ([^\n]*)", text)[1].split())
    script = f'. "{SOURCE}/tools/lib.sh"; printf "%s\\n" "${{PROGRAM_PACKAGES[@]}}"'
    needed = set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split())
    # ccache, a font and the library to compare speeds with are of use to developers.
    missing = needed - installed - {"ccache", "fonts-dejavu-core", "libopenblas0-pthread"}
    return problems + [f"Dockerfile: does not install {name}" for name in sorted(missing)]


# What a formula calls, as far as this one does: it notes what is asked of it.
BREW = """
class Formula
  %w[desc homepage url sha256 license].each { |name| define_singleton_method(name) { |text| puts "#{name} #{text}" } }
  def self.depends_on(what) = puts("depends_on #{what.is_a?(Hash) ? what.keys.first : what}")
  def self.test(&block) = define_method(:run_test, &block)
  def std_cmake_args = ["-DCMAKE_INSTALL_PREFIX=/usr"]
  def system(*command) = puts("system #{command.join(" ")}")
  def bin = "/usr/bin"
  def shell_output(command) = (puts("shell #{command}"); "it -> animal")
  def assert_match(wanted, text) = (raise "no match" unless text.include?(wanted))
end
load ARGV[0]
Headlight.new.install
Headlight.new.run_test
"""


def check_configure(recipe, options):
    """CMake configures the library as a recipe asks it to."""
    with tempfile.TemporaryDirectory() as build:
        done = subprocess.run([CMAKE, "-G", "Ninja", "-S", SOURCE, "-B", build, *options], capture_output=True, text=True, check=False)
    unused = "Manually-specified variables were not used" in done.stderr
    return [f"{recipe}: cmake {' '.join(options)}: {done.stderr[-1500:]}"] if done.returncode != 0 or unused else []


def check_homebrew():
    """Ruby runs the formula, with stand-ins for Homebrew's functions."""
    if shutil.which("ruby") is None:
        return []
    done = subprocess.run(["ruby", "-e", BREW, PACKAGING / "homebrew" / "headlight.rb"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"headlight.rb: {done.stderr}"]
    steps = re.findall(r"^system cmake (-S|--build|--install)|^shell (\S+ look)", done.stdout, re.MULTILINE)
    wanted = [("-S", ""), ("--build", ""), ("--install", ""), ("", "/usr/bin/headlight look")]
    if steps != wanted:
        return [f"headlight.rb: its steps are {steps}"]
    return check_configure("headlight.rb", re.findall(r"-D\S+", done.stdout))


def check_vcpkg():
    functions = ("vcpkg_download_distfile", "vcpkg_extract_source_archive", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup",
                 "vcpkg_fixup_pkgconfig", "vcpkg_install_copyright")
    script = "".join(f"function({name})\nendfunction()\n" for name in functions)
    script += 'function(vcpkg_cmake_configure)\nmessage("CONFIGURE ${ARGV}")\nendfunction()\n'
    problems = []
    for features, wanted in (("", "HEADLIGHT_COMPONENTS=attention\n"), ("models", r"HEADLIGHT_COMPONENTS=attention\;nn\;text\;models")):
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work, "run.cmake")
            path.write_text(f'cmake_minimum_required(VERSION 3.22)\nset(FEATURES {features})\nset(CURRENT_PACKAGES_DIR "{work}/packages")\n{script}'
                            f'include("{PACKAGING}/vcpkg/headlight/portfile.cmake")\n')
            done = subprocess.run([CMAKE, "-P", path], capture_output=True, text=True, check=False)
        if done.returncode != 0 or wanted not in done.stderr:
            problems.append(f"portfile.cmake: {done.stderr}")
            continue
        options = done.stderr.partition("OPTIONS;")[2].splitlines()[0].replace("\\;", "\0").split(";")
        problems += check_configure("portfile.cmake", [option.replace("\0", ";") for option in options])
    return problems


def conan_stand_ins(copied):
    """Modules with the names that the recipe imports."""
    class Recipe:
        recipe_folder, export_sources_folder, variables = str(PACKAGING / "conan"), "unused", None

        def __init__(self):
            self.needs = []
            self.requires = self.needs.append

    def copy(_recipe, pattern, source, _destination):
        copied.append((pattern, list(pathlib.Path(source).glob(pattern))))

    class Toolchain:
        def __init__(self, recipe):
            self.cache_variables = {}
            recipe.variables = recipe.variables or self.cache_variables  # of the first: the toolchain
            self.generate = lambda: None

    names = {"conan": {"ConanFile": Recipe}, "conan.tools": {}, "conan.tools.files": {"copy": copy},
             "conan.tools.cmake": {"CMake": None, "CMakeDeps": Toolchain, "CMakeToolchain": Toolchain, "cmake_layout": None}}
    for name, members in names.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)


def check_conan():
    copied = []
    conan_stand_ins(copied)
    space = {"__name__": "conanfile"}
    exec(compile(text_of("packaging", "conan", "conanfile.py"), "conanfile.py", "exec"), space)
    recipe = space["HeadlightConan"]()
    recipe.export_sources()
    problems = [f"conanfile.py: no file matches {pattern}" for pattern, files in copied if not files]
    for models, wanted in ((False, 1), (True, 7)):
        recipe.needs.clear()
        recipe.variables = None
        recipe.options = types.SimpleNamespace(models=models, shared=models)
        recipe.requirements()
        if len(recipe.needs) != wanted:
            problems.append(f"conanfile.py: needs {recipe.needs} with models={models}")
        recipe.generate()
        switches = {True: "ON", False: "OFF"}
        problems += check_configure("conanfile.py", [f"-D{name}={switches.get(value, value)}" for name, value in recipe.variables.items()])
    return problems


def main():
    problems = []
    for check in (check_versions, check_options, check_dockerfile, check_homebrew, check_vcpkg, check_conan):
        problems += check()
    print("\n".join([*problems, f"check_packaging: {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
