"""Writes docs/performance.md. What is between the two markers is replaced; the rest is hand-written."""

import datetime
import pathlib
import platform
import re

BEGIN = "<!-- measured: begin (written by bench/peers/run) -->"
END = "<!-- measured: end -->"

TEMPLATE = f"""# Performance

Speed of attention, compared with the limits of the machine and with other libraries, measured on the same machine in the same run.

{BEGIN}
{END}

## Tile size

[Decision 0002](decisions/0002-tiles-and-segments.md) lists the sizes, the measurements, and the variants that did not help.
"""

METHOD = """### Method

- All libraries compute the same function of the same f32 inputs, with output memory allocated beforehand. A library whose output
  differs by more than 1e-4 is listed as an error instead.
- A time is the best of at least seven runs after a warm-up, over all passes. The machine is shared: compare only within one run, and
  ignore differences below 5 % (one thread) or 10 % (several threads).
- FLOPs are counted as 4·B·H·L·L·D, half of that for causal attention, and none for the softmax. Percentages are shares of the f32 FMA
  peak, measured between the workloads of the same run.
- A peer's cell is its fastest implementation. Its memory allocator keeps pages, so no peer pays for page faults. "unfused" means one
  BLAS call for the scores, a vectorised softmax, and a second BLAS call.
- `×` is the peer's time divided by Headlight's: above 1, Headlight is faster.
"""


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return re.sub(r"[^ -~]", "?", line.split(":", 1)[1].strip())
    return "unknown processor"


def system():
    try:
        text = pathlib.Path("/etc/os-release").read_text()
        return re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M).group(1)
    except (OSError, AttributeError):
        return platform.system()


def version():
    header = pathlib.Path(__file__).resolve().parent.parent.parent / "include" / "headlight" / "version.h"
    return re.search(r'kVersion = "([^"]+)"', header.read_text()).group(1)


def time_text(milliseconds):
    return f"{milliseconds * 1000:.2f} µs" if milliseconds < 0.1 else f"{milliseconds:.3g} ms"


def table(results, peers):
    rows = ["| workload | threads | Headlight | % of peak | best peer | × best | " + " | ".join(f"× {p}" for p in peers) + " |",
            "|---|---:|---:|---:|---|---:|" + "---:|" * len(peers)]
    for (name, threads), times in results.times.items():
        if "headlight" not in times:
            continue
        mine = times["headlight"][0]
        share = "–"
        if name in results.gflop and results.peak.get(threads):
            share = f"{results.gflop[name] / mine * 1000 / results.peak[threads] * 100:.0f} %"
        others = {peer: times[peer] for peer in peers if peer in times}
        best, ratio = "–", "–"
        if others:
            peer, (milliseconds, what) = min(others.items(), key=lambda item: item[1][0])
            best = f"{peer} {what}, {time_text(milliseconds)}"
            ratio = f"**{milliseconds / mine:.2f}**"
        cells = [f"{others[peer][0] / mine:.2f}" if peer in others else "–" for peer in peers]
        rows.append(f"| `{name}` | {threads} | {time_text(mine)} | {share} | {best} | {ratio} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def limits(results):
    parts = []
    for threads in sorted(results.peak):
        word = "thread" if threads == 1 else "threads"
        parts.append(f"{results.peak[threads]:.1f} GFLOP/s and {results.dram[threads]:.1f} GB/s on {threads} {word}")
    return "; ".join(parts)


def measured(results, missing, command):
    peers = sorted({peer for times in results.times.values() for peer in times if peer != "headlight"})
    date = datetime.date.today().isoformat()
    text = [f"## Measured on {date}", "",
            f"{processor()}, {system()}; Headlight {version()}.",
            f"Limits measured in the same run: {limits(results)}.", "",
            table(results, peers), "",
            f"Reproduce: `{command}`", "",
            METHOD, "### Versions", ""]
    text += [f"- {peer}: {results.versions.get(peer, 'unknown')}" for peer in peers]
    if missing or results.errors:
        text += ["", "### Not measured", ""]
        text += [f"- {peer}: {reason}" for peer, reason in missing.items()]
        for (peer, what, error), names in results.errors.items():
            text.append(f"- {peer} {what} on {', '.join(sorted(names))}: {error}")
    return "\n".join(text)


def write(path, results, missing, command):
    page = path.read_text() if path.exists() else TEMPLATE
    if BEGIN not in page or END not in page:
        page = page.rstrip() + f"\n\n{BEGIN}\n{END}\n"
    head, rest = page.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + BEGIN + "\n" + measured(results, missing, command) + "\n" + END + tail)
