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
from hdpkit.checks import check_unmasked, number_array, positive_number
from hdpkit.data.matrices import check_whole, sparse_entries
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.fixed_dishes import FixedDishes, sample_groups
from hdpkit.random import ChoiceSource

__all__ = ["TOLERANCE", "by_em", "by_gibbs", "completion_perplexity", "fit_proportions"]

TOLERANCE = 1e-6  # a smaller step changes scores by less than one in ten thousand
_LONGEST = 20_000  # steps
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


def by_em(observed: FixedDishes, held: FixedDishes, tolerance: float) -> Floats:
    """Log density of each held-out value, group by group, under proportions that EM fits: in nats."""
    logs = np.empty(len(held.row))
    parents = observed.parents
    for group in range(len(parents.parent)):
        prior = observed.concentration * parents.share[parents.parent[group]]
        used = prior > 0  # a dish without prior mass has proportion zero in every group
        rows, counts = np.unique(_rows(observed, group), return_counts=True)
        theta = _fitted(
            np.ascontiguousarray(observed.density[rows].T[used]), prior[used], counts.astype(float), tolerance
        )
        scored = slice(held.layout.begins[group], held.layout.begins[group + 1])
        logs[scored] = np.log(held.density[held.row[scored]][:, used] @ theta)
    return logs + held.log_scale[held.row]


def by_gibbs(
    observed: FixedDishes, held: FixedDishes, particles: int, sweeps: int, burn_in: int, source: ChoiceSource
) -> Floats:
    """Log density of each held-out value under mean proportions by Gibbs; a row per independent sampler."""
    logs = np.empty((particles, len(held.row)))
    for particle in range(particles):
        proportions, _ = sample_groups(observed, sweeps, burn_in, source)
        for group in range(len(proportions)):
            scored = slice(held.layout.begins[group], held.layout.begins[group + 1])
            logs[particle, scored] = np.log(held.density[held.row[scored]] @ proportions[group])
    return logs + held.log_scale[held.row]


def _rows(fixed: FixedDishes, group: int) -> npt.NDArray[np.int64]:
    return fixed.row[fixed.layout.begins[group] : fixed.layout.begins[group + 1]]


def completion_perplexity(
    phi: npt.ArrayLike, prior: npt.ArrayLike, observed: Any, held: Any, tolerance: float = TOLERANCE
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

        Returns
        -------
        float

    Raises
    ------
    DataError
        If topics and halves don't fit, or there is no held-out word.
    """
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
    sums = np.zeros(halves[1].shape[0])
    for document in range(len(sums)):
        (seen, times), (scored, counts) = (_row(half, document) for half in halves)
        theta = _fitted(np.ascontiguousarray(density[seen].T), alpha[used], times.astype(float), tolerance)
        sums[document] = np.log(density[scored] @ theta) @ counts
    n = int(halves[1].data.sum())
    if n == 0:
        raise DataError("held", held, "a half with at least one word", "Give the held-out words.")
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
