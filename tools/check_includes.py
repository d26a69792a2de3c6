#!/usr/bin/env python3
"""Do includes follow the arrows of docs/architecture.md?

    tools/check_includes.py [ROOT]     prints one line per violation, exits 1 when there is one

A layer may include itself and the layers listed for it. Some libraries may be included by a few
layers only. Public headers are seen by everyone's compiler, so they include nothing but each other
and the standard library.
"""

import pathlib
import re
import sys

# layer: the layers it stands on, directly. What those stand on comes along.
STANDS_ON = {
    "core": [],
    "kernels": ["core"],
    "attention": ["kernels"],
    "nn": ["attention"],
    "io": ["core"],
    "text": ["core"],
    "draw": ["core"],
    "dist": ["attention"],
    "measure": ["train"],
    "models": ["nn", "io", "text"],
    "train": ["models"],
    "inspect": ["models"],
    "playground": ["train", "draw"],
    "lab": ["measure", "inspect", "draw", "playground"],
    "learn": ["lab", "draw"],
    "session": ["inspect", "draw"],
    "serve": ["session", "playground"],
    "c": ["session"],
    "cli": ["lab", "learn", "measure", "serve"],
    "cluster": ["cli", "dist"],
}

# Which layer a public header belongs to. headlight.h is for users, not for us.
PUBLIC = {
    "tensor.h": "core",
    "context.h": "core",
    "team.h": "core",
    "error.h": "core",
    "version.h": "core",
    "stored_matrix.h": "core",
    "attention.h": "attention",
    "sequence_team.h": "attention",
    "kv_cache.h": "attention",
    "dist.h": "dist",
    "reference.h": "attention",
    "nn.h": "nn",
    "layers.h": "nn",
    "experts.h": "nn",
    "attention_layers.h": "nn",
    "parameters.h": "nn",
    "positions.h": "nn",
    "recurrent.h": "nn",
    "train.h": "train",
    "tokenizer.h": "text",
    "head_place.h": "nn",
    "progress.h": "core",
    "prediction.h": "inspect",
    "head_steps.h": "inspect",
    "head_labels.h": "inspect",
    "effects.h": "inspect",
    "figure_style.h": "draw",
    "run.h": "session",
    "lens.h": "session",
    "look.h": "session",
    "ablate.h": "session",
    "write.h": "session",
    "chat.h": "session",
    "choices.h": "session",
    "embed.h": "session",
    "figure.h": "session",
    "model.h": "session",
    "trace.h": "nn",
}
UMBRELLA = "headlight.h"
# The C interface: a header of C, which only src/c includes.
C_HEADER = "c/headlight.h"

# A library and the only layers that may include it.
LIBRARIES = [
    (r"hwy/", ["kernels"]),
    (r"mpi\.h$", ["dist"]),
    (r"(httplib|boost/beast)", ["serve"]),
    (r"simdjson", ["io"]),
    (r"utf8proc", ["text", "draw"]),
    (r"pcre2", ["text"]),
    (r"zlib\.h$", ["io"]),
    (r"toml\+\+/|toml\.hpp", ["train"]),
    (r"(cairo|pango)", ["draw"]),
    (r"CLI/", ["cli"]),
    (r"fmt/", ["io", "text", "draw", "measure", "models", "train", "inspect", "session", "playground", "lab", "learn", "cli", "cluster", "serve"]),
    (r"cblas", ["measure"]),
    (r"omp\.h$", []),
]

# Code that an example shows and an experiment times: written once.
OF_EXAMPLES = {"lab": ["../examples/13_kernel_rungs.h"]}

# Kernels know rows, tiles and floats: no heads, no threads.
KERNELS_NEVER = re.compile(r"^(thread|mutex|condition_variable|future|shared_mutex|core/(thread_pool|run_tasks)\.h)$")

# What libheadlight.so exports.
VISIBLE = re.compile(r"^#pragma GCC visibility push\(default\)\n.*^#pragma GCC visibility pop\n\Z", re.MULTILINE | re.DOTALL)

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def reachable(layer):
    """The layer and everything below it."""
    seen, todo = set(), [layer]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += STANDS_ON[name]
    return seen


def check_library(layer, target):
    for pattern, layers in LIBRARIES:
        if re.match(pattern, target) and layer not in layers:
            where = " and ".join(f"src/{name}/" for name in layers) or "no layer"
            return f"<{target}> may be included in {where} only"
    return None


def check_one(layer, public, quote, target):
    """Why this include is wrong, or None."""
    if target.startswith("headlight/"):
        name = target.removeprefix("headlight/")
        if name == C_HEADER:
            return None if layer == "c" else f"{C_HEADER} is for C: include the headers of C++"
        if name == UMBRELLA:
            return None if layer == "umbrella" else f"{UMBRELLA} is for users: include what you need"
        if name not in PUBLIC:
            return f'"{target}" is not in the table of public headers in tools/check_includes.py'
        if layer == "kernels" and KERNELS_NEVER.match(target):
            return f'kernels/ knows rows, tiles and floats: not "{target}"'
        if layer != "umbrella" and PUBLIC[name] not in reachable(layer):
            return f'{layer} may not include "{target}", which belongs to {PUBLIC[name]}'
        return None
    if layer == "kernels" and KERNELS_NEVER.match(target):
        return f"kernels/ knows rows, tiles and floats: not {target}"
    if quote == "<":
        if public and ("/" in target or target.endswith(".h")):
            return f"a public header may include the standard library only: not <{target}>"
        return check_library(layer, target)
    if public:
        return f'a public header may include "headlight/..." only: not "{target}"'
    if target in OF_EXAMPLES.get(layer, []):
        return None
    folder = target.split("/")[0] if "/" in target else None
    if folder in STANDS_ON:
        if folder not in reachable(layer):
            allowed = ", ".join(sorted(reachable(layer) - {layer})) or "nothing"
            return f'{layer} may not include "{target}" (it stands on: {allowed})'
        return None
    wrong = check_library(layer, target)
    return wrong or (None if folder == "hwy" else f'write "{target}" from src/, as in "core/concat.h"')


def layer_of(path, root):
    """(layer, is it a public header, message if the file has no place)."""
    parts = path.relative_to(root).parts
    if parts[0] == "include":
        if parts[2:] == tuple(C_HEADER.split("/")):
            return "C", True, None
        if parts[-1] == UMBRELLA:
            return "umbrella", True, None
        layer = PUBLIC.get(parts[-1])
        return layer, True, None if layer else "new public header: give it a layer in tools/check_includes.py"
    if len(parts) < 3 or parts[1] not in STANDS_ON:
        return None, False, "new folder in src/: give it a place in tools/check_includes.py and docs/architecture.md"
    return parts[1], False, None


def check_c(name, text):
    """A header of C includes two headers of its standard library and nothing else."""
    targets = [match.group(2) for match in map(INCLUDE.match, text.splitlines()) if match]
    return [f"{name}: may include <stddef.h> and <stdint.h> only: not <{target}>" for target in targets
            if target not in ("stddef.h", "stdint.h")]


def check_tree(root):
    root = pathlib.Path(root)
    findings, files = [], 0
    for path in sorted([*root.glob("include/**/*.h"), *root.glob("src/**/*.h"), *root.glob("src/**/*.cc")]):
        files += 1
        layer, public, homeless = layer_of(path, root)
        if homeless:
            findings.append(f"{path.relative_to(root)}: {homeless}")
            continue
        text = path.read_text(encoding="utf-8")
        if layer == "C":
            findings += check_c(path.relative_to(root), text)
            continue
        if public and layer != "umbrella" and not VISIBLE.search(text):
            findings.append(f"{path.relative_to(root)}: a public header puts its declarations between "
                            '"#pragma GCC visibility push(default)" and "#pragma GCC visibility pop", '
                            "or libheadlight.so hides them")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            wrong = match and check_one(layer, public, match.group(1), match.group(2))
            if wrong:
                findings.append(f"{path.relative_to(root)}:{number}: {wrong}")
    return findings, files


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    findings, files = check_tree(root)
    for finding in findings:
        print(finding)
    print(f"check_includes: {len(findings)} wrong includes in {files} files")
    return 1 if findings or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
