"""Document completion: proportions are fitted to one half of a group, and the other half is scored.

Dishes and the row of the parent restaurant are fixed; the new dish is one of the dishes. Proportions are

- those of a fixed point, theta_k proportional to prior_k + E[n_k], with prior_k the concentration times
  P_parent(k), and E[n_k] the expected number of observed values from dish k under theta. EM finds it. It is
  the only maximum of a concave function, so the result doesn't depend on the start;
  - or posterior means by Gibbs sampling, which also works with discounts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import check_unmasked, flag, number_array, positive_number
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError
from hdpkit.posterior.fold_in import NewGroupModel, complete_groups, sample_groups
from hdpkit.random import ChoiceSource
from hdpkit.steps._new_groups import CVB0

TOLERANCE = 1e-6  # a smaller step changes scores by less than one in ten thousand
_LONGEST = 20_000  # steps
PASSES = 200  # at most, over the terms of a group that change its own dishes
LEAST = 1e-300  # of the probability of all terms that an observed half lacks
_PLAIN = 500  # number of steps without extrapolation


def fit_proportions(
    phi: npt.ArrayLike, prior: npt.ArrayLike, counts: npt.ArrayLike, tolerance: float = TOLERANCE
) -> Floats:
    """Fit the proportions of one group by EM.

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

    Returns
    -------
    array, shape (K,)

    Raises
    ------
    ParameterError
        If shapes don't fit, or the tolerance is not positive or too small to be reached.
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
    return _fitted(np.ascontiguousarray(of_values), alpha, n, tolerance)


def _fitted(of_values: Floats, prior: Floats, counts: Floats, tolerance: float) -> Floats:
    theta: Floats = prior / prior.sum()
    if len(counts) == 0:
        return theta
    total = prior.sum() + counts.sum()

    def step(theta: Floats) -> Floats:
        return (prior + theta * (of_values @ (counts / (theta @ of_values)))) / total

    for number in range(_LONGEST):
        one = step(theta)
        if np.abs(one - theta).max() <= tolerance:
            return one
        # With nearly equal topics EM may take any number of steps: extrapolate from each pair of steps.
        theta = one if number < _PLAIN else _ahead(theta, one, step(one), prior / total)
    raise ParameterError(
        "tolerance", tolerance, f"a tolerance that EM reaches within {_LONGEST} steps", "Give a larger one."
    )


def _ahead(theta: Floats, one: Floats, two: Floats, least: Floats) -> Floats:
    """Extrapolate two steps of EM (Varadhan & Roland 2008, scheme S3); the second point if that fails.

    No step of EM leaves a proportion below ``least``, so the extrapolated point must not either.
    """
    r = one - theta
    v = two - one - r
    rr, vv = r @ r, v @ v
    if not rr > vv > 0:
        return two
    far = math.sqrt(rr / vv)
    point: Floats = np.maximum(theta + 2.0 * far * r + far * far * v, least)
    return point / point.sum()


def by_em(observed: NewGroupModel, held: NewGroupModel, tolerance: float) -> tuple[Floats, Floats]:
    """Scores of the held-out values, group by group, under proportions that EM fits.

    If values are terms, both halves have the same rows of densities. Where dishes differ by group, those of a
    group are expected ones given its observed half (see `hdpkit.steps._new_groups`).

    Returns the log density of each held-out value, in nats, and the probability of the observed values of
    each group, all together.
    """
    if observed.repeats.differ:
        return _by_expectation(observed, held, tolerance)
    logs, seen = np.empty(len(held.row)), np.zeros(len(observed.parents.parent))
    parents = observed.parents
    for group in range(len(parents.parent)):
        prior = observed.concentration * parents.share[parents.parent[group]]
        used = prior > 0  # a dish without prior mass has proportion zero in every group
        rows, counts = np.unique(_rows(observed, group), return_counts=True)
        of_rows = np.ascontiguousarray(observed.density[rows].T[used])
        theta = _fitted(of_rows, prior[used], counts.astype(float), tolerance)
        scored = slice(held.layout.begins[group], held.layout.begins[group + 1])
        logs[scored] = np.log(held.density[held.row[scored]][:, used] @ theta)
        seen[group] = (theta @ of_rows) @ np.exp(observed.log_scale[rows])
    return logs + held.log_scale[held.row], seen


def _by_expectation(observed: NewGroupModel, held: NewGroupModel, tolerance: float) -> tuple[Floats, Floats]:
    """`by_em` where dishes differ by group."""
    n_rows, n_dishes = observed.density.shape
    n_groups, parents = len(observed.parents.parent), observed.parents
    theta = np.empty((n_groups, n_dishes))
    begins, terms, counts = [0], [], []
    for group in range(n_groups):
        prior = observed.concentration * parents.share[parents.parent[group]]
        used = prior > 0
        rows, times = np.unique(_rows(observed, group), return_counts=True)
        of_rows = np.ascontiguousarray(observed.density[rows].T[used])
        theta[group] = 0.0
        theta[group, used] = _fitted(of_rows, prior[used], times.astype(float), tolerance)
        terms.append(rows)
        counts.append(times)
        begins.append(begins[-1] + len(rows))
    found, seen = np.empty(len(held.row)), np.empty(n_groups)
    for number, share in enumerate(parents.share):
        learning = CVB0(
            np.zeros(n_dishes), np.arange(n_rows + 1) * n_dishes,
            np.tile(np.arange(n_dishes, dtype=np.int32), n_rows), np.ravel(observed.density),
            observed.concentration * share, np.full(n_dishes, math.inf), np.array(begins),
            np.concatenate([np.zeros(0, dtype=np.int64), *terms]),
            np.concatenate([np.zeros(0), *counts]), held.layout.begins, held.row, *observed.repeats,
        )  # fmt: skip
        for group in np.flatnonzero(parents.parent == number).tolist():
            learning.score(group, group + 1, tolerance, PASSES, theta, found, seen)
    return np.log(found), seen


def by_gibbs(
    observed: NewGroupModel,
    held: NewGroupModel,
    particles: int,
    sweeps: int,
    burn_in: int,
    source: ChoiceSource,
) -> tuple[Floats, Floats]:
    """Scores as `by_em` returns them, a row for each independent sampler of the observed halves.

    The density of a value is its mean, over the sweeps, of the density given the seating.
    """
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

    Returns
    -------
    float

    Raises
    ------
    DataError
        If topics and halves don't fit, or there is no such held-out word.
    """
    flag("new_terms", new_terms)
    tolerance = positive_number("tolerance", tolerance)
    topics, alpha = _numbers("phi", phi), _numbers("prior", prior)
    halves = [_counts(name, half) for name, half in (("observed", observed), ("held", held))]
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
    density = np.ascontiguousarray(topics[used].T)
    sums, n = np.zeros(halves[1].shape[0]), 0
    for document in range(len(sums)):
        (seen, times), (scored, counts) = (_row(half, document) for half in halves)
        theta = _fitted(np.ascontiguousarray(density[seen].T), alpha[used], times.astype(float), tolerance)
        if new_terms:
            new = ~np.isin(scored, seen)
            scored, counts = scored[new], counts[new]
            sums[document] -= counts.sum() * math.log(max(1.0 - (density[seen] @ theta).sum(), LEAST))
        sums[document] += np.log(density[scored] @ theta) @ counts
        n += int(counts.sum())
    if n == 0:
        raise DataError("held", held, "a half with at least one such word", "Give the held-out words.")
    return math.exp(-float(sums.sum()) / n)


def _row(counts: scipy.sparse.csr_array, number: int) -> tuple[Any, Any]:
    """Columns and counts of a row."""
    there = slice(int(counts.indptr[number]), int(counts.indptr[number + 1]))
    return counts.indices[there], counts.data[there]


def _numbers(name: str, values: Any) -> Floats:
    made = number_array(values)
    if made is None or not np.isfinite(made).all():
        raise ParameterError(name, values, "an array of finite numbers", "See the docstring for its shape.")
    return made


def _counts(name: str, half: Any) -> scipy.sparse.csr_array:
    check_unmasked(name, half)
    if scipy.sparse.issparse(half):
        half = sparse_entries(name, half).matrix()
    try:
        made = scipy.sparse.coo_array(half)  # entries of one cell are checked before they add up
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise DataError(name, half, "a dense or sparse matrix of counts", "See Corpus.to_counts.") from None
    if made.ndim != 2 or made.dtype.kind not in "iufb":
        raise DataError(name, half, "whole numbers, none negative", "Corpus.to_counts() returns such counts.")
    check_whole(name, made.row, made.col, made.data, None)
    counts = scipy.sparse.csr_array(made.astype(np.int64))
    counts.sum_duplicates()
    return counts
