# %% [markdown]
# # 11. Encoder and decoder
# A translator's decoder attends to the words of the source. [The chapter](../learn/11-cross-attention.md)
# %%
import numpy as np
import headlight

query = np.array([[2.0, 1]])                                   # of chat, from the French side
keys, values = np.array([[0.0, 1], [2, 0], [1, -1]]), np.array([[0.0, 0], [1, 0], [0, 1]])   # of The cat sat
reads, weights = headlight.attention(query, keys, values, return_weights=True)
print(np.round(weights[0], 4), "what chat reads:", np.round(reads[0], 4))
assert np.allclose(weights[0], [0.0967, 0.8066, 0.0967], atol=1e-4)
# %%
model = headlight.load("en-fr")
run = model.attend("The cat sat on the mat.")
print(model.translate("The cat sat on the mat.").text)
print("source", run.tokens.texts)
print("target", run.target.texts)
# %% [markdown]
# `run.weights["cross", layer, head]` has a row for each French token and a column for each English one. The head in which *chat* finds
# *cat* is the one with the largest weight there:
# %%
best = max(run.links("chat->cat", part="cross"), key=lambda link: link.weight)
print(best.head, f"{best.weight:.2f}", f"chance {best.chance:.2f}")
assert best.weight > 0.5
# %%
run.figure(part="cross", heads=[(best.head.layer, best.head.head)])
# %% [markdown]
# **Try:** give your own translation, `model.attend(text, target="Le chat …")`.
