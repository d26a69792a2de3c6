"""PyTorch's tensors, where PyTorch is installed."""

import copy
import gc
import importlib.util
import pickle
import sys
import threading
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
            # A sum of squares would be constant after the last norm, with no gradients below it.
            loss = torch.randn_like(wanted)
            grads = torch.autograd.grad((wanted * loss).sum(), list(model.parameters()))
        finally:
            setattr(functional, name, before) if before else delattr(functional, name)
        with self.assertRaises(headlight.Error):
            headlight.torch.attentions(model)
        headlight.torch.patch(model)
        out = model(ids, mask)
        self.assertLess(float((out - wanted).detach().abs().max()), 1e-10)
        for ours, theirs in zip(torch.autograd.grad((out * loss).sum(), list(model.parameters())), grads):
            self.assertLess(float((ours - theirs).abs().max()), 1e-8)
        self.assertGreater(max(float(grad.abs().max()) for grad in grads[:3]), 0.1)  # of the embeddings and the first q, k and v
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


NAME = "scaled_dot_product_attention"


def current():
    return getattr(torch.nn.functional, NAME, None)


class Layer(torch.nn.Module):
    """One attention; `before` is called inside the run."""

    def __init__(self, before=None):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(()))
        self.before = before

    def forward(self, x):
        if self.before:
            self.before()
        return torch.nn.functional.scaled_dot_product_attention(x, x, x) * self.factor


class Patch(unittest.TestCase):
    def setUp(self):
        # A function that is not headlight's stands in where PyTorch has none: its results are marked.
        self.before = current()
        self.theirs = lambda q, k, v, **options: torch.full_like(q, 7.0)
        setattr(torch.nn.functional, NAME, self.theirs)
        self.x = torch.randn(1, 2, 5, 8)
        self.ours = headlight.attention(self.x, self.x, self.x)

    def tearDown(self):
        gc.collect()
        self.assertIs(current(), self.theirs)  # nothing is left behind
        if self.before is None:
            delattr(torch.nn.functional, NAME)
        else:
            setattr(torch.nn.functional, NAME, self.before)

    def test_one_model_and_no_other(self):
        model, other = headlight.torch.patch(Layer()), Layer()
        self.assertTrue(torch.equal(model(self.x), self.ours))
        self.assertTrue((other(self.x) == 7).all())
        self.assertTrue((torch.nn.functional.scaled_dot_product_attention(self.x, self.x, self.x) == 7).all())
        self.assertEqual((type(model).__name__, isinstance(model, Layer)), ("Layer", True))

    def test_undo(self):
        model = Layer()
        self.assertIs(headlight.torch.patch(headlight.torch.patch(model)), model)  # twice is once
        self.assertTrue(torch.equal(model(self.x), self.ours))
        self.assertIs(headlight.torch.unpatch(model), model)
        self.assertIs(type(model), Layer)
        self.assertTrue((model(self.x) == 7).all())
        self.assertIs(current(), self.theirs)
        headlight.torch.unpatch(model)
        with self.assertRaisesRegex(headlight.Error, "run it first"):
            headlight.torch.attentions(model)
        headlight.torch.patch(model)
        self.assertTrue(torch.equal(model(self.x), self.ours))

    def test_copies_are_of_the_model_itself(self):
        model = headlight.torch.patch(Layer())
        for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.assertIs(type(copied), Layer)
            copied.factor.data.fill_(2.0)
            self.assertTrue((copied(self.x) == 14).all())
        self.assertTrue(torch.equal(model(self.x), self.ours))

    def test_threads(self):
        # Two runs of one model and one of another model, all inside their forward functions at the same time.
        meet = threading.Barrier(3, timeout=30)
        model, other = headlight.torch.patch(Layer(meet.wait)), Layer(meet.wait)
        results, calls = {}, {}

        def run(name, which, x):
            for _ in range(20):
                results[name] = which(x)
            meet.wait()  # all have run: each still finds its own calls
            if which is model:
                calls[name] = headlight.torch.attentions(model)

        inputs = {"a": self.x, "b": torch.randn(1, 2, 3, 8), "c": self.x}
        threads = [threading.Thread(target=run, args=(name, other if name == "c" else model, x)) for name, x in inputs.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(torch.equal(results["a"], self.ours))
        self.assertTrue(torch.equal(results["b"], headlight.attention(*[inputs["b"]] * 3)))
        self.assertTrue((results["c"] == 7).all())
        for name in "ab":
            self.assertEqual([call.q.shape for call in calls[name]], [inputs[name].shape])
        self.assertEqual(len(headlight.torch.attentions(model)), 1)  # of a run on some thread: this one had none

    def test_models_in_models(self):
        class Two(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = headlight.torch.patch(Layer())

            def forward(self, x):
                return self.inner(x) + torch.nn.functional.scaled_dot_product_attention(x, x, x)

        plain = Two()
        self.assertTrue(torch.equal(plain(self.x), self.ours + 7))
        outer = headlight.torch.patch(Two())
        self.assertTrue(torch.equal(outer(self.x), self.ours + self.ours))
        self.assertEqual((len(headlight.torch.attentions(outer)), len(headlight.torch.attentions(outer.inner))), (2, 1))

    def test_an_exception_leaves_nothing_behind(self):
        def fail():
            raise ZeroDivisionError

        model = headlight.torch.patch(Layer())
        model(self.x)
        model.before = fail
        with self.assertRaises(ZeroDivisionError):
            model(self.x)
        self.assertEqual(len(headlight.torch.attentions(model)), 1)  # of the run before
        self.assertTrue((Layer()(self.x) == 7).all())

    def test_a_replacement_by_others_stays(self):
        model = headlight.torch.patch(Layer())
        others = lambda q, k, v: q
        setattr(torch.nn.functional, NAME, others)
        headlight.torch.unpatch(model)
        self.assertIs(current(), others)
        setattr(torch.nn.functional, NAME, self.theirs)

    def test_with_block(self):
        with headlight.torch.patched() as calls:
            self.assertTrue(torch.equal(Layer()(self.x), self.ours))
        self.assertEqual(len(calls), 1)

    def test_refusals(self):
        with self.assertRaisesRegex(headlight.Error, "torch.nn.Module; this is a int"):
            headlight.torch.patch(3)
        model = headlight.torch.patch(torch.nn.Linear(8, 8))
        model(self.x)
        with self.assertRaisesRegex(headlight.Error, "did not call"):
            headlight.torch.attentions(model)


class OwnLayers(unittest.TestCase):
    """nn.TransformerEncoder with PyTorch's attention and with headlight's, where it calls the function (PyTorch 2)."""

    @unittest.skipIf(current() is None, "PyTorch 1 has no scaled_dot_product_attention")
    def test_encoder(self):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(32, 4, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
        x = torch.randn(2, 9, 32)
        with torch.no_grad():
            wanted = model(x)
            out = headlight.torch.patch(model)(x)
        self.assertLess(float((out - wanted).detach().abs().max()), 1e-5)
        self.assertEqual([list(call.weights().shape) for call in headlight.torch.attentions(model)], [[2, 4, 9, 9]] * 2)


if __name__ == "__main__":
    unittest.main()
