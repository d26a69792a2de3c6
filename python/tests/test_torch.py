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


class Bert(torch.nn.Module):
    """A small BERT encoder: embeddings, norms after each branch, GELU. Attention as a function, so that it can be exchanged."""

    def __init__(self, layers=3, width=64, heads=4, vocabulary=100):
        super().__init__()
        self.heads = heads
        self.words = torch.nn.Embedding(vocabulary, width)
        self.places = torch.nn.Embedding(64, width)
        self.layers = torch.nn.ModuleList(torch.nn.ModuleDict({
            "qkv": torch.nn.Linear(width, 3 * width), "out": torch.nn.Linear(width, width), "norm1": torch.nn.LayerNorm(width),
            "up": torch.nn.Linear(width, 4 * width), "down": torch.nn.Linear(4 * width, width), "norm2": torch.nn.LayerNorm(width),
        }) for _ in range(layers))

    def forward(self, ids, mask=None):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in layer["qkv"](x).chunk(3, -1))
            z = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = layer["norm1"](x + layer["out"](z.transpose(1, 2).flatten(2)))
            x = layer["norm2"](x + layer["down"](torch.nn.functional.gelu(layer["up"](x))))
        return x


def plain_sdpa(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, kept=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    weights = torch.softmax(scores, -1)
    if kept is not None:
        kept.append(weights.detach())
    return weights @ v


class SmallBert(unittest.TestCase):
    """A whole model with PyTorch's attention and with headlight's: outputs, weights of every layer, gradients of every parameter."""

    def run_both(self, mask):
        torch.manual_seed(0)
        model = Bert().double()
        ids = torch.randint(100, (2, 17))
        functional, name, kept = torch.nn.functional, "scaled_dot_product_attention", []
        before = getattr(functional, name, None)
        setattr(functional, name, lambda *args, **options: plain_sdpa(*args, kept=kept, **options))
        try:
            wanted = model(ids, mask)
            grads = torch.autograd.grad(wanted.square().sum(), list(model.parameters()))
        finally:
            setattr(functional, name, before) if before else delattr(functional, name)
        with self.assertRaises(headlight.Error):
            headlight.torch.attentions(model)
        headlight.torch.patch(model)
        out = model(ids, mask)
        self.assertLess(float((out - wanted).abs().max()), 1e-10)
        for ours, theirs in zip(torch.autograd.grad(out.square().sum(), list(model.parameters())), grads):
            self.assertLess(float((ours - theirs).abs().max()), 1e-8)
        calls = headlight.torch.attentions(model)
        self.assertEqual(len(calls), 3)
        for call, weights in zip(calls, kept):
            self.assertIsInstance(call.weights(), torch.Tensor)
            self.assertLess(float((call.weights() - weights).abs().max()), 1e-12)

    def test_without_a_mask(self):
        self.run_both(None)

    def test_with_padding(self):
        mask = torch.ones(2, 1, 1, 17, dtype=torch.bool)
        mask[1, :, :, 11:] = False
        self.run_both(mask)

    def test_an_exception_leaves_nothing_behind(self):
        class Fails(torch.nn.Module):
            def forward(self, x):
                torch.nn.functional.scaled_dot_product_attention(x, x, x)
                raise ZeroDivisionError

        before = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
        model = headlight.torch.patch(Fails())
        with self.assertRaises(ZeroDivisionError):
            model(torch.randn(1, 1, 2, 4))
        self.assertIs(getattr(torch.nn.functional, "scaled_dot_product_attention", None), before)
        self.assertIsNone(headlight.torch._kept)


if __name__ == "__main__":
    unittest.main()
