"""Models from Python: golden logits and weights, questions, changes, hooks, pictures."""

import gc
import pathlib
import tempfile
import threading
import unittest
import xml.etree.ElementTree

import golden
import headlight
import numpy as np

TEXT = "The animal didn't cross the street because it was too tired."


class Golden(unittest.TestCase):
    def check_run(self, run, tensors, sequence, names, length):
        for part, prefix in names.items():
            heads = run.model.info.parts[part]
            for layer in range(len(heads)):
                wanted = tensors[f"{prefix}.{layer}"][sequence][:, :length[0], :length[1]]
                got = run.weights[part, layer]
                np.testing.assert_allclose(got, wanted, atol=2e-5)

    def test_decoders(self):
        for name in ("gpt2", "llama", "gemma2", "qwen3", "bloom", "gpt_oss"):
            with self.subTest(name):
                folder = golden.GOLDEN / name
                t = golden.read_safetensors(folder / "golden.safetensors")
                model = headlight.load(folder)
                for sequence, ids in enumerate(t["input_ids"]):
                    mask = t["attention_mask"][sequence].astype(bool)
                    if not mask.all():
                        continue
                    run = model.attend(ids.tolist())
                    np.testing.assert_allclose(run.logits, t["logits"][sequence], rtol=1e-4, atol=2e-4)
                    self.check_run(run, t, sequence, {"decoder": "attentions"}, (len(ids), len(ids)))
                    np.testing.assert_allclose(run.logits_at(-1), run.logits[-1], rtol=1e-5, atol=1e-5)

    def test_greedy_text(self):
        for name in ("gpt2", "llama"):
            folder = golden.GOLDEN / name
            t = golden.read_safetensors(folder / "golden.safetensors")
            prompt, whole = t["greedy.prompt_ids"][0].tolist(), t["greedy.output_ids"][0].tolist()
            made = headlight.load(folder).generate(prompt, max_tokens=len(whole) - len(prompt), stop_at_end=False)
            self.assertEqual(prompt + made.ids, whole)

    def test_encoder_decoder(self):
        folder = golden.GOLDEN / "marian"
        t = golden.read_safetensors(folder / "golden.safetensors")
        model = headlight.load(folder)
        for sequence, ids in enumerate(t["input_ids"]):
            if not t["attention_mask"][sequence].all() or not t["decoder_attention_mask"][sequence].all():
                continue
            run = model.attend(ids.tolist(), target=t["decoder_input_ids"][sequence].tolist())
            np.testing.assert_allclose(run.logits, t["logits"][sequence], rtol=1e-4, atol=2e-4)
            for part, prefix in (("encoder", "encoder_attentions"), ("decoder", "decoder_attentions"),
                                 ("cross", "cross_attentions")):
                np.testing.assert_allclose(run.weights[part, 0], t[f"{prefix}.0"][sequence], atol=2e-5)


class Looking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = headlight.load("en")
        cls.run_ = cls.model.attend(TEXT)
        cls.translator = headlight.load("en-fr")

    def test_model(self):
        info = self.model.info
        self.assertEqual(info.kind, "decoder")
        self.assertEqual(self.model.decode(self.model.encode(TEXT)), TEXT)
        self.assertEqual(self.model.tokenize(TEXT).ids, self.run_.tokens.ids)
        for token in self.model.tokenize("Ein Mädchen läuft.").tokens:
            self.assertLessEqual(token.end, len("Ein Mädchen läuft."))

    def test_weights(self):
        run = self.run_
        n = len(run.tokens)
        layers, heads = len(self.model.info.parts["decoder"]), self.model.info.parts["decoder"][0]
        one = run.weights[1, 2]
        self.assertEqual(one.shape, (n, n))
        np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(np.triu(one, 1), 0)
        self.assertEqual(run.weights.shape, (layers, heads, n, n))
        everything = np.asarray(run.weights)
        self.assertEqual(everything.shape, (layers, heads, n, n))
        np.testing.assert_array_equal(everything[1, 2], one)
        np.testing.assert_array_equal(run.weights[-1, -1], everything[-1, -1])
        np.testing.assert_array_equal(run.weights[1], everything[1])
        np.testing.assert_array_equal(run.weights[:2, 0], everything[:2, 0])
        np.testing.assert_array_equal(run.weights[1, 2, 3], one[3])
        np.testing.assert_array_equal(run.weights[1, 2, -2:, :4], one[-2:, :4])
        np.testing.assert_array_equal(run.weights["decoder", 1, 2], one)
        self.assertEqual(run.weights[1, 2, 3:3].shape, (0, n))
        for wrong in ((99, 0), (0, 99), (-99, 0), ("cross", 0, 0), ("nothing", 0, 0)):
            with self.assertRaises((headlight.Error, IndexError), msg=str(wrong)):
                run.weights[wrong]

    def test_statistics_are_those_of_the_weights(self):
        w = self.run_.weights[1, 2].astype(np.float64)
        s = self.run_.statistics(1, 2)
        np.testing.assert_allclose(s.received, w.sum(axis=0), atol=1e-5)
        np.testing.assert_array_equal(s.largest_key, w.argmax(axis=1))
        np.testing.assert_allclose(s.largest_weight, w.max(axis=1), atol=1e-6)
        scores = self.run_.scores(1, 2)
        row = np.exp(scores[-1] - scores[-1].max())
        np.testing.assert_allclose(row / row.sum(), w[-1], atol=1e-5)

    def test_explain(self):
        steps = self.run_.explain("it", "animal", layer=1, head=2)
        query, key = steps.query.token, steps.key.token
        self.assertAlmostEqual(steps.weight, self.run_.weights[1, 2][query, key], places=6)
        self.assertLess(steps.kernel_gap, 1e-5)
        self.assertLess(steps.reference_gap, 1e-5)
        self.assertAlmostEqual(steps.dots[key] * steps.scale, steps.scaled[key], places=9)
        chosen = self.run_.explain("it")
        self.assertGreater(chosen.weight, 0)
        with self.assertRaises(headlight.Error) as raised:
            self.run_.explain("elephant")
        self.assertIn("elephant", str(raised.exception))

    def test_first_look_and_links(self):
        run = self.translator.attend(TEXT)
        look = run.first_look(query="it")
        self.assertEqual(look.query_text, "it")
        weights = run.weights[look.head.layer, look.head.head]
        (a, b), (c, d) = look.query, look.key
        self.assertAlmostEqual(look.weight, weights[a:b, c:d].sum(axis=1).mean(), places=5)
        links = run.links("it->animal")
        self.assertEqual([link.weight for link in links], sorted((link.weight for link in links), reverse=True))
        self.assertEqual(set(run.parts), {"encoder", "decoder", "cross"})
        self.assertGreater(len(run.target), 3)

    def test_prediction(self):
        prediction = self.run_.prediction(-2)
        logits = self.run_.logits_at(-2).astype(np.float64)
        best = int(logits.argmax())
        self.assertEqual(prediction.top[0].id, best)
        p = np.exp(logits - logits.max())
        self.assertAlmostEqual(prediction.top[0].probability, p[best] / p.sum(), places=5)
        self.assertEqual(prediction.actual.id, self.run_.tokens.ids[-1])

    def test_label_heads(self):
        told = []
        heads = self.model.label_heads([TEXT], progress=lambda what, done, total: told.append(what))
        self.assertEqual(len(heads), sum(self.model.info.parts["decoder"]))
        self.assertTrue(told)
        for head in heads:
            self.assertTrue(head.label)

    def test_changes(self):
        effect = self.run_.ablate([(0, 0)], top=3)
        self.assertEqual(len(effect.kl), len(self.run_.tokens))
        self.assertGreater(effect.mean_kl, 0)
        nothing = self.run_.ablate([(0, 0)], change="scale", factor=1.0)
        self.assertAlmostEqual(nothing.mean_kl, 0, places=9)
        cut = self.run_.ablate(change="cut-mask", links=[("it", "animal")])
        self.assertGreater(cut.mean_kl, 0)
        swept = self.run_.sweep()
        self.assertEqual(len(swept.heads), sum(self.model.info.parts["decoder"]))
        one = next(head for head in swept.heads if (head.head.layer, head.head.head) == (0, 0))
        self.assertAlmostEqual(one.mean_kl, effect.mean_kl, places=9)
        with self.assertRaises(headlight.Error):
            self.run_.ablate(change="explode")
        parts = self.run_.attribute()
        total = sum(parts.heads.values()) + parts.embedding + parts.feed_forward + parts.biases
        self.assertAlmostEqual(total, parts.logit, places=3)

    def test_compare(self):
        found = self.model.compare("The cat sat here.", "The dog sat here.")
        distances = [head.distance for head in found.heads]
        self.assertEqual(distances, sorted(distances, reverse=True))
        same = self.run_.compare(self.run_)
        self.assertEqual(same.heads[0].distance, 0)

    def test_writing(self):
        whole = self.model.generate("Once upon a time", max_tokens=12)
        streamed = list(self.model.generate("Once upon a time", max_tokens=12, stream=True))
        self.assertEqual("".join(token.text for token in streamed), whole.text)
        self.assertEqual([token.id for token in streamed if token.id >= 0], whole.ids)
        many = self.model.generate(["Once upon a time", "The cat"], max_tokens=5)
        self.assertEqual(many[0].ids, whole.ids[:5])
        stopped = self.model.generate("Once upon a time", max_tokens=40, stop=["the", "."])
        self.assertNotIn("the", stopped.text)
        drawn = [self.model.generate("A", max_tokens=8, temperature=1.0, seed=seed).ids for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertEqual(self.translator.translate(["The cat is tired.", ""])[1].text, "")
        loss = self.model.evaluate("Once upon a time there was a little girl.")
        self.assertAlmostEqual(loss.perplexity, np.exp(loss.nats_per_token), places=6)
        with self.assertRaises(headlight.Error):
            self.model.translate("The cat.")
        with self.assertRaises(headlight.Error):
            self.translator.generate("The cat.")
        with self.assertRaises(headlight.Error):
            self.model.generate("A", temperature=-1)

    def test_an_abandoned_stream_ends_its_thread(self):
        stream = self.model.generate("Once upon a time", max_tokens=200, stream=True)
        next(stream)
        stream.close()
        self.assertEqual([t for t in threading.enumerate() if t.name == "headlight-stream"], [])

    def test_pictures(self):
        figure = self.run_.figure(layer=0, heads=[(0, 1)], palette="magma")
        xml.etree.ElementTree.fromstring(figure.svg)
        self.assertEqual(figure._repr_png_()[:8], b"\x89PNG\r\n\x1a\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "weights.pdf")
            figure.save(path)
            self.assertEqual(path.read_bytes()[:5], b"%PDF-")
        for wrong in ({"palette": "pink"}, {"nothing": 1}, {"layer": 99}, {"query": "elephant"}):
            with self.assertRaises(headlight.Error, msg=str(wrong)):
                self.run_.figure(**wrong).svg
        page = self.run_.show(height=500)
        self.assertIn("<!doctype html", page.html[:200].lower())
        html = self.run_._repr_html_()
        self.assertTrue(html.startswith('<iframe sandbox="allow-scripts"'))
        self.assertNotIn("<script", html)  # all of the page is inside srcdoc, escaped


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = headlight.load("en")
        cls.plain = cls.model.attend("The cat sat on the mat.")

    def test_observer_sees_every_layer(self):
        seen, streams = [], []

        def observe(event):
            if event.kind == "attention":
                seen.append((event.layer, event.weights(1), event.q.shape))
            elif event.kind == "residual":
                streams.append(event.x)

        run = self.model.attend("The cat sat on the mat.", observe=observe)
        layers = len(self.model.info.parts["decoder"])
        self.assertEqual([layer for layer, _, _ in seen], list(range(layers)))
        self.assertEqual(len(streams), layers + 1)
        for layer, weights, shape in seen:
            np.testing.assert_array_equal(weights, run.weights[layer, 1])
        again = []
        run.replay(lambda event: again.append(event.weights()))
        np.testing.assert_array_equal(again[2], run.weights[2])
        np.testing.assert_array_equal(run.logits, self.plain.logits)

    def test_intervention_is_the_ablation(self):
        def mute(event, z):
            if event.layer == 1:
                z[:, 2] = 0

        changed = self.model.attend("The cat sat on the mat.", intervene=mute)
        self.assertGreater(abs(changed.logits - self.plain.logits).max(), 1e-3)
        effect = self.plain.ablate([(1, 2)])
        a, b = (x.astype(np.float64) for x in (self.plain.logits, changed.logits))
        p, q = (x - x.max(1, keepdims=True) for x in (a, b))
        p, q = (x - np.log(np.exp(x).sum(1, keepdims=True)) for x in (p, q))
        np.testing.assert_allclose((np.exp(p) * (p - q)).sum(1), effect.kl, atol=1e-5)
        same = self.model.attend("The cat sat on the mat.", intervene=lambda event, z: z * 1)
        np.testing.assert_array_equal(same.logits, self.plain.logits)

    def test_residual_patching(self):
        clean = {}
        run = self.model.attend("The cat sat", observe=lambda e: e.kind == "residual" and clean.update({e.layer: e.x}))
        last = max(clean)
        for layer in (0, 2, last):
            patch = headlight.Intervention(residual=lambda event, x: clean[layer] if event.layer == layer else None)
            patched = self.model.attend("The dog ran", intervene=patch)
            np.testing.assert_array_equal(patched.logits, run.logits)
        self.assertFalse((self.model.attend("The dog ran").logits == run.logits).all())
        # In place, one token of one layer: the others of that layer keep their predictions, as they cannot see it.
        def nudge(event, x):
            if event.layer == 1:
                x[-1] += 1
        nudged = self.model.attend("The cat sat", intervene=headlight.Intervention(residual=nudge))
        np.testing.assert_array_equal(nudged.logits[:-1], run.logits[:-1])
        self.assertGreater(abs(nudged.logits[-1] - run.logits[-1]).max(), 1e-3)
        same = self.model.attend("The cat sat", intervene=headlight.Intervention(residual=lambda event, x: x))
        np.testing.assert_array_equal(same.logits, run.logits)

    def test_residual_steering_of_generation(self):
        def steer(event, x):
            x += 2 if event.layer == 3 else 0
        steered = headlight.Intervention(residual=steer)
        ids = self.model.encode("Once upon a time")
        for _ in range(6):
            ids.append(int(self.model.attend(ids, intervene=steered).logits_at(-1).argmax()))
        written = self.model.generate("Once upon a time", max_tokens=6, stop_at_end=False, intervene=steered)
        self.assertEqual(written.ids, ids[-6:])

    def test_changed_weights(self):
        def of_head(weights):
            def change(event, w):
                if event.layer == 1:
                    w[2] = weights(w[2])
            return headlight.Intervention(weights=change)

        text = "The cat sat on the mat."
        # None: the model's own weights leave every bit as it is, at any place.
        same = self.model.attend(text, intervene=headlight.Intervention(weights=lambda event, w: None))
        np.testing.assert_array_equal(same.logits, self.plain.logits)
        # Zero weights are a head that says nothing.
        zero = self.model.attend(text, intervene=of_head(lambda w: 0 * w))

        def mute(event, z):
            if event.layer == 1:
                z[:, 2] = 0
        np.testing.assert_array_equal(zero.logits, self.model.attend(text, intervene=mute).logits)
        # Weights on the first token alone: every output is its value.
        values = self.plain.values(1, 2)
        seen = []

        class First(headlight.Intervention):
            def weights(self, event, w):
                if event.layer == 1:
                    w[2] = 0
                    w[2, :, 0] = 1

            def heads(self, event, z):
                if event.layer == 1:
                    seen.append(z[:, 2].copy())

        self.model.attend(text, intervene=First())
        np.testing.assert_array_equal(seen[0], np.broadcast_to(values[0], seen[0].shape))
        # While a model writes, the keys come from its cache.
        wrote = self.model.generate(text, max_tokens=4, intervene=of_head(lambda w: 0 * w)).ids
        self.assertEqual(wrote, self.model.generate(text, max_tokens=4, intervene=mute).ids)

    def test_an_encoder_decoder_is_changed_in_each_part(self):
        model, parts = headlight.load("en-fr"), set()

        def residual(event, x):
            parts.add((event.part, x.shape[0]))
            x *= 1.0

        text, target = "The cat sat.", "Le chat."
        plain = model.attend(text, target=target)
        same = model.attend(text, target=target, intervene=headlight.Intervention(residual=residual))
        np.testing.assert_array_equal(plain.logits, same.logits)
        self.assertEqual({part for part, _ in parts}, {"encoder", "decoder"})

    def test_masks(self):
        class Blind(headlight.Intervention):
            def mask(self, place):
                n = place.q_starts[1]
                allowed = np.ones((n, n), bool)
                allowed[-1, 1] = False
                return allowed

        run = self.model.attend("The cat sat on the mat.", intervene=Blind())
        self.assertEqual(float(run.weights[0, 0][-1, 1]), 0)
        self.assertGreater(float(self.plain.weights[0, 0][-1, 1]), 0)

    def test_hooks_that_fail(self):
        def fail(*args):
            raise ZeroDivisionError("in the hook")

        hooks = [headlight.Intervention(**{name: fail}) for name in ("heads", "weights", "residual", "mask")]
        for options in ({"observe": fail}, {"intervene": fail}, *({"intervene": hook} for hook in hooks)):
            with self.assertRaises(ZeroDivisionError):
                self.model.attend("The cat", **options)
            with self.assertRaises(ZeroDivisionError):
                self.model.generate("The cat", max_tokens=3, **options)
        with self.assertRaises(ZeroDivisionError):
            list(self.model.generate("The cat", max_tokens=3, stream=True, observe=fail))
        with self.assertRaises(ZeroDivisionError):
            self.model.label_heads(["The cat"], progress=fail)
        broken = headlight.Intervention()
        broken.residual = 5
        for wrong in (3, "x", object(), headlight.Intervention(), broken):
            with self.assertRaises(headlight.Error):
                self.model.attend("The cat", observe=wrong)
            with self.assertRaises(headlight.Error):
                self.model.attend("The cat", intervene=wrong)
        for answer in (np.zeros(3), "text", np.zeros((1, 1, 1, 1, 1)), 5):
            with self.assertRaises((headlight.Error, ValueError)):
                self.model.attend("The cat", intervene=lambda event, z: answer)
            for name in ("weights", "residual"):
                with self.assertRaises((headlight.Error, ValueError)):
                    self.model.attend("The cat", intervene=headlight.Intervention(**{name: lambda event, x: answer}))

    def test_events_end_with_their_call(self):
        kept = []
        self.model.attend("The cat", observe=kept.append)
        gc.collect()
        for event in kept:
            with self.assertRaises(headlight.Error) as raised:
                event.layer
            self.assertIn("over", str(raised.exception))
        arrays = []
        self.model.attend("The cat", observe=lambda e: e.kind == "attention" and arrays.append((e, e.q)))
        self.assertTrue(np.isfinite(arrays[0][1]).all())
        for wrong in (99, -1, "x"):
            with self.assertRaises(headlight.Error):
                self.model.attend("The cat", observe=lambda e: e.kind == "attention" and e.weights(wrong))

    def test_hooks_that_compute_and_free(self):
        models = [headlight.load("en")]
        x = np.ones((1, 2, 50, 16), np.float32)

        def observe(event):
            models.clear()
            gc.collect()
            headlight.attention(x, x, x)
            self.model.attend("Another text")

        run = models[0].attend("The cat sat on the mat.", observe=observe)
        np.testing.assert_array_equal(run.logits, self.plain.logits)

    def test_interrupts_end_a_call(self):
        import signal

        told = []

        def progress(what, done, total):
            told.append((what, done, total))
            if len(told) == 2:
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.model.label_heads(["The cat sat on the mat."] * 50, progress=progress)
        self.assertLess(told[-1][1], 10)

    def test_bad_prompts(self):
        for wrong in (None, 5, b"bytes", [1.5], ["a"], [10**12], [-1], [10**6], ""):
            with self.assertRaises((headlight.Error, TypeError), msg=repr(wrong)):
                self.model.attend(wrong)
        with self.assertRaises(headlight.Error):
            self.model.attend("The cat", parts=["nothing"])
        self.assertTrue(self.model.attend("lone \udc80 surrogate").tokens)
        for wrong in ("/", "/nowhere", "", "/etc/passwd"):
            with self.assertRaises(headlight.Error, msg=wrong):
                headlight.load(wrong)


if __name__ == "__main__":
    unittest.main()
