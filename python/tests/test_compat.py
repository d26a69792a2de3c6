"""The calls of other libraries, on NumPy arrays."""

import unittest

import headlight
import numpy as np
from headlight import compat


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def plain(q, k, v, mask=None, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


class Calls(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = np.random.default_rng(1).normal(size=(3, 2, 4, 6, 8))

    def test_torch_sdpa(self):
        q, k, v = self.q, self.k, self.v
        np.testing.assert_allclose(compat.torch_sdpa(q, k, v), plain(q, k, v), atol=1e-12)
        np.testing.assert_allclose(compat.torch_sdpa(q, k, v, scale=0.3), plain(q, k, v, scale=0.3), atol=1e-12)
        # PyTorch aligns causal rows to the first key, also when there are fewer queries than keys.
        few = q[:, :, :3]
        np.testing.assert_allclose(
            compat.torch_sdpa(few, k, v, is_causal=True), plain(few, k, v, np.tri(3, 6, dtype=bool)), atol=1e-12)
        allowed = np.random.default_rng(2).random((6, 6)) < 0.6
        allowed[:, 0] = True
        np.testing.assert_allclose(compat.torch_sdpa(q, k, v, allowed), plain(q, k, v, allowed), atol=1e-12)
        added = np.where(allowed, 0.0, -np.inf)
        np.testing.assert_allclose(compat.torch_sdpa(q, k, v, added), plain(q, k, v, allowed), atol=1e-12)
        with self.assertRaises(headlight.Error):
            compat.torch_sdpa(q, k, v, allowed, is_causal=True)
        with self.assertRaises(headlight.Error):
            compat.torch_sdpa(q, k[:, :2], v[:, :2])
        grouped = compat.torch_sdpa(q, k[:, :2], v[:, :2], enable_gqa=True)
        np.testing.assert_allclose(grouped, plain(q, k[:, :2].repeat(2, 1), v[:, :2].repeat(2, 1)), atol=1e-12)

    def test_flash_attn_func(self):
        q, k, v = (x.swapaxes(1, 2) for x in (self.q, self.k, self.v))
        few = q[:, :3]
        got = compat.flash_attn_func(few, k, v, causal=True)
        wanted = plain(self.q[:, :, :3], self.k, self.v, np.tri(3, 6, k=3, dtype=bool)).swapaxes(1, 2)
        np.testing.assert_allclose(got, wanted, atol=1e-12)
        near = np.tri(6, k=2, dtype=bool) & ~np.tri(6, k=-2, dtype=bool)
        out, lse, weights = compat.flash_attn_func(q, k, v, window_size=(1, 2), return_attn_probs=True)
        np.testing.assert_allclose(out, plain(self.q, self.k, self.v, near).swapaxes(1, 2), atol=1e-12)
        np.testing.assert_array_equal(weights[0, 0] > 0, near)

    def test_bertviz(self):
        run = headlight.load("en-fr").attend("The cat sat.", target="Le chat.")
        for part in ("encoder", "decoder", "cross"):
            attention, tokens = compat.bertviz(run, part)
            self.assertEqual(len(attention), len(run.model.info.parts[part]))
            np.testing.assert_array_equal(attention[1][0, 2], run.weights[part, 1, 2])
            self.assertEqual(attention[0].shape[3], len(tokens))
        again = compat.from_attentions(compat.bertviz(run).attention)
        np.testing.assert_array_equal(again, np.asarray(run.weights))
        with self.assertRaises(headlight.Error):
            compat.from_attentions([np.zeros((2, 3, 4, 4))])


if __name__ == "__main__":
    unittest.main()
