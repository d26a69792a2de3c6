# %% [markdown]
# # 13. Training
# Parameters come from many small steps against the gradient of a loss. [The chapter](../learn/13-training.md)
# %%
import numpy as np
import headlight

score, table = 0.0, []
for step in range(6):
    weight = 1 / (1 + np.exp(-score))
    table.append((score, weight, -np.log(weight), weight - 1))
    score -= weight - 1
print(np.round(table, 4))
assert np.allclose(table[5], [1.6044, 0.8326, 0.1832, -0.1674], atol=1e-4)
# %% [markdown]
# The same with attention: one query, two keys, and the gradient from `attention_backward`. The loss is −log of the weight of the first key.
# %%
q, k = np.array([[1.0]]), np.array([[0.0], [0.0]])
v = np.array([[1.0], [0.0]])                                   # so that out is the weight of the first key
for step in range(5):
    out, lse = headlight.attention(q, k, v, scale=1.0, return_lse=True)
    grads = headlight.attention_backward(q, k, v, out, lse, dout=-1 / out, scale=1.0)
    k[0] -= grads.dk[0]                                        # only the right key learns, as in the chapter
    print(f"step {step + 1}: score {k[0, 0]:.4f}, weight {headlight.attention(q, k, v, scale=1.0)[0, 0]:.4f}")
assert np.isclose(k[0, 0], 1.6044, atol=1e-4)
# %% [markdown]
# Is a gradient right? Compare it with a small difference:
# %%
rng = np.random.default_rng(0)
q, k, v, d = rng.normal(size=(4, 3, 4))
out, lse = headlight.attention(q, k, v, return_lse=True)
dq = headlight.attention_backward(q, k, v, out, lse, dout=d).dq
nudge = np.zeros_like(q)
nudge[1, 2] = 1e-6
slope = ((headlight.attention(q + nudge, k, v) - headlight.attention(q - nudge, k, v)) * d).sum() / 2e-6
print(slope, dq[1, 2])
assert np.isclose(slope, dq[1, 2], atol=1e-7)
# %% [markdown]
# The loss on a text measures how good a trained model is:
# %%
print(headlight.load("en").evaluate("Once upon a time there was a little girl. She liked to play in the park."))
# %% [markdown]
# **Try:** a learning rate of 10 in the first cell, and of 0.1.
