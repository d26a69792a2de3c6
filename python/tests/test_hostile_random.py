"""Calls with arguments drawn from good and bad ones: each returns or raises, and a good call afterwards has its bits."""

import os
import unittest

import headlight
import numpy as np
from test_hostile import BadRepr, Liar, X


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


ARRAYS = [X, X, X, X, X[:, :, ::-1], X[..., ::-1], X[:, ::-1], read_only(X), X.swapaxes(1, 2), X[:, :1], X[0], X[0, 0], X[:, :, :0],
          X[:0], X[..., :0], X[..., :3], X.astype(np.float64), X.astype(np.float16), X.astype(np.int32), X > 0, X * np.nan, X * 1e38,
          X.astype(">f4"), np.broadcast_to(X[:, :1], X.shape), np.float32(1), None, "x", [[1.0]], Liar(None), BadRepr()]
NUMBERS = [0, 1, 2, 3, 5, -1, 2**31, 2**62, -(2**62), 2**70, 0.5, 1e300, -1e300, float("nan"), float("inf"), None, None, True, "1", [1]]
LISTS = [None, None, [5], [0, 5], [3], [0], [-1], [9], [0, 2, 5], [5, 0], [2**62], [2**70], [None], "ab", (1,), np.array([5]), X, 3]
MASKS = [None, None, X[0, 0, :, :5] > 0, np.ones((5, 5), bool), np.zeros((1, 1, 5, 5), bool), np.ones((5, 5), np.float32), X, [True], 3]
POOLS = {"causal": [True, False, None, 1, BadRepr()], "mask": MASKS, "bias": MASKS, "alibi": [True, False, [0.5, 0.25], *LISTS],
         "sinks": [[0.5, 1.5], *LISTS], "return_lse": [True, False], "return_weights": [True, False], "return_entropy": [True, False],
         "window": [*NUMBERS, (1, 1), (None, 0), (1, 2, 3), (-1, -1), ("a", None)], "topk": [0, 1, 5, 32, 33, -1, 2**62],
         "threads": [None, 1, 2, 0, -1, 2**40], **{name: LISTS for name in ("q_lengths", "k_lengths", "q_starts", "k_starts")},
         **{name: NUMBERS for name in ("prefix", "offset", "chunk", "scale", "softcap", "dropout", "seed")}}
EXPECTED = (headlight.Error, TypeError, ValueError, OverflowError, MemoryError)


class Chance(unittest.TestCase):
    """HEADLIGHT_SEED chooses another course."""

    def setUp(self):
        self.rng = np.random.default_rng(int(os.environ.get("HEADLIGHT_SEED", "1")))
        self.counts = {True: 0, False: 0}

    def pick(self, pool):
        return pool[self.rng.integers(len(pool))]

    def some_options(self, *left_out):
        names = [name for name in POOLS if name not in left_out]
        return {name: self.pick(POOLS[name]) for name in self.rng.choice(names, self.rng.integers(0, 4), replace=False)}

    def attempt(self, call, *arguments, **options):
        try:
            result = call(*arguments, **options)
        except EXPECTED as problem:
            self.assertTrue(str(problem) or isinstance(problem, MemoryError))
            self.counts[False] += 1
            return None
        self.counts[True] += 1
        return result

    def tearDown(self):
        self.assertGreater(min(self.counts.values()), 50, self.counts)
        np.testing.assert_array_equal(headlight.attention(X, X, X, causal=True), self.wanted)

    @classmethod
    def setUpClass(cls):
        cls.wanted = headlight.attention(X, X, X, causal=True)

    def test_attention(self):
        for _ in range(10_000):
            arguments, options = [self.pick(ARRAYS) for _ in range(3)], self.some_options()
            if self.rng.random() < 0.5:
                arguments = [X, X, X]
            result = self.attempt(headlight.attention, *arguments, **options)
            if result is not None and isinstance(result, headlight.AttentionResult):
                self.attempt(headlight.attention_weights, *arguments[:2], result.lse, **self.some_options(
                    "return_lse", "return_weights", "return_entropy", "topk", "dropout", "seed"), head=self.pick(NUMBERS))

    def test_gradients_and_merge(self):
        out, lse = headlight.attention(X, X, X, return_lse=True)
        given = ("return_lse", "return_weights", "return_entropy", "topk")
        for _ in range(5000):
            around = [out, lse, X] if self.rng.random() < 0.6 else [self.pick([*ARRAYS, out, lse]) for _ in range(3)]
            first = [X, X, X] if self.rng.random() < 0.6 else [self.pick(ARRAYS) for _ in range(3)]
            self.attempt(headlight.attention_backward, *first, *around, **self.some_options(*given),
                         return_dbias=self.pick([False, True]), return_dsinks=self.pick([False, True]))
            self.attempt(headlight.merge, *[self.pick([out, lse, *ARRAYS]) if self.rng.random() < 0.2 else good
                                            for good in (out, lse, out, lse)])

    def test_caches(self):
        small = [0, 1, 2, 3, 8, 64, -1, 2**62, 2**70, 1.5, None, "x"]
        some = lambda good, bad: good if self.rng.random() < 0.8 else self.pick(bad)
        for _ in range(500):
            cache = self.attempt(headlight.KvCache, kv_heads=some(2, small), dim=some(8, small), items=some(1, [0, -1, 2**62]),
                                 capacity=some(0, [16, -1, 2**62]), dtype=some("f32", ["f16", "int8", "x"]), window=some(0, small))
            if cache is None:
                continue
            for _ in range(20):
                name = self.pick(["append", "append_to", "length", "first_key", "truncate", "fork", "share_prefix", "keep_items", "reset",
                                  "read", "attention"])
                if name == "append":
                    self.attempt(cache.append, some(X, ARRAYS), some(X, ARRAYS), some(None, LISTS))
                elif name == "append_to":
                    self.attempt(cache.append_to, some(0, small), some(X, ARRAYS), X)
                elif name == "attention":
                    self.attempt(cache.attention, some(X, ARRAYS), **self.some_options(
                        "return_weights", "return_entropy", "topk", "dropout", "seed", "k_lengths", "q_starts", "k_starts"))
                elif name == "read":
                    self.attempt(cache.read, some(0, small), self.pick([None, (0, 1), slice(0, 3), slice(-9, 99), (0, 2**62), 3]))
                else:
                    count = {"truncate": 2, "share_prefix": 3}.get(name, 1)
                    self.attempt(getattr(cache, name), *[some(self.pick([0, 0, 1]), small) for _ in range(count)])


if __name__ == "__main__":
    unittest.main()
