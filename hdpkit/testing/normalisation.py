"""Check that predictive distributions sum or integrate to one over the support that a measure declares."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate

from hdpkit.arrays import Floats
from hdpkit.checks import choice, log_densities, refuse
from hdpkit.measures.protocol import BaseMeasure

RELATIVE = 1e-9


class MeasureFailure(AssertionError):
    """A base measure breaks its contract."""


def statistics_of(measure: BaseMeasure, values: Sequence[Any]) -> Any:
    """Statistics of a dish with these values."""
    statistics = measure.make()
    for value in values:
        measure.add(statistics, value)
    return statistics


def close(what: str, a: Any, b: Any) -> None:
    """Raise unless two results agree to 1e-9; minus infinity agrees only with itself."""
    if not np.allclose(a, b, rtol=RELATIVE, atol=RELATIVE):
        raise MeasureFailure(f"{what}: {np.asarray(a)} is not {np.asarray(b)}")


def value_key(value: Any) -> str:
    """A key that is equal for equal values of any kind."""
    return repr(np.asarray(value).tolist())


def check_frequencies(draws: list[Any], logs: Any) -> None:
    """Check that values drawn 30 times or more have the right frequency within 6.5 standard errors."""
    keys = [value_key(value) for value in draws]
    probability = dict(zip(keys, np.exp(np.minimum(logs, 0.0)).tolist(), strict=True))
    for key, count in Counter(keys).items():
        expected = len(draws) * probability[key]
        error = np.sqrt(expected * (1.0 - probability[key])) + 1e-9
        if count >= 30 and abs(count - expected) > 6.5 * error:
            raise MeasureFailure(f"simulate draws {key} {count} times for {expected:.1f} of {len(draws)}")


Density = Callable[[Any], Floats]
"""Predictive probabilities or densities of a value under several dishes."""

MOST = 20_000  # terms of a sum
EXACT, NUMERICAL = 1e-6, 1e-4


_Sums = tuple[Floats | None, Any]
"""Totals (None if they could not be computed) and their tolerance."""


def _sum(density: Density, values: Iterable[Any]) -> Floats:
    return np.sum([density(value) for value in values], axis=0)


def _tail(chunks: list[Floats]) -> _Sums:
    """Total of a sum whose chunks, each twice as long as the one before, shrink geometrically in the end."""
    total = np.sum(chunks, axis=0)
    last, before = chunks[-1], chunks[-2]
    if np.any(total > 1.0 + EXACT):
        return total, EXACT
    if np.all(last < 1e-9):
        return total, EXACT
    ratio = last / np.maximum(before, 1e-300)
    if np.all(ratio < 0.8):  # a power law: the remainder is a geometric series
        rest = last * ratio / (1.0 - ratio)
        if np.all(rest < 0.05):
            return total + rest, EXACT + 0.1 * float(rest.max())
    return None, EXACT


def _whole_numbers(density: Density, values: npt.NDArray[Any]) -> _Sums:
    """Totals over the integers >= 0, or over all integers if an example is negative."""
    kind, low, high = values.dtype.type, int(values.min()), int(values.max())
    signs = (1, -1) if low < 0 else (1,)
    start, length = 0, max(16, high + 1, 1 - low)
    chunks: list[Floats] = []
    while start + length <= MOST or len(chunks) < 2:
        inside = [sign * i for i in range(start, start + length) for sign in signs if i or sign > 0]
        chunks.append(_sum(density, [kind(i) for i in inside]))
        start, length = start + length, start + length
        if len(chunks) > 1 and np.all(chunks[-1] < 1e-10):
            break
    return _tail(chunks)


def _vectors_of_counts(density: Density, values: npt.NDArray[Any]) -> _Sums:
    """Shells of the positive orthant, each twice as wide as what is inside."""
    D, kind = values.shape[1], values.dtype
    top, inside = max(4, int(values.max()) + 1), 0
    chunks: list[Floats] = []
    while (top**D) <= MOST or len(chunks) < 2:
        if top**D > 10 * MOST:
            return None, EXACT
        shell = (v for v in itertools.product(range(top), repeat=D) if max(v) >= inside)
        chunks.append(_sum(density, (np.array(v, dtype=kind) for v in shell)))
        inside, top = top, 2 * top
    return _tail(chunks)


def _integral(density: Density, places: list[float], a: float, b: float) -> Floats | None:
    """Totals over (a, b), by pieces between these places; None if they don't converge."""
    inner = sorted({x for x in places if a < x < b})
    cuts = [a, *inner, b]
    total: Floats = np.zeros(len(density(inner[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(len(total)):
            error = 0.0
            for left, right in itertools.pairwise(cuts):
                mass, bound = integrate.quad(
                    lambda x, k=k: float(density(x)[k]),
                    left,
                    right,
                    epsabs=1e-9,
                    epsrel=1e-8,
                    limit=100,
                )
                total[k] += mass
                error += bound
            if not error < EXACT / 2:
                return None
    return total


def _plane(density: Density, points: Floats) -> _Sums:
    """Double-exponential quadrature (Takahasi & Mori 1974) over the plane, with two step sizes."""
    middle, spread = np.median(points, axis=0), np.ptp(points, axis=0) / 2.0 + 1e-12
    found = []
    for step in (0.13, 0.1):
        t = np.arange(-3.2, 3.2 + step / 2, step)
        x = np.sinh(math.pi / 2 * np.sinh(t))
        weight = step * math.pi / 2 * np.cosh(t) * np.cosh(math.pi / 2 * np.sinh(t))
        total: Any = 0.0
        for i, j in itertools.product(range(len(t)), repeat=2):
            total = total + weight[i] * weight[j] * density(middle + spread * np.array([x[i], x[j]]))
        found.append(np.asarray(total) * spread.prod())
    settled = bool(np.all(np.abs(found[1] - found[0]) < NUMERICAL / 2))
    return (found[1] if settled else None), NUMERICAL


_LINES = {
    "real numbers": (-math.inf, math.inf),
    "positive numbers": (0.0, math.inf),
    "numbers from 0 to 1": (0.0, 1.0),
    "angles": (0.0, 2.0 * math.pi),
}
SUPPORTS = (*_LINES, "bits", "whole numbers", "vectors", "sphere")
"""What `BaseMeasure.support` may name: "sphere" are vectors of length 1, "angles" those from 0 to 2 pi. Of
values that are vectors "bits" and "whole numbers" are all vectors of these."""

_DRAWS = 40_000
_MOST_GIVEN = 3  # largest number of given parts of values, each with its own integral


def check_support(measure: BaseMeasure, many: Sequence[Any], values: Sequence[Any]) -> str:
    """Check that predictives add up to one over the declared support, or raise a MeasureFailure."""
    declared = measure.support
    given = callable(declared)
    cases = [_given(measure, value) for value in values[:_MOST_GIVEN]] if given else [(declared, None, None)]
    for name, _, make in cases:
        choice(f"support of {type(measure).__name__}", name, SUPPORTS, remedy="See docs/extending.md.")
        parts = [_given(measure, value)[1] for value in values] if given else list(values)

        def density(part: Any, make: Any = make) -> Floats:
            value = part if make is None else make(part)
            logs = log_densities(measure, "log_predictive", measure.log_predictive(value, many), len(many))
            return np.exp(logs)

        total, tolerance = _total(str(name), density, parts)
        if total is None:
            return f"predictives over {name}: the total does not settle, not checked"
        if not np.all(np.abs(total - 1.0) <= tolerance):
            raise MeasureFailure(
                f"predictives of a new dish and of one with data add up to {total} over the declared "
                f"support, {name}{', given the rest of the value' if given else ''}"
            )
    return f"predictives add up to one over {cases[0][0]}{', given the rest of the value' if given else ''}"


def _given(measure: Any, value: Any) -> tuple[Any, Any, Any]:
    """Which set a part of this value runs over, the part, and the value with another such part."""
    answer = measure.support(value)
    if not isinstance(answer, tuple) or len(answer) != 3 or not callable(answer[2]):
        raise refuse(
            measure, "support", answer, "a set, the part of the value, and a function of such a part"
        )
    return answer


def _total(name: str, density: Density, parts: Sequence[Any]) -> _Sums:
    if name in _LINES:
        return _line(density, np.asarray(parts, dtype=float), *_LINES[name]), EXACT
    points = np.asarray(parts)
    D = points.shape[1] if points.ndim > 1 else 1
    if name == "bits":
        bits = itertools.product(np.array([0, 1], points.dtype), repeat=D)
        return _sum(density, map(np.array, bits) if points.ndim > 1 else (bit for (bit,) in bits)), EXACT
    if name == "whole numbers":
        return (_whole_numbers if points.ndim == 1 else _vectors_of_counts)(density, points)
    if points.ndim == 1:
        return _line(density, points, -math.inf, math.inf), EXACT
    return (_sphere if name == "sphere" else _plane if D == 2 else _vectors)(density, points.astype(float))


def _line(density: Density, parts: Floats, low: float, high: float) -> Floats | None:
    middle, spread = float(np.median(parts)), float(np.ptp(parts)) or 1.0
    away = [middle + sign * spread * 10.0**k for k in range(5) for sign in (-1, 1)]
    ends = [low + spread * 10.0**-k for k in range(1, 6)] if low == 0.0 else []
    return _integral(density, [*parts.tolist(), *away, *ends], low, high)


def _sphere(density: Density, points: Floats) -> _Sums:
    """By the trapezoidal rule on the circle, a product rule on the sphere, Monte Carlo above."""
    D = points.shape[1]
    if D == 1:
        return density(np.array([1.0])) + density(np.array([-1.0])), EXACT
    angles = np.arange(720) * (2.0 * math.pi / 720)
    if D == 2:
        found = [density(np.array([math.cos(a), math.sin(a)])) for a in angles]
        return np.sum(found, axis=0) * (2.0 * math.pi / 720), NUMERICAL
    if D == 3:
        heights, weights = np.polynomial.legendre.leggauss(60)
        around = angles[::6]
        total: Any = 0.0
        for z, weight in zip(heights, weights, strict=True):
            r = math.sqrt(1.0 - z * z)
            ring = [density(np.array([r * math.cos(a), r * math.sin(a), z])) for a in around]
            total = total + weight * np.sum(ring, axis=0) * (2.0 * math.pi / len(around))
        return np.asarray(total), NUMERICAL
    generator = np.random.default_rng(6)
    points = generator.standard_normal((_DRAWS, D))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    area = 2.0 * math.exp(0.5 * D * math.log(math.pi) - math.lgamma(0.5 * D))
    return _mean(np.array([density(point) for point in points]) * area)


def _vectors(density: Density, points: Floats) -> _Sums:
    """Importance sampling from a wide Student's t around the examples; its own error is the tolerance."""
    D, dof = points.shape[1], 3.0
    if D == 1:
        return _line(lambda x: density(np.array([x])), points[:, 0], -math.inf, math.inf), EXACT
    middle = np.median(points, axis=0)
    spread = np.maximum(np.ptp(points, axis=0), 1e-12)
    generator = np.random.default_rng(6)
    normal = generator.standard_normal((_DRAWS, D))
    away = normal / np.sqrt(generator.chisquare(dof, _DRAWS) / dof)[:, None]
    constant = math.lgamma(0.5 * (dof + D)) - math.lgamma(0.5 * dof) - 0.5 * D * math.log(dof * math.pi)
    log_q = constant - 0.5 * (dof + D) * np.log1p((away**2).sum(axis=1) / dof) - np.log(spread).sum()
    ratios = [density(middle + spread * x) / math.exp(q) for x, q in zip(away, log_q, strict=True)]
    return _mean(np.array(ratios))


def _mean(samples: Floats) -> _Sums:
    """A Monte Carlo mean, and six standard errors; None if these are uninformative."""
    error = 6.0 * samples.std(axis=0) / math.sqrt(len(samples))
    return (None if np.any(error > 0.2) else samples.mean(axis=0)), np.maximum(error, NUMERICAL)
