"""The Dirichlet-multinomial: dishes are distributions over terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import as_float
from hdpkit.data import GroupedData
from hdpkit.errors import ParameterError
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank, TemperedBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.dirichlet_multinomial_twin import DirichletMultinomialReference, TermCounts
from hdpkit.measures.protocol import BaseMeasure, base_measures
from hdpkit.numerics import add_up, exp_each, gamma_ratio
from hdpkit.random import ChoiceSource


def _power(instance: Any, attribute: Any, value: Any) -> None:
    if not 0.0 < as_float(value) <= 1.0:
        raise ParameterError("power", value, "a number above 0, up to 1", "1 is the likelihood itself.")


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

    power = 1.0

    def bank(self, data: GroupedData) -> StatisticsBank:
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

    def log_marginals(
        self, bank: Any, slots: npt.NDArray[np.int32], dishes: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]:
        """log B(eta + power n_k) / B(eta) of these slots of any bank of counts, in nats: shape (n,)."""
        found: npt.NDArray[np.float64] = bank.log_marginals_under(slots, self.eta_vector, self.power)
        return found

    def tempered(self, power: float) -> DirichletMultinomial:
        """Return the measure whose topics phi give terms the weights phi ** power, integrated out."""
        made = TemperedDirichletMultinomial(self.eta, self.n_terms, power)
        return DirichletMultinomial(self.eta, self.n_terms) if power == 1.0 else made


@attrs.frozen(eq=False)
class TemperedDirichletMultinomial(DirichletMultinomial):
    """Dirichlet(eta) over terms, of which an observation v has the likelihood phi_v ** power.

    With topics integrated out, the marginal of a dish is B(eta + power n_k) / B(eta), where B is the
    normaliser of a Dirichlet distribution, and a predictive is a ratio of two of these. It is the likelihood
    of the chains of `moves.ReplicaExchange`, and no distribution of data unless the power is 1: nothing can
    be simulated from it. 0 < power <= 1.
    """

    power: float = attrs.field(default=1.0, validator=_power)

    predicts = False
    simulate = BaseMeasure.simulate  # not supported

    def bank(self, data: GroupedData) -> StatisticsBank:
        return TemperedBank(np.asarray(data.values, dtype=np.int32), self.eta_vector, self.power)

    def bank_of_cells(self) -> StatisticsBank:
        return TemperedBank(np.empty(0, dtype=np.int32), self.eta_vector, self.power)

    def log_predictive(self, value: int, many: Sequence[TermCounts]) -> npt.NDArray[np.float64]:
        """Logarithm of the ratio of marginals with and without the observation: shape (n,)."""
        return self.log_block([value], many)

    def log_block(self, values: Sequence[int], many: Sequence[TermCounts]) -> npt.NDArray[np.float64]:
        """log B(eta + power (n_k + c)) / B(eta + power n_k) under each dish: shape (n,)."""
        terms, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        eta, more = self.eta_vector[terms], self.power * counts
        return np.array(
            [
                add_up(map(gamma_ratio, eta + self.power * statistics.terms[terms], more))
                - gamma_ratio(self.eta_sum + self.power * statistics.total, self.power * len(values))
                for statistics in many
            ]
        )

    def log_marginal(self, statistics: TermCounts) -> float:
        """log B(eta + power n_k) / B(eta)."""
        return float(
            add_up(map(gamma_ratio, self.eta_vector, self.power * statistics.terms))
            - gamma_ratio(self.eta_sum, self.power * statistics.total)
        )

    def draw_parameters(self, statistics: TermCounts, source: ChoiceSource) -> npt.NDArray[np.float64]:
        """Draw the topic: Dirichlet(eta + power n_k), shape (V,)."""
        return source.dirichlet(self.eta_vector + self.power * statistics.terms)

    def log_likelihood(self, value: int, parameters: npt.NDArray[np.float64]) -> float:
        """``power`` times the log probability of a term under a topic."""
        return self.power * super().log_likelihood(value, parameters)

    def posterior_mean(self, statistics: TermCounts) -> npt.NDArray[np.float64]:
        shapes = self.eta_vector + self.power * statistics.terms
        return shapes / shapes.sum()

    def posterior_means(
        self, bank: Any, slots: npt.NDArray[np.int32], dishes: npt.NDArray[np.int32]
    ) -> npt.NDArray[Any]:
        shapes = self.power * bank.counts(slots) + self.eta_vector
        return shapes / shapes.sum(axis=1, keepdims=True)

    def term_means(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        totals: npt.NDArray[np.int64],
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Coefficients of a mean topic: (n_kv + eta_v / power) power / (power n_k + sum of eta)."""
        smoothing, _, _ = super().term_means(bank, slots, dishes, totals)
        scale = self.power / (self.power * totals + self.eta_sum)
        return np.asarray(smoothing) / self.power, scale, scale

    def draw_many(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        source: ChoiceSource,
    ) -> list[npt.NDArray[np.float64]]:
        return [source.dirichlet(self.power * row + self.eta_vector) for row in bank.counts(slots)]

    def draw_term_weights(
        self, bank: Any, slots: npt.NDArray[np.int32], occupied: npt.NDArray[np.bool_], source: ChoiceSource
    ) -> npt.NDArray[np.float64]:
        """Draw topics and return their powers, shape (n, V)."""
        counts = np.zeros((len(slots), len(self.eta_vector)))
        counts[occupied] = bank.counts(slots[occupied])
        rows = [source.log_dirichlet(self.power * row + self.eta_vector) for row in counts]
        return exp_each(self.power * np.array(rows))


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
