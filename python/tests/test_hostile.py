"""Bad arguments end in headlight.Error or another exception, never in a crash; threads, forks and many calls are harmless."""

import gc
import os
import resource
import threading
import unittest

import headlight
import numpy as np


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


X = random(1, 2, 5, 8)


class Liar:
    """Says that it has __dlpack__."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **options):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class BadRepr:
    def __repr__(self):
        raise RuntimeError("no")

    def __bool__(self):
        raise RuntimeError("no")

    def __index__(self):
        raise RuntimeError("no")


class Arguments(unittest.TestCase):
    def refused(self, *args, kind=None, part="", **options):
        with self.assertRaises(headlight.Error) as raised:
            headlight.attention(*args, **options)
        if kind:
            self.assertEqual(raised.exception.kind, kind)
        self.assertIn(part, str(raised.exception))
        self.assertTrue(raised.exception.code)

    def test_no_arrays(self):
        for wrong in (None, 3, "text", [[1.0]], object(), BadRepr(), Liar(7), Liar(None), X.tolist()):
            self.refused(wrong, X, X, kind="input", part="q")
            self.refused(X, X, wrong, kind="input", part="v")
        with self.assertRaises(ZeroDivisionError):
            headlight.attention(Liar(ZeroDivisionError()), X, X)

    def test_dtypes(self):
        for dtype in (np.int32, np.int64, np.complex64, np.longdouble, "S4", object, "M8[s]", [("a", "f4")]):
            wrong = np.zeros(X.shape, dtype=dtype)
            self.refused(wrong, wrong, wrong, kind="input")
        self.refused(X, X.astype(np.float64), X, kind="input", part="k is f64 but q is f32")

    def test_shapes(self):
        self.refused(np.float32(3) + np.zeros(()), X, X, kind="input")
        self.refused(np.zeros(4, np.float32), X, X, kind="input")
        self.refused(np.zeros((1, 1, 1, 1, 1), np.float32), X, X, kind="input", part="5 axes")
        self.refused(X, X[0], X, kind="input", part="as many axes")
        self.refused(X, X[..., :4], X, kind="input", part="dim")
        self.refused(X, np.zeros((1, 3, 5, 8), np.float32), X, kind="input", part="heads")
        self.refused(X[..., :0], X[..., :0], X, kind="input")

    def test_zero_sizes(self):
        none = np.zeros((0, 2, 5, 8), np.float32)
        self.assertEqual(headlight.attention(none, none, none).shape, none.shape)
        no_keys = np.zeros((1, 2, 0, 8), np.float32)
        out, lse = headlight.attention(X, no_keys, no_keys, return_lse=True)
        self.assertEqual(abs(out).max(), 0)
        self.assertTrue(np.isneginf(lse).all())

    def test_options(self):
        for name in ("window", "prefix", "offset", "chunk", "scale", "softcap", "topk", "threads"):
            for wrong in ("x", [1, 2, 3], object(), BadRepr(), 1j):
                with self.subTest(name=name, wrong=type(wrong)):
                    self.refused(X, X, X, **{name: wrong})
        for wrong in (-1, 0, 2**70, 1.5):
            self.refused(X, X, X, window=wrong, kind="usage", part="window")
        self.refused(X, X, X, window=(1, 2, 3), kind="usage")
        self.refused(X, X, X, scale=float("nan"), kind="usage", part="scale")
        self.refused(X, X, X, softcap=-1, kind="usage")
        self.refused(X, X, X, topk=33, kind="usage")
        self.refused(X, X, X, topk=-1, kind="usage")
        self.refused(X, X, X, threads=0, kind="usage")
        self.refused(X, X, X, threads=-3, kind="usage")
        self.refused(X, X, X, threads=10**6, kind="usage")
        self.refused(X, X, X, causal=BadRepr(), kind="usage")
        self.refused(X, X, X, dropout=1.5, seed=1, kind="usage")
        self.refused(X, X, X, mask=np.zeros((5, 5), np.float32), kind="input", part="bool")
        self.refused(X, X, X, mask=np.zeros((4, 5), bool), kind="input", part="broadcast")
        self.refused(X, X, X, bias=np.zeros((5, 5), bool), kind="input")
        self.refused(X, X, X, alibi=[1.0], kind="input")
        self.refused(X, X, X, alibi=["a", "b"], kind="input")
        self.refused(X, X, X, sinks=[[1.0]], kind="input")
        self.refused(X, X, X, k_lengths=[9], kind="input")
        self.refused(X, X, X, k_lengths=[1, 2], kind="input")
        self.refused(X, X, X, k_lengths="ab", kind="usage")
        self.refused(X, X, X, q_starts=[0, 5], kind="input", part="k_starts")
        self.refused(X, X, X, q_starts=[0, 9], k_starts=[0, 5], kind="input")
        with self.assertRaises(TypeError):
            headlight.attention(X, X, X, True)
        with self.assertRaises(TypeError):
            headlight.attention(X, X, X, casual=True)

    def test_a_list_that_changes_while_it_is_read(self):
        lengths = []

        class Shrinks:
            def __index__(self):
                lengths.clear()
                gc.collect()
                return 5

        lengths.extend([Shrinks() for _ in range(100)])
        out = headlight.attention(X, X, X, k_lengths=lengths)
        self.assertEqual(out.shape, X.shape)

    def test_backward_and_weights(self):
        out, lse = headlight.attention(X, X, X, return_lse=True)
        for wrong in (lse[0], lse[..., None], lse.astype(np.float16), lse[:, :, :3], None):
            with self.assertRaises(headlight.Error):
                headlight.attention_backward(X, X, X, out, wrong, out)
            with self.assertRaises(headlight.Error):
                headlight.attention_weights(X, X, wrong)
        with self.assertRaises(headlight.Error):
            headlight.attention_backward(X, X, X, out, lse, out, return_dbias=True)
        with self.assertRaises(headlight.Error):
            headlight.attention_backward(X, X, X, out, lse, out, return_dsinks=True)
        for options in ({"head": 2}, {"head": -1}, {"batch": 1}, {"queries": (0, 6)}, {"queries": (3, 2)}, {"keys": "ab"},
                        {"keys": slice(0, 4, 2)}, {"keys": 3}):
            with self.assertRaises(headlight.Error, msg=str(options)):
                headlight.attention_weights(X, X, lse, **options)
        with self.assertRaises(headlight.Error):
            headlight.merge(out, lse, out[:, :, :3], lse[:, :, :3])

    def test_cache(self):
        for options in ({"kv_heads": 0}, {"dim": 0}, {"dim": -4}, {"items": -1}, {"capacity": -1}, {"window": -1},
                        {"page_keys": 7}):
            with self.assertRaises(headlight.Error, msg=str(options)):
                headlight.KvCache(**{"kv_heads": 2, "dim": 8, **options})
        cache = headlight.KvCache(kv_heads=2, dim=8)
        for call in (lambda: cache.append(X, X[..., :4]), lambda: cache.append(X[0, 0, 0], X), lambda: cache.length(3),
                     lambda: cache.length(-1), lambda: cache.truncate(0, 1), lambda: cache.fork(4),
                     lambda: cache.read(0, (0, 3)), lambda: cache.attention(X[..., :4]), lambda: cache.keep_items(7)):
            with self.assertRaises(headlight.Error):
                call()
        with self.assertRaises(TypeError):
            cache.length("a")


class Machine(unittest.TestCase):
    def test_many_calls_do_not_grow(self):
        x = X[:, :, :1, :]
        for _ in range(2000):
            headlight.attention(x, x, x, return_lse=True)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100_000):
            headlight.attention(x, x, x, return_lse=True, alibi=[0.5, 0.25])
        for _ in range(20_000):
            try:
                headlight.attention(x, x[0], x)
            except headlight.Error:
                pass
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 4_000, f"{grown} kB more after 120,000 calls")

    def test_threads_compute_at_the_same_time(self):
        x = random(1, 4, 200, 32)
        wanted = headlight.attention(x, x, x, causal=True)
        wrong = []

        def work():
            for _ in range(20):
                if not np.array_equal(headlight.attention(x, x, x, causal=True), wanted):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_threads_share_a_cache(self):
        cache = headlight.KvCache(kv_heads=2, dim=8)
        cache.append(X, X)
        problems = []

        def work(number):
            try:
                for _ in range(200):
                    if number % 2:
                        cache.append(X[:, :, :1], X[:, :, :1])
                    else:
                        cache.attention(X[:, :, :1])
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        self.assertEqual(cache.length(), 5 + 2 * 200)

    def test_a_child_of_fork_computes(self):
        x = random(1, 4, 200, 32)
        wanted = headlight.attention(x, x, x)
        child = os.fork()
        if child == 0:
            good = np.array_equal(headlight.attention(x, x, x), wanted)
            good = good and np.array_equal(headlight.attention(x, x, x, threads=2), wanted)
            os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)

    def test_the_interpreter_goes_on_while_a_call_computes(self):
        x = random(1, 8, 1500, 64)
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                done.wait(0.0005)

        thread = threading.Thread(target=tick)
        thread.start()
        before = len(ticks)
        headlight.attention(x, x, x, threads=1)
        during = len(ticks) - before
        done.set()
        thread.join()
        self.assertGreater(during, 3)


if __name__ == "__main__":
    unittest.main()
