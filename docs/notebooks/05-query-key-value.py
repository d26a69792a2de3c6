# %% [markdown]
# # 5. Query, key, value
# Three tables of parameters let a word look for something other than itself. [The chapter](../learn/05-query-key-value.md)
# %%
import numpy as np
import headlight

x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]])
wq = np.array([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]])
wk = np.array([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]])
wv = np.array([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]])
q, k, v = x @ wq, x @ wk, x @ wv
out, weights = headlight.attention(q, k, v, scale=1.0, return_weights=True)
print("query of journey", np.round(q[1], 4))
print("weights of journey", np.round(weights[1], 4))
assert np.allclose(weights[1], [0.1401, 0.2507, 0.2406, 0.1157, 0.0687, 0.1842], atol=2e-4)
assert np.allclose(out[1], [0.3157, 0.8430], atol=2e-4)
# %% [markdown]
# In a model, an observer gets q, k and v of every head. Queries and keys are what the weights come from:
# %%
events = {}
model = headlight.load("en")
model.attend("The cat sat on the mat.", observe=lambda e: e.kind == "attention" and events.update({e.layer: (e.q, e.k, e.weights())}))
q, k, w = events[0]
print("q", q.shape, "k", k.shape, "weights", w.shape)
# %%
again = headlight.attention(q, k, k, causal=True, return_weights=True).weights[0]
print(f"largest difference {np.abs(again - w).max():.1e}")
assert np.abs(again - w).max() < 1e-5
# %% [markdown]
# **Try:** exchange q and k. Do the weights stay the same?
