#!/usr/bin/env python3
"""Every chapter of docs/learn has its parts, and every number in it is one that the program computes.

    check_learn.py PROGRAM FOLDER

Parts: a question, a picture, "The idea" in less than 300 words, arithmetic that the program prints, a prediction to reveal, included
code, what changed, two or three exercises, a command that opens the viewer. Solutions begin with the program's answer, and the program
accepts that answer and refuses another one. A number with decimals in the text is in what the program prints for
this course, or in what an exercise gives; so is a whole number from 100 on. A paragraph that names `headlight lab NAME` takes all its numbers from the run of NAME in
docs/guide/lab.md, which tools/make-guides writes. What is said of the default models is what the program says of them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

SECTIONS = ["The idea", "Predict first", "By hand", "In C++", "In Python", "Since the last chapter", "Exercises", "See it"]
EXERCISE = re.compile(r"^\*\*Exercise (\d)\.\*\*(.*?)<details><summary>Answer</summary>\n\n(.*?)\n\n</details>",
                      re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\d.,/])(?:\d+\.\d+|\d{1,3}(?:,\d{3})+|\d{3,})(?![\d.])")
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


def check_numbers(text, name, known, guide):
    """Decimals, and whole numbers from 100 on, come from the program or from the exercise."""
    prose = "\n\n".join(paragraph for paragraph in paragraphs(text) if not runs_of(paragraph, guide))
    given = "".join(question for _, question, _ in EXERCISE.findall(text))
    for _, _, solution in EXERCISE.findall(text):  # check_exercises has the answer; what follows explains it
        prose = prose.replace(solution, HEAD.match(solution)[0])
    pool = quantities(known) | quantities(given)
    return [f"{name}: {number} is not a number that the program computes"
            for number in NUMBER.findall(re.sub(r"`[^`]*`", "", prose))
            if number.replace(",", "") not in pool | CONSTANTS]


LAB = re.compile(r"`headlight lab (\w+)[^`]*`")
QUANTITY = re.compile(r"\d[\d,]*(?:\.\d+)?")
MEASURED = {13, 14, 15}  # chapters that quote our experiments


def quantities(text):
    return {number.replace(",", "") for number in QUANTITY.findall(text)}


def paragraphs(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL).split("\n\n")


def runs_of(paragraph, guide):
    """The recorded runs of the experiments that a paragraph names."""
    return "".join(run for experiment in LAB.findall(paragraph)
                   for run in re.findall(rf"^<!-- output[^\n]*: headlight lab {experiment}\b[^\n]*-->\n```text\n(.*?)^```$",
                                         guide, re.MULTILINE | re.DOTALL))


def check_measurements(text, number, name, guide):
    """Numbers beside the name of an experiment are those of its recorded run."""
    problems, compared = [], 0
    for paragraph in paragraphs(text):
        if runs := runs_of(paragraph, guide):
            said = quantities(re.sub(r"chapters? \d+", "", LAB.sub("", paragraph)))
            compared += len(said)
            problems += [f"{name}: {x} is not in the run of {' or '.join(LAB.findall(paragraph))} in docs/guide/lab.md"
                         for x in sorted(said - quantities(runs))]
    if number in MEASURED and compared == 0:
        problems.append(f"{name}: quotes no experiment")
    return problems


def largest_key(shown, query):
    weights = shown["maps"][0]["weights"][shown["maps"][0]["queries"].index(query)]
    return shown["maps"][0]["keys"][weights.index(max(weights))]


def check_models(program, folder):
    """What the chapters say of the default models."""
    def ask(*arguments):
        done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=True, timeout=120,
                              env={**os.environ, "HEADLIGHT_MODELS": str(folder.parent.parent / "models")})
        return json.loads(done.stdout)

    model = ask("info", "en")["model"]
    english = ask("show", "The cat sat on the mat.", "--model", "en", "--head", "4.6")
    cross = ask("show", "The cat sat on the mat.", "--model", "en-fr", "--part", "cross", "--head", "3.5")
    facts = {
        "01": [f"has {model['vocabulary']:,} tokens, and each has a vector of {model['width']} numbers",
               {7: "becomes seven tokens"}[len(english["tokens"])]],
        "09": [f"all {model['layers'] * model['heads']} of"],
        "11": [f"of the picture has {len(cross['tokens'])} tokens, the French one {len(cross['target_tokens'])}",
               f"The first row of the picture shows it for this model: *{largest_key(cross, 'Le')}*.",
               {("tap", "is"): "*tapis* is two of them"}[tuple(cross["maps"][0]["queries"][8:10])],
               {"cat": "and finds *cat*"}[largest_key(cross, "chat")]],
    }
    problems = []
    for chapter, said in facts.items():
        text = " ".join(next(folder.glob(f"{chapter}-*.md")).read_text(encoding="utf-8").split())
        problems += [f"chapter {chapter} does not say: {fact}" for fact in said if fact not in text]
    return problems


# Numbers that are given, not computed: powers of e and roots that the reader's calculator has, a seed, two places, a year.
CONSTANTS = {"2.718", "7.3891", "2.7183", "11.1073", "8.3891", "1.4142", "1.0986", "0.1353", "0.3679", "0.6931",
             "3000", "123", "101", "102", "2014"}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    chapters = sorted(folder.glob("[0-9]*.md"))
    guide = (folder.parent / "guide" / "lab.md").read_text(encoding="utf-8")
    known, problems = numbers_of_course(program, len(chapters)), check_models(program, folder)
    for chapter in chapters:
        text, number = chapter.read_text(encoding="utf-8"), int(chapter.name[:2])
        problems += check_parts(text, chapter.name, folder)
        problems += check_exercises(program, number, text, chapter.name)
        problems += check_numbers(text, chapter.name, known, guide)
        problems += check_measurements(text, number, chapter.name, guide)
    print("\n".join([*problems, f"check_learn: {len(chapters)} chapters, {len(problems)} problems"]))
    return 1 if problems or len(chapters) != 16 else 0


if __name__ == "__main__":
    sys.exit(main())
