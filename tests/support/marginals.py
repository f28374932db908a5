"""Marginal likelihoods of the values of one dish, in plain formulas, and Stirling numbers."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

from hdpkit.testing.enumeration import LogMarginal


@functools.cache
def stirling(n: int, t: int, d: Any = 0) -> Any:
    """S_d(n, t): seatings of n customers at t tables, each table of size s with weight [1 - d]_1^(s - 1)."""
    if t == 0 or t > n:
        return int(n == t)
    return stirling(n - 1, t - 1, d) + (n - 1 - t * d) * stirling(n - 1, t, d)


def law_of_tables(n: int, a: float) -> npt.NDArray[np.float64]:
    """Law of the number of tables of n customers, from 0."""
    law = np.array([stirling(n, t) * a**t for t in range(n + 1)])
    return law / law.sum()


def dirichlet_multinomial_log_marginal(
    eta: float | Sequence[float], n_terms: int, power: float = 1.0
) -> LogMarginal:
    """Marginal of terms whose weights are topics phi ** power, where phi has a Dirichlet(eta) prior."""
    etas = [float(eta)] * n_terms if isinstance(eta, int | float) else [float(e) for e in eta]

    def log_marginal(values: Sequence[Any]) -> float:
        counts = Counter(int(value) for value in values)
        total = math.lgamma(sum(etas)) - math.lgamma(sum(etas) + power * len(values))
        for term, count in counts.items():
            total += math.lgamma(etas[term] + power * count) - math.lgamma(etas[term])
        return total

    return log_marginal


def selected_numbers(
    smoothing: float,
    n_terms: int,
    values: Sequence[Any],
    shapes: tuple[float, float] | None = None,
    proportion: float | None = None,
) -> list[float]:
    """p(values, R terms are selected) for R = 0 .. V and one dish, by enumerating subsets of the
    vocabulary.
    """
    counts = Counter(int(value) for value in values)
    found = [0.0] * (n_terms + 1)
    for size in range(n_terms + 1):
        if shapes is not None:
            r, s = shapes
            log_prior = _log_beta(r + size, s + n_terms - size) - _log_beta(r, s)
        else:
            assert proportion is not None
            log_prior = size * math.log(proportion) + (n_terms - size) * math.log1p(-proportion)
        for subset in itertools.combinations(range(n_terms), size):
            if not counts.keys() <= set(subset):
                continue
            log_data = 0.0
            if counts:
                log_data = math.lgamma(smoothing * size) - math.lgamma(smoothing * size + len(values))
                log_data += sum(math.lgamma(smoothing + n) - math.lgamma(smoothing) for n in counts.values())
            found[size] += math.exp(log_prior + log_data)
    return found


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def sparse_dirichlet_multinomial_log_marginal(
    smoothing: float,
    n_terms: int,
    shapes: tuple[float, float] | None = None,
    proportion: float | None = None,
) -> LogMarginal:
    """Marginal of terms of which each dish selects some, by all subsets of the vocabulary."""

    def log_marginal(values: Sequence[Any]) -> float:
        return math.log(sum(selected_numbers(smoothing, n_terms, values, shapes, proportion)))

    return log_marginal


def normal_log_marginal(mean: float, variance: float, noise: float) -> LogMarginal:
    """Marginal of normal values with known variance, their mean having a normal prior."""

    def log_marginal(values: Sequence[Any]) -> float:
        n = len(values)
        residuals = [float(value) - mean for value in values]
        quadratic = sum(r * r for r in residuals) - variance * sum(residuals) ** 2 / (noise + n * variance)
        log_determinant = n * math.log(2 * math.pi * noise) + math.log1p(n * variance / noise)
        return -0.5 * log_determinant - 0.5 * quadratic / noise

    return log_marginal


def _by_dimension(one: Callable[..., float], *parameters: Any) -> LogMarginal:
    """The product over dimensions of the marginal of one, each with its own parameters."""

    def log_marginal(values: Sequence[Any]) -> float:
        if not len(values):
            return 0.0
        columns = np.array([np.atleast_1d(value) for value in values], dtype=float).T.tolist()
        by_dimension = zip(*(np.broadcast_to(p, len(columns)).tolist() for p in parameters), strict=True)
        return math.fsum(one(column, *own) for column, own in zip(columns, by_dimension, strict=True))

    return log_marginal


def normal_gamma_log_marginal(
    mean: Any, strength: Any, shape: Any, rate: Any, multiplier: Any = 1.0
) -> LogMarginal:
    """Marginal of normal values whose mean and precision have a normal-gamma prior, by dimension."""

    def one(values: list[float], mean: float, strength: float, shape: float, rate: float) -> float:
        n, residuals = len(values), [value - mean for value in values]
        quadratic = math.fsum(r * r for r in residuals) - math.fsum(residuals) ** 2 / (strength + n)
        return (
            math.lgamma(shape + n / 2)
            - math.lgamma(shape)
            - n / 2 * math.log(2 * math.pi * rate)
            - math.log1p(n / strength) / 2
            - (shape + n / 2) * math.log1p(quadratic / (2 * rate))
        )

    return _by_dimension(one, mean, strength, shape, np.multiply(rate, multiplier))


def normal_inverse_wishart_log_marginal(
    mean: npt.ArrayLike, strength: float, dof: float, scale: npt.ArrayLike, multiplier: float = 1.0
) -> LogMarginal:
    """Marginal of normal vectors whose mean and covariance have a normal-inverse-Wishart prior."""
    centre, prior = np.asarray(mean, dtype=float), multiplier * np.asarray(scale, dtype=float)

    def log_marginal(values: Sequence[Any]) -> float:
        n, D = len(values), len(centre)
        if n == 0:
            return 0.0
        R = np.array(values, dtype=float).reshape(n, D) - centre
        A = np.eye(n) + 1.0 / strength
        total = -n * D / 2 * math.log(math.pi)
        for d in range(D):  # G_D(x) = pi^(D(D-1)/4) prod_d G(x - d/2)
            total += math.lgamma((dof + n - d) / 2) - math.lgamma((dof - d) / 2)
        total -= D / 2 * float(np.linalg.slogdet(A)[1]) + n / 2 * float(np.linalg.slogdet(prior)[1])
        inner = np.eye(n) + np.linalg.solve(A, R @ np.linalg.solve(prior, R.T))
        return total - (dof + n) / 2 * float(np.linalg.slogdet(inner)[1])

    return log_marginal


def von_mises_fisher_log_marginal(
    concentration: Any, prior_direction: Any = None, prior_concentration: float = 0.0
) -> LogMarginal:
    """Unit vectors about a mean direction: normalisers C of 30 digits, by mpmath's Bessel functions."""

    def log_normaliser(r: mpmath.mpf, D: int) -> mpmath.mpf:
        half = mpmath.mpf(D) / 2
        if r == 0:
            return mpmath.loggamma(half) - mpmath.log(2) - half * mpmath.log(mpmath.pi)
        bessel = mpmath.log(mpmath.besseli(half - 1, r))
        return (half - 1) * mpmath.log(r) - half * mpmath.log(2 * mpmath.pi) - bessel

    def log_marginal(values: Sequence[Any]) -> float:
        if not len(values):
            return 0.0
        with mpmath.workdps(30):
            D, c = len(values[0]), mpmath.mpf(float(concentration))
            prior = [mpmath.mpf(0)] * D
            if prior_direction is not None:
                prior = [mpmath.mpf(float(x)) * prior_concentration for x in prior_direction]
            total = [
                p + c * mpmath.fsum(mpmath.mpf(float(value[d])) for value in values)
                for d, p in enumerate(prior)
            ]
            lengths = [mpmath.sqrt(mpmath.fsum(x * x for x in vector)) for vector in (prior, total)]
            found = len(values) * log_normaliser(c, D) + log_normaliser(lengths[0], D)
            return float(found - log_normaliser(lengths[1], D))

    return log_marginal


def gamma_poisson_log_marginal(shape: Any, rate: Any) -> LogMarginal:
    """Marginal of Poisson counts whose rate has a Gamma(shape, rate) prior, by dimension."""

    def one(values: list[float], shape: float, rate: float) -> float:
        n, s = len(values), sum(values)
        of_sum = sum(math.log((shape + j) / (j + 1)) for j in range(int(s)))
        of_sum += shape * math.log(rate / (rate + n)) + s * math.log(n / (rate + n))
        given_sum = math.lgamma(s + 1) - sum(math.lgamma(x + 1) for x in values) - s * math.log(n)
        return of_sum + given_sum

    return _by_dimension(one, shape, rate)


def beta_bernoulli_log_marginal(a: Any, b: Any) -> LogMarginal:
    """Marginal of bits whose probability has a Beta(a, b) prior, by dimension (Polya's urn)."""

    def one(values: list[float], a: float, b: float) -> float:
        s, n = int(sum(values)), len(values)
        set_ = sum(math.log(a + i) for i in range(s))
        unset = sum(math.log(b + i) for i in range(n - s))
        return set_ + unset - sum(math.log(a + b + i) for i in range(n))

    return _by_dimension(one, a, b)
