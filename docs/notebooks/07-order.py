# %% [markdown]
# # 7. Order
# Attention itself does not know which word comes first. Places must be added. [The chapter](../learn/07-order.md)
# %%
import numpy as np
import headlight

x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
forwards = headlight.attention(x, x, x, scale=1.0)
backwards = headlight.attention(x[::-1], x[::-1], x[::-1], scale=1.0)
print(np.round(forwards[1], 4), np.round(backwards[4], 4))
assert np.allclose(forwards[1], backwards[4])   # journey, in both orders
# %% [markdown]
# Places as angles: the dot product of two places depends on their distance alone.
# %%
places = np.stack([np.sin(np.arange(6.0)), np.cos(np.arange(6.0))], axis=1)
products = places @ places.T
print(np.round(products, 4))
assert np.isclose(products[1, 2], products[2, 3]) and np.isclose(products[1, 4], -0.9900, atol=1e-4)
# %% [markdown]
# With places, order counts. The same words in another order give a model other weights:
# %%
model = headlight.load("en")
a, b = model.attend("The dog saw the cat."), model.attend("The cat saw the dog.")
change = max(float(np.abs(a.weights[layer, head] - b.weights[layer, head]).max()) for layer in range(2) for head in range(4))
print(f"largest change of a weight {change:.2f}")
assert change > 0.1
# %% [markdown]
# ALiBi is another way: it lowers scores by the distance. `alibi=True` uses the customary slopes.
# %%
flat = np.zeros((1, 2, 8, 4), np.float32)
print(np.round(headlight.attention(flat, flat, flat, causal=True, alibi=True, return_weights=True).weights[0, 0, -1], 3))
# %% [markdown]
# **Try:** add `places` to the first two columns of x and repeat the first cell.
