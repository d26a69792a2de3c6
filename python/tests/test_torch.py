"""PyTorch's tensors, where PyTorch is installed."""

import importlib.util
import sys
import unittest


if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)

import headlight
import torch


class Tensors(unittest.TestCase):
    def test_results_are_tensors(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            x = torch.randn(1, 2, 5, 8).to(dtype)
            out, lse = headlight.attention(x, x, x, causal=True, return_lse=True)
            self.assertIsInstance(out, torch.Tensor)
            self.assertEqual((out.dtype, out.shape), (dtype, x.shape))
            exact = headlight.attention(*[x.double()] * 3, causal=True)
            self.assertLess(float((out.double() - exact).abs().max()), 1e-5 if dtype in (torch.float32, torch.float64) else 0.02)

    def test_strides(self):
        x = torch.randn(1, 5, 2, 8).transpose(1, 2)
        self.assertTrue(torch.equal(headlight.attention(x, x, x), headlight.attention(*[x.contiguous()] * 3)))

    def test_sdpa(self):
        q, k, v = torch.randn(3, 2, 4, 6, 8)
        weights = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)
        self.assertLess(float((headlight.compat.torch_sdpa(q, k, v) - weights @ v).abs().max()), 1e-5)
        causal = torch.ones(6, 6).tril().log()
        weights = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + causal, -1)
        self.assertLess(float((headlight.compat.torch_sdpa(q, k, v, is_causal=True) - weights @ v).abs().max()), 1e-5)
        by_bias = headlight.compat.torch_sdpa(q, k, v, causal)
        self.assertLess(float((by_bias - weights @ v).abs().max()), 1e-5)


class Gradients(unittest.TestCase):
    def test_gradcheck(self):
        q, k, v = (torch.randn(1, 2, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
        bias = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
        sinks = torch.randn(2, dtype=torch.float64, requires_grad=True)

        def call(q, k, v, bias, sinks):
            return headlight.torch.attention(q, k, v, bias=bias, sinks=sinks, window=3, softcap=5.0)

        self.assertTrue(torch.autograd.gradcheck(call, (q, k, v, bias, sinks), nondet_tol=0.0))
        self.assertTrue(torch.autograd.gradcheck(
            lambda q, k, v: headlight.torch.attention(q, k, v, dropout=0.3, seed=3), (q, k, v)))

    def test_a_layer_with_and_without(self):
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3))

        def grads(out):
            return torch.autograd.grad(out.square().sum(), (q, k, v))

        ours = grads(headlight.torch.sdpa(q, k, v))
        theirs = grads(torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v)
        for a, b in zip(ours, theirs):
            self.assertLess(float((a - b).abs().max()), 1e-4)

    def test_patch(self):
        class Layer(torch.nn.Module):
            def forward(self, x):
                return torch.nn.functional.scaled_dot_product_attention(x, x, x)

        before = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
        x = torch.randn(1, 2, 5, 8)
        out = headlight.torch.patch(Layer())(x)
        self.assertTrue(torch.equal(out, headlight.attention(x, x, x)))
        self.assertIs(getattr(torch.nn.functional, "scaled_dot_product_attention", None), before)


if __name__ == "__main__":
    unittest.main()
