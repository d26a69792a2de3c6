#!/usr/bin/env python3
"""tools/check_words finds what it is for, and only that."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_words"
loader = importlib.machinery.SourceFileLoader("check_words", str(TOOL))
check_words = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_words", loader))
loader.exec_module(check_words)

LONG = " ".join(["word"] * 36) + "."


def found(text, name="page.md", **others):
    """What is said about a file with this text; `others` are files beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_text(text, encoding="utf-8")
        for other, content in others.items():
            pathlib.Path(folder, f"{other}.md").write_text(content, encoding="utf-8")
        problems, words = check_words.Problems(), {}
        check = {".md": check_words.check_document, ".py": check_words.check_python, ".tsx": check_words.check_page}
        check.get(path.suffix, check_words.check_source)(path, check_words.banned_phrases(), problems, words)
        return [line.split(": ", 1)[1] for line in problems.lines], set(words)


class Documents(unittest.TestCase):
    def test_long_sentences(self):
        self.assertEqual(len(found(LONG)[0]), 1)
        self.assertIn("36 words", found(LONG)[0][0])
        self.assertEqual(found(LONG.replace("word ", "", 1))[0], [])
        self.assertEqual(found("One sentence, e.g. this. " * 12)[0], [])

    def test_sentences_go_on_in_the_next_line_and_not_in_the_next_item(self):
        self.assertEqual(len(found(LONG.replace("word word", "word\nword"))[0]), 1)
        self.assertEqual(found("- " + " ".join(["word"] * 20) + "\n- " + " ".join(["word"] * 20))[0], [])

    def test_statements_that_begin_with_what(self):
        self.assertEqual(len(found("# What is promised\n")[0]), 1)
        self.assertEqual(found("What is a head? It has weights.\n")[0], [])

    def test_banned_phrases(self):
        said = found("# Promises for\nfiles of strangers\n\nFiles of\nstrangers are read.\n")[0]
        self.assertEqual(len(said), 2)
        self.assertIn("untrusted", said[0])
        self.assertEqual(found("```\nfiles of strangers\n```\n`files of strangers`\n")[0], [])

    def test_links_and_anchors(self):
        self.assertEqual(found("[a](nowhere.md)")[0], ["no file nowhere.md"])
        self.assertEqual(found("[a](other.md#two-words)", other="# Two words\n")[0], [])
        self.assertEqual(found("[a](other.md#three)", other="# Two words\n")[0], ["no heading for #three in other.md"])
        self.assertEqual(found("# `show`, twice\n\n[a](#show-twice) [b](https://example.org)")[0], [])

    def test_paths_of_the_project(self):
        self.assertEqual(found("See\n`src/core/nowhere.h`.")[0], ["no file src/core/nowhere.h"])
        self.assertEqual(found("`src/core/team.h`, `tests/fuzz/NAME_fuzz.cc`, `bench/scheduling`, `other/nowhere.h`")[0], [])

    def test_words_to_spell(self):
        words = found("Plain words, `code_word` and [links](page.md) in \"queue française\".")[1]
        self.assertEqual(words, {"Plain", "words", "and", "links", "in"})


class Sources(unittest.TestCase):
    def test_neighbouring_literals_are_one_sentence(self):
        half = " ".join(["word"] * 18)
        self.assertEqual(len(found(f'f("{half} "\n  "{half}.");\n', "a.cc")[0]), 1)
        self.assertEqual(found(f'f("{half} ", "{half}.");\n', "a.cc")[0], [])

    def test_comments_are_searched_for_phrases(self):
        self.assertEqual(len(found("// Reads files of\n// strangers.\n", "a.cc")[0]), 1)
        self.assertEqual(found("// " + LONG + "\n", "a.cc")[0], [])

    def test_options_and_placeholders_are_not_spelt(self):
        self.assertNotIn("qqx", found('f("give --qqx or {qqx} in qqx.txt, as told");\n', "a.cc")[1])

    def test_commands_of_examples_are_not_prose(self):
        self.assertEqual(found('f("  headlight ' + "word " * 40 + '\\n");\n', "a.cc")[0], [])


class Docstrings(unittest.TestCase):
    def test_each_is_checked(self):
        self.assertEqual(len(found('"""Reads files of strangers."""\n\ndef f():\n    """What it does."""\n', "a.py")[0]), 2)
        self.assertEqual(found('"""Plain."""\n# files of strangers\n', "a.py")[0], [])

    def test_examples_are_not_prose(self):
        self.assertEqual(found('"""Plain.\n\n>>> qqx = 1\n"""\n', "a.py")[1], {"Plain"})


class Page(unittest.TestCase):
    def test_strings_and_the_text_of_elements_are_prose(self):
        said = found("const a = 'Reads files of strangers';\nconst b = <p title=\"What it does here.\">and files of strangers</p>;\n", "a.tsx")[0]
        self.assertEqual(len(said), 3)
        self.assertEqual(len(found(f"const a = `{LONG}`;\n", "a.tsx")[0]), 1)

    def test_code_is_not(self):
        self.assertEqual(found("const a = `let qqx = f(of strangers in qqx);`;\nif (x >of strangers) {\n", "a.tsx"), ([], set()))

    def test_comments_are_searched_for_phrases(self):
        self.assertEqual(len(found("// Reads files of strangers.\n", "a.tsx")[0]), 1)


class Spelling(unittest.TestCase):
    def test_the_word_list_counts(self):
        wrong = check_words.misspelt(["tokenizer", "Softmax's", "plain", "plian"])
        if wrong is None:
            self.skipTest("hunspell is not installed")
        self.assertEqual(wrong, ["plian"])


if __name__ == "__main__":
    unittest.main()
