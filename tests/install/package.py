"""Run by tools/test-packages and the test of the wheel: what a new user of the Python package does first: the README's lines, a figure, the viewer, a hook."""

import headlight
import numpy as np

x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]], dtype=np.float32)
out = headlight.attention(x, x, x, causal=True, scale=1.0)
assert np.allclose(out[:, 0], [0.4300, 0.5058, 0.5302], atol=1e-4), out

run = headlight.load("en-fr").attend("The animal didn't cross the street because it was too tired.")
look = run.first_look(query="it")
print(f"{look.query_text} attends to {look.key_text}: {look.weight:.2f}, {look.lift:.0f} times chance")
weights = run.weights[look.head.layer, look.head.head]
assert weights.shape == (len(run.tokens), len(run.tokens)) and np.allclose(weights.sum(axis=1), 1, atol=1e-5)
assert run.figure(query="it").svg.startswith("<svg") and "</html>" in run.show().html

model = headlight.load("en")
plain = model.attend("The cat sat on the mat.")
steered = model.attend("The cat sat on the mat.", intervene=headlight.Intervention(residual=lambda event, x: 1.1 * x))
assert (plain.logits != steered.logits).any()
print(f"headlight {headlight.__version__} works, from {headlight.__file__}")
