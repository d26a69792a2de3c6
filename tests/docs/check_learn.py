#!/usr/bin/env python3
"""Every chapter of docs/learn has its parts, and every number in it is one that the program computes.

    check_learn.py PROGRAM FOLDER

Parts: a question, a picture, "The idea" in less than 300 words, arithmetic that the program prints, a prediction to reveal, included
code, what changed, two or three exercises, a command that opens the viewer. Solutions begin with the program's answer, and the program
accepts that answer and refuses another one. A number with two or more decimals in the text is in what the program prints for
this course, or in what an exercise gives.
"""

import json
import pathlib
import re
import subprocess
import sys

SECTIONS = ["The idea", "Predict first", "By hand", "In C++", "In Python", "Since the last chapter", "Exercises", "See it"]
EXERCISE = re.compile(r"^\*\*Exercise (\d)\.\*\*(.*?)<details><summary>Answer</summary>\n\n(.*?)\n\n</details>",
                      re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\d.,/])\d+\.\d{2,}(?![\d.])")
# Solutions that say how an answer comes about have numbers on the way; these are products and sums of what is beside them.
HEAD = re.compile(r"^[^:=,;]*")


def sections_of(text):
    parts = re.split(r"^## (.+)$", re.sub(r"```(cpp|python).*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def run(program, *arguments):
    return subprocess.run([program, "learn", *arguments], capture_output=True, text=True, check=False, timeout=120)


def check_parts(text, name, folder):
    problems, sections = [], sections_of(text)
    if list(sections) != SECTIONS:
        problems.append(f"{name}: has the sections {list(sections)}, expected {SECTIONS}")
    words = len(sections.get("The idea", "").split())
    if not 80 <= words < 300:
        problems.append(f"{name}: The idea has {words} words, expected 80 to 299")
    picture = re.search(r"^!\[[^\]]{10,}\]\((pictures/\d\d\.svg)\)$", text, re.MULTILINE)
    if not picture or not (folder / picture[1]).is_file():
        problems.append(f"{name}: no picture with a description")
    if not re.search(r"^\*\*[^*].*\?\*\*$", text, re.MULTILINE):
        problems.append(f"{name}: no question in bold")
    if sections.get("Predict first", "").count("<details><summary>Reveal</summary>") != 1:
        problems.append(f"{name}: no prediction to reveal")
    for language in (".cc#", ".py#"):
        if not re.search(r"<!-- include: examples/\w+" + re.escape(language), text):
            problems.append(f"{name}: no code of an example ({language[:-1]})")
    if "headlight serve --model" not in sections.get("See it", ""):
        problems.append(f"{name}: no command that opens the viewer")
    return problems


def check_exercises(program, number, text, name):
    problems, written = [], EXERCISE.findall(text)
    computed = json.loads(run(program, str(number), "--json").stdout)["exercises"]
    if not 2 <= len(written) <= 3 or len(written) != len(computed):
        return [f"{name}: {len(written)} exercises in the text, {len(computed)} in the program, expected 2 or 3"]
    for (k, _, solution), exercise in zip(written, computed):
        answer = exercise["answer"]
        if not re.match(re.escape(answer) + r"(?!\d)", solution):
            problems.append(f"{name}: exercise {k}: the program's answer is {answer}, the text says {solution[:60]}")
        wrong = "A" if not exercise["numbers"] and answer != "A" else " ".join(f"{x + 1:.4f}" for x in exercise["numbers"])
        if run(program, str(number), "--exercise", k, f"--check={answer}").returncode != 0:
            problems.append(f"{name}: exercise {k}: the program refuses {answer}")
        if run(program, str(number), "--exercise", k, f"--check={wrong or 'no'}").returncode not in (1, 2):
            problems.append(f"{name}: exercise {k}: the program accepts {wrong}")
    return problems


def numbers_of_course(program, count):
    known = ""
    for number in range(1, count + 1):
        known += run(program, str(number), "--numbers").stdout
        known += run(program, str(number), "--json").stdout
    return known


def check_numbers(text, name, known):
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    given = "".join(question for _, question, _ in EXERCISE.findall(text))
    for _, _, solution in EXERCISE.findall(text):  # check_exercises has the answer; what follows explains it
        prose = prose.replace(solution, HEAD.match(solution)[0])
    pool = set(NUMBER.findall(known)) | set(NUMBER.findall(given))
    return [f"{name}: {number} is not a number that the program computes"
            for number in sorted(set(NUMBER.findall(prose)) - pool - CONSTANTS)]


# Numbers that are given, not computed: powers of e and roots that the reader's calculator has.
CONSTANTS = {"2.718", "7.3891", "2.7183", "11.1073", "8.3891", "1.4142", "1.0986", "0.1353", "0.3679", "0.6931"}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    chapters = sorted(folder.glob("[0-9]*.md"))
    known, problems = numbers_of_course(program, len(chapters)), []
    for chapter in chapters:
        text, number = chapter.read_text(encoding="utf-8"), int(chapter.name[:2])
        problems += check_parts(text, chapter.name, folder)
        problems += check_exercises(program, number, text, chapter.name)
        problems += check_numbers(text, chapter.name, known)
    print("\n".join([*problems, f"check_learn: {len(chapters)} chapters, {len(problems)} problems"]))
    return 1 if problems or len(chapters) != 16 else 0


if __name__ == "__main__":
    sys.exit(main())
