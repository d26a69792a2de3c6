#!/usr/bin/env python3
"""The sentences of tools/make-pronouns agree, and nothing that is held out is in training."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from pronouns import frames, french, lexicon, more_words  # noqa: E402

ASPIRATED = "hérisson|hache|haie|hamster|hamac|hutte|harpe"

# What French never has; independent of the code that puts the words together.
WRONG = [r"\b(?:de|à) les? ", r"\b(?:le|la|de|que|ne|je|se|puisque) (?!" + ASPIRATED + r")[aeiouyhéèêâîôû]", r"\bce (?!h[éa])[aeiouhéèêâîôû]\w* ",
         r"\bma [aeiouéèêâîôû]", r"\b(?:le|mon|ce|notre) (?:vieux|beau) (?!h[éa])[aeiouhéèêâîôû]", rf"l'(?:{ASPIRATED})", r"  ", r"[\ue000-\uf8ff{}|]",
         r"\b(?:il|elle) \w+(?:aient|ont)\b", r"\b(?:ils|elles) (?:était|est|avait|a)\b"]


def rows(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def genders(table=lexicon.NOUNS + more_words.NOUNS.lstrip()):
    """Of singular and plural English nouns, as the lexicon has them."""
    found = {}
    for line in table.strip().split("\n"):
        english, _, gender, *_ = line.split()
        english, _, plural = english.partition("/")
        found[english] = (gender, english, False)
        found[plural or french.english_plural(english)] = (gender, english, True)
    return found


def forms():
    """Every French form that may end a sentence, with the genders and numbers it can have."""
    table = lexicon.ADJECTIVES + more_words.ADJECTIVES.lstrip()
    entries = [[cell.strip().split()[-1] for cell in line.split("|")[1:3]] for line in table.strip().split("\n")]
    for name in ("CHOSEN", "REJECTED", "BIG", "SMALL", "STRONG", "DELICATE", "FASTER", "SLOWER"):
        entries += [[entry[1].split()[-1], entry[2].split()[-1]] for entry in getattr(lexicon, name)]
    entries += [["haut", "haute"]]
    found = {}
    for masculine, feminine in entries:
        for form, gender in ((masculine, "m"), (feminine, "f")):
            found.setdefault(form, set()).add((gender, False))
            found.setdefault(form if form[-1] in "sx" else form + ("x" if form.endswith("eau") else "s"), set()).add((gender, True))
    for form in ("faim", "soif", "peur", "sommeil"):
        found[form] = {(gender, plural) for gender in "mf" for plural in (False, True)}
    return found


class MakePronouns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name)
        cls.make(cls.out / "a")
        cls.train, cls.valid, cls.test = (rows(cls.out / "a" / f"{part}.antecedents.tsv") for part in ("train", "valid", "test"))
        held_out = (cls.out / "a/held-out.txt").read_text(encoding="utf-8").splitlines()
        cls.nouns, cls.adjectives = set(held_out[0].split(": ")[1].split()), set(held_out[1].split(": ")[1].split("; "))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def make(out, *options):
        subprocess.run([sys.executable, TOOLS / "make-pronouns", out, "--train", "1500", "--valid", "60", "--test", "400", *options],
                       check=True, capture_output=True)

    def test_the_same_seed_gives_the_same_bytes(self):
        self.make(self.out / "b")
        self.make(self.out / "c", "--seed", "7")
        read = [(self.out / name / "train.tsv").read_bytes() for name in "abc"]
        self.assertEqual(read[0], read[1])
        self.assertNotEqual(read[0], read[2])

    def test_places_name_the_pronoun_and_two_nouns(self):
        known = genders()
        for english, _, pronoun, antecedent, other, *_ in self.train + self.test:
            words = [word.strip(".,;").lower() for word in english.split(" ")]
            self.assertIn(words[int(pronoun)], ("it", "they"), english)
            self.assertIn(words[int(antecedent)], known, english)
            self.assertIn(words[int(other)], known, english)
            self.assertNotEqual(antecedent, other)

    def test_pronoun_and_adjective_agree_with_the_antecedent(self):
        known, endings = genders(), forms()
        for english, fr, pronoun, antecedent, _, said, *_ in self.train + self.test:
            words = [word.strip(".,;").lower() for word in english.split(" ")]
            gender, _, plural = known[words[int(antecedent)]]
            plural = words[int(pronoun)] == "they" if words[int(antecedent)] in ("sheep", "deer", "fish") else plural
            self.assertEqual(plural, words[int(pronoun)] == "they", english)
            self.assertEqual(said, {"m": "il", "f": "elle"}[gender] + ("s" if plural else ""), english)
            clause = re.search(rf"\b{said} (?:(?:était|étaient|est|sont)|(?:avait|avaient|a|ont)(?= (?:trop |très )?(?:faim|soif|peur|sommeil))) "
                               r"[^.,;]*?(\w+)(?=[.,])", fr, re.IGNORECASE)
            self.assertTrue(clause, fr)
            self.assertIn((gender, plural), endings.get(clause.group(1), ()), fr)

    def test_french_is_elided_and_contracted(self):
        for row in self.train + self.valid + self.test:
            for wrong in WRONG:
                self.assertIsNone(re.search(wrong, row[1], re.IGNORECASE), (wrong, row[1]))
            self.assertRegex(row[0], r"^[A-Z][A-Za-z',; .]+\.$")

    def test_what_is_held_out_is_not_in_training(self):
        known = genders()
        pairs = [set(pair) for pair in lexicon.NEVER_TOGETHER]
        self.assertGreaterEqual(len(self.nouns), len(set(entry[1] for entry in genders(lexicon.NOUNS).values())) // 4 - 2)
        self.assertGreaterEqual(len(self.adjectives), len(lexicon.ADJECTIVES.strip().split("\n")) // 4 - 2)
        self.assertEqual(len(frames.HELD_OUT_FRAMES), 3)
        for english, _, pronoun, *_ in self.train + self.valid:
            words = [word.strip(".,;").lower() for word in english.split(" ")]
            found = {known[word][1] for word in words if word in known}
            self.assertFalse(found & self.nouns, english)
            said = re.match(r"(?:is|are|was|were) ((?:(?:too|very|more) )?[\w ]+?)[.,]", " ".join(english.split(" ")[int(pronoun) + 1 :]))
            self.assertNotIn(re.sub(r"^(?:too|very|more) ", "", said.group(1)), self.adjectives, english)
            self.assertFalse(set(words) & {"jump", "jumped", "carry", "carried", "through"}, english)
            self.assertFalse([pair for pair in pairs if pair <= found], english)

    def test_words_of_training_alone_are_trained_and_never_tested(self):
        more = set(genders(more_words.NOUNS))
        used = [{word.strip(".,;").lower() for word in row[0].split(" ")} & more for row in self.train]
        self.assertGreater(len(set().union(*used)), 300)
        for row in self.test:
            self.assertFalse({row[0].split(" ")[int(row[place])].strip(".,;").lower() for place in (3, 4)} & more, row[0])

    def test_every_tested_sentence_is_new_and_only_meaning_decides(self):
        known = genders()
        seen = {row[0] for row in self.train + self.valid}
        for english, _, _, antecedent, other, _, new, _ in self.test:
            words = [word.strip(".,;").lower() for word in english.split(" ")]
            self.assertNotIn(english, seen)
            self.assertTrue(new, english)
            first, second = known[words[int(antecedent)]], known[words[int(other)]]
            self.assertNotEqual(first[0], second[0], english)
        for a, b in zip(self.test[::2], self.test[1::2]):
            nouns = [[row[0].split(" ")[int(row[place])].strip(".,;") for place in (3, 4)] for row in (a, b)]
            self.assertEqual((a[7], nouns[0]), (b[7], nouns[1][::-1]), (a[0], b[0]))
        self.assertTrue([row for row in self.test if "animal" in row[0] and "street" in row[0]])

    def test_scores_count_pronouns(self):
        translations = self.out / "said.txt"
        swapped = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
        for change, right in ((lambda text: text, 400), (lambda text: re.sub(r"\b(il|elle)(s?)\b", lambda m: swapped[m.group()], text), 0)):
            translations.write_text("".join(change(row[1].lower()) + "\n" for row in self.test), encoding="utf-8")
            done = subprocess.run([sys.executable, TOOLS / "make-pronouns", "--score", self.out / "a/test.antecedents.tsv", translations],
                                  check=True, capture_output=True, text=True)
            self.assertRegex(done.stdout, rf"all +{right} of +400")

    def test_scores_accept_another_noun_with_its_own_pronoun(self):
        row = ["The cat liked the bicycle because it was red.", "Le chat aimait la bicyclette parce qu'elle était rouge.", "6", "4", "1",
               "elle", "noun", "0"]
        asked, translations = self.out / "asked.tsv", self.out / "said.txt"
        asked.write_text("\t".join(row) + "\n", encoding="utf-8")
        for text, right in (("Le chat aimait le vélo parce qu'il était rouge.", 1), ("Le chat aimait le vélo parce qu'elle était rouge.", 0),
                            ("Le chat aimait la bicyclette parce qu'il était rouge.", 0), ("Le chat aimait l'engin parce qu'il était rouge.", 0)):
            translations.write_text(text + "\n", encoding="utf-8")
            done = subprocess.run([sys.executable, TOOLS / "make-pronouns", "--score", asked, translations], check=True, capture_output=True,
                                  text=True)
            self.assertRegex(done.stdout, rf"all +{right} of +1", text)


if __name__ == "__main__":
    unittest.main()
