#!/usr/bin/env python3
"""The headlight program on several processes: results, files and faults.

    program_test.py MPIEXEC PROGRAM [NAME ...]
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

MPIEXEC, PROGRAM = sys.argv[1:3] if len(sys.argv) > 2 else ("mpirun", "headlight")
VERSION = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False).stdout
OPEN_MPI = re.search("OpenRTE|Open MPI", VERSION) is not None
RECIPE = pathlib.Path(__file__).resolve().parents[2] / "recipes" / "copy.toml"
LONG = 90  # seconds: no error takes as long, even on a busy machine; a hang does
TEXTS = ["The cat sat on the mat.", "She gave the book to her brother because he asked for it.",
         "One day a little dog ran into the park and saw a big red ball.", "Tom and Lily like to play in the sun.",
         "It was raining, so they stayed at home and read a story."]


def run_job(command, timeout=120, **how):
    """Runs mpiexec. Open MPI 4.1's launcher has faults of its own at the end of a failed job: seldom, it crashes, or reports
    that it ends the job and stays. Such a job runs again, twice at most. A rank's crash is an exit code of the launcher."""
    for attempt in range(3):
        try:
            got = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, **how)
            if got.returncode >= 0 or attempt == 2:
                return got
        except subprocess.TimeoutExpired as late:
            if attempt == 2 or not re.search("mpi(exec|run).* detected", f"{late.stdout}{late.stderr}"):
                raise
    return None


def ranks(n, *arguments, text=None, timeout=120, env=None):
    """The program on n processes, or without mpirun when n is 0."""
    command, env = [PROGRAM, *arguments], {**os.environ, **(env or {})}
    if n > 0:
        return run_job([MPIEXEC, "-n", str(n), *command], timeout, input=text, env=env)
    return subprocess.run(command, capture_output=True, text=True, input=text, timeout=timeout, env=env, check=False)


def started_by(launcher):
    """The ranks of a launcher, which may have a process of its own between."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()]
    below, ranks_found = {str(launcher)}, []
    for _ in range(3):
        below |= {pid for pid, parent, _ in processes if parent in below}
    for pid, _, name in processes:
        if pid in below and "headlight" in name:
            ranks_found.append(int(pid))
    return ranks_found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def same_on_all(self, *arguments, counts=(1, 2, 3, 4), text=None):
        """Standard output of one process, after comparing it with that of several."""
        alone = ranks(0, *arguments, text=text)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertTrue(alone.stdout)
        for n in counts:
            got = ranks(n, *arguments, text=text)
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertEqual(got.stdout, alone.stdout, f"{n} processes")
        return alone.stdout

    def wait_for(self, there, seconds=60):
        """Polls: a busy machine is slow, and a test must not depend on how slow."""
        end = time.monotonic() + seconds
        while not there():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.1)

    def learns(self):
        metrics = self.path / "run" / "metrics.jsonl"
        return metrics.exists() and metrics.stat().st_size > 0

    def fails(self, got, code, line):
        """Ended with the code, and said the line once."""
        text = got.stdout + got.stderr
        self.assertEqual(len(re.findall(line, text)), 1, text)
        if code is None or not OPEN_MPI:  # other launchers have codes of their own for ranks that they end
            self.assertNotEqual(got.returncode, 0, text)
        else:
            self.assertEqual(got.returncode, code, text)


class Texts(Case):
    def corpus(self):
        file = self.path / "texts.txt"
        file.write_text("\n<|endoftext|>\n".join(TEXTS * 9), encoding="utf-8")
        return str(file)

    def test_evaluate(self):
        self.same_on_all("evaluate", self.corpus(), "--context", "16", "--json", counts=(2, 3))

    def test_heads(self):
        self.same_on_all("heads", "--corpus", self.corpus(), "--model", "en", "--json", counts=(3,))

    def test_translate(self):
        file = self.path / "pairs.tsv"
        file.write_text("".join(f"{t}\tUn chat.\n" for t in TEXTS), encoding="utf-8")
        self.same_on_all("translate", "--evaluate", str(file), counts=(2, 4))

    def test_standard_input_and_files_are_those_of_rank_0(self):
        result = self.path / "result.json"
        got = ranks(2, "evaluate", "-", "--json", str(result), text="\n".join(TEXTS))
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("nats_per_byte", result.read_text(encoding="utf-8"))
        self.assertEqual([p.name for p in self.path.iterdir()], ["result.json"])


class Models(Case):
    def test_generate(self):
        self.same_on_all("generate", "Once upon a time", "--model", "en", "--max-tokens", "20", "--seed", "5",
                         counts=(2, 3))

    def test_show(self):
        self.same_on_all("show", TEXTS[0], "--model", "en", "--head", "4.0", "--json", "-", counts=(2,))


    def test_serve(self):
        """Rank 0 has the page; the others multiply for it. A run is that of one process, number for number."""
        answers = [self.served(n) for n in (0, 2)]
        self.assertEqual(answers[0], answers[1])

    def served(self, n):
        command = [PROGRAM, "serve", "--model", "en", "--no-open"]
        if n > 0:
            command = [MPIEXEC, "-n", str(n), *command]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.communicate)
        self.addCleanup(job.terminate)
        address, token = re.search(r"(http://127.0.0.1:[0-9]+)/#token=([0-9a-zA-Z_-]+)", job.stdout.readline()).groups()
        headers = {"X-Headlight-Token": token, "Content-Type": "application/json"}
        ask = urllib.request.Request(f"{address}/api/v1/run", json.dumps({"text": TEXTS[0]}).encode(), headers)
        with urllib.request.urlopen(ask, timeout=60) as answer:
            run = json.load(answer)
        path = f"{address}/api/v1/run/{run['id']}/decoder/weights.f32"
        with urllib.request.urlopen(urllib.request.Request(path, None, headers), timeout=60) as answer:
            return len(run["source"]["tokens"]), hashlib.sha256(answer.read()).hexdigest()


class Training(Case):
    def train(self, n, name, *more, **how):
        settings = ["train.accumulate=4", "train.steps=6", "data.batch=4", "model.layers=1", "model.width=32",
                    "evaluation.every=3", "optimizer.average=0.9", *more]
        arguments = ["train", str(RECIPE), "--out", str(self.path / name)]
        for setting in settings:
            arguments += [setting] if setting.startswith("--") else ["--set", setting]
        return ranks(n, *arguments, **how)

    def fingerprint(self, name):
        run = self.path / name
        files = sorted((run / "step-00000006").iterdir()) + [run / "metrics.jsonl"]
        return [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in files]

    def test_checkpoints_have_the_same_bits(self):
        alone = self.train(0, "alone")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for n in (1, 2, 3, 4):
            got = self.train(n, f"on-{n}")
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertEqual(self.fingerprint(f"on-{n}"), self.fingerprint("alone"), f"{n} processes")
        self.assertEqual(got.stdout.count("done: step 6"), 1, got.stdout)

    def losses(self, name):
        lines = (self.path / name / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [line["loss"] for line in map(json.loads, lines) if "loss" in line]

    def test_tokens_can_be_divided(self):
        """Other sums than one process makes, so other bits; but the same run, dropout included."""
        common = ["train.accumulate=1", "train.divide=tokens", "model.dropout=0.2", "output.log_every=1"]
        self.assertEqual(self.train(0, "alone", *common).returncode, 0)
        alone = self.losses("alone")
        self.assertGreater(len(alone), 5)
        for n in (2, 3):
            got = self.train(n, f"on-{n}", *common)
            self.assertEqual(got.returncode, 0, got.stderr)
            found = self.losses(f"on-{n}")
            self.assertEqual(len(found), len(alone))
            for a, b in zip(alone, found):
                self.assertAlmostEqual(a, b, delta=2e-5 * abs(a), msg=f"{n} processes: {found}")
        self.assertEqual(self.train(2, "again", *common).returncode, 0)
        self.assertEqual(self.fingerprint("again"), self.fingerprint("on-2"))

    def test_ctrl_c_saves_a_checkpoint(self):
        command = [MPIEXEC, "-n", "2", PROGRAM, "train", str(RECIPE), "--out", str(self.path / "run"), "--set",
                   "train.accumulate=2", "--set", "train.steps=1000000", "--set", "output.save_every=1000000"]
        env = {**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "10"}
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.wait_for(self.learns)
        if OPEN_MPI:
            job.send_signal(signal.SIGINT)
        else:  # MPICH's mpiexec ends a job on Ctrl-C before its ranks have saved, and drops what they print at their end
            for rank in started_by(job.pid):
                os.kill(rank, signal.SIGINT)
        out, err = job.communicate(timeout=180)
        self.assertNotEqual(job.returncode, 0, out + err)
        saved = [p.name for p in (self.path / "run").iterdir() if p.name.startswith("step-")]
        if not OPEN_MPI:
            self.assertTrue(saved, out + err)
            return
        ended = re.findall(r"checkpoint saved;.* step (\d+),", out)
        self.assertEqual(len(ended), 1, out + err)  # one process speaks
        self.assertIn(f"step-{int(ended[0]):08d}", saved, out + err)

    def test_too_few_batches(self):
        got = self.train(3, "few", "train.accumulate=2")
        self.fails(got, 2, "3 processes cannot share 2 batches of a step")

    def test_other_recipes_are_told(self):
        text = RECIPE.read_text(encoding="utf-8")
        command = [PROGRAM, "train", "r.toml", "--set", "train.accumulate=2", "--out", str(self.path / "run")]
        parts = []
        for name, length in (("one", 8), ("other", 9)):
            (self.path / name).mkdir()
            (self.path / name / "r.toml").write_text(text.replace("length = 8", f"length = {length}"), encoding="utf-8")
            parts += [":"] * bool(parts) + ["-n", "1", "--wdir", str(self.path / name), *command]
        got = run_job([MPIEXEC, *parts], LONG)
        self.fails(got, 3, "rank 1 of 2: headlight: the recipe's data.length is 9 but rank 0 has .* 8")


class Cores(Case):
    def cores(self, *options):
        without = {name: value for name, value in os.environ.items() if name != "OMPI_MCA_hwloc_base_binding_policy"}
        got = run_job([MPIEXEC, *options, "-n", "1", PROGRAM, "doctor", "--json", "-"], env=without)
        self.assertEqual(got.returncode, 0, got.stderr)
        return json.loads(got.stdout)["cores"]

    @unittest.skipIf(len(os.sched_getaffinity(0)) == 1, "needs two cores")
    @unittest.skipUnless(OPEN_MPI, "the binding of Open MPI")
    def test_the_default_binding_leaves_no_core_idle(self):
        self.assertEqual(self.cores(), len(os.sched_getaffinity(0)))
        self.assertEqual(self.cores("--bind-to", "core"), 1)


class Faults(Case):
    def test_a_command_for_one_process(self):
        self.fails(ranks(3, "info", "en"), 2, "info: runs as one process; several can run bench --dist, evaluate")

    def test_alone_it_does_not_need_mpi(self):
        """headlight-mpi does: see docs/decisions/0016."""
        needs = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libmpi", needs)
        shutil.copy(PROGRAM, self.path / "headlight")
        got = run_job([MPIEXEC, "-n", "2", str(self.path / "headlight"), "info", "en"], LONG)
        text = "started as 2 processes, but this headlight was built without MPI"
        if OPEN_MPI:
            self.fails(got, 2, text)
        else:  # no rank has started MPI, so this launcher lets all of them speak
            self.assertIn(text, got.stderr)
            self.assertNotEqual(got.returncode, 0)

    def test_a_missing_file_is_said_once(self):
        self.fails(ranks(3, "evaluate", str(self.path / "no.txt")), 4, "no.txt")

    def test_a_text_that_is_too_long_is_said_once(self):
        self.fails(ranks(2, "translate", TEXTS[0], "word " * 400), 3, "error: text 2 ")

    def test_an_error_of_one_rank_has_its_number(self):
        """The other one waits for it, and has nothing to say."""
        command, parts = [PROGRAM, "evaluate", "texts.txt"], []
        for name in ("with", "without"):
            (self.path / name).mkdir()
            parts += [":"] * bool(parts) + ["-n", "1", "--wdir", str(self.path / name), *command]
        (self.path / "with" / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
        got = run_job([MPIEXEC, *parts], LONG)
        self.fails(got, 4, "error: rank 1 of 2: texts.txt: ")

    def limited(self, limits, *arguments):
        """A process for each entry, with that limit of ulimit, or without one where it is empty."""
        parts = []
        for limit in limits:
            shell = ["sh", "-c", f'trap "" XFSZ; ulimit {limit}; exec "$0" "$@"'] if limit else []
            parts += [":"] * bool(parts) + ["-n", "1", *shell, PROGRAM, *arguments]
        return run_job([MPIEXEC, *parts], LONG)

    def test_memory_that_runs_out_on_one_rank(self):
        large = ["train", str(RECIPE), "--out", str(self.path / "run"), "--set", "train.accumulate=2", "--set",
                 "model.width=1024", "--set", "model.layers=4", "--set", "train.steps=2", "--threads", "1"]
        got = self.limited(["", "-v 500000"], *large)
        self.fails(got, 5, "error: rank 1 of 2: .*memory")

    @unittest.skipUnless(OPEN_MPI, "MPICH's own files in memory exceed the limit")
    def test_a_disk_that_is_full_on_one_rank(self):
        """Rank 0 writes; the other one waits for it, goes on with it, and ends with it."""
        run = ["train", str(RECIPE), "--out", str(self.path / "run"), "--set", "train.accumulate=2", "--set", "train.steps=20",
               "--set", "output.save_every=10", "--threads", "1"]
        got = self.limited(["-f 100", ""], *run)
        self.fails(got, 4, "error: .*step-00000020.*too large")

    def test_ctrl_c_ends_the_viewer(self):
        job = subprocess.Popen([MPIEXEC, "-n", "2", PROGRAM, "serve", "--model", "en", "--no-open"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("http://127.0.0.1:", job.stdout.readline())
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=LONG)
        self.assertNotEqual(job.returncode, 0, out + err)

    def test_other_arguments_are_told(self):
        first = [PROGRAM, "evaluate", "a.txt"]
        got = run_job([MPIEXEC, "-n", "1", *first, ":", "-n", "1", *first, "--limit", "3"], LONG)
        self.fails(got, 3, "rank 1 of 2: headlight: the command line is evaluate a.txt --limit 3 but rank 0 has")

    def test_another_process_environment(self):
        env = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
        got = ranks(0, "evaluate", "a.txt", env=env, timeout=30)
        self.fails(got, 2, "the environment names 4 processes, but MPI found 1")

    def test_a_killed_rank_ends_all(self):
        command = [MPIEXEC, "-n", "3", PROGRAM, "train", str(RECIPE), "--out", str(self.path / "run"), "--set",
                   "train.accumulate=3", "--set", "train.steps=100000"]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for(self.learns)
        children = started_by(job.pid)
        self.assertEqual(len(children), 3)
        os.kill(children[-1], signal.SIGKILL)
        out, err = job.communicate(timeout=LONG)
        self.assertNotEqual(job.returncode, 0, out + err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
