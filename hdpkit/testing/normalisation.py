"""Check that predictive distributions sum or integrate to one, for values of any kind.

The set of possible values is known only to the measure. So the total is computed over each set of values to
which the examples could belong (all numbers, positive numbers, counts, bits, ...): one of the totals must be
one. If none can be computed, nothing is checked.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate

Density = Callable[[Any], npt.NDArray[np.float64]]
"""Predictive probabilities or densities of a value under several dishes; NaN if it isn't a valid value."""

Total = tuple[str, npt.NDArray[np.float64] | None, float]
"""A set of values, the totals over it (None if they could not be computed), and their tolerance."""

MOST = 20_000  # terms of a sum
EXACT, NUMERICAL = 1e-6, 1e-4


def totals(density: Density, values: Sequence[Any]) -> Iterator[Total]:
    """Totals over each set of values to which the examples could belong, the likeliest first."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        return
    if array.dtype.kind in "US" and array.ndim == 1:
        yield _seen(density, sorted(set(array.tolist())))
    elif array.dtype.kind in "biuf" and array.ndim == 1:
        yield from _of_numbers(density, array)
    elif array.dtype.kind in "biuf" and array.ndim == 2:
        yield from _of_vectors(density, array)


def _of_numbers(density: Density, values: npt.NDArray[Any]) -> Iterator[Total]:
    whole = bool(np.all(values == np.floor(values)))
    kind = values.dtype.type
    if whole and set(np.unique(values).tolist()) <= {0, 1}:
        yield "0 and 1", _sum(density, [kind(0), kind(1)]), EXACT
    if whole and values.dtype.kind in "iu":
        yield sum_of_whole_numbers(density, values)
    if len(np.unique(values)) > 1 and values.dtype.kind != "b":
        # Whole numbers are more likely counts than reals, so an integral that doesn't converge means nothing.
        found = _integrals(density, values.astype(float))
        yield from (t for t in found if t[1] is not None or values.dtype.kind == "f")
    if whole and values.dtype.kind == "f":
        yield sum_of_whole_numbers(density, values)


def _of_vectors(density: Density, values: npt.NDArray[Any]) -> Iterator[Total]:
    whole = bool(np.all(values == np.floor(values))) and bool(np.all(values >= 0))
    D = values.shape[1]
    kind = values.dtype

    def vectors(tops: Sequence[int]) -> Iterator[npt.NDArray[Any]]:
        return (np.array(v, dtype=kind) for v in itertools.product(*(range(top + 1) for top in tops)))

    if whole and values.max() <= 1 and 2**D <= MOST:
        yield f"all vectors of {D} bits", _sum(density, vectors([1] * D)), EXACT
    if whole and kind.kind != "b":
        sums = np.unique(values.sum(axis=1))
        size = [math.comb(int(s) + D - 1, D - 1) for s in sums]
        if sum(size) <= MOST and math.prod(int(sums.max()) + 1 for _ in range(D)) <= 10 * MOST:
            for s in sums.tolist():
                inside = (v for v in vectors([int(s)] * D) if v.sum() == s)
                yield f"all vectors of counts that sum up to {s}", _sum(density, inside), EXACT
        yield _vectors_of_counts(density, values)
    if D == 1:
        inner = values[:, 0].astype(float)
        yield from _integrals(lambda x: density(np.array([x])), inner)
    if D == 2 and kind.kind == "f" and not whole:
        yield _plane(density, values.astype(float))


# ---------------------------------------------------------------------- sums


def _sum(density: Density, values: Iterable[Any]) -> npt.NDArray[np.float64]:
    return np.nansum([density(value) for value in values], axis=0)


def _seen(density: Density, names: list[str]) -> Total:
    """For names it can only be checked that the sum over those seen isn't more than one."""
    total = _sum(density, [np.str_(name) for name in names])
    return "the names that were seen, not above one,", (total if np.any(total > 1.0 + EXACT) else None), EXACT


def _tail(chunks: list[npt.NDArray[np.float64]]) -> tuple[npt.NDArray[np.float64] | None, float]:
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


def sum_of_whole_numbers(density: Density, values: npt.NDArray[Any]) -> Total:
    """Totals over the integers >= 0, or over all integers if an example is negative."""
    kind, low, high = values.dtype.type, int(values.min()), int(values.max())
    signs = (1, -1) if low < 0 else (1,)
    name = "all whole numbers" if low < 0 else "whole numbers >= 0"
    start, length = 0, max(16, high + 1, 1 - low)
    chunks: list[npt.NDArray[np.float64]] = []
    while start + length <= MOST or len(chunks) < 2:
        inside = [sign * i for i in range(start, start + length) for sign in signs if i or sign > 0]
        chunks.append(_sum(density, [kind(i) for i in inside]))
        start, length = start + length, start + length
        if len(chunks) > 1 and np.all(chunks[-1] < 1e-10):
            break
    return name, *_tail(chunks)


def _vectors_of_counts(density: Density, values: npt.NDArray[Any]) -> Total:
    """Shells of the positive orthant, each twice as wide as what is inside."""
    D, kind = values.shape[1], values.dtype
    top, inside = max(4, int(values.max()) + 1), 0
    chunks: list[npt.NDArray[np.float64]] = []
    while (top**D) <= MOST or len(chunks) < 2:
        if top**D > 10 * MOST:
            return f"all vectors of {D} counts", None, EXACT
        shell = (v for v in itertools.product(range(top), repeat=D) if max(v) >= inside)
        chunks.append(_sum(density, (np.array(v, dtype=kind) for v in shell)))
        inside, top = top, 2 * top
    return f"all vectors of {D} counts", *_tail(chunks)


# ---------------------------------------------------------------------- integrals


def _integrals(density: Density, values: npt.NDArray[np.float64]) -> Iterator[Total]:
    has_atoms = len(np.unique(values)) < len(values)  # then there is no density to integrate
    low, high = float(values.min()), float(values.max())
    supports = {
        "all numbers": (-math.inf, math.inf),
        "all positive numbers": (0.0, math.inf),
        "all numbers from 0 to 1": (0.0, 1.0),
        "all angles from 0 to 2 pi": (0.0, 2 * math.pi),
        "all angles from -pi to pi": (-math.pi, math.pi),
    }
    middle, spread = float(np.median(values)), float(np.ptp(values)) or 1.0
    away = [middle + sign * spread * 10.0**k for k in range(5) for sign in (-1, 1)]
    legal = {x: not np.any(np.isnan(density(x))) for x in away}
    for name, (a, b) in supports.items():
        if a <= low and high <= b and all(legal[x] for x in away if a < x < b):
            yield name, (None if has_atoms else integral(density, [*values.tolist(), *away], a, b)), EXACT


def integral(density: Density, places: list[float], a: float, b: float) -> npt.NDArray[np.float64] | None:
    """Totals over (a, b); None if they don't converge.

    By pieces: between the examples, and away from them by powers of ten of their spread.
    """
    inner = sorted({x for x in places if a < x < b})
    cuts = [a, *inner, b]
    total: npt.NDArray[np.float64] = np.zeros(len(density(inner[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(len(total)):
            error = 0.0
            for left, right in itertools.pairwise(cuts):
                mass, bound = integrate.quad(
                    lambda x, k=k: float(np.nan_to_num(density(x)[k])),
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


def _plane(density: Density, values: npt.NDArray[np.float64]) -> Total:
    """Double-exponential quadrature (Takahasi & Mori 1974) over the plane, with two step sizes."""
    name = "the plane"
    sums, norms = values.sum(axis=1), np.linalg.norm(values, axis=1)
    if np.all(values >= 0) or np.allclose(sums, sums[0]) or np.allclose(norms, norms[0]):
        return name, None, NUMERICAL  # perhaps a quadrant, a simplex, a circle
    middle, spread = np.median(values, axis=0), np.ptp(values, axis=0) / 2.0 + 1e-12
    found = []
    for step in (0.13, 0.1):
        t = np.arange(-3.2, 3.2 + step / 2, step)
        x = np.sinh(math.pi / 2 * np.sinh(t))
        weight = step * math.pi / 2 * np.cosh(t) * np.cosh(math.pi / 2 * np.sinh(t))
        total = 0.0
        for i, j in itertools.product(range(len(t)), repeat=2):
            point = middle + spread * np.array([x[i], x[j]])
            total = total + weight[i] * weight[j] * np.nan_to_num(density(point))
        found.append(np.asarray(total) * spread.prod())
    settled = bool(np.all(np.abs(found[1] - found[0]) < NUMERICAL / 2))
    return name, (found[1] if settled else None), NUMERICAL
