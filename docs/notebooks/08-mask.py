# %% [markdown]
# # 8. The mask
# A model that writes must not look at what it has not written yet. [The chapter](../learn/08-mask.md)
# %%
import numpy as np
import headlight

x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
weights = headlight.attention(x, x, x, scale=1.0, causal=True, return_weights=True).weights
print(np.round(weights, 4))
assert np.allclose(weights[1], [0.3680, 0.6320, 0, 0, 0, 0], atol=1e-4)
assert np.allclose(weights[5], [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896], atol=1e-4)
# %% [markdown]
# Other masks: a window of two words, a prefix that sees itself, and any table of booleans. All of them combine.
# %%
for options in ({"window": 2}, {"prefix": 3}, {"mask": np.arange(6) != 1}):
    seen = headlight.attention(x, x, x, return_weights=True, **options).weights > 0
    print(options if "mask" not in options else {"mask": "everything but journey"})
    print(seen.astype(int))
# %% [markdown]
# Because of the mask, the beginning of a text does not change when the text continues:
# %%
model = headlight.load("en")
short, long = model.attend("The cat sat"), model.attend("The cat sat on the mat.")
n = len(short.tokens)
assert np.array_equal(short.logits, long.logits[:n])
print(f"the predictions of the first {n} tokens have the same bits")
# %% [markdown]
# **Try:** an encoder has no mask. Load "en-fr" and look at `run.weights["encoder", 0, 0]`.
