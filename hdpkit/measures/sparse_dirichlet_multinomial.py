"""The sparse Dirichlet-multinomial: dishes are distributions over selected terms."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data import GroupedData
from hdpkit.measures._dish_smoothing import DishSmoothingBank
from hdpkit.measures._selection import Selection
from hdpkit.measures._sparse_dirichlet_multinomial import SparseDirichletMultinomialBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.dish_smoothing import DishSmoothings
from hdpkit.measures.protocol import base_measures
from hdpkit.measures.python_bank import FixedBank
from hdpkit.measures.sparse_dirichlet_multinomial_twin import SparseDirichletMultinomialReference
from hdpkit.priors import Beta


@attrs.frozen(eq=False)
class SparseDirichletMultinomial(SparseDirichletMultinomialReference):
    """Dirichlet(smoothing) over a random selection of the vocabulary; compiled.

    Each dish selects every term with probability pi ~ Beta(r, s), and is Dirichlet over the selected terms
    (Wang & Blei 2009): one parameter controls how sparse topics are, another how smooth. The selection is
    integrated out. `SparseDirichletMultinomialReference` has the formulas.

    Parameters
    ----------
    smoothing : float or prior
        Dirichlet parameter of the selected terms; a prior is resampled.
    selection : Beta or float
        ``hk.Beta(r, s)``, the prior of pi; r and s are numbers or priors, which are resampled. A number is
        the pi of all dishes.
    proportions : str
        "integrated": pi of each dish is integrated out. "stored": it is a part of the state, as in the paper,
        and updated by `hdpkit.moves.Selectors` or `SelectorCounts`.
    n_terms : int, optional
        V; by default taken from the data.
    """

    numerics: ClassVar[Any] = Selection

    def bank(self, data: GroupedData) -> StatisticsBank:
        terms = np.asarray(data.values, dtype=np.int32)
        if not self.conjugate:
            return DishSmoothingBank(terms, self, DishSmoothings(self, terms))
        return SparseDirichletMultinomialBank(terms, self)

    def posterior_means(
        self, bank: Any, slots: npt.NDArray[np.int32], dishes: npt.NDArray[np.int32]
    ) -> npt.NDArray[Any]:
        """Means of the topics in these slots, shape (n, V)."""
        if isinstance(bank, FixedBank):
            return super().posterior_means(bank, slots, dishes)
        counts = bank.counts(slots)
        smoothing = float(self.smoothing) if self.conjugate else bank.smoothings(slots)[:, None]
        inside, outside = bank.factors(slots).T[:, :, None]
        return np.where(counts > 0, (counts + smoothing) * inside, outside)

    def term_means(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        totals: npt.NDArray[np.int64],
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Return the coefficients from which `posterior_means` computes topics, and the selection."""
        if isinstance(bank, FixedBank):
            return super().term_means(bank, slots, dishes, totals)
        inside, outside = bank.factors(slots).T
        selection = self._selection_numbers(bank.begin(slot).given for slot in slots.tolist())
        if self.conjugate:
            return float(self.smoothing), inside, outside / float(self.smoothing), selection
        own = np.asarray(bank.smoothings(slots), dtype=float)
        return own[:, None], inside, outside / own, selection


def _examples(kind: Any) -> list[Any]:
    return [kind(0.5, n_terms=3), kind(0.3, Beta(2.0, 0.7), n_terms=3), kind(0.7, 0.4, n_terms=3)]


base_measures.register(
    "sparse-dirichlet-multinomial", SparseDirichletMultinomial, lambda: _examples(SparseDirichletMultinomial)
)
base_measures.register(
    "sparse-dirichlet-multinomial-reference",
    SparseDirichletMultinomialReference,
    lambda: _examples(SparseDirichletMultinomialReference),
)
