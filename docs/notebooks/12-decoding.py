# %% [markdown]
# # 12. The decoding loop
# A model that predicts one token writes a text by being asked again and again. [The chapter](../learn/12-decoding.md)
# %%
import numpy as np
import headlight

model = headlight.load("en")
ids = model.encode("Once upon a time")
for _ in range(12):
    ids.append(int(model.attend(ids).logits_at(-1).argmax()))
by_hand = model.decode(ids)
print(by_hand)
# %% [markdown]
# That ran the whole text for each token. `generate` keeps the keys and values of earlier tokens in a cache and writes the same:
# %%
written = model.generate("Once upon a time", max_tokens=12)
assert by_hand.endswith(written.text.strip()), (by_hand, written.text)
for token in model.generate("Once upon a time", max_tokens=30, temperature=0.8, seed=1, stream=True):
    print(token.text, end="")
# %% [markdown]
# The best first word need not lead to the best text. Beam search follows several:
# %%
tree = {"le": (0.6, {"chat": 0.5, "chien": 0.3}), "la": (0.4, {"chatte": 0.9})}
texts = {f"{first} {second}": p * q for first, (p, rest) in tree.items() for second, q in rest.items()}
print(texts)
assert max(texts, key=texts.get) == "la chatte"
translator = headlight.load("en-fr")
print(translator.translate("The cat is tired.", beams=1).text, "/", translator.translate("The cat is tired.", beams=4).text)
# %% [markdown]
# A `KvCache` that is filled token by token gives the bits of one call over all tokens:
# %%
q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 6, 16)).astype(np.float32)
cache = headlight.KvCache(kv_heads=2, dim=16)
rows = []
for i in range(6):
    cache.append(k[:, :, i : i + 1], v[:, :, i : i + 1])
    rows.append(cache.attention(q[:, :, i : i + 1]))
assert np.array_equal(np.concatenate(rows, axis=2), headlight.attention(q, k, v, causal=True))
# %% [markdown]
# **Try:** temperature 2. Where does the text go wrong?
