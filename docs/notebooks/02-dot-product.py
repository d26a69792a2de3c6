# %% [markdown]
# # 2. The dot product
# How well two words match is the dot product of their vectors: the score. [The chapter](../learn/02-dot-product.md)
# %%
import numpy as np
import headlight

words = "Your journey starts with one step".split()
x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
scores = x @ x.T
print(np.round(scores, 4))
assert np.isclose(scores[1, 2], 1.4754, atol=1e-4) and np.isclose(scores[4, 5], 0.2935, atol=1e-4)
# %%
lengths = np.linalg.norm(x, axis=1)
cosines = scores / np.outer(lengths, lengths)
print(f"cosine of journey and starts: {cosines[1, 2]:.4f}")
assert np.isclose(cosines[1, 2], 0.9997, atol=1e-4)
# %% [markdown]
# In a model, scores are dot products of queries and keys. `run.scores` has them for each head, before the softmax.
# %%
run = headlight.load("en").attend("The cat sat on the mat.")
scores = run.scores(0, 3)
print(run.tokens.texts)
print(np.round(scores[-1], 2))
assert np.isneginf(scores[0, 1])   # a word cannot see later words: chapter 8
# %% [markdown]
# **Try:** which pair of different words has the highest score in head 0.3?
