"""What the page of a mixture of numbers shows: the components that samples have in common, and points."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import printable
from hdpkit.pages.plots.components import Plane
from hdpkit.pages.report_data import ReportData


@attrs.define(slots=False, kw_only=True)
class MixtureData(ReportData):
    """The data of a run over numbers that the sections of its report use.

    Attributes
    ----------
    axes : (int or str, int or str), or None
        Dimensions of the picture; None: principal components.
    """

    axes: Any = None

    @property
    def kind(self) -> str:
        """What the page shows: components of numbers."""
        return "components"

    @property
    def signatures(self) -> None:
        """None: these are no signatures."""
        return

    @property
    def n_customers(self) -> int:
        """Number of observations."""
        return len(self.values)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The observations: shape (n,) or (n, D)."""
        return np.asarray(self.corpus.values)

    @property
    def partition(self) -> npt.NDArray[np.int64] | None:
        """Component of each point, shape (n,); None of sequences."""
        return self.components.partition

    @cached_property
    def n_topics(self) -> int:
        """Components that are shown."""
        return min(len(self.components), self.most_topics)

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the dimensions, without control characters; None if they have none."""
        names = getattr(self.state.data, "columns", None) or getattr(self.state.data, "vocabulary", None)
        return None if names is None else tuple(printable(name) for name in names)

    @cached_property
    def parameters(self) -> dict[str, npt.NDArray[np.float64]]:
        """Name -> mean and ends of the interval of each component, shape (T, 3)."""
        return self.components.named_parameters(self.franchise.measure, self.columns)

    @cached_property
    def memberships(self) -> npt.NDArray[np.float64]:
        """Probability of each component for each observation and, last, of none: shape (n, T + 1)."""
        return self.components.memberships

    @cached_property
    def plane(self) -> Plane | None:
        """Where observations are drawn; None if they are no numbers."""
        values = self.values
        if values.dtype.kind not in "biuf" or values.ndim > 2 or self.shown.counts is not None:
            return None
        axes = self.axes
        if axes is not None and self.columns is not None:
            axes = [printable(one) if isinstance(one, str) else one for one in axes]
        return Plane.of(values, axes, self.columns)

    @cached_property
    def state_sizes(self) -> list[tuple[int, float]]:
        """Numbers of components of the states, the most frequent first, with the share of the states."""
        counted = Counter(sample.n_dishes for sample in self.samples)
        ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        return [(k, n / len(self.samples)) for k, n in ordered]
