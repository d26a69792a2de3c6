# %% [markdown]
# # 15. Why not a recurrent network
# Before attention, a network carried everything it had read in one state. [The chapter](../learn/15-recurrence.md)
# %%
import numpy as np
import headlight

for distance in (1, 8, 20, 64):
    print(f"{distance:3} tokens ago: {0.9**distance:.4f} is left in the state")
assert np.isclose(0.9**20, 0.1216, atol=1e-4)
# %% [markdown]
# Attention reads a word at any distance with its own weight. A key that matches, placed further and further back:
# %%
rng = np.random.default_rng(0)
for distance in (1, 8, 64, 512):
    k = rng.normal(size=(distance + 1, 64)).astype(np.float32) * 0.1
    q = np.ones((1, 64), np.float32)
    k[0] = 1                                                   # matches the query
    w = headlight.attention(q, k, k, return_weights=True).weights[0]
    print(f"{distance:4} tokens ago: weight {w[0]:.3f}")
assert w[0] > 0.5
# %% [markdown]
# The price: the work grows with the square of the length.
# %%
for n in (64, 192, 1024):
    print(f"{n:5} tokens: attention {2 * n * n * 64:>12,}   GRU {6 * n * 64 * 64:>12,}")
assert 2 * 192 * 192 * 64 == 6 * 192 * 64 * 64
# %%
import time

for n in (256, 512, 1024, 2048):
    x = rng.normal(size=(1, 1, n, 64)).astype(np.float32)
    headlight.attention(x, x, x, threads=1)
    start = time.perf_counter()
    for _ in range(5):
        headlight.attention(x, x, x, threads=1)
    print(f"{n:5} tokens {(time.perf_counter() - start) / 5 * 1e3:8.2f} ms")
# %% [markdown]
# **Try:** `window=128`. How does the time grow now?
