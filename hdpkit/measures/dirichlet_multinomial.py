"""The Dirichlet-multinomial: dishes are distributions over terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Bools, Floats, Int32s, Int64s
from hdpkit.checks import validator, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank, TemperedBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import BaseMeasure, check_power, in_python, parameter
from hdpkit.numerics import exp_each
from hdpkit.random import ChoiceSource


@attrs.define
class TermCounts:
    """Statistics of a dish: counts of terms, shape (V,), and their sum."""

    terms: Int64s
    total: int = 0


def known_terms(data: GroupedData, declared: int | None) -> int:
    """Return V, from the data or as declared; raise an error unless every value is one of its terms."""
    n_terms = getattr(data, "n_terms", None)
    cells = getattr(data, "cells", None)
    values = np.asarray(data.values if cells is None else cells.term)  # the terms that occur
    if n_terms is None:
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise DataError(
                "values", values.dtype, "term numbers (integers)",
                "Build the data as a Corpus, or choose a base measure for these values.",
            )  # fmt: skip
        n_terms = declared or int(values.max()) + 1
    if declared not in (None, n_terms):
        raise DeclarationError(
            "n_terms", declared, f"{n_terms}, the vocabulary size of the data", "Leave n_terms out."
        )
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= n_terms:
        raise DataError("values", (low, high), f"from 0 to {n_terms - 1}", "Check the term numbers.")
    return int(n_terms)


class CountsTerms(BaseMeasure):
    """A measure whose statistics are counts of terms, and whose dishes are distributions over them."""

    exact_statistics = True

    def copy(self, statistics: Any) -> Any:
        return attrs.evolve(statistics, terms=statistics.terms.copy())

    def add(self, statistics: TermCounts, value: int) -> None:
        statistics.terms[value] += 1
        statistics.total += 1

    def remove(self, statistics: TermCounts, value: int) -> None:
        statistics.terms[value] -= 1
        statistics.total -= 1

    def log_likelihood(self, value: int, parameters: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(parameters[value]))

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        return generator.choice(len(parameters), size=n, p=parameters)


_SMALLEST, _LARGEST = 1e-100, 1e100  # so that products of a few factors neither underflow nor overflow


def _eta(instance: Any, attribute: Any, value: Any) -> None:
    array = np.asarray(value, dtype=float)
    if array.ndim > 1 or array.size == 0 or not np.all((array >= _SMALLEST) & (array <= _LARGEST)):
        raise ParameterError(
            "eta", value, f"a number or a vector over terms, each from {_SMALLEST} to {_LARGEST}",
            "Use a small positive number; 0.01 to 1 is usual for topics.",
        )  # fmt: skip


@attrs.frozen(eq=False)
class DirichletMultinomial(CountsTerms):
    """Dirichlet(eta) over the terms of a vocabulary; compiled.

    f_k(v) = (n_kv + eta_v) / (n_k + sum eta); a block's probability is a ratio of Dirichlet-multinomial
    marginals, never the product of its words' predictives (Teh et al. 2006, equation 30; Wang & Blei 2012,
    equation 13).

    Parameters
    ----------
    eta : float, array of shape (V,), or prior
        Dirichlet parameter: symmetric, or one per term. With a prior it is symmetric and resampled.
    n_terms : int, optional
        V; by default taken from the data.
    """

    eta: Any = parameter(default=0.1, validator=_eta)
    n_terms: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="Leave it out: it is read from the data.")
        ),
    )

    power = 1.0  # of the likelihood: every observation counts as this many

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eta": self.eta}

    @property
    def eta_vector(self) -> Floats:
        """Eta of every term, shape (V,)."""
        if self.n_terms is None:
            raise DeclarationError("n_terms", None, "known", "Build a Franchise, or pass n_terms.")
        return np.full(self.n_terms, self.eta) if np.ndim(self.eta) == 0 else np.asarray(self.eta)

    @property
    def eta_sum(self) -> float:
        """Sum of eta over the terms."""
        return self.eta * (self.n_terms or 0) if np.ndim(self.eta) == 0 else float(np.sum(self.eta))

    def for_data(self, data: GroupedData) -> Self:
        n_terms = known_terms(data, self.n_terms)
        if np.ndim(self.eta) == 1 and len(self.eta) != n_terms:
            raise DeclarationError(
                "eta",
                np.shape(self.eta),
                f"a number or a vector of length {n_terms}",
                "Give one value per term.",
            )
        return self if self.n_terms == n_terms else attrs.evolve(self, n_terms=n_terms)

    def make(self) -> TermCounts:
        return TermCounts(np.zeros(self.n_terms or 0, dtype=np.int64))

    def _posterior(self, statistics: TermCounts) -> Floats:
        """Parameters of the Dirichlet distribution of the topic given the counts, shape (V,)."""
        return self.power * statistics.terms + self.eta_vector

    def log_predictive(self, value: int, many: Sequence[TermCounts]) -> Floats:
        """log (n_kv + eta_v) / (n_k + sum eta) under each dish: shape (n,)."""
        eta = self.eta if np.ndim(self.eta) == 0 else self.eta[value]
        counts = np.array([statistics.terms[value] for statistics in many])
        totals = np.array([statistics.total for statistics in many])
        return np.log(counts + eta) - np.log(totals + self.eta_sum)

    def log_block(self, values: Sequence[int], many: Sequence[TermCounts]) -> Floats:
        """log DM(n_k + c) - log DM(n_k) under each dish: shape (n,)."""
        terms, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        eta, more, gammaln = self.eta_vector[terms], self.power * counts, scipy.special.gammaln
        out = np.empty(len(many))
        for k, statistics in enumerate(many):
            before = self.power * statistics.terms[terms] + eta
            total = self.power * statistics.total + self.eta_sum
            out[k] = np.sum(gammaln(before + more) - gammaln(before)) + (
                gammaln(total) - gammaln(total + self.power * counts.sum())
            )
        return out

    def log_marginal(self, statistics: TermCounts) -> float:
        """log DM(n_k), which is log B(eta + n_k) / B(eta)."""
        gammaln = scipy.special.gammaln
        return float(
            np.sum(gammaln(self._posterior(statistics)) - gammaln(self.eta_vector))
            + gammaln(self.eta_sum)
            - gammaln(self.eta_sum + self.power * statistics.total)
        )

    def log_marginals(self, bank: Any, slots: Int32s, dishes: Int32s) -> Floats:
        """log B(eta + n_k) / B(eta) of these slots of any bank of counts, in nats: shape (n,)."""
        if not hasattr(bank, "log_marginals_under"):  # in Python
            return super().log_marginals(bank, slots, dishes)
        found: Floats = bank.log_marginals_under(slots, self.eta_vector, self.power)
        return found

    def simulate(self, statistics: TermCounts, generator: np.random.Generator) -> int:
        weights = np.cumsum(self._posterior(statistics))
        return int(np.searchsorted(weights, generator.random() * weights[-1], side="right"))

    def draw_parameters(self, statistics: TermCounts, source: ChoiceSource) -> Floats:
        """Draw the topic: Dirichlet(eta + n_k), shape (V,)."""
        return source.dirichlet(self._posterior(statistics))

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(parameters)[:, np.asarray(values)].T)

    def posterior_mean(self, statistics: TermCounts) -> Floats:
        """Mean of the topic, shape (V,)."""
        shapes = self._posterior(statistics)
        return shapes / shapes.sum()

    def term_means(
        self, bank: Any, slots: Int32s, dishes: Int32s, totals: Int64s
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Return the coefficients of a mean topic: (n_kv + eta_v) / (n_k + sum of eta)."""
        eta, scale = self.eta_vector, self.power / (self.power * totals + self.eta_sum)
        return (eta[0] if np.all(eta == eta[0]) else eta) / self.power, scale, scale

    def tempered(self, power: float) -> DirichletMultinomial:
        """Return the measure whose topics phi give terms the weights phi ** power, integrated out."""
        made = TemperedDirichletMultinomial(self.eta, self.n_terms, power)
        return DirichletMultinomial(self.eta, self.n_terms) if power == 1.0 else made

    def bank(self, data: GroupedData) -> StatisticsBank:
        return DirichletMultinomialBank(np.asarray(data.values, dtype=np.int32), self.eta_vector, TermCounts)

    def bank_of_cells(self) -> StatisticsBank:
        """Return compiled counts for a store by cell, without updates for single customers."""
        return DirichletMultinomialBank(np.empty(0, dtype=np.int32), self.eta_vector, TermCounts)


@attrs.frozen(eq=False)
class TemperedDirichletMultinomial(DirichletMultinomial):
    """Dirichlet(eta) over terms, of which an observation v has the likelihood phi_v ** power."""

    # The marginal of a dish is B(eta + power n_k) / B(eta), B the normaliser of a Dirichlet distribution: no
    # distribution of data unless the power is 1, so nothing can be simulated from it.

    power: float = attrs.field(default=1.0, validator=check_power)

    predicts = False
    simulate = BaseMeasure.simulate  # not supported
    term_means = DirichletMultinomial.term_means  # also for this predictive

    def log_predictive(self, value: int, many: Sequence[TermCounts]) -> Floats:
        """Logarithm of the ratio of marginals with and without the observation: shape (n,)."""
        return self.log_block([value], many)

    def log_likelihood(self, value: int, parameters: Floats) -> float:
        """``power`` times the log probability of a term under a topic."""
        return self.power * super().log_likelihood(value, parameters)

    def draw_term_weights(self, bank: Any, slots: Int32s, occupied: Bools, source: ChoiceSource) -> Floats:
        """Draw topics and return their powers, shape (n, V)."""
        counts = np.zeros((len(slots), len(self.eta_vector)))
        counts[occupied] = bank.counts(slots[occupied])
        rows = [source.log_dirichlet(self.power * row + self.eta_vector) for row in counts]
        return exp_each(self.power * np.array(rows))

    def bank(self, data: GroupedData) -> StatisticsBank:
        return TemperedBank(np.asarray(data.values, dtype=np.int32), self.eta_vector, TermCounts, self.power)

    def bank_of_cells(self) -> StatisticsBank:
        return TemperedBank(np.empty(0, dtype=np.int32), self.eta_vector, TermCounts, self.power)


def _examples(kind: type[DirichletMultinomial]) -> list[DirichletMultinomial]:
    return [kind(0.5, n_terms=3), kind([0.3, 1.1, 0.6], n_terms=3)]


DirichletMultinomialReference = in_python(
    "dirichlet-multinomial", DirichletMultinomial, _examples, tempered=BaseMeasure.tempered
)
