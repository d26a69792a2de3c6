#!/usr/bin/env python3
"""Code blocks of the documents that no other test runs: what they name exists. A block that is checked nowhere is a problem.

    check_blocks.py PROGRAM COMPILER SOURCE

`./run COMMAND` and `mpirun … headlight COMMAND`: the command with its options. `tools/NAME`: the script and its options. `cmake`:
presets, options, targets and components. ```cmake: components and targets of the package. ```json: it is JSON. ```html: elements and
attributes of the viewer. check_snippets.py checks lines that begin with `headlight`, and C++.
"""

import json
import os
import re
import shlex
import sys

from check_snippets import FENCE, SOURCE, check_command

ELSEWHERE = {"", "text", "cpp", "c", "python"}  # outputs and pictures; languages with tests of their own
CMAKE = "\n".join(path.read_text(encoding="utf-8") for path in [SOURCE / "CMakeLists.txt", *sorted(SOURCE.glob("cmake/*.cmake"))])
COMPONENTS = re.search(r"set\(known_components ([^)]*)\)", CMAKE)[1].split()
OPTIONS = set(re.findall(r"(?:option|set)\((\w+)", CMAKE)) | {"BUILD_SHARED_LIBS", "CMAKE_INSTALL_PREFIX", "CMAKE_BUILD_TYPE"}
TARGETS = set(re.findall(r"add_(?:executable|library|custom_target)\((\w+)", CMAKE))  # Python3_add_library too
PRESETS = {preset["name"] for preset in json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]}


def values_of(words, option):
    """The words after an option, up to the next one."""
    if option not in words:
        return []
    rest = words[words.index(option) + 1:]
    return rest[:next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))]


def check_cmake_command(words):
    problems = [f"no preset {name}" for name in values_of(words, "--preset") if name not in PRESETS]
    problems += [f"no target {name}" for name in values_of(words, "--target") if name not in TARGETS]
    problems += [f"no component {name}" for name in values_of(words, "--component")
                 if not re.search(rf"COMPONENT {name}\b|set\(\w+ {name}\)", CMAKE)]
    for name, value in (word[2:].split("=", 1) for word in words if word.startswith("-D")):
        if name not in OPTIONS:
            problems.append(f"no option {name}")
        if name == "HEADLIGHT_COMPONENTS":
            problems += [f"no component {part}" for part in value.split(";") if part not in COMPONENTS]
    return problems


def check_tool(words):
    path = SOURCE / words[0]
    if not os.access(path, os.X_OK):
        return [f"no script {words[0]}"]
    text = path.read_text(encoding="utf-8")
    return [f"{words[0]} has no option {word}" for word in words[1:] if word.startswith("--") and word not in text]


def check_line(line):
    words = shlex.split(line, comments=True)
    if not words or words[0] == "export":
        return []
    if words[0] in ("mpirun", "srun") and "headlight" in words:
        rest = words[words.index("headlight"):]
        return [] if rest[1:] == ["…"] else check_command(shlex.join(rest))
    if words[0] == "./run":
        known = words[1:] and re.fullmatch(r"[a-z-]+", words[1])
        return check_command(shlex.join(["headlight", *words[1:]])) if known else []
    if words[0].startswith("tools/"):
        return check_tool(words)
    if words[0] == "cmake":
        parts = " ".join("&&" if word == "&&" else shlex.quote(word) for word in words).split(" && ")
        return [problem for part in parts for problem in check_cmake_command(shlex.split(part))]
    if words[0] in ("apt-get", "cc", "python3", "env/bin/pip"):  # tests/c, python/tests and tools/test-packages do what they say
        return []
    return ["is checked by no test"]


def check_block(language, code):
    if language == "sh":
        lines = [line for line in code.replace("\\\n", " ").splitlines() if not line.startswith(("headlight ", "#"))]
        return [f"{line}: {problem}" for line in lines for problem in check_line(line)], len(lines)
    if language == "cmake":
        named = re.findall(r"headlight::(\w+)", code)
        for names in re.findall(r"COMPONENTS ([\w ]+)", code):
            named += names.split()
        return [f"no component {name}" for name in named if name not in [*COMPONENTS, "headlight"]], 1
    if language == "json":
        try:
            json.loads(code)
        except ValueError as error:
            return [f"{code}: {error}"], 1
        return [], 1
    if language == "html":
        element = (SOURCE / "web" / "headlight-view.js").read_text(encoding="utf-8")
        names = re.findall(r"<([\w-]+-[\w-]+)|\b(src|at|height)=", code)
        return [f"{name} is not in web/headlight-view.js" for pair in names for name in pair if name and name not in element], 1
    return ([] if language in ELSEWHERE else [f"{language} is checked by no test"]), 0


def main():
    problems, checked = [], 0
    for document in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("**/*.md"))]:
        for block in FENCE.finditer(document.read_text(encoding="utf-8")):
            found, count = check_block(block[2], block[3])
            problems += [f"{document.relative_to(SOURCE)}: {problem}" for problem in found]
            checked += count
    print("\n".join([*problems, f"check_blocks: {checked} lines and blocks, {len(problems)} problems"]))
    return 1 if problems or checked < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
