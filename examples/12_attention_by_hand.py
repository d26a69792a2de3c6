"""The course of docs/learn in plain Python, without any package: each chapter is one function of a few lines, written to
be read. It prints what 12_attention_by_hand.cc prints, and every number is in the course too.
"""

from math import cos, exp, inf, log, sin, sqrt


# [distance]
def distance(a, b):
    return sqrt(sum((x - y) * (x - y) for x, y in zip(a, b)))
# [/distance]


# [dot]
def dot(a, b):
    return sum(x * y for x, y in zip(a, b))
# [/dot]


# [softmax]
def softmax(scores, temperature=1):
    powers = [exp(score / temperature) for score in scores]
    return [power / sum(powers) for power in powers]
# [/softmax]


# [weighted_sum]
def weighted_sum(weights, vectors):
    return [dot(weights, column) for column in zip(*vectors)]


def attend(query, keys, values):
    scores = [dot(query, key) for key in keys]
    return weighted_sum(softmax(scores), values)
# [/weighted_sum]


# [project]
def project(x, table):
    return [dot(x, column) for column in zip(*table)]


def project_all(words, table):
    return [project(word, table) for word in words]
# attend(project(word, Wq), project_all(words, Wk), project_all(words, Wv))
# [/project]


# [scaled]
def attend_scaled(query, keys, values):
    root = sqrt(len(query))
    return attend([x / root for x in query], keys, values)  # divides every score by √d
# [/scaled]


# [places]
def place(p):
    return [sin(p), cos(p)]
# dot(place(1), place(2)) == dot(place(101), place(102)) == cos(1), up to rounding
# [/places]


# [causal]
def attend_causal(queries, keys, values):
    return [attend(query, keys[: i + 1], values[: i + 1])  # itself and what comes before it
            for i, query in enumerate(queries)]
# [/causal]


# [heads]
def attend_with_heads(word, words, heads):
    side_by_side = []
    for wq, wk, wv in heads:
        side_by_side += attend_scaled(project(word, wq), project_all(words, wk), project_all(words, wv))
    return side_by_side
# [/heads]


# [block]
def plus(a, b):
    return [x + y for x, y in zip(a, b)]


def norm(x):
    mean = sum(x) / len(x)
    deviation = sqrt(sum((value - mean) * (value - mean) for value in x) / len(x))
    return [(value - mean) / deviation for value in x]


def block(word, heads, wo, detectors, write):
    x = plus(word, project(heads, wo))  # residual
    hidden = [max(0, dot(norm(x), detector)) for detector in detectors]  # ReLU
    return plus(x, project(hidden, write))  # residual
# [/block]


# [cross]
# Queries of the text being written, keys and values of the text being read.
def cross_attend(french_queries, english_keys, english_values):
    return [attend_scaled(query, english_keys, english_values) for query in french_queries]
# [/cross]


# [beam]
# `texts` has pairs (log of the probability, tokens); `next_token(tokens)` returns the probability of every token.
def beam_step(texts, keep, next_token):
    longer = [(log_probability + log(p), tokens + [token])
              for log_probability, tokens in texts
              for token, p in enumerate(next_token(tokens))]
    return sorted(longer, reverse=True)[:keep]
# [/beam]


# [descent]
def train(steps, rate):
    score = 0  # of the right key; the wrong one has 0
    for _ in range(steps):
        weight = softmax([score, 0])[0]
        score -= rate * (weight - 1)  # against the gradient of -ln(weight)
    return score
# [/descent]


# [knock_out]
def output_without(key, weights, values, masked):
    weights = [0 if i == key else w for i, w in enumerate(weights)]
    return dot(weights, values) / (sum(weights) if masked else 1)
# [/knock_out]


# [recurrent]
def read_one_by_one(words, kept):
    state = 0
    for word in words:
        state = kept * state + word  # each step needs the one before it
    return state
# [/recurrent]


# [online]
def attend_online(scores, values):
    largest, total, out = -inf, 0, 0
    for score, value in zip(scores, values):
        top = max(largest, score)
        shrink, share = exp(largest - top), exp(score - top)
        total = total * shrink + share
        out = out * shrink + share * value
        largest = top
    return out / total
# [/online]


def show(what, *numbers):
    print(what, *(f"{x:.4f}" for x in numbers))


def main():
    words = [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]]
    show("1 distance", distance(words[1], words[4]))
    show("2 score", dot(words[1], words[2]))
    show("3 weights", *softmax([2, 1, 0]))
    show("4 context", *attend(words[1], words, words))
    show("5 query", *project([1, 2], [[1, 0], [0, 3]]))
    show("6 scaled", *attend_scaled([112, 96], [[8, 0], [0, 8]], [[1, 0], [0, 1]]))
    show("7 places", dot(place(1), place(2)), dot(place(101), place(102)))
    show("8 causal", *attend_causal(words, words, words)[0])
    identity = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    two = attend_with_heads(words[1], words, [(identity, identity, identity)] * 2)
    print(f"9 two heads of 3 numbers give {len(two)}")
    show("10 block", *block([1, 2, 2, 3], [2, 1], [[0.5, -0.5, 0, 0], [-1, 0, 1, 0]],
                            [[0, 0, 1, 1], [1, 0, 0, -1]], [[0.5, 0, -0.5, 0], [0, 1, 0, -1]]))
    show("11 chat reads", *cross_attend([[2, 1]], [[0, 1], [2, 0], [1, -1]], [[0, 0], [1, 0], [0, 1]])[0])

    def model(tokens):  # le, la; then chat, chatte
        if not tokens:
            return [0.6, 0.4]
        return [0.5, 0.5] if tokens[0] == 0 else [0.1, 0.9]

    best = beam_step(beam_step([(0, [])], 2, model), 2, model)
    show("12 the best of two beams has", exp(best[0][0]))
    show("13 score after two steps", train(2, 1))
    show("14 without C", output_without(2, [0.7, 0.2, 0.1], [0.1, 5, 2], masked=True))
    show("15 after 30 steps", read_one_by_one([1] + [0] * 30, 0.9))
    show("16 online", attend_online([1, 3, 2], [10, 20, 30]))


if __name__ == "__main__":
    main()
