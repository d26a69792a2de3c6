#!/usr/bin/env python3
"""tools/prepare-translation leaves out what nobody should learn from, and what is measured on."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "prepare-translation"
FILES = ["en-fr/tatoeba/train.tsv.gz", "en-fr2/tatoeba-challenge-new.tsv.gz", "en-fr2/stories-african-storybook.tsv.gz",
         "en-fr2/wikipedia-pawsx-devtest.tsv.gz", "en-fr2/health-tico19.tsv.gz", "en-fr2/literature-bilinguator.tsv.gz",
         "en-fr2/literature-aligned-novels.tsv.gz", "en-fr2/literature-maupassant-poe.tsv.gz", "en-fr2/europarl-450k.tsv.gz",
         "en-fr2/pronoun-it-one-sentence.tsv.gz", "en-fr2/pronoun-it-two-sentences.tsv.gz"]
GOOD = [("I like this house.", "J'aime cette maison."), ("He said: \u201cNo.\u201d", "Il a dit : «\u00a0Non.\u00a0»"),
        ("Where are the others?", "Où sont les autres\u202f?")]
BAD = {
    "kept back": ("the cat SAT on the mat", "Le chat était assis."),
    "markup": ("Press <b>enter</b> now.", "Appuyez maintenant."),
    "characters": ("This is Привет.", "C'est Привет."),
    "lengths": ("Yes.", "Je crois que oui, mais il faudrait tout de même encore y penser un peu."),
    "numbers": ("It was 1998.", "C'était en 1988."),
    "language": ("Ce sont les amis de la ville.", "Ce sont des amis de la ville."),
    "seen before": ("I like this house!", "J'aime cette maison !"),
    "too long": ("word " * 60, "mot " * 60),
    "empty": ("...", "Rien."),
}


class PrepareTranslation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data, self.out = pathlib.Path(folder.name) / "data", pathlib.Path(folder.name) / "out"
        for file in FILES:
            self.write(file, [])
        self.write("en-fr/tatoeba/valid.tsv", [("She sings well.", "Elle chante bien.")])
        self.write("en-fr/tatoeba/test.tsv", [("Birds fly.", "Les oiseaux volent.")])
        self.write("en-fr2/eval/flores200-dev.tsv.gz", [("On Monday, scientists met.", "Lundi, des chercheurs se sont réunis.")])
        (self.data / "en-fr2/eval/bawden2018-anaphora.json").write_text(json.dumps({"1": {"src": ["It is full."]}}), encoding="utf-8")

    def write(self, file, pairs):
        path = self.data / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{a}\t{b}\n" for a, b in pairs).encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)

    def prepare(self):
        return subprocess.run([sys.executable, TOOL, self.data, self.out], capture_output=True, text=True, check=False)

    def lines(self, name):
        return (self.out / f"{name}.tsv").read_text(encoding="utf-8").splitlines()

    def counts(self, source):
        rows = [line.split("\t") for line in self.lines("counts")]
        return dict(zip(rows[0][1:], map(int, next(row[1:] for row in rows if row[0] == source))))

    def test_good_pairs_are_tidied_and_each_fault_is_counted_once(self):
        self.write(FILES[0], [*GOOD, *BAD.values()])
        self.assertEqual(self.prepare().returncode, 0)
        self.assertEqual(self.lines("tatoeba"), ["I like this house.\tJ'aime cette maison.", 'He said: "No."\tIl a dit : « Non. »',
                                                 "Where are the others?\tOù sont les autres ?"])
        counts = self.counts("tatoeba")
        self.assertEqual({name: counts[name] for name in BAD}, {name: 1 for name in BAD})
        self.assertEqual((counts["pairs"], counts["clean"], counts["taken"]), (12, 3, 3))

    def test_no_sentence_of_an_evaluation_set_on_either_side(self):
        self.write(FILES[8], [("She sings well.", "Elle chante."), ("Some birds are up there.", "Les oiseaux volent."), ("It is full!", "C'est plein."),
                              ("On Monday scientists met", "Des chercheurs se sont réunis lundi.")])
        self.assertEqual(self.prepare().returncode, 0)
        self.assertEqual(self.counts("parliament")["kept back"], 4)
        self.assertEqual(self.lines("parliament"), [])

    def test_parliament_loses_its_address_and_detached_apostrophes(self):
        everyday = [("We like the house" + ", really" * n, "Nous aimons la maison" + ", vraiment" * n) for n in range(12)]
        everyday += [("She runs" + ", fast" * n, "Elle court" + ", vite" * n) for n in range(14)]
        everyday += [("He eats" + ", often" * n, "Il mange" + ", souvent" * n) for n in range(14)]
        everyday += [("They sing" + ", loudly" * n, "Ils chantent" + ", fort" * n) for n in range(14)]
        self.write(FILES[0], everyday)
        self.write(FILES[8], [("Mr President, I like the house.", "Monsieur le Président, j' aime d' abord la maison.")])
        self.assertEqual(self.prepare().returncode, 0)
        self.assertEqual(self.lines("parliament"), ["I like the house.\tJ'aime d'abord la maison."])

    def test_twice_the_same_bytes_and_a_missing_file_is_named(self):
        self.write(FILES[6], GOOD * 5)
        self.prepare()
        first = [path.read_bytes() for path in sorted(self.out.iterdir())]
        self.prepare()
        self.assertEqual(first, [path.read_bytes() for path in sorted(self.out.iterdir())])
        (self.data / FILES[6]).unlink()
        done = self.prepare()
        self.assertEqual(done.returncode, 4)
        self.assertIn("literature-aligned-novels", done.stderr)


if __name__ == "__main__":
    unittest.main()
