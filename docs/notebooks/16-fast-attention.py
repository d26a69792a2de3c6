# %% [markdown]
# # 16. Fast attention
# Exact attention without the table of all weights: one key after the other, or one tile after the other.
# [The chapter](../learn/16-fast-attention.md)
# %%
import numpy as np
import headlight

scores, values = [1, 3, 2], [10, 20, 30]
largest, total, out = -np.inf, 0.0, 0.0
for score, value in zip(scores, values):
    new = max(largest, score)
    total = total * np.exp(largest - new) + np.exp(score - new)
    out = out * np.exp(largest - new) + np.exp(score - new) * value
    largest = new
    print(f"largest {largest}, sum {total:.4f}, output so far {out / total:.4f}")
assert np.isclose(out / total, 21.5470, atol=1e-4)
# %% [markdown]
# The output and log-sum-exp of two halves of the keys determine those of the whole. `merge` combines them:
# %%
q, k, v = np.random.default_rng(0).normal(size=(3, 1, 4, 1000, 64)).astype(np.float32)
near = headlight.attention(q, k[:, :, :600], v[:, :, :600], return_lse=True)
far = headlight.attention(q, k[:, :, 600:], v[:, :, 600:], return_lse=True)
merged, _ = headlight.merge(*near, *far)
print(f"largest difference {np.abs(merged - headlight.attention(q, k, v)).max():.1e}")
assert np.abs(merged - headlight.attention(q, k, v)).max() < 1e-5
# %% [markdown]
# The order of the tiles is fixed, so the result has the same bits on any number of threads. And weights need not be stored: they
# come back from q, k and the log-sum-exp, for the requested rows.
# %%
one, two = (headlight.attention(q, k, v, causal=True, threads=n, return_lse=True) for n in (1, 2))
assert np.array_equal(one.out, two.out)
rows = headlight.attention_weights(q, k, one.lse, head=2, queries=slice(990, 1000), causal=True)
print(rows.shape, rows.sum(axis=1))
assert np.allclose(rows.sum(axis=1), 1, atol=1e-5)
# %% [markdown]
# **Try:** `headlight.reference.attention` is the same call in plain float64 loops. How much slower is it?
