"""Draws of topics and of shares of groups from their posterior given a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.franchise.sample_parts import Level, TermMeans

__all__ = ["TopicLaw", "dirichlet", "drawn_weights", "topic_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class TopicLaw:
    """The posterior of one topic given a sample: a Dirichlet distribution over the terms that it selects.

    A term that has customers is always selected; any other term with probability ``selected``, which is 1
    unless topics select terms (Wang & Blei 2009). If the number of selected terms is random, the sum of the
    Dirichlet parameters is replaced by the one that gives the posterior mean.

    Attributes
    ----------
    terms : int64 array, shape (n,)
        Terms that have customers; all terms if ``parameters`` differ among those that have none.
    parameters : float64 array, shape (n,)
        Dirichlet parameters of these terms.
    smoothing : float64 array, shape () or (V,)
        Dirichlet parameter of any other term.
    selected : float
    total : float
        Sum of the Dirichlet parameters; infinite if the topic is fixed: ``parameters`` is then the topic.
    """

    terms: Ints
    parameters: Floats
    smoothing: Floats
    selected: float
    total: float

    def draw(self, terms: Ints, n: int, generator: np.random.Generator) -> Floats:
        """Probabilities of some terms, drawn ``n`` times: float64, shape (n, len(terms)).

        Parameters
        ----------
        terms : int64 array
            Ascending; every term that has customers is among them.
        n : int
        generator : Generator
        """
        own = np.broadcast_to(self.smoothing, self.smoothing.shape or (1,))
        own = own[terms] if self.smoothing.shape else np.full(len(terms), float(own[0]))
        place = np.searchsorted(terms, self.terms)
        own[place] = self.parameters
        if np.isinf(self.total):
            return np.tile(own, (n, 1))
        chance = np.full(len(terms), self.selected)
        chance[place] = 1.0
        drawn = generator.standard_gamma(own, size=(n, len(terms)))
        if self.selected < 1.0:
            drawn *= generator.random(drawn.shape) < chance
        rest = max(self.total - float(own @ chance), 0.0)
        sums = drawn.sum(axis=1) + generator.standard_gamma(rest, size=n)
        return np.asarray(drawn / np.where(sums > 0.0, sums, 1.0)[:, None])

    def draw_other(self, smoothing: Floats, n: int, generator: np.random.Generator) -> Floats:
        """Probability of a term without customers, drawn ``n`` times by itself for each smoothing.

        Parameters
        ----------
        smoothing : float64 array, shape (m,)
            Dirichlet parameters of such terms.
        n : int
        generator : Generator

        Returns
        -------
        float64 array, shape (n, m)
        """
        drawn = generator.beta(
            smoothing, np.maximum(self.total - smoothing, _LEAST), size=(n, len(smoothing))
        )
        if self.selected < 1.0:
            drawn *= generator.random(drawn.shape) < self.selected
        return np.asarray(drawn)


_LEAST = 1e-300  # a beta distribution has positive parameters


def topic_law(
    counts: Any, means: TermMeans | None, parameters_of_dishes: Mapping[str, npt.NDArray[Any]], dish: int
) -> TopicLaw | None:
    """The posterior of a topic from a sample (see `Sample`); None if the sample has only its mean."""
    if means is None:
        precision, mean = parameters_of_dishes.get("precision"), parameters_of_dishes.get("mean")
        if precision is None or mean is None:
            return None
        total = float(precision[dish])
        parameters = np.array(mean[dish]) if np.isinf(total) else mean[dish] * total
        return TopicLaw(np.arange(counts.shape[1]), parameters, np.zeros(()), 1.0, total)
    begin, end = counts.indptr[dish], counts.indptr[dish + 1]
    terms = np.asarray(counts.indices[begin:end], dtype=np.int64)
    smoothing = means.smoothing
    if smoothing.ndim == 2:  # one for each dish
        smoothing = smoothing[dish, 0]
    own = smoothing[terms] if smoothing.shape else smoothing
    parameters = np.asarray(counts.data[begin:end] + own, dtype=np.float64)
    inside, outside = float(means.inside[dish]), float(means.outside[dish])
    order = np.argsort(terms, kind="stable")
    return TopicLaw(
        terms[order],
        parameters[order],
        np.asarray(smoothing, dtype=np.float64),
        outside / inside,
        1.0 / inside,
    )


def drawn_weights(level: Level, above: Floats, chosen: slice, generator: np.random.Generator) -> Floats:
    """Shares of every dish and of a new one in some restaurants of a level, drawn given the rows above it."""
    theta, d = (np.broadcast_to(a, len(level.parent))[chosen] for a in (level.concentration, level.discount))
    rows, own = above[level.parent[chosen]], level.counts[chosen]
    if level.tables is None:
        return dirichlet(theta[:, None] * rows + _dense(own, rows.shape), generator)
    tables = level.tables[chosen]
    n_tables = np.asarray(tables.sum(axis=1))
    rest = theta + d * n_tables
    shares = _dense(own, rows.shape) - d[:, None] * _dense(tables, rows.shape)
    shares[:, -1] = np.where(
        n_tables > 0, rest, 1.0
    )  # without customers everything is new, and theta may be < 0
    drawn = dirichlet(shares, generator)
    # A Pitman-Yor process has variances P (1 - P) (1 - d) / (rest + 1).
    spread = dirichlet(((rest + d) / (1.0 - d))[:, None] * rows, generator)
    remainder = drawn[:, -1:].copy()
    drawn[:, -1] = 0.0
    return drawn + remainder * spread


def _dense(matrix: Any, shape: tuple[int, ...]) -> Floats:
    """A sparse matrix as an array with an additional column of zeros."""
    full = np.zeros(shape)
    full[:, :-1] = matrix.toarray()
    return full


def dirichlet(parameters: Floats, generator: np.random.Generator) -> Floats:
    """One draw for each row of parameters; a parameter of 0 gives a share of 0."""
    drawn = generator.standard_gamma(parameters)
    total = drawn.sum(axis=1, keepdims=True)
    # If all parameters are tiny, all gamma draws may be 0 in double precision: one share is then 1.
    for row in np.flatnonzero(total[:, 0] <= 0.0).tolist():
        drawn[row, generator.choice(parameters.shape[1], p=parameters[row] / parameters[row].sum())] = 1.0
        total[row] = 1.0
    return np.asarray(drawn / total, dtype=np.float64)
