"""Topics that learn the observed words of a document: the readable version of the compiled `CVB0`."""

import math

import numpy as np


def learned_probabilities(
    phi, prior, mass, theta, terms, counts, wanted, passes=2000, repeats=(math.inf, 0.0)
):
    """Probabilities of the wanted terms, of one document with these observed terms and counts.

    ``prior`` and ``mass`` are pseudo-counts of the topics in the document, and tokens and pseudo-counts of a
    topic, infinite where topics don't learn; ``theta``, (K,), are proportions under topics that stay as they
    are; ``repeats`` are concentration and discount of the topics of a document.
    """
    b, a = repeats
    learns = bool(np.isfinite(mass).all())
    of_terms = phi[:, terms].T
    r = theta * of_terms
    r /= r.sum(axis=1, keepdims=True)
    tables = r * (np.asarray(counts)[:, None] if b == math.inf else 1.0)
    for _ in range(passes):
        for i, count in enumerate(counts):
            others = counts @ r - r[i]
            here = tables[i] - r[i]
            there = tables.sum(axis=0) - r[i]
            topic = (mass * of_terms[i] + here) / (mass + there) if learns else of_terms[i]
            share = prior + others + (0 if learns else r[i])
            if b == math.inf:
                r[i] = share * topic / (share @ topic)
                tables[i] = count * r[i]
                continue
            tokens, tables[i] = expected(share / (b + others), (b + a * there) * topic, a, round(count))
            r[i] = tokens / count
    tokens, opened = counts @ r, tables.sum(axis=0)
    added, shared = np.zeros((2, phi.shape[1], len(prior)))
    added[terms], shared[terms] = counts[:, None] * r, tables
    proportions = (prior + tokens) / (prior.sum() + counts.sum())
    found = phi[:, wanted].T
    if learns:
        found = (mass * found + shared[wanted]) / (mass + opened)
    if b < math.inf:
        found = (added[wanted] - a * shared[wanted] + (b + a * opened) * found) / (b + tokens)
    return found @ proportions


def expected(of_topic, of_table, a, n):
    """Expected numbers of n tokens by topic, and of their tables: arrays of shape (K,).

    n_k tokens at t_k tables have the weight prod_k of_topic_k^n_k / n_k! of_table_k^t_k S_a(n_k, t_k).
    """
    seatings = np.zeros((n + 1, n + 2))  # S_a, by the number of tokens and of tables
    seatings[0, 0] = 1.0
    t = np.arange(n + 1)
    for m in range(n):
        seatings[m + 1, 1:] = seatings[m, :-1]
        seatings[m + 1, :-1] += (m - a * t) * seatings[m, :-1]
    factorials = np.array([math.factorial(m) for m in range(n + 1)], dtype=float)
    weights = [  # by tokens and tables of a topic
        (x ** np.arange(n + 1) / factorials)[:, None] * w**t * seatings[:, :-1]
        for x, w in zip(of_topic, of_table, strict=True)
    ]
    found = []
    for k, own in enumerate(weights):
        rest = np.eye(1, n + 1)[0]  # weights of the tokens of all other topics, by their number
        for m, other in enumerate(weights):
            if m != k:
                rest = np.convolve(rest, other.sum(axis=1))[: n + 1]
        law = own * rest[::-1, None]
        found.append([(law.sum(axis=1) @ t), (law.sum(axis=0) @ t)] / law.sum())
    return np.transpose(found)
