# %% [markdown]
# # 10. One block
# Attention and a feed-forward layer, each added to the stream it read from. [The chapter](../learn/10-block.md)
# %%
import numpy as np
import headlight

x = np.array([1.0, 2, 2, 3])
attention = np.array([2.0, 1]) @ np.array([[0.5, -0.5, 0, 0], [-1, 0, 1, 0]])     # what two heads found, projected
y = x + attention
normed = (y - y.mean()) / y.std()
hidden = np.maximum(0, np.array([[0, 0, 1, 1], [1, 0, 0, -1]]) @ normed)
out = y + hidden @ np.array([[0.5, 0, -0.5, 0], [0, 1, 0, -1]])
print(attention, y, normed, hidden, out)
assert np.array_equal(out, [2, 1, 2, 3])
# %% [markdown]
# The stream of a real model, between its blocks. Each block adds to it; nothing is replaced.
# %%
model = headlight.load("en")
states = {}
run = model.attend("The cat sat on the mat.", observe=lambda e: e.kind == "residual" and states.update({e.layer: e.x}))
for layer, state in states.items():
    change = "" if layer == 0 else f", block {layer - 1} changed it by {np.linalg.norm(state - states[layer - 1], axis=1).mean():.1f}"
    print(f"before block {layer}: length {np.linalg.norm(state, axis=1).mean():.1f}{change}")
# %% [markdown]
# Blocks exchange data only through the stream. Insert the stream of one text into the run of another, and the predictions are those of the first:
# %%
patch = headlight.Intervention(residual=lambda event, x: states[3] if event.layer == 3 else None)
patched = model.attend("The dog ran to the car.", intervene=patch)
assert len(patched.tokens) == len(run.tokens) and np.array_equal(patched.logits, run.logits)
print("patched at layer 3: the predictions of the other text, to the bit")
# %% [markdown]
# **Try:** patch one token only: `x[2] = states[3][2]`, and return nothing.
