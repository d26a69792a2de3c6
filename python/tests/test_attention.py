"""The operator from Python: golden numbers, types, strides, ranks, every option."""

import unittest

import golden
import headlight
import numpy as np


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class Golden(unittest.TestCase):
    """The cases of tests/golden/attention, as the C++ tests ask them."""

    def close(self, got, wanted, name, scale=1.0):
        np.testing.assert_allclose(got, wanted, rtol=2e-5 * scale, atol=2e-5 * scale, err_msg=name)

    def test_every_case(self):
        count = 0
        for name, t, options in golden.attention_cases():
            # Scores of several hundred lose digits of float32 before the softmax.
            scale = 100.0 if name == "large_scores" else 1.0
            for call in (headlight.attention, headlight.reference.attention):
                with self.subTest(case=name, call=call):
                    result = call(t["q"], t["k"], t["v"], return_lse=True, return_weights=True, **options)
                    self.close(result.out, t["out"], name, scale)
                    self.close(result.lse, t["lse"], name, scale)
                    self.close(result.weights, t["probs"], name, scale)
            count += 1
        self.assertEqual(count, 18)

    def test_every_gradient(self):
        for name, t, options in golden.attention_cases():
            scale = 1000.0 if name == "large_scores" else 5.0
            for module in (headlight, headlight.reference):
                with self.subTest(case=name, module=module.__name__):
                    out, lse = module.attention(t["q"], t["k"], t["v"], return_lse=True, **options)
                    grads = module.attention_backward(
                        t["q"], t["k"], t["v"], out, lse, t["dout"], return_dbias="dbias" in t,
                        return_dsinks="dsinks" in t, **options)
                    for key in ("dq", "dk", "dv", "dbias", "dsinks"):
                        if key in t:
                            self.close(getattr(grads, key), t[key], f"{name} {key}", scale)

    def test_a_wrong_option_is_noticed(self):
        name, t, options = next(case for case in golden.attention_cases() if case[0] == "causal")
        out = headlight.attention(t["q"], t["k"], t["v"], **{**options, "causal": False})
        self.assertGreater(abs(out - t["out"]).max(), 0.01)


class Types(unittest.TestCase):
    def test_dtypes_come_back(self):
        for dtype, limit in ((np.float32, 1e-5), (np.float64, 1e-12), (np.float16, 2e-3)):
            x = random(1, 2, 5, 8).astype(dtype)
            out, lse = headlight.attention(x, x, x, return_lse=True)
            self.assertEqual(out.dtype, dtype)
            self.assertEqual(lse.dtype, np.float64 if dtype is np.float64 else np.float32)
            exact = headlight.attention(*[x.astype(np.float64)] * 3)
            self.assertLess(abs(out - exact).max(), limit)

    def test_bfloat16_of_ml_dtypes(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x = random(1, 2, 5, 8).astype(ml_dtypes.bfloat16)
        out = headlight.attention(x, x, x)
        self.assertEqual(out.dtype, x.dtype)
        self.assertLess(abs(out.astype(np.float32) - headlight.attention(*[x.astype(np.float32)] * 3)).max(), 0.02)

    def test_other_byte_order_and_odd_addresses(self):
        x = random(1, 2, 5, 8)
        wanted = headlight.attention(x, x, x)
        np.testing.assert_array_equal(headlight.attention(*[x.astype(">f4")] * 3), wanted)
        odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
        self.assertFalse(odd.flags.aligned)
        np.testing.assert_array_equal(headlight.attention(odd, odd, odd), wanted)

    def test_strides_are_read_in_place(self):
        tokens_first = random(2, 7, 3, 8)  # [batch, token, head, dim]
        x = tokens_first.swapaxes(1, 2)
        np.testing.assert_array_equal(headlight.attention(x, x, x), headlight.attention(*[x.copy()] * 3))
        # A last axis that is not contiguous, and axes that run backwards.
        columns = np.asfortranarray(random(1, 2, 7, 8))
        np.testing.assert_array_equal(headlight.attention(*[columns] * 3), headlight.attention(*[columns.copy("C")] * 3))
        backwards = random(1, 2, 7, 8)[:, ::-1, ::-1]
        np.testing.assert_array_equal(
            headlight.attention(*[backwards] * 3), headlight.attention(*[backwards.copy()] * 3))
        repeated = np.broadcast_to(random(1, 1, 7, 8), (1, 4, 7, 8))
        self.assertEqual(headlight.attention(repeated, repeated, repeated).shape, (1, 4, 7, 8))

    def test_strides_do_not_copy(self):
        import resource

        # Every other token of 128 MB: a copy would show in the largest size that the process had.
        big = np.zeros((1, 1, 1 << 20, 32), np.float32)
        every_other = big[:, :, ::2]
        query = random(1, 1, 1, 32)
        headlight.attention(query, every_other, every_other)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            headlight.attention(query, every_other, every_other)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 16_000)

    def test_read_only_arrays(self):
        x = random(1, 2, 5, 8)
        x.flags.writeable = False
        self.assertEqual(headlight.attention(x, x, x).shape, x.shape)

    def test_ranks(self):
        x = random(1, 1, 5, 8)
        whole = headlight.attention(x, x, x, return_lse=True, return_weights=True, return_entropy=True, topk=2)
        for axes in (1, 2):
            y = x.reshape(x.shape[axes:])
            part = headlight.attention(y, y, y, return_lse=True, return_weights=True, return_entropy=True, topk=2)
            for a, b in zip(whole, part):
                self.assertEqual(a.shape[axes:], b.shape)
                np.testing.assert_array_equal(a.reshape(b.shape), b)
            grads = headlight.attention_backward(y, y, y, part.out, part.lse, y)
            self.assertEqual(grads.dq.shape, y.shape)


class FakeTensor:
    """An array of a library that takes nothing back."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class Dlpack(unittest.TestCase):
    def test_reads_dlpack(self):
        x = random(1, 2, 5, 8)
        got = headlight.attention(FakeTensor(x), FakeTensor(x), FakeTensor(x))
        np.testing.assert_array_equal(got, headlight.attention(x, x, x))
        strided = x.swapaxes(2, 3)
        got = headlight.attention(*[FakeTensor(strided)] * 3)
        np.testing.assert_array_equal(got, headlight.attention(*[strided.copy()] * 3))

    def test_gives_dlpack(self):
        x = FakeTensor(random(1, 2, 5, 8))
        result = headlight.attention(x, x, x, return_lse=True, topk=3)
        self.assertEqual([part.shape for part in result], [(1, 2, 5, 8), (1, 2, 5), (1, 2, 5, 3), (1, 2, 5, 3)])

    def test_memory_goes_back(self):
        import weakref

        x = random(1, 2, 5, 8)

        class Watched(np.ndarray):
            pass

        watched = x.view(Watched)
        gone = weakref.ref(watched)
        headlight.attention(FakeTensor(watched), FakeTensor(x), FakeTensor(x))
        del watched
        self.assertIsNone(gone())


class Options(unittest.TestCase):
    def test_windows(self):
        x = np.broadcast_to(np.float32(0), (5, 4))
        ones = np.eye(5, 4, dtype=np.float32)

        def seen(**options):
            return (headlight.attention(x, x, ones, return_weights=True, **options).weights > 0).astype(int)

        np.testing.assert_array_equal(seen(causal=True), np.tri(5))
        np.testing.assert_array_equal(seen(window=2), np.tri(5) - np.tri(5, k=-2))
        np.testing.assert_array_equal(seen(window=(1, 1)), np.tri(5, k=1) - np.tri(5, k=-2))
        np.testing.assert_array_equal(seen(window=(1, None)), 1 - np.tri(5, k=-2))
        np.testing.assert_array_equal(seen(prefix=3), np.maximum(np.tri(5), np.arange(5) < 3))
        np.testing.assert_array_equal(seen(prefix=3, causal=True), seen(prefix=3))
        np.testing.assert_array_equal(seen(causal=True, offset=-1), np.tri(5, k=-1))
        np.testing.assert_array_equal(seen(chunk=2)[2:4, 2:4], np.tri(2))
        self.assertEqual(seen(chunk=2)[3, :2].sum(), 0)

    def test_alibi_true_is_the_usual_slopes(self):
        x = random(1, 4, 6, 8)
        slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
        np.testing.assert_array_equal(
            headlight.attention(x, x, x, alibi=True), headlight.attention(x, x, x, alibi=slopes))

    def test_dropout_needs_a_seed_and_repeats(self):
        x = random(1, 2, 16, 8)
        with self.assertRaises(headlight.Error) as raised:
            headlight.attention(x, x, x, dropout=0.5)
        self.assertIn("seed", str(raised.exception))
        a = headlight.attention(x, x, x, dropout=0.5, seed=7)
        np.testing.assert_array_equal(a, headlight.attention(x, x, x, dropout=0.5, seed=7, threads=1))
        self.assertGreater(abs(a - headlight.attention(x, x, x, dropout=0.5, seed=8)).max(), 0)

    def test_packed_sequences(self):
        x = random(1, 2, 9, 8)
        starts = [0, 4, 9]
        result = headlight.attention(
            x, x, x, causal=True, q_starts=starts, k_starts=starts, return_weights=True, return_lse=True)
        self.assertEqual(result.weights.shape, (2, 2, 5, 5))
        alone = headlight.attention(*[x[:, :, 4:]] * 3, causal=True, return_weights=True)
        np.testing.assert_array_equal(result.out[:, :, 4:], alone.out)
        part = headlight.attention_weights(
            x, x, result.lse, batch=1, head=1, queries=(2, 4), keys=slice(0, 3), causal=True, q_starts=starts,
            k_starts=starts)
        np.testing.assert_allclose(part, result.weights[1, 1, 2:4, :3], atol=1e-6)
        np.testing.assert_allclose(part, alone.weights[0, 1, 2:4, :3], atol=1e-6)

    def test_threads_change_no_bit(self):
        x = random(2, 4, 130, 32)
        one = headlight.attention(x, x, x, causal=True, threads=1)
        for threads in (2, 5):
            np.testing.assert_array_equal(headlight.attention(x, x, x, causal=True, threads=threads), one)

    def test_entropy_and_top_keys(self):
        x = random(1, 2, 6, 8)
        result = headlight.attention(x, x, x, return_weights=True, return_entropy=True, topk=2)
        w = result.weights.astype(np.float64)
        np.testing.assert_allclose(result.entropy, -(w * np.log(w)).sum(-1), atol=1e-5)
        np.testing.assert_array_equal(result.topk_index[..., 0], w.argmax(-1))
        self.assertIsNone(result.lse)
        self.assertEqual(len(result), 5)

    def test_a_result_survives_pickling(self):
        import pickle

        x = random(1, 2, 3, 4)
        result = headlight.attention(x, x, x, return_lse=True)
        again = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(again.lse, result.lse)
        self.assertIsNone(again.weights)


class Cache(unittest.TestCase):
    def test_token_by_token_has_the_bits_of_the_whole(self):
        q, k, v = random(3, 1, 2, 40, 16)
        cache = headlight.KvCache(kv_heads=2, dim=16)
        rows = []
        for i in range(40):
            cache.append(k[:, :, i : i + 1], v[:, :, i : i + 1])
            rows.append(cache.attention(q[:, :, i : i + 1]))
        np.testing.assert_array_equal(np.concatenate(rows, axis=2), headlight.attention(q, k, v, causal=True))

    def test_forks_and_rollback(self):
        q, k, v = random(3, 1, 2, 8, 16)
        cache = headlight.KvCache(kv_heads=2, dim=16)
        cache.append(k, v)
        other = cache.fork(0)
        self.assertEqual((cache.items, other), (2, 1))
        cache.truncate(other, 3)
        self.assertEqual((cache.length(0), cache.length(1)), (8, 3))
        cache.keep_items(1)
        keys, values = cache.read(0, slice(2, 5))
        np.testing.assert_array_equal(keys, k[0, :, 2:5])
        np.testing.assert_array_equal(values, v[0, :, 2:5])
        cache.reset()
        self.assertEqual(cache.length(), 0)

    def test_quantised(self):
        q, k, v = random(3, 1, 2, 64, 32)
        for dtype, limit in (("f16", 2e-3), ("bf16", 2e-2), ("int8", 3e-2)):
            cache = headlight.KvCache(kv_heads=2, dim=32, dtype=dtype)
            cache.append(k, v)
            out, lse = cache.attention(q, return_lse=True)
            self.assertLess(abs(out - headlight.attention(q, k, v, causal=True)).max(), limit)
        with self.assertRaises(headlight.Error):
            headlight.KvCache(kv_heads=2, dim=32, dtype="f8")


class Merge(unittest.TestCase):
    def test_two_halves(self):
        q, k, v = random(3, 2, 4, 20, 16)
        halves = [
            headlight.attention(q, k[:, :, part], v[:, :, part], return_lse=True) for part in (slice(8), slice(8, 20))]
        kept = [part.out.copy() for part in halves]
        out, lse = headlight.merge(*halves[0], *halves[1])
        whole = headlight.attention(q, k, v, return_lse=True)
        np.testing.assert_allclose(out, whole.out, atol=2e-6)
        np.testing.assert_allclose(lse, whole.lse, atol=2e-6)
        for part, before in zip(halves, kept):
            np.testing.assert_array_equal(part.out, before)


if __name__ == "__main__":
    unittest.main()
