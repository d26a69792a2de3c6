#!/usr/bin/env python3
"""Draws the program's first screen as an SVG for the README: what `headlight look` prints on a terminal with colour.

  tools/make_screen_svg.py PROGRAM [-o FILE.svg]      default docs/images/look.svg
  tools/make_screen_svg.py PROGRAM --check            exits 1 when the file is not what the program prints now
"""
import pathlib
import re
import subprocess
import sys
import unicodedata
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
CELL, LINE, MARGIN, BASE = 8.4, 19, 16, 14
INK, GROUND, QUIET = "#e6e6e6", "#16181d", "#9aa0a6"


def cells(line):
    """The characters of a line with their ink, ground and weight."""
    ink, ground, bold = INK, None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b["):
            for character in part:
                yield character, ink, ground, bold
            continue
        codes = [int(code or 0) for code in part[2:-1].split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                ink, ground, bold = INK, None, False
            elif code == 1:
                bold = True
            elif code == 2:
                ink = QUIET
            elif code in (38, 48) and codes[:1] == [2]:
                color = "#%02x%02x%02x" % tuple(codes[1:4])
                del codes[:4]
                ink, ground = (color, ground) if code == 38 else (ink, color)
            elif code == 39:
                ink = INK
            elif code == 49:
                ground = None


def svg(text):
    lines = text.rstrip("\n").split("\n")
    width = max(sum(1 for _ in cells(line)) for line in lines)
    size = (round(2 * MARGIN + width * CELL), 2 * MARGIN + len(lines) * LINE)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'role="img" aria-label="What headlight look prints">',
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ]
    for row, line in enumerate(lines):
        top, runs, column = MARGIN + row * LINE, [], 0
        for character, ink, ground, bold in cells(line):
            if unicodedata.combining(character):
                runs[-1][1] += character
                continue
            spaced = not ground and (character == " " or (runs and runs[-1][1][-1] == " "))
            if runs and runs[-1][2:] == [ink, ground, bold] and not spaced:
                runs[-1][1] += character
            else:
                runs.append([column, character, ink, ground, bold])
            column += 1
        for start, words, ink, ground, bold in runs:
            x = round(MARGIN + start * CELL, 1)
            if ground:
                out.append(f'<rect x="{x}" y="{top}" width="{len(words) * CELL:.1f}" height="{LINE}" fill="{ground}"/>')
            if words.strip():
                weight = ' font-weight="bold"' if bold else ""
                out.append(f'<text x="{x}" y="{top + BASE}" fill="{ink}"{weight}>{escape(words)}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    target = pathlib.Path(arguments[arguments.index("-o") + 1]) if "-o" in arguments else ROOT / "docs/images/look.svg"
    environment = {"COLORTERM": "truecolor", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    printed = subprocess.run([arguments[0], "look", "--color", "always"], check=True, capture_output=True,
                             text=True, env=environment, cwd=ROOT).stdout
    drawn = svg(printed)
    if "--check" not in arguments:
        target.write_text(drawn)
        return 0
    if target.read_text() == drawn:
        return 0
    print(f"{target.name} is not what the program prints; run tools/make_screen_svg.py PROGRAM", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
