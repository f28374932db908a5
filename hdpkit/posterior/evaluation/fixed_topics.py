"""New documents under the fixed topics of a state: proportions, and scores of held-out tokens."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures.by_restaurant import SAME, Repeats
from hdpkit.posterior.evaluation.completion import LEAST, PASSES
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.steps._new_groups import CVB0, Fitting, NewGroups

_DOCUMENTS = 512  # that are fitted, or swept over, between checks for Ctrl-C
_TOKENS = 1 << 20  # that are divided one by one
_LONGEST = 5_000  # steps
_EQUAL = 1e-9  # a relative difference from the smallest probability below this counts as zero


@attrs.frozen(eq=False)
class FixedTopics:
    """Topics over terms, the last of them for any new topic, and the prior of documents' proportions.

    A topic is stored as its smallest probability and, sparsely, the excess of single terms over it. Under a
    symmetric Dirichlet prior these are the terms that occurred in the topic.
    """

    base: Floats  # smallest probability of each topic, shape (K + 1,)
    excess: Any  # csc_array (K + 1, n_terms)
    prior: Floats  # pseudo-counts of the topics in a document: its concentration times their weights
    # tokens and pseudo-counts of each topic (probabilities times this are counts); None: can't learn words
    mass: Floats | None = None
    repeats: Repeats = SAME  # how topics differ by document

    @classmethod
    def of(
        cls,
        topics: Floats | Iterable[Floats],
        new: Floats,
        prior: Floats,
        mass: Floats | None = None,
        repeats: Repeats = SAME,
    ) -> Self:
        """Make the topics from rows that sum to one (in blocks, perhaps), and the mean of a new topic.

        ``prior`` and ``mass`` have K + 1 entries, the last for a new topic.
        """
        blocks: Iterable[Floats] = [topics] if isinstance(topics, np.ndarray) else topics
        base, places, excess = [], [], []
        for row in itertools.chain(itertools.chain.from_iterable(blocks), [new]):
            least = row.min()
            place = np.flatnonzero(row > least * (1 + _EQUAL))
            base.append(least)
            places.append(place.astype(np.int32))
            excess.append(row[place] - least)
        ends = np.append(0, np.cumsum([len(place) for place in places]))
        shape = (len(base), len(new))
        by_topic = scipy.sparse.csr_array((np.concatenate(excess), np.concatenate(places), ends), shape=shape)
        prior = np.ascontiguousarray(prior, dtype=np.float64)
        return cls(np.array(base), by_topic.tocsc(), prior, mass, repeats)

    @property
    def n_topics(self) -> int:
        """Number of topics K, without the last row."""
        return len(self.base) - 1

    def fit(self, counts: Any, tolerance: float) -> Floats:
        """Proportions (n_documents, K + 1) by EM: theta_k ~ prior_k + E[n_k] (docs/evaluation.md).

        Counts need not be whole numbers. EM ends for a document when no proportion changes by more than
        ``tolerance``. A document without tokens gets the proportions of the prior. Where topics differ by
        document, those of the document are expected ones (`CVB0`), and the topics don't learn.
        """
        if self.repeats.differ:
            nothing = scipy.sparse.csr_array(counts.shape, dtype=np.int64)
            return attrs.evolve(self, mass=None)._learned(counts, nothing, tolerance)[0]
        return self._fit(counts, tolerance)

    def _fit(self, counts: Any, tolerance: float) -> Floats:
        """Proportions under the topics of the corpus."""
        cells = _cells(counts)
        fitting = Fitting(
            self.base, self.excess.indptr.astype(np.int64), self.excess.indices.astype(np.int32),
            self.excess.data, self.prior, cells.indptr.astype(np.int64), cells.indices.astype(np.int64),
            cells.data.astype(np.float64),
        )  # fmt: skip
        n = cells.shape[0]
        theta = np.empty((n, len(self.base)))
        for first in range(0, n, _DOCUMENTS):
            if fitting.fit(first, min(first + _DOCUMENTS, n), tolerance, _LONGEST, theta) >= 0:
                raise ParameterError(
                    "tolerance", tolerance, f"a tolerance that EM reaches within {_LONGEST} steps",
                    "Give a larger one.",
                )  # fmt: skip
        return theta

    def sample(self, counts: Any, sweeps: int, burn_in: int, rng: ChoiceSource | Seed) -> Floats:
        """Posterior means of proportions by collapsed Gibbs sampling, as in `Franchise.fold_in`."""
        cells = _cells(counts)
        total, n = float(self.prior.sum()), cells.shape[0]
        share = (self.prior / total)[None]
        source = as_source(rng, Purpose.FOLD_IN)
        theta = np.empty((n, len(self.base)))
        for first in range(0, n, _DOCUMENTS):  # only the tokens of these are in memory one by one
            last = min(first + _DOCUMENTS, n)
            part = cells[first:last]
            terms, row = np.unique(part.indices, return_inverse=True)
            density = np.ascontiguousarray(self.excess[:, terms].toarray().T + self.base)
            repeats = part.data.astype(np.int64)
            begins = np.append(0, np.cumsum(repeats))[part.indptr].astype(np.int64)
            groups = NewGroups(
                density, share, np.repeat(row.astype(np.int64), repeats), begins,
                np.zeros(last - first, dtype=np.int64), total, 0.0, *self.repeats,
            )  # fmt: skip
            dishes = np.empty(int(begins[-1]), dtype=np.int64)
            groups.fold_in(0, last - first, burn_in, sweeps, source, theta[first:last], dishes)
        return theta

    def log_probabilities(self, theta: Floats, counts: Any) -> Floats:
        """Log probability of a token of each cell of a csr_array, under documents' proportions, in nats."""
        cells = _cells(counts)
        document = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        found = (theta @ self.base)[document]
        ends = self.excess.indptr.astype(np.int64)
        n_entries = ends[cells.indices + 1] - ends[cells.indices]
        cell = np.repeat(np.arange(len(document)), n_entries)
        offset = np.arange(len(cell)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
        entry = np.repeat(ends[cells.indices], n_entries) + offset
        there = theta[document[cell], self.excess.indices[entry]] * self.excess.data[entry]
        found += np.bincount(cell, weights=there, minlength=len(found))
        logs: Floats = np.log(found)
        return logs

    def score(self, counts: Any, held: Any, tolerance: float) -> tuple[Floats, Floats]:
        """Scores of held-out halves, with proportions fitted to the observed halves.

        Each document is treated separately. Topics with a ``mass`` learn its observed words: they are added
        to the topic's counts, as if the document were the next one of the fit. Where topics differ by
        document, those of the document are given its observed words. See
        `hdpkit.steps._new_groups`.

        Returns the log probability of a token of each held-out cell, in nats, and the probability of the
        observed terms of each document, all together.
        """
        if self.mass is not None or self.repeats.differ:
            return self._learned(counts, held, tolerance)[1:]
        return self.score_under(self._fit(counts, tolerance), counts, held)

    def score_under(self, theta: Floats, counts: Any, held: Any) -> tuple[Floats, Floats]:
        """Return scores as `score` does, under given proportions and the topics of the corpus."""
        cells = _cells(counts)
        document = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        seen = np.bincount(document, np.exp(self.log_probabilities(theta, cells)), minlength=cells.shape[0])
        return self.log_probabilities(theta, held), np.asarray(seen, dtype=np.float64)

    def _learned(self, counts: Any, held: Any, tolerance: float) -> tuple[Floats, Floats, Floats]:
        """Proportions, and what `score` returns."""
        theta, cells, others = self._fit(counts, tolerance), _cells(counts), _cells(held)
        mass = np.full(len(self.base), math.inf) if self.mass is None else self.mass
        learning = CVB0(
            self.base, self.excess.indptr.astype(np.int64), self.excess.indices.astype(np.int32),
            self.excess.data, self.prior, np.ascontiguousarray(mass, dtype=np.float64),
            cells.indptr.astype(np.int64), cells.indices.astype(np.int64), cells.data.astype(np.float64),
            others.indptr.astype(np.int64), others.indices.astype(np.int64), *self.repeats,
        )  # fmt: skip
        n, found, seen = len(theta), np.empty(len(others.data)), np.empty(len(theta))
        for first in range(0, n, _DOCUMENTS):
            learning.score(first, min(first + _DOCUMENTS, n), tolerance, PASSES, theta, found, seen)
        return theta, np.log(found), seen


def repeats_in(sample: Any) -> Repeats:
    """How topics differ by document in a `Sample`."""
    values = sample.hyperparameters
    concentration, discount = values.get("concentration/bursts", math.inf), values.get("discount/bursts", 0.0)
    return Repeats(float(concentration), float(discount))


def completion(
    states: Iterable[FixedTopics], counts: Any, held: Any, tolerance: float, new_terms: bool = False
) -> float:
    """Mean log probability of held-out tokens, in nats, by document completion, averaged over states.

    Proportions are fitted to the observed halves in each state; topics with a ``mass`` learn their words.
    With ``new_terms`` the tokens are those of terms that the observed half lacks, given that it does.
    """

    def scores_of_states(cells: Any) -> Iterator[tuple[Floats, Floats]]:
        for state in states:
            yield state.score(counts, cells, tolerance)

    return mean_log_probability(scores_of_states, counts, held, new_terms)


def mean_log_probability(
    scores_of_states: Callable[[Any], Iterator[tuple[Floats, Floats]]],
    counts: Any,
    held: Any,
    new_terms: bool = False,
) -> float:
    """Mean log probability of held-out tokens, in nats, whose probabilities are averaged over states.

    ``scores_of_states`` takes the held-out counts and yields what `FixedTopics.score` returns in each state.
    With ``new_terms`` as for `completion`.
    """
    cells = _new_cells(counts, held) if new_terms else _cells(held)
    total = float(cells.data.sum())
    if total == 0:
        raise DataError(
            "held-out halves" if new_terms else "X", "no such token" if new_terms else "no token",
            "a token of a term that its document's observed half lacks" if new_terms
            else "documents with at least one token to be scored",
            "Score all tokens, or other halves." if new_terms else "All of them are empty.",
        )  # fmt: skip
    sums, seen, n_states = np.full(len(cells.data), -np.inf), np.zeros(cells.shape[0]), 0
    for logs, of_observed in scores_of_states(cells):
        np.logaddexp(sums, logs, out=sums)
        seen += of_observed
        n_states += 1
    sums -= math.log(n_states)
    if new_terms:
        sums -= np.repeat(np.log(np.maximum(1.0 - seen / n_states, LEAST)), np.diff(cells.indptr))
    mean = float(sums @ cells.data) / total
    return mean if math.isfinite(mean) else -math.inf


def _new_cells(counts: Any, held: Any) -> Any:
    """Cells of the held-out halves whose terms the observed halves lack."""
    observed, cells = _cells(counts), _cells(held)
    found = scipy.sparse.csr_array(cells - cells.multiply(observed > 0))
    found.eliminate_zeros()
    return _cells(found)


def halves(counts: Any, rng: ChoiceSource | Seed) -> tuple[Any, Any]:
    """Split documents at random: half of the tokens of each (rounded down) observed, the others held out."""
    cells = _cells(counts)
    generator = as_source(rng, Purpose.SPLIT).generator
    repeats, places = cells.data.astype(np.int64), cells.indptr
    ends = np.append(0, np.cumsum(repeats))[places]  # of the documents, in tokens
    observed = np.zeros_like(repeats)
    first, n = 0, cells.shape[0]
    while first < n:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _TOKENS, side="right")) - 1)
        here = slice(int(places[first]), int(places[last]))
        sizes = np.diff(ends[first : last + 1])
        if sizes.sum() <= _TOKENS:
            observed[here] = _half_of_tokens(repeats[here], sizes, generator)
        else:  # a single document
            observed[here] = _half_of_counts(repeats[here], generator)
        first = last
    parts = []
    for part in (observed, repeats - observed):
        made = scipy.sparse.csr_array((part, cells.indices.copy(), places.copy()), shape=cells.shape)
        made.eliminate_zeros()
        parts.append(made)
    return parts[0], parts[1]


def _half_of_tokens(repeats: Int64s, sizes: Int64s, generator: np.random.Generator) -> Int64s:
    """Number of observed tokens of each cell of some documents, of which `sizes` are the tokens."""
    n = int(repeats.sum())
    document = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((generator.random(n), document))
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = order[place < np.repeat(sizes // 2, sizes)]
    return np.bincount(np.repeat(np.arange(len(repeats)), repeats)[chosen], minlength=len(repeats))


def _half_of_counts(repeats: Int64s, generator: np.random.Generator) -> Int64s:
    """Number of observed tokens of each cell of one document, from its counts: binomial, then corrected."""
    chosen = generator.binomial(repeats, 0.5)
    excess = int(chosen.sum()) - int(repeats.sum()) // 2
    pool = chosen if excess > 0 else repeats - chosen
    drawn = generator.choice(int(pool.sum()), abs(excess), replace=False, shuffle=False)
    changed = np.bincount(np.searchsorted(np.cumsum(pool), drawn, side="right"), minlength=len(pool))
    return np.asarray(chosen - changed if excess > 0 else chosen + changed)


def _cells(counts: Any) -> Any:
    """Counts as CSR: terms of a document distinct and ascending, no zeros."""
    cells = scipy.sparse.csr_array(counts)
    if not cells.has_canonical_format or (len(cells.data) and not cells.data.all()):
        cells = cells.copy()
        cells.sum_duplicates()
        cells.eliminate_zeros()
    return cells
