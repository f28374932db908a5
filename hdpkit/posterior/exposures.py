"""Numbers of customers of each group in each component, with intervals, and reconstructions."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.checks import instance, number_array
from hdpkit.data import Corpus
from hdpkit.errors import DataError
from hdpkit.posterior.components import Components
from hdpkit.posterior.intervals import central, holding
from hdpkit.random import Purpose, as_source

_AT_ONCE = 1 << 24  # numbers that are in memory at once
_SEED = 0
_LARGEST = 2.0**53  # largest float up to which all integers are exact
_ONE = 0.5  # a number of customers below this rounds to zero
_MOST = 0.8  # share of a component that counts as most of it
_FEW = 0.05  # share of the groups that are few


@attrs.frozen(eq=False, repr=False)
class Exposures:
    """Customers of each group by component. See `exposures`, which makes them.

    Attributes
    ----------
    label : str
        What the groups are.
    names : tuple
        Names of the groups.
    level : float
        Probability of the intervals.
    mean, lower, upper : float64 arrays, shape (n_groups, T + 1)
        Customers of each group that belong to each component and, last, to the rest: mean and interval over
        the samples, which always contains the mean. Means of a group sum to its number of customers (before
        downsampling, if totals are given).
    """

    label: str
    names: tuple[Any, ...]
    level: float
    mean: Floats
    lower: Floats
    upper: Floats

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.mean)} groups, {self.mean.shape[1] - 1} components>"

    @property
    def totals(self) -> Floats:
        """Customers of each group: float64, shape (n_groups,)."""
        totals: Floats = self.mean.sum(axis=1)
        return totals

    @property
    def shares(self) -> Floats:
        """The means as shares of each group: float64, shape (n_groups, T + 1); 0 in empty groups."""
        shares: Floats = self.mean / np.maximum(self.totals, 1.0)[:, None]
        return shares

    @property
    def zero(self) -> npt.NDArray[np.bool_]:
        """Where intervals contain zero: the lower end rounds to zero customers; shape (n_groups, T + 1)."""
        return np.asarray(self.lower < _ONE, dtype=np.bool_)

    @property
    def most_in(self) -> npt.NDArray[np.int64]:
        """The fewest groups that have 80 % of each component: int64, shape (T + 1,)."""
        largest = np.cumsum(-np.sort(-self.mean, axis=0), axis=0)
        return 1 + np.count_nonzero(largest < _MOST * largest[-1], axis=0)

    @property
    def in_few(self) -> npt.NDArray[np.bool_]:
        """Whether 80 % of a component are in 5 % of the groups, of at least 20; shape (T + 1,)."""
        return np.asarray(self.most_in <= _FEW * len(self.mean), dtype=np.bool_)

    def table(self, names: Any = None) -> dict[str, Any]:
        """Columns of a tidy table: a row per group and component.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the components, with one for the rest; by default their numbers and "rest".
        """
        n, width = self.mean.shape
        each = [*map(str, range(width - 1)), "rest"] if names is None else list(names)
        return {
            self.label: [name for name in self.names for _ in range(width)],
            "component": each * n,
            "exposure": self.mean.ravel(),
            "lower": self.lower.ravel(),
            "upper": self.upper.ravel(),
            "share": self.shares.ravel(),
            "zero": self.zero.ravel(),
        }


def exposures(aligned: Components, totals: Any = None) -> Exposures:
    """Count the customers of each group that belong to each component.

    Unlike `Components.group_shares`, which are proportions given the counts, these are the counts
    themselves: the interval shows the uncertainty about which customers of a group belong to a component.

    Parameters
    ----------
    aligned : Components
        As `components` returns them.
    totals : int array, shape (n_groups,), optional
        Customers of each group before it was downsampled (`hdpkit.downsample`): exposures are then customers
        of the complete group. In each sample the customers left out by downsampling are drawn from a
        multinomial given proportions of the group drawn from their posterior (`Sample.draw_group_weights`),
        so intervals reflect that only a part was observed. The terms of these customers are not used. The
        seed of these draws is fixed.

    Returns
    -------
    Exposures

    Raises
    ------
    ParameterError
        If ``aligned`` is of another type.
    DataError
        If the samples are of different groups, or totals don't fit them.
    """
    instance("aligned", aligned, Components, "what components returned", remedy="components(trace).")
    n = aligned.samples[0].n_groups
    if any(sample.n_groups != n for sample in aligned.samples):
        raise DataError(
            "aligned", "of different groups", "of the same groups", "Align samples of one corpus."
        )
    width = len(aligned) + 1
    mean, lower, upper = (np.zeros((n, width)) for _ in range(3))
    labels = [aligned.which(sample) for sample in aligned.samples]
    step = max(1, _AT_ONCE // (width * len(aligned.samples)))
    more = None if totals is None else _not_drawn(totals, aligned)
    source = as_source(_SEED, Purpose.OTHER)
    for first in range(0, n, step):
        groups = slice(first, min(first + step, n))
        each = np.zeros((len(labels), groups.stop - first, width))
        for out, sample, own in zip(each, aligned.samples, labels, strict=True):
            counts = sample.group_counts[groups].tocoo()
            np.add.at(out, (counts.row, np.where(own < 0, width - 1, own)[counts.col]), counts.data)
        if more is not None and more[groups].any():
            weights = aligned._of_components(
                [one.draw_group_weights(source, groups) for one in aligned.samples]
            )
            each += source.generator.multinomial(more[groups], np.maximum(weights, 0.0))
        mean[groups] = each.mean(axis=0)
        lower[groups], upper[groups] = holding(central(each, aligned.level), mean[groups])
    return Exposures(aligned.label, aligned.names, aligned.level, mean, lower, upper)


def _not_drawn(totals: Any, aligned: Components) -> npt.NDArray[np.int64]:
    """Number of customers of each group that the samples don't contain."""
    seen = np.asarray(aligned.samples[0].group_counts.sum(axis=1)).ravel()
    found = number_array(totals)
    whole = found is not None and bool(np.all(found == np.floor(found)))
    if (
        found is None
        or not whole
        or found.shape != seen.shape
        or not np.all((found >= seen) & (found < _LARGEST))
    ):
        raise DataError(
            "totals", totals, f"a whole number for each of the {len(seen)} groups, at least its customers in "
            "the samples", "Pass document_lengths of the corpus before hk.downsample.",
        )  # fmt: skip
    return found.astype(np.int64) - seen.astype(np.int64)


def reconstruction(counts: Any, shares: Any, components: Any) -> Floats:
    """Cosine similarity between the counts of each group and their reconstruction from its components.

    Parameters
    ----------
    counts : Corpus or array, shape (n_groups, n_terms)
    shares : array, shape (n_groups, T)
        Exposures, or shares, of the components.
    components : array, shape (T, n_terms)

    Returns
    -------
    float64 array, shape (n_groups,)
        0 if a group has no counts or no exposure.

    Raises
    ------
    DataError
        If the shapes don't fit.
    """
    laws = _matrix("components", components, None, None)
    given = _matrix("shares", shares, None, len(laws))
    counted = counts.to_counts() if isinstance(counts, Corpus) else counts
    counted = counted.toarray() if hasattr(counted, "toarray") else counted
    there = _matrix("counts", counted, len(given), laws.shape[1])
    expected = given @ laws
    norms = np.linalg.norm(there, axis=1) * np.linalg.norm(expected, axis=1)
    products = np.einsum("ij,ij->i", there, expected)
    cosine: Floats = np.where(norms > 0, products / np.where(norms > 0, norms, 1.0), 0.0)
    return cosine


def _matrix(name: str, value: Any, rows: int | None, columns: int | None) -> Floats:
    """Check an array of numbers; its shape must match ``rows`` and ``columns`` unless they are None."""
    found = number_array(value)
    fits = found is not None and found.ndim == 2
    if not fits or rows not in (None, len(found)) or columns not in (None, found.shape[1]):  # type: ignore[arg-type,union-attr]
        shape = f"({'n' if rows is None else rows}, {'m' if columns is None else columns})"
        raise DataError(
            name, value, f"a matrix of numbers of shape {shape}",
            "Counts are (n, V), shares (n, T), components (T, V): leave the rest out of all, or of none.",
        )  # fmt: skip
    assert found is not None
    return found
