"""Totals of predictive densities over the set of values that a measure declares (`BaseMeasure.support`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import choice, log_densities, refuse
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.testing.measure_checks import MeasureFailure
from hdpkit.testing.normalisation import EXACT, NUMERICAL, integral, sum_of_whole_numbers

Density = Callable[[Any], Floats]
Total = tuple[Floats | None, Any]
"""Totals (None if they could not be computed) and their tolerance."""

_LINES = {
    "real numbers": (-math.inf, math.inf),
    "positive numbers": (0.0, math.inf),
    "numbers from 0 to 1": (0.0, 1.0),
    "angles": (0.0, 2.0 * math.pi),
}
SUPPORTS = (*_LINES, "bits", "whole numbers", "vectors", "sphere")
"""What `BaseMeasure.support` may name: "sphere" are vectors of length 1, "angles" those from 0 to 2 pi."""

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


def _total(name: str, density: Density, parts: Sequence[Any]) -> Total:
    if name in _LINES:
        return _line(density, np.asarray(parts, dtype=float), *_LINES[name]), EXACT
    if name == "bits":
        return np.sum([density(0), density(1)], axis=0), EXACT
    if name == "whole numbers":
        _, total, tolerance = sum_of_whole_numbers(density, np.asarray(parts))
        return total, tolerance
    points = np.asarray(parts, dtype=float)
    return _sphere(density, points.shape[1]) if name == "sphere" else _vectors(density, points)


def _line(density: Density, parts: Floats, low: float, high: float) -> Floats | None:
    middle, spread = float(np.median(parts)), float(np.ptp(parts)) or 1.0
    away = [middle + sign * spread * 10.0**k for k in range(5) for sign in (-1, 1)]
    ends = [low + spread * 10.0**-k for k in range(1, 6)] if low == 0.0 else []
    return integral(density, [*parts.tolist(), *away, *ends], low, high)


def _sphere(density: Density, D: int) -> Total:
    """By the trapezoidal rule on the circle, a product rule on the sphere, Monte Carlo above."""
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


def _vectors(density: Density, points: Floats) -> Total:
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


def _mean(samples: Floats) -> Total:
    """A Monte Carlo mean, and six standard errors; None if these are uninformative."""
    error = 6.0 * samples.std(axis=0) / math.sqrt(len(samples))
    return (None if np.any(error > 0.2) else samples.mean(axis=0)), np.maximum(error, NUMERICAL)
