"""Topics that learn the observed words of a document: the readable version of the compiled `Learning`."""

import math

import numpy as np


def learned_probabilities(
    phi, prior, mass, theta, terms, counts, wanted, passes=2000, repeats=(math.inf, 0.0)
):
    """Probabilities of the wanted terms, of one document.

    Parameters
    ----------
    phi : array, shape (K, V)
        Means of the topics.
    prior, mass : arrays, shape (K,)
        Pseudo-counts of the topics in the document; tokens and pseudo-counts of each topic. If ``mass`` is
        infinite, topics don't learn.
    theta : array, shape (K,)
        Proportions under topics that stay as they are.
    terms, counts : arrays, shape (n,)
        The observed words.
    wanted : array of int
    repeats : tuple of float
        Concentration and discount of the topics of a document; by default they are those of the corpus.
    """
    b, a = repeats
    learns = bool(np.isfinite(mass).all())
    of_terms = phi[:, terms].T
    r = theta * of_terms
    r /= r.sum(axis=1, keepdims=True)
    tables = np.zeros_like(r)
    for i, count in enumerate(counts):
        tables[i] = r[i] * expected_tables(count, b * of_terms[i] if b < math.inf else np.inf, a)
    for _ in range(passes):
        for i, count in enumerate(counts):
            others, opened = counts @ r - r[i], tables.sum(axis=0)
            w = (b + a * opened) * of_terms[i] if b < math.inf else np.inf
            here = r[i] * expected_tables(count - 1, w, a)
            f = density(of_terms[i], mass, (count - 1) * r[i], others, here, opened - tables[i] + here, b, a)
            new = (prior + others + (0 if learns else r[i])) * f
            r[i] = new / new.sum()
            tables[i] = r[i] * expected_tables(count, w, a)
    tokens, opened = counts @ r, tables.sum(axis=0)
    added, shared = np.zeros((2, phi.shape[1], len(prior)))
    added[terms], shared[terms] = counts[:, None] * r, tables
    proportions = (prior + tokens) / (prior.sum() + counts.sum())
    f = density(phi[:, wanted].T, mass, added[wanted], tokens, shared[wanted], opened, b, a)
    return f @ proportions


def density(phi, mass, tokens, all_tokens, tables, all_tables, b, a):
    """Probability of a term under each topic of the document, given tokens and tables of the document."""
    if np.isfinite(mass).all():
        phi = (mass * phi + tables) / (mass + all_tables)
    if b == math.inf:
        return phi
    return (tokens - a * tables + (b + a * all_tables) * phi) / (b + all_tokens)


def expected_tables(count, w, a):
    """Expected number of tables of the tokens of a term; as many as tokens where w is infinite."""
    if count <= 1 or np.isinf(w).all():
        return count
    n = count - math.ceil(count) + 1
    found = n
    while n < count:
        found = found + w / (n - a * found + w)
        n += 1
    return found
