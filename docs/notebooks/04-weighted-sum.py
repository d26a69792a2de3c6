# %% [markdown]
# # 4. The weighted sum
# A word takes up the meaning of others: its new vector is the weighted sum of theirs. [The chapter](../learn/04-weighted-sum.md)
# %%
import numpy as np
import headlight

x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
out, weights = headlight.attention(x, x, x, scale=1.0, return_weights=True)
print(np.round(out[1], 4), "is journey in context")
assert np.allclose(out[1], [0.4419, 0.6515, 0.5683], atol=1e-4)
assert np.allclose(weights[4], [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295], atol=1e-4)
# %% [markdown]
# `headlight.attention` did chapters 2 to 4 in one call. By hand it is two lines, and the numbers are the same:
# %%
e = np.exp(x @ x.T)
by_hand = e / e.sum(axis=1, keepdims=True) @ x
print(f"largest difference {np.abs(by_hand - out).max():.1e}")
assert np.allclose(by_hand, out)
# %% [markdown]
# What a head of a model reads is the weighted sum of its values:
# %%
run = headlight.load("en").attend("The cat sat on the mat.")
reads = run.weights[2, 1] @ run.values(2, 1)
print(reads.shape, "one vector for each token")
# %% [markdown]
# **Try:** give `headlight.attention` a `mask` that hides *journey* from all words.
