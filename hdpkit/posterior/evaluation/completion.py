"""Document completion: proportions are fitted to one half of a group, and the other half is scored.

Dishes and the row of the parent restaurant are fixed; the new dish is one of the dishes. Proportions are

- those of a fixed point, theta_k proportional to prior_k + E[n_k], with prior_k the concentration times
  P_parent(k), and E[n_k] the expected number of observed values from dish k under theta. EM finds it. It is
  the only maximum of a concave function, so the result doesn't depend on the start;
  - or posterior means by Gibbs sampling, which also works with discounts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import check_unmasked, flag, number_array, positive_number
from hdpkit.data import Corpus
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures.by_restaurant import SAME, Repeats
from hdpkit.posterior.fold_in import NewGroupModel, complete_groups, sample_groups
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.steps._new_groups import CVB0, Fitting, NewGroups

TOLERANCE = 1e-6  # a smaller step changes scores by less than one in ten thousand
_LONGEST = 20_000  # steps
PASSES = 200  # at most, over the terms of a group that change its own dishes
LEAST = 1e-300  # of the probability of all terms that an observed half lacks
_PLAIN = 500  # number of steps without extrapolation


def fit_proportions(
    phi: npt.ArrayLike, prior: npt.ArrayLike, counts: npt.ArrayLike, tolerance: float = TOLERANCE
) -> Floats:
    """Fit the proportions of one group by EM.

    Returns an array, shape (K,). Raises a ParameterError if shapes don't fit, or the tolerance is not
    positive or too small to be reached.

    Parameters
    ----------
    phi : array, shape (K, n)
        Density of each of n values under each dish; each column may be scaled by any positive factor.
    prior : array, shape (K,)
        Pseudo-counts of the dishes, positive.
    counts : array, shape (n,)
        How often each value was observed.
    tolerance : float
        EM ends when no proportion changes by more than this.
    """
    tolerance = positive_number("tolerance", tolerance)
    of_values, alpha, n = _numbers("phi", phi), _numbers("prior", prior), _numbers("counts", counts)
    if of_values.shape != (*alpha.shape, *n.shape) or alpha.ndim != 1:
        raise ParameterError(
            "phi", of_values.shape, f"of shape (K, n): {(*alpha.shape, *n.shape)}",
            "Give a row for each entry of prior, a column for each entry of counts.",
        )  # fmt: skip
    if not (alpha > 0).all():
        raise ParameterError("prior", prior, "positive", "Leave dishes without prior mass out.")
    theta: Floats = alpha / alpha.sum()
    if len(n) == 0:
        return theta
    total = alpha.sum() + n.sum()

    def step(theta: Floats) -> Floats:
        return (alpha + theta * (of_values @ (n / (theta @ of_values)))) / total

    for number in range(_LONGEST):
        one = step(theta)
        if np.abs(one - theta).max() <= tolerance:
            return one
        # With nearly equal topics EM may take any number of steps: extrapolate from each pair of steps.
        theta = one if number < _PLAIN else _ahead(theta, one, step(one), alpha / total)
    raise _unreached(tolerance, _LONGEST)


def _unreached(tolerance: float, longest: int) -> ParameterError:
    return ParameterError(
        "tolerance", tolerance, f"a tolerance that EM reaches within {longest} steps", "Give a larger one."
    )


def _ahead(theta: Floats, one: Floats, two: Floats, least: Floats) -> Floats:
    """Extrapolate two steps of EM (Varadhan & Roland 2008, scheme S3); the second point if that fails."""
    r = one - theta
    v = two - one - r
    rr, vv = r @ r, v @ v
    if not rr > vv > 0:
        return two
    far = math.sqrt(rr / vv)
    point: Floats = np.maximum(theta + 2.0 * far * r + far * far * v, least)
    return point / point.sum()


def by_em(observed: NewGroupModel, held: NewGroupModel, tolerance: float) -> tuple[Floats, Floats]:
    """Log densities of held-out values by group, and the probability of each group's observed terms."""
    (n_rows, n_dishes), parents = observed.density.shape, observed.parents
    n_groups, begins = len(parents.parent), held.layout.begins
    cells, times = np.unique(observed.layout.group * n_rows + observed.row, return_counts=True)
    group, rows = np.divmod(cells, n_rows)
    ends = np.searchsorted(group, np.arange(n_groups + 1))
    counts = ends, rows, times.astype(np.float64)
    every = (
        np.zeros(n_dishes), np.arange(n_rows + 1) * n_dishes,
        np.tile(np.arange(n_dishes, dtype=np.int32), n_rows), np.ravel(observed.density),
    )  # fmt: skip
    theta, found, seen = np.empty((n_groups, n_dishes)), np.empty(len(held.row)), np.empty(n_groups)
    for number, share in enumerate(parents.share):
        prior = observed.concentration * share
        fitting = Fitting(*every, prior, *counts)
        # Dishes of a group are expected ones given its observed half (see `hdpkit.steps._new_groups`).
        none = np.full(n_dishes, math.inf)
        learning = CVB0(*every, prior, none, *counts, begins, held.row, *observed.repeats)
        for d in np.flatnonzero(parents.parent == number).tolist():
            if fitting.fit(d, d + 1, tolerance, _LONGEST_FIT, theta) >= 0:
                raise _unreached(tolerance, _LONGEST_FIT)
            if observed.repeats.differ:
                learning.score(d, d + 1, tolerance, PASSES, theta, found, seen)
                continue
            scored, own = slice(begins[d], begins[d + 1]), rows[ends[d] : ends[d + 1]]
            found[scored] = held.density[held.row[scored]] @ theta[d]
            seen[d] = (observed.density[own] @ theta[d]) @ np.exp(observed.log_scale[own])
    return np.log(found) + held.log_scale[held.row], seen


def by_gibbs(
    observed: NewGroupModel,
    held: NewGroupModel,
    particles: int,
    sweeps: int,
    burn_in: int,
    source: ChoiceSource,
) -> tuple[Floats, Floats]:
    """Scores as `by_em` returns them, a row for each independent sampler of the observed halves."""
    logs = np.empty((particles, len(held.row)))
    n_groups = len(observed.parents.parent)
    seen = np.zeros((particles, n_groups))
    distinct = [np.unique(_rows(observed, group)) for group in range(n_groups)]
    for particle in range(particles):
        if observed.repeats.differ:
            rows = [np.concatenate([_rows(held, group), distinct[group]]) for group in range(n_groups)]
            found = complete_groups(observed, rows, sweeps, burn_in, source)
        else:
            proportions, _ = sample_groups(observed, sweeps, burn_in, source)
        for group in range(n_groups):
            scored = slice(held.layout.begins[group], held.layout.begins[group + 1])
            if observed.repeats.differ:
                n_held = scored.stop - scored.start
                logs[particle, scored] = np.log(found[group][:n_held])
                seen[particle, group] = found[group][n_held:].sum()
                continue
            logs[particle, scored] = np.log(held.density[held.row[scored]] @ proportions[group])
            of_rows = observed.density[distinct[group]] @ proportions[group]
            seen[particle, group] = of_rows @ np.exp(observed.log_scale[distinct[group]])
    return logs + held.log_scale[held.row], seen


def _rows(fixed: NewGroupModel, group: int) -> npt.NDArray[np.int64]:
    return fixed.row[fixed.layout.begins[group] : fixed.layout.begins[group + 1]]


def completion_perplexity(
    phi: npt.ArrayLike,
    prior: npt.ArrayLike,
    observed: Any,
    held: Any,
    tolerance: float = TOLERANCE,
    *,
    new_terms: bool = False,
) -> float:
    """Perplexity by document completion, for topics of any program: exp(-mean log p) of the held-out halves.

    Raises a DataError if topics and halves don't fit, or there is no such held-out word.

    Parameters
    ----------
    phi : array, shape (K, V)
        Topics, each a distribution over terms; a new topic, if any, has its own row.
    prior : array, shape (K,)
        Pseudo-counts of each row of phi in a document: concentration times weight.
    observed, held : sparse arrays of counts, shape (D, V)
        The two halves of each document, in the same order.
    tolerance : float
        EM ends when no proportion changes by more than this.
    new_terms : bool
        Score only the held-out words whose term is not in the observed half of their document, given that it
        is not (`Evaluation.new_perplexity`).
    """
    flag("new_terms", new_terms)
    tolerance = positive_number("tolerance", tolerance)
    topics, alpha = _numbers("phi", phi), _numbers("prior", prior)
    halves = [counts_of(name, half) for name, half in (("observed", observed), ("held", held))]
    if (
        halves[0].shape != halves[1].shape
        or topics.ndim != 2
        or halves[0].shape[1] != topics.shape[1]
        or alpha.shape != topics.shape[:1]
    ):
        raise DataError(
            "halves", f"{halves[0].shape} and {halves[1].shape}",
            f"one shape (D, V) for both, that fits topics {topics.shape} and a prior {alpha.shape}",
            "Give one column for each term of the topics, and one topic for each entry of the prior.",
        )  # fmt: skip
    if not alpha.sum() > 0 or (alpha < 0).any():
        raise ParameterError(
            "prior", prior, "numbers >= 0, at least one of them positive",
            "Give the concentration times the weights of topics.",
        )  # fmt: skip
    used = alpha > 0  # a topic without prior mass has proportion zero in every document
    fixed = FixedTopics.of(topics[used][:-1], topics[used][-1], alpha[used])
    return math.exp(-completion([fixed], halves[0], halves[1], tolerance, new_terms))


def _numbers(name: str, values: Any) -> Floats:
    made = number_array(values)
    if made is None or not np.isfinite(made).all():
        raise ParameterError(name, values, "an array of finite numbers", "See the docstring for its shape.")
    return made


def counts_of(name: str, given: Any, n_terms: int | None = None) -> scipy.sparse.csr_array:
    """Counts of terms in documents, of a corpus or a matrix that a caller gave."""
    check_unmasked(name, given)
    if scipy.sparse.issparse(given):
        given = sparse_entries(name, given).matrix()
    try:
        made = scipy.sparse.coo_array(given.to_counts() if isinstance(given, Corpus) else given)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise DataError(name, given, "a Corpus, or a matrix of counts", "See Corpus.to_counts.") from None
    if made.ndim != 2 or made.dtype.kind not in "iufb" or n_terms not in (None, made.shape[1]):
        raise DataError(
            name, f"counts of shape {made.shape}", f"whole numbers >= 0, of {n_terms or 'all'} terms",
            "Build new documents with vocabulary=corpus.vocabulary, or with n_terms.",
        )  # fmt: skip
    check_whole(name, made.row, made.col, made.data, None)  # before entries of one cell add up
    counts = scipy.sparse.csr_array(made.astype(np.int64))
    counts.sum_duplicates()
    return counts


_DOCUMENTS = 512  # that are fitted, or swept over, between checks for Ctrl-C
_TOKENS = 1 << 20  # that are divided one by one
_LONGEST_FIT = 5_000  # steps
_EQUAL = 1e-9  # a relative difference from the smallest probability below this counts as zero


@attrs.frozen(eq=False)
class FixedTopics:
    """Topics over terms, the last of them for any new topic, and the prior of documents' proportions."""

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
        """Make the topics from rows that sum to one (in blocks, perhaps), and the mean of a new topic."""
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
        """Proportions (n_documents, K + 1) by EM (docs/evaluation.md); counts need not be whole numbers."""
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
            if fitting.fit(first, min(first + _DOCUMENTS, n), tolerance, _LONGEST_FIT, theta) >= 0:
                raise _unreached(tolerance, _LONGEST_FIT)
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
        """Log probability of a token of each held-out cell, and that of a document's observed terms."""
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
    """Mean log probability of held-out tokens by document completion, averaged over states."""

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
    """Mean log probability of held-out tokens, given what `FixedTopics.score` returns in each state."""
    cells = _cells(held)
    if new_terms:  # those whose terms the observed halves lack
        cells = _cells(cells - cells.multiply(_cells(counts) > 0))
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
