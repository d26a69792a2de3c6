# %% [markdown]
# # 1. Words as vectors
# A word becomes a list of numbers, and words that are used alike get lists that are close. The text of this chapter is in
# [docs/learn](../learn/01-words-as-vectors.md); here are its numbers, and the vectors of a real model.
# %%
import numpy as np
import headlight

words = "Your journey starts with one step".split()
x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
distances = np.linalg.norm(x - x[1], axis=1)
for word, distance in zip(words, distances):
    print(f"{word:8} {distance:.4f} from journey")
assert np.allclose(distances, [0.7653, 0, 0.0346, 0.5495, 0.8639, 0.5167], atol=1e-4)
# %% [markdown]
# A model splits a text into tokens and gives each a vector. An observer sees the residual stream; layer 0 of it is what the first
# block reads, the embedding of the token (and of its place, where a model adds places there).
# %%
model = headlight.load("en")
states = {}
run = model.attend("The cat and the dog", observe=lambda e: e.kind == "residual" and states.update({e.layer: e.x}))
print(run.tokens, states[0].shape)
# %%
def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def embedding(word):
    seen = {}
    model.attend(f"The {word}", observe=lambda e: e.kind == "residual" and e.layer == 0 and seen.update(x=e.x[-1]))
    return seen["x"]


similar, different = cosine(embedding("dog"), embedding("cat")), cosine(embedding("dog"), embedding("blue"))
print(f"dog and cat {similar:.2f}, dog and blue {different:.2f}")
assert similar > different
# %% [markdown]
# **Try:** find the word that is closest to *happy* among ten words of your choice.
