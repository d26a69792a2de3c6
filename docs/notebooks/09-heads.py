# %% [markdown]
# # 9. Heads
# A layer attends several times at once, with different parameters. [The chapter](../learn/09-heads.md)
# %%
import numpy as np
import headlight

rng = np.random.default_rng(123)
x = np.array([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66]])
w = rng.normal(size=(3, 2, 3, 2)) / np.sqrt(3)             # q, k and v of two heads
q, k, v = (np.einsum("td,hde->hte", x, w[i]) for i in range(3))
out, weights = headlight.attention(q, k, v, causal=True, return_weights=True)
side_by_side = np.concatenate(list(out), axis=1)
print(out.shape, "[head, token, dim] becomes", side_by_side.shape)
assert side_by_side.shape == (2, 4)
# %% [markdown]
# A head computes the same alone as beside others:
# %%
alone = headlight.attention(q[1], k[1], v[1], causal=True)
assert np.array_equal(alone, out[1])
# %% [markdown]
# All heads of a layer of a real model. Each looks at something else:
# %%
model = headlight.load("en")
run = model.attend("One day, a little girl named Lily found a needle in her room.")
for head in range(model.info.parts["decoder"][0]):
    row = run.weights[0, head][-1]
    print(f"head 0.{head}: the last token attends most to {run.tokens[int(row.argmax())].text!r}, {row.max():.2f}")
# %%
run.figure(layer=0, all=True)
# %% [markdown]
# Queries may share keys and values: 4 query heads on 2 key heads. This is grouped-query attention.
# %%
q, kv = rng.normal(size=(1, 4, 5, 8)).astype(np.float32), rng.normal(size=(1, 2, 5, 8)).astype(np.float32)
shared = headlight.attention(q, kv, kv)
assert np.array_equal(shared, headlight.attention(q, kv.repeat(2, axis=1), kv.repeat(2, axis=1)))
# %% [markdown]
# **Try:** `model.label_heads([text])` says what each head does on a text.
