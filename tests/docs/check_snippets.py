#!/usr/bin/env python3
"""Commands and fragments of C++ in the documents.

    check_snippets.py PROGRAM COMPILER SOURCE

A line of a ```sh block that calls `headlight`: the command and all its options exist. If it needs nothing but the default models, it
also runs, and ends well. A ```cpp block without a main(), and not copied from the sources, compiles with the names that pages use (ctx, q, k, v,
out, …). Complete programs, Python, C, and commands with their output have tests of their own.
"""

import functools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM, COMPILER, SOURCE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
FENCE = re.compile(r"^(<!-- include:[^\n]*\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Not run: what waits for a person or trains, and files that the reader has and we have not.
ELSEWHERE = re.compile(r"\b(serve|chat|train|learn|bench|lab|plot)\b|…|[/\w-]+\.(gguf|tsv|gz|xml|txt|jsonl|npy|toml|cc|conllu)\b"
                       r"|\b(models|runs|path)/|my-tokenizer|--evaluate|gpt2|stories|\$|<|\|")
PRELUDE = """
#include <span>
#include <vector>
#include "headlight/headlight.h"
#include "headlight/chat.h"
#include "headlight/dist.h"
#include "headlight/kv_cache.h"
#include "headlight/model.h"
#include "headlight/nn.h"
#include "headlight/team.h"
#include "headlight/write.h"
using headlight::ConstTensorView;
using headlight::TensorView;
[[maybe_unused]] static void snippet(
    [[maybe_unused]] headlight::Context& ctx, [[maybe_unused]] ConstTensorView q, [[maybe_unused]] ConstTensorView k,
    [[maybe_unused]] ConstTensorView v, [[maybe_unused]] TensorView out, [[maybe_unused]] TensorView lse,
    [[maybe_unused]] ConstTensorView dout, [[maybe_unused]] TensorView dq, [[maybe_unused]] TensorView dk,
    [[maybe_unused]] TensorView dv, [[maybe_unused]] const headlight::AttentionOptions& options,
    [[maybe_unused]] const headlight::Model& model, [[maybe_unused]] std::span<const std::string> documents) {{
{{
{code}
}}
}}
"""


@functools.lru_cache(maxsize=None)
def help_of(*command):
    done = subprocess.run([PROGRAM, *command, "--help-all"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def check_command(line):
    """Problems of one command line without its comment."""
    words = shlex.split(line, comments=True)[1:]
    names = [word for word in words[:2] if re.fullmatch(r"[a-z][a-z-]*", word)]
    text = None
    for count in (2, 1, 0):  # `tokenizer train` is a command of two words
        if len(names) >= count and (text := help_of(*names[:count])) is not None:
            break
    unknown = names and names[:1] == words[:1] and help_of(names[0]) in (None, help_of())
    if text is None or unknown or (words and not words[0].startswith("-") and not names):
        return [f"no such command: {line}"]
    known = set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", text)) | {"--help", "--version"}
    options = [word.partition("=")[0] for word in words if re.match(r"--[a-z]|-[a-z]$", word)]
    return [f"{line}: no option {option}" for option in options if option not in known]


def run_command(line):
    words = shlex.split(line, comments=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, *words[1:]], capture_output=True, text=True, check=False, cwd=folder, timeout=120,
                              stdin=subprocess.DEVNULL)
    return [] if done.returncode == 0 else [f"{line}: status {done.returncode}: {done.stderr.strip()}"]


def check_cpp(code):
    done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-I", SOURCE / "include", "-x", "c++", "-"],
                          input=PRELUDE.format(code=code), capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"does not compile:\n{code}{done.stderr[:1500]}"]


def check(document):
    text = document.read_text(encoding="utf-8")
    problems, counts = [], {"commands": 0, "run": 0, "fragments": 0}
    for block in FENCE.finditer(text):
        included, language, code = block.groups()
        if language == "cpp" and not included and "int main(" not in code:
            counts["fragments"] += 1
            problems += check_cpp(code)
        if language != "sh":
            continue
        for line in code.replace("\\\n", " ").splitlines():
            if not line.startswith("headlight "):
                continue
            counts["commands"] += 1
            problems += check_command(line)
            shown = text[block.end():].startswith("\n\n```text")  # docs.learn and others compare its output
            if not ELSEWHERE.search(line.partition("  #")[0]) and not shown:
                counts["run"] += 1
                problems += run_command(line)
    return [f"{document.relative_to(SOURCE)}: {problem}" for problem in problems], counts


def main():
    problems, totals = [], {}
    for document in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("**/*.md"))]:
        found, counts = check(document)
        problems += found
        totals = {key: totals.get(key, 0) + value for key, value in counts.items()}
    print("\n".join([*problems, f"check_snippets: {totals}, {len(problems)} problems"]))
    return 1 if problems or min(totals.values()) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
