# %% [markdown]
# # 6. Why divide by √d
# Long vectors have large dot products, and softmax then picks one key alone. One division repairs it.
# [The chapter](../learn/06-scale.md)
# %%
import numpy as np
import headlight

rng = np.random.default_rng(0)


def evenness(d, scale):
    """Entropy of the weights on 64 random keys: 1 for even weights, 0 for all weight on one key."""
    q, k = rng.normal(size=(200, d)).astype(np.float32), rng.normal(size=(64, d)).astype(np.float32)
    entropy = headlight.attention(q, k, k, scale=scale, return_entropy=True).entropy
    return float(entropy.mean() / np.log(64))


table = {d: (evenness(d, 1.0), evenness(d, None)) for d in (4, 16, 64, 256)}
for d, (without, with_scale) in table.items():
    print(f"{d:4} without {without:.2f} with {with_scale:.2f}")
assert abs(table[4][0] - 0.68) < 0.05 and table[256][0] < 0.12
assert all(abs(with_scale - 0.89) < 0.03 for _, with_scale in table.values())
# %% [markdown]
# `scale=None` is 1/√d, as in nearly every model. A head of the model, with its division undone:
# %%
run = headlight.load("en").attend("The cat sat on the mat.")
steps = run.explain("sat", "cat", layer=0, head=3)
print(f"scale {steps.scale:.4f} = 1/√{round(steps.scale**-2)}, weight {steps.weight:.4f}")
sharper = np.exp(steps.scores / steps.scale - np.nanmax(steps.scores / steps.scale))
print(f"without the division the weight would be {(sharper / np.nansum(sharper))[steps.key.token]:.4f}")
# %% [markdown]
# **Try:** plot `evenness` for scales between 0 and 1 at d = 64.
