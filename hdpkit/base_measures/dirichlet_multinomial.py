"""The Dirichlet-multinomial: dishes are distributions over terms."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.measures.dirichlet_multinomial import DirichletMultinomialBank
from hdpkit.base_measures.bank import StatisticsBank
from hdpkit.base_measures.reference.dirichlet_multinomial import DirichletMultinomialReference
from hdpkit.base_measures.registry import base_measures
from hdpkit.data import GroupedData
from hdpkit.random import ChoiceSource

__all__ = ["DirichletMultinomial"]


@attrs.frozen(eq=False)
class DirichletMultinomial(DirichletMultinomialReference):
    """Dirichlet(eta) over the terms of a vocabulary; compiled.

    Parameters
    ----------
    eta : float, array of shape (V,), or prior
        Dirichlet parameter: symmetric, or one per term. With a prior it is symmetric and resampled.
    n_terms : int, optional
        V; by default taken from the data.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return compiled counts."""
        return DirichletMultinomialBank(np.asarray(data.values, dtype=np.int32), self.eta_vector)

    def bank_of_cells(self) -> StatisticsBank:
        """Return compiled counts for a store by cell, without updates for single customers."""
        return DirichletMultinomialBank(np.empty(0, dtype=np.int32), self.eta_vector)

    def posterior_means(
        self, bank: Any, slots: npt.NDArray[np.int32], dishes: npt.NDArray[np.int32]
    ) -> npt.NDArray[Any]:
        """Means of the topics in these slots, shape (n, V)."""
        counts = bank.counts(slots) + self.eta_vector
        return counts / counts.sum(axis=1, keepdims=True)

    term_means = DirichletMultinomialReference.term_means  # also for these means

    def draw_many(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        source: ChoiceSource,
    ) -> list[npt.NDArray[np.float64]]:
        """Draw the topics in these slots, one of shape (V,) each."""
        return [source.dirichlet(row + self.eta_vector) for row in bank.counts(slots)]


base_measures.register(
    "dirichlet-multinomial",
    DirichletMultinomial,
    lambda: [DirichletMultinomial(0.5, n_terms=3), DirichletMultinomial([0.3, 1.1, 0.6], n_terms=3)],
)
base_measures.register(
    "dirichlet-multinomial-reference",
    DirichletMultinomialReference,
    lambda: [
        DirichletMultinomialReference(0.5, n_terms=3),
        DirichletMultinomialReference([0.3, 1.1, 0.6], n_terms=3),
    ],
)
