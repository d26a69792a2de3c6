# %% [markdown]
# # 3. Softmax
# Softmax turns scores into positive shares that sum to 1. [The chapter](../learn/03-softmax.md)
# %%
import numpy as np
import headlight


def softmax(scores, temperature=1.0):
    e = np.exp(scores / temperature - np.max(scores / temperature, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


scores = np.array([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865])   # of journey, chapter 2
for temperature in (0.1, 1, 10):
    print(f"{temperature:5}", np.round(softmax(scores, temperature), 4))
assert np.allclose(softmax(scores), [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581], atol=1e-4)
assert np.allclose(softmax(scores, 0.1)[1:3], [0.5420, 0.4455], atol=2e-4)
# %% [markdown]
# The same in a model: the softmax of a head's scores are its weights, and they sum to 1 in each row.
# %%
run = headlight.load("en").attend("The cat sat on the mat.")
difference = np.abs(softmax(run.scores(0, 3)) - run.weights[0, 3]).max()
print(f"largest difference {difference:.1e}")
assert difference < 1e-5
run.figure(layer=0, heads=[(0, 3)])
# %% [markdown]
# **Try:** multiply the scores by 3 before the softmax. What happens to the entropy, `run.statistics(0, 3).entropy`?
