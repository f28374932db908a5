"""Scores of held-out halves by chains that include the observed halves, where topics differ by document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.evaluation.completion import FixedTopics, repeats_in
from hdpkit.posterior.fold_in import without_restaurants
from hdpkit.run.samples import Samples
from hdpkit.run.trace import ChainTrace

_KEY = "probability/held-out"


@attrs.frozen(eq=False)
class JointScore:
    """Probabilities of tokens of the last documents of a franchise, for ``record`` of a run.

    Given a state, document j has the topic phi_jk ~ PY(a, b, phi_k) for each dish, and the predictive of the
    state is that of the next word (see `hdpkit.Bursty`), with posterior means of the shares of topics.

    Parameters
    ----------
    cells : csr_array, shape (n_documents, n_terms)
        Its entries are the terms that are scored in each document.
    after : int
        Nothing is computed up to this sweep.
    new : float64 array, shape (n_terms,)
        Mean of a new topic.
    """

    cells: Any
    after: int
    new: Floats

    def __call__(self, franchise: Franchise) -> Floats:
        """Probability of each term: float64, shape (n_cells,), in the order of the entries."""
        if franchise.sweep <= self.after:
            return np.full(self.cells.nnz, np.nan)
        data: Any = franchise.data
        sample, n = franchise.sample(), self.cells.shape[0]
        lengths = np.asarray(data.document_lengths)[-n:]
        begin = len(data) - int(lengths.sum())
        document, values = np.repeat(np.arange(n), lengths), np.asarray(data.values[begin:])
        dish = np.asarray(franchise.dishes[begin:])
        opens = without_restaurants(franchise).dishes[begin : len(data)] >= 0
        tokens, tables = np.zeros((2, n, sample.n_dishes + 1))
        np.add.at(tokens, (document, dish), 1.0)
        np.add.at(tables, (document[opens], dish[opens]), 1.0)
        b, a = repeats_in(sample)
        of_one = sample.group_weights(slice(-n, None)) / (b + tokens)
        rows = sample.topic_blocks(np.arange(sample.n_dishes))
        topics = FixedTopics.of(rows, self.new, sample.root_weights)
        found = np.exp(topics.log_probabilities(of_one * (b + a * tables), self.cells))
        shared = of_one[document, dish] * (1.0 - a * opens)
        own = scipy.sparse.csr_array((shared, (document, values)), shape=self.cells.shape)
        return found + _entries(own, self.cells)


def _entries(matrix: Any, cells: Any) -> Floats:
    """Values of a sparse matrix at the entries of another."""
    places = cells.tocoo()
    return np.asarray(matrix[places.row, places.col], dtype=np.float64).ravel()


def joint_scores(model: Any, observed: Any, held: Any, new: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Scores of held-out cells, as `FixedTopics.score` returns them, of each sample of continued chains.

    ``model`` is a copy, to which the observed halves are added; ``new`` is the mean of a new topic.
    """
    cells = scipy.sparse.csr_array((observed + held) > 0)
    begun, sweeps = model.franchise_.sweep, model.partial_sweeps
    rule = Samples.of(model.samples or None, begun, sweeps)
    score = JointScore(cells, begun + sweeps - 1 if rule is None else rule.after, new)
    model._extend(observed, record={_KEY: score})
    traces = model.trace_.chains if isinstance(model.trace_, ChainTrace) else [model.trace_]
    rows = [trace[_KEY][trace["sweep"] == sample.sweep][0] for trace in traces for sample in trace.samples]
    for row in rows or [score(model.franchise_)]:
        found = scipy.sparse.csr_array((row, cells.indices, cells.indptr), shape=cells.shape)
        yield np.log(_entries(found, held)), np.asarray(found.multiply(observed > 0).sum(axis=1))
