"""Draws of topics and of shares of groups from their posterior given a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.measures.selection import Selection
from hdpkit.base_measures.reference.selection import draw_topic
from hdpkit.checks import instance, whole_number, whole_numbers
from hdpkit.franchise.sample_parts import Level, TermMeans
from hdpkit.random import ChoiceSource

__all__ = ["TopicLaw", "dirichlet", "drawn_weights", "topic_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class TopicLaw:
    """The posterior of one topic given a sample: a Dirichlet distribution over the terms that it selects.

    If topics select terms (Wang & Blei 2009), those that have customers are selected, and the number of
    others is random; which others are is uniform given their number.

    Attributes
    ----------
    terms : int64 array, shape (n,)
        Terms that have customers; all terms if ``parameters`` differ among those that have none.
    parameters : float64 array, shape (n,)
        Dirichlet parameters of these terms.
    smoothing : float64 array, shape () or (V,)
        Dirichlet parameter of any other term.
    total : float
        Sum of the Dirichlet parameters; if topics select terms, 1 / the mean of its inverse. Infinite if the
        topic is fixed: ``parameters`` is then the topic.
    n_terms : int
        V.
    selection : object, optional
        Distribution of the number of other terms that are selected; None: all are.
    customers : int
        Customers of the dish.
    """

    terms: Ints
    parameters: Floats
    smoothing: Floats
    total: float
    n_terms: int
    selection: Any = None
    customers: int = 0

    def draw(self, source: ChoiceSource) -> Floats:
        """Draw the topic: float64, shape (V,), with a sum of one.

        Parameters
        ----------
        source : ChoiceSource
        """
        _check_source(source)
        if self.selection is not None:
            shapes = np.zeros(self.n_terms)
            shapes[self.terms] = self.parameters
            return draw_topic(self.selection, self.customers, shapes, float(self.smoothing), source)
        own = np.array(np.broadcast_to(self.smoothing, (self.n_terms,)))
        own[self.terms] = self.parameters
        return own if np.isinf(self.total) else dirichlet(own[None, :], source.generator)[0]

    def draw_each(self, terms: Ints, n: int, source: ChoiceSource) -> Floats:
        """Draw the probability of each of some terms ``n`` times from its own distribution.

        It is a beta distribution, given the number of selected terms. Terms with equal parameters have equal
        draws, so these are good for intervals of single terms, and for nothing that depends on several terms.

        Parameters
        ----------
        terms : int64 array, shape (m,)
            Ascending.
        n : int
        source : ChoiceSource

        Returns
        -------
        float64 array, shape (m, n)
        """
        _check_source(source)
        terms = whole_numbers("terms", terms, 0, self.n_terms - 1, remedy="Numbers of terms, ascending.")
        n = whole_number("n", n)
        own = np.array(
            np.broadcast_to(self.smoothing, (len(terms),))
            if not self.smoothing.shape
            else self.smoothing[terms]
        )
        place = np.searchsorted(terms, self.terms)
        here = place < len(terms)
        here[here] = terms[place[here]] == self.terms[here]
        own[place[here]] = self.parameters[here]
        if np.isinf(self.total):
            return np.repeat(own[:, None], n, axis=1)
        has = np.zeros(len(terms), dtype=bool)
        has[place[here]] = True
        kinds, kind = np.unique(np.where(has, own, -own), return_inverse=True)  # negative: without customers
        a, total, alone = np.abs(kinds)[:, None], np.array(self.total), kinds < 0
        if self.selection is not None:
            distinct = len(self.terms)
            more = [self.selection.draw(distinct, self.customers, source) for _ in range(n)]
            total = self.parameters.sum() + float(self.smoothing) * np.array(more)
        drawn = source.generator.beta(a, np.maximum(total - a, _LEAST), size=(len(kinds), n))
        if self.selection is not None:
            left = max(self.n_terms - distinct, 1)
            drawn[alone] *= source.generator.random((np.count_nonzero(alone), n)) * left < more
        return np.asarray(drawn[kind])


def _check_source(source: Any) -> None:
    instance("source", source, ChoiceSource, "a choice source", remedy="hdpkit.random.as_source(0).")


_LEAST = 1e-300  # a beta distribution has positive parameters
_LOGS = (-1e6, -1e-300)  # range of logarithms of probabilities in `Selection`


def topic_law(
    counts: Any, means: TermMeans | None, parameters_of_dishes: Mapping[str, npt.NDArray[Any]], dish: int
) -> TopicLaw | None:
    """The posterior of a topic from a sample (see `Sample`); None if the sample has only its mean."""
    n_terms = int(counts.shape[1])
    if means is None:
        precision, mean = parameters_of_dishes.get("precision"), parameters_of_dishes.get("mean")
        if precision is None or mean is None:
            return None
        total = float(precision[dish])
        parameters = np.array(mean[dish]) if np.isinf(total) else mean[dish] * total
        return TopicLaw(np.arange(n_terms), parameters, np.zeros(()), total, n_terms)
    inside, outside, selection = float(means.inside[dish]), float(means.outside[dish]), means.selection
    if selection is None and inside != outside:
        return None
    begin, end = counts.indptr[dish], counts.indptr[dish + 1]
    order = np.argsort(counts.indices[begin:end], kind="stable")
    terms = np.asarray(counts.indices[begin:end], dtype=np.int64)[order]
    data = counts.data[begin:end][order]
    smoothing = means.smoothing
    if smoothing.ndim == 2:  # one for each dish
        smoothing = smoothing[dish, 0]
    smoothing = np.asarray(smoothing, dtype=np.float64)
    parameters = np.asarray(data + (smoothing[terms] if smoothing.shape else smoothing), dtype=np.float64)
    law = None
    if selection is not None:
        if selection.ndim == 1:
            law = Selection(n_terms, float(smoothing), r=selection[0], s=selection[1])
        else:
            log_pi, log_rest = np.clip(selection[dish], *_LOGS).tolist()
            law = Selection(n_terms, float(smoothing), log_pi=log_pi, log_rest=log_rest)
    return TopicLaw(terms, parameters, smoothing, 1.0 / inside, n_terms, law, int(data.sum()))


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
    remainder = drawn[:, -1:].copy()
    drawn[:, -1] = 0.0
    return drawn + remainder * _pitman_yor(rest, d, rows, generator)


_MOST_PARTS = 1000.0


def _pitman_yor(theta: Floats, d: Floats, base: Floats, generator: np.random.Generator) -> Floats:
    """Shares of the parts of a partition in one draw of PY(theta, d) for each row of their base weights.

    Without a discount this is a Dirichlet process. Otherwise the shares are those of the increments of a
    generalised gamma subordinator over times S base, S ~ Gamma(theta / d) (Pitman & Yor 1997, proposition
    21). If theta / d is large this takes many draws, and a Dirichlet distribution with the same mean and
    variances, P (1 - P) (1 - d) / (theta + 1), is used.
    """
    few = (d > 0.0) & (theta <= _MOST_PARTS * d)
    drawn = dirichlet(np.where(few, 1.0, (theta + d) / (1.0 - d))[:, None] * base, generator)
    if not few.any():
        return drawn
    theta, d, base = theta[few], d[few], base[few]
    first = np.zeros(base.shape)  # PY(theta, d) has theta > -d: its first weight is Beta(1 - d, theta + d)
    left = np.ones(len(base))
    for row in np.flatnonzero(theta <= 0.0).tolist():
        share = generator.beta(1.0 - d[row], theta[row] + d[row])
        first[row, generator.choice(base.shape[1], p=base[row] / base[row].sum())] = share
        left[row] -= share
    shapes = (theta + np.where(theta <= 0.0, d, 0.0)) / d
    masses = generator.standard_gamma(shapes)[:, None] * base
    pieces = np.maximum(np.ceil(masses), 1.0).astype(np.int64)
    discounts = np.broadcast_to(d[:, None], base.shape)
    each = np.repeat((masses / pieces).ravel(), pieces.ravel())
    found = _tempered(each, np.repeat(discounts.ravel(), pieces.ravel()), generator)
    ends = np.cumsum(pieces.ravel())
    sums = np.add.reduceat(found, ends - pieces.ravel()).reshape(base.shape)
    total = sums.sum(axis=1, keepdims=True)
    for row in np.flatnonzero(total[:, 0] <= 0.0).tolist():  # all below the least float: one has nearly all
        sums[row, generator.choice(base.shape[1], p=base[row] / base[row].sum())] = total[row] = 1.0
    drawn[few] = first + left[:, None] * (sums / total)
    return drawn


def _tempered(mass: Floats, d: Floats, generator: np.random.Generator) -> Floats:
    """Draws with Laplace transforms exp(-mass ((1 + s)**d - 1)), for masses up to about 1.

    A stable draw (Kanter 1975) is accepted with probability exp(-its size).
    """
    found, todo = np.zeros(len(mass)), np.flatnonzero(mass > 0.0)
    while len(todo):
        own = d[todo]
        angle, exponential = (
            generator.uniform(0.0, np.pi, len(todo)),
            generator.standard_exponential(len(todo)),
        )
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            logs = np.log(np.sin(own * angle)) + (1.0 - own) / own * np.log(
                np.sin((1.0 - own) * angle) / exponential
            )
            size = np.exp(logs + (np.log(mass[todo]) - np.log(np.sin(angle))) / own)
        taken = generator.standard_exponential(len(todo)) >= size
        found[todo[taken]] = size[taken]
        todo = todo[~taken]
    return found


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
