"""Topics that learn the observed words of a document: the readable version of the compiled `Learning`."""

import numpy as np


def learned_probabilities(phi, prior, mass, theta, terms, counts, wanted, passes=2000):
    """Probabilities of the wanted terms, of one document.

    Parameters
    ----------
    phi : array, shape (K, V)
        Means of the topics.
    prior, mass : arrays, shape (K,)
        Pseudo-counts of the topics in the document; tokens and pseudo-counts of each topic.
    theta : array, shape (K,)
        Proportions under topics that stay as they are.
    terms, counts : arrays, shape (n,)
        The observed words.
    wanted : array of int
    """
    before = mass * phi[:, terms].T
    r = theta * phi[:, terms].T
    r /= r.sum(axis=1, keepdims=True)
    for _ in range(passes):
        for i, count in enumerate(counts):
            others = counts @ r - r[i]
            new = (prior + others) * (before[i] + (count - 1) * r[i]) / (mass + others)
            r[i] = new / new.sum()
    tokens = counts @ r
    added = np.zeros((phi.shape[1], len(prior)))
    added[terms] = counts[:, None] * r
    proportions = (prior + tokens) / (prior.sum() + counts.sum())
    return ((mass * phi[:, wanted].T + added[wanted]) / (mass + tokens)) @ proportions
