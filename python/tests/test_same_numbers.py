"""The same question in Python, on the command line, over HTTP and in C++ gets the same numbers.

tests/cli/same_numbers_test.cc compares command line, HTTP and C++ in more detail.
"""

import json
import os
import subprocess
import unittest
import urllib.request

import headlight
import numpy as np

PROGRAM = os.environ.get("HEADLIGHT_PROGRAM", "headlight")
EXAMPLE = os.environ.get("HEADLIGHT_EXAMPLE", "")  # examples/09_head_as_matrix.cc, the client in C++
NUMBERS = os.environ.get("HEADLIGHT_NUMBERS", "")  # tests/web/page_numbers.cc, which prints all digits
MODELS = os.path.join(os.environ["HEADLIGHT_SOURCE"], "models")
MODEL = os.path.join(MODELS, "headlight-en")
TEXT = "The cat sat on the mat."
PRINTED = 1e-6  # JSON has seven digits


def command(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--model", MODEL, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


class Server:
    """headlight serve on a free port."""

    def __enter__(self):
        arguments = [PROGRAM, "serve", "--no-open", "--model", MODEL]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        link = self.process.stdout.readline().split()[-1]
        self.origin, token = link.split("/#token=")
        self.token = token.split("&")[0]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, path, body=None):
        headers = {"X-Headlight-Token": self.token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.origin + "/api/v1/" + path, data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


def matrix(maps):
    """null: the query cannot see the key."""
    return np.array([[np.nan if w is None else w for w in row] for row in maps["maps"][0]["weights"]])


class SameNumbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = headlight.load(MODEL).attend(TEXT)

    def same(self, told, layer, head, bound=PRINTED):
        own = np.asarray(self.run_.weights[layer, head])
        self.assertEqual(told.shape, own.shape)
        np.testing.assert_allclose(np.nan_to_num(told), np.nan_to_num(own), atol=bound, rtol=0)

    def test_weights(self):
        self.same(matrix(command("show", TEXT, "--head", "4.0")), 4, 0)
        with Server() as server:
            run = server.ask("run", {"text": TEXT})
            self.same(matrix(server.ask(f"run/{run['id']}/figure?part=decoder&layer=4&head=0&format=json")), 4, 0)
            tops = server.ask(f"run/{run['id']}/next?position=5")["tops"]
        own = self.run_.prediction(5, count=3).top
        for theirs, ours in zip(tops, own):
            self.assertEqual(theirs["id"], ours.id)
            self.assertAlmostEqual(theirs["p"], ours.probability, delta=PRINTED)

    @unittest.skipUnless(NUMBERS, "the C++ program was not built")
    def test_four_clients(self):
        """One question to all four: a weight, the next token, and who makes a link."""
        done = subprocess.run([NUMBERS, MODEL, TEXT, "sat", "cat", "2.3"], check=True, capture_output=True)
        cpp = json.loads(done.stdout)
        step = self.run_.explain("sat", "cat", layer=2, head=3)
        query, key = step.query.token, step.key.token
        with Server() as server:
            run = "run/" + server.ask("run", {"text": TEXT})["id"]
            drawn = matrix(server.ask(f"{run}/figure?part=decoder&layer=2&head=3&format=json"))
            tops = server.ask(f"{run}/next?position={query}")["tops"]
        explained = command("explain", TEXT, "--head", "2.3", "--query", "sat", "--key", "cat")
        for weight in (cpp["weight"], drawn[query, key], explained["weight"]):
            self.assertAlmostEqual(weight, step.weight, delta=PRINTED)
        own = self.run_.prediction(query, count=3).top
        for ours, theirs, probability in zip(own, tops, cpp["next"]):
            self.assertAlmostEqual(theirs["p"], ours.probability, delta=PRINTED)
            self.assertAlmostEqual(probability, ours.probability, delta=PRINTED)
        listed = {f"{h['layer']}.{h['head']}": h["weight"] for h in command("heads", TEXT, "--link", "sat->cat")["heads"]}
        ours = {f"{link.head.layer}.{link.head.head}": link.weight for link in self.run_.links("sat->cat")}
        self.assertEqual(sorted(ours), sorted(cpp["links"]))
        self.assertEqual(sorted(ours), sorted(listed))
        for place, weight in ours.items():
            self.assertAlmostEqual(cpp["links"][place], weight, delta=PRINTED)
            self.assertAlmostEqual(listed[place], weight, delta=PRINTED)

    @unittest.skipUnless(EXAMPLE, "the C++ example was not built")
    def test_weights_in_cpp(self):
        done = subprocess.run([EXAMPLE, MODEL, "4", "0"], check=True, capture_output=True, text=True)
        rows = [line[8:].split() for line in done.stdout.splitlines()[1:-1]]
        self.same(np.array(rows, dtype=float), 4, 0, bound=5.1e-4)  # it prints three decimals

    def test_steps_of_one_weight(self):
        told = command("explain", TEXT, "--head", "2.3", "--query", "sat", "--key", "cat")
        own = self.run_.explain("sat", "cat", layer=2, head=3)
        self.assertEqual(told["weight"], own.weight)
        self.assertEqual(told["score"], own.scores[own.key.token])

    def test_links_and_changes(self):
        told = command("heads", TEXT, "--link", "sat->cat")["heads"]
        for theirs, ours in zip(told, self.run_.links("sat->cat")):
            self.assertEqual((theirs["layer"], theirs["head"]), (ours.head.layer, ours.head.head))
            self.assertAlmostEqual(theirs["weight"], ours.weight, delta=PRINTED)
        told, own = command("ablate", TEXT, "--head", "1.0"), self.run_.ablate([(1, 0)])
        self.assertAlmostEqual(told["mean_kl"], own.mean_kl, delta=1e-5 * own.mean_kl)
        for theirs, ours in zip(told["tokens"], own.tokens):
            self.assertEqual(theirs["id"], ours.id)
            self.assertAlmostEqual(theirs["after"], ours.after, delta=1e-5)

    def test_generated_text(self):
        told = command("generate", TEXT, "--max-tokens", "8", "--ignore-end")["results"][0]
        own = headlight.load(MODEL).generate(TEXT, max_tokens=8, stop_at_end=False)
        self.assertEqual(told["ids"], own.ids)


if __name__ == "__main__":
    unittest.main()
