"""Models of transformers with their own attention and with headlight's: outputs, weights of every layer, gradients."""

import importlib.util
import sys
import unittest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
    print("transformers and PyTorch 2 are not installed")
    sys.exit(77)

import headlight
import torch

if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
    print("transformers and PyTorch 2 are not installed")
    sys.exit(77)

import transformers

SIZES = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
IDS = torch.arange(26).reshape(2, 13) * 7 % 90 + 5
# Of the loss: a plain sum or a sum of squares is constant after a norm, and says nothing about the layers below.
WANTED = torch.randn(2, 13, 64, generator=torch.Generator().manual_seed(1))
PADDED = torch.ones(2, 13, dtype=torch.long)
PADDED[1, 9:] = 0


class Models(unittest.TestCase):
    def compare(self, kind, config, **options):
        torch.manual_seed(0)
        options["initializer_range"] = 0.2  # attention that is not nearly uniform, so that gradients of q and k count
        eager = kind(config(attn_implementation="eager", **options))
        model = kind(config(attn_implementation="sdpa", **options))
        model.load_state_dict(eager.state_dict())
        self.assertIs(headlight.torch.patch(model), model)
        for mask in (None, PADDED):
            wanted = eager(IDS, attention_mask=mask, output_attentions=True)
            out = model(IDS, attention_mask=mask).last_hidden_state
            real = torch.ones_like(PADDED).bool() if mask is None else mask.bool()
            self.assertLess(float((out - wanted.last_hidden_state)[real].detach().abs().max()), 1e-5)
            calls = headlight.torch.attentions(model)
            self.assertEqual(len(calls), len(wanted.attentions))
            for call, weights in zip(calls, wanted.attentions):
                difference = (call.weights() - weights.detach()).abs().amax(dim=(1, 3))[real]
                self.assertLess(float(difference.max()), 1e-5)
            grads = []
            for which, hidden in ((eager, wanted.last_hidden_state), (model, out)):
                which.zero_grad()
                (hidden * WANTED)[real].sum().backward()
                grads.append({name: p.grad for name, p in which.named_parameters() if p.grad is not None})
            self.assertEqual(grads[0].keys(), grads[1].keys())
            noise = 1e-6 * max(float(theirs.abs().max()) for theirs in grads[0].values())
            for name, theirs in grads[0].items():
                self.assertLess(float((grads[1][name] - theirs).abs().max()), 1e-3 * float(theirs.abs().max()) + noise, name)
        plain = headlight.torch.unpatch(model)(IDS).last_hidden_state
        self.assertLess(float((plain - eager(IDS).last_hidden_state).detach().abs().max()), 1e-5)

    def test_bert(self):
        self.compare(transformers.BertModel, transformers.BertConfig, **SIZES, **NO_DROPOUT)

    def test_gpt2(self):
        self.compare(transformers.GPT2Model, transformers.GPT2Config, n_embd=64, n_layer=3, n_head=4, vocab_size=100, resid_pdrop=0.0,
                     embd_pdrop=0.0, attn_pdrop=0.0)

    def test_llama_with_shared_keys(self):
        self.compare(transformers.LlamaModel, transformers.LlamaConfig, **SIZES, num_key_value_heads=2)

    def test_eager_models_are_told(self):
        model = headlight.torch.patch(transformers.BertModel(transformers.BertConfig(attn_implementation="eager", **SIZES)))
        model(IDS)
        with self.assertRaisesRegex(headlight.Error, 'attn_implementation="sdpa"'):
            headlight.torch.attentions(model)

    def test_generation_with_a_cache(self):
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_embd=64, n_layer=2, n_head=4, vocab_size=100, eos_token_id=None, bos_token_id=None, attn_implementation="sdpa")).eval()
        options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "attention_mask": torch.ones_like(IDS)}
        wanted = model.generate(IDS, **options)
        headlight.torch.patch(model)
        self.assertTrue(torch.equal(model.generate(IDS, **options), wanted))
        self.assertEqual([tuple(call.q.shape[2:3]) + tuple(call.k.shape[2:3]) for call in headlight.torch.attentions(model)], [(1, 18)] * 2)


class Nested(unittest.TestCase):
    def test_attentions_as_one_array(self):
        model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager", **SIZES)).eval()
        attentions = model(IDS[:1], output_attentions=True).attentions
        weights = headlight.compat.from_attentions(attentions)
        self.assertEqual(weights.shape, (3, 4, 13, 13))
        self.assertLess(abs(weights[2] - attentions[2][0].detach().numpy()).max(), 1e-7)


if __name__ == "__main__":
    unittest.main()
