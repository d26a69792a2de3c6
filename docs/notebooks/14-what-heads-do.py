# %% [markdown]
# # 14. Reading heads
# A large weight does not mean that a word matters. Change it and see. [The chapter](../learn/14-what-heads-do.md)
# %%
import numpy as np
import headlight

weights, values = np.array([0.7, 0.2, 0.1]), np.array([0.1, 5, 2])
print("output", weights @ values)
for i, name in enumerate("ABC"):
    masked = np.delete(weights, i) / np.delete(weights, i).sum() @ np.delete(values, i)
    print(f"{name}: zeroed {weights @ values - weights[i] * values[i]:.2f}, masked {masked:.2f}")
assert np.isclose(weights @ values, 1.27)
# %% [markdown]
# In the translator, one head follows pronouns. `first_look` finds the link, `ablate` removes the head:
# %%
model = headlight.load("en-fr")
run = model.attend("The animal didn't cross the street because it was too tired.")
look = run.first_look(query="it")
print(f"{look.query_text} attends to {look.key_text} in {look.head}: {look.weight:.2f}, {look.lift:.0f} times chance")
effect = run.ablate([(look.head.layer, look.head.head)])
print(f"removed: the predictions change by {effect.mean_kl:.4f} nats on average")
# %% [markdown]
# Interventions are Python functions. Three ways to switch a head off: its output, its weights, its links.
# %%
writer = headlight.load("en")
text = "The cat sat on the mat. The cat"
plain = writer.attend(text)


def no_output(event, z):
    if event.layer == 1:
        z[:, 2] = 0


def even_weights(event, w):
    if event.layer == 1:
        w[2] = np.tril(np.ones_like(w[2]))
        w[2] /= w[2].sum(axis=1, keepdims=True)


def only_itself(place):
    if place.layer == 1:
        n = place.q_starts[1]
        allowed = np.ones((1, place.heads, n, n), bool)
        allowed[0, 2] = np.eye(n, dtype=bool)
        return allowed


for name, change in {"output 0": headlight.Intervention(heads=no_output), "even weights": headlight.Intervention(weights=even_weights),
                     "only itself": headlight.Intervention(mask=only_itself)}.items():
    changed = writer.attend(text, intervene=change)
    print(f"{name:13} largest change of a logit {np.abs(changed.logits - plain.logits).max():.2f}")
    assert (changed.logits != plain.logits).any()
# %%
run.show(layer=look.head.layer, head=look.head.head, height=500)
# %% [markdown]
# **Try:** `writer.sweep(text)` removes every head in turn.
