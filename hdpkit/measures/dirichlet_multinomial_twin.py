"""The Dirichlet-multinomial in Python, as a readable reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import validator, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import BaseMeasure, parameter
from hdpkit.measures.python_bank import PythonBank
from hdpkit.random import ChoiceSource

_SMALLEST, _LARGEST = 1e-100, 1e100  # so that products of a few factors neither underflow nor overflow


@attrs.define
class TermCounts:
    """Statistics of a dish: counts of terms, shape (V,), and their sum."""

    terms: npt.NDArray[np.int64]
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


def _eta(instance: Any, attribute: Any, value: Any) -> None:
    array = np.asarray(value, dtype=float)
    if array.ndim > 1 or array.size == 0 or not np.all((array >= _SMALLEST) & (array <= _LARGEST)):
        raise ParameterError(
            "eta", value, f"a number or a vector over terms, each from {_SMALLEST} to {_LARGEST}",
            "Use a small positive number; 0.01 to 1 is usual for topics.",
        )  # fmt: skip


class CountsTerms(BaseMeasure):
    """A measure whose statistics are counts of terms, and whose dishes are distributions over them."""

    def copy(self, statistics: Any) -> Any:
        return attrs.evolve(statistics, terms=statistics.terms.copy())

    def add(self, statistics: TermCounts, value: int) -> None:
        statistics.terms[value] += 1
        statistics.total += 1

    def remove(self, statistics: TermCounts, value: int) -> None:
        statistics.terms[value] -= 1
        statistics.total -= 1

    def log_likelihood(self, value: int, parameters: npt.NDArray[np.float64]) -> float:
        """Log probability of a term under a topic."""
        with np.errstate(divide="ignore"):
            return float(np.log(parameters[value]))

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw terms from a topic: shape (n,)."""
        return generator.choice(len(parameters), size=n, p=parameters)


@attrs.frozen(eq=False)
class DirichletMultinomialReference(CountsTerms):
    """Dirichlet(eta) over the terms of a vocabulary, in Python, as a readable reference.

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

    exact_statistics = True

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eta": self.eta}

    @property
    def eta_vector(self) -> npt.NDArray[np.float64]:
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

    def log_predictive(self, value: int, many: Sequence[TermCounts]) -> npt.NDArray[np.float64]:
        """log (n_kv + eta_v) / (n_k + sum eta) under each dish: shape (n,)."""
        eta = self.eta if np.ndim(self.eta) == 0 else self.eta[value]
        counts = np.array([statistics.terms[value] for statistics in many])
        totals = np.array([statistics.total for statistics in many])
        return np.log(counts + eta) - np.log(totals + self.eta_sum)

    def log_block(self, values: Sequence[int], many: Sequence[TermCounts]) -> npt.NDArray[np.float64]:
        """log DM(n_k + c) - log DM(n_k) under each dish: shape (n,)."""
        terms, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        eta = self.eta_vector[terms]
        out = np.empty(len(many))
        for k, statistics in enumerate(many):
            before = statistics.terms[terms] + eta
            total = statistics.total + self.eta_sum
            out[k] = np.sum(scipy.special.gammaln(before + counts) - scipy.special.gammaln(before)) + (
                scipy.special.gammaln(total) - scipy.special.gammaln(total + counts.sum())
            )
        return out

    def log_marginal(self, statistics: TermCounts) -> float:
        """log DM(n_k)."""
        eta = self.eta_vector
        return float(
            np.sum(scipy.special.gammaln(statistics.terms + eta) - scipy.special.gammaln(eta))
            + scipy.special.gammaln(self.eta_sum)
            - scipy.special.gammaln(self.eta_sum + statistics.total)
        )

    def simulate(self, statistics: TermCounts, generator: np.random.Generator) -> int:
        weights = np.cumsum(statistics.terms + self.eta_vector)
        return int(np.searchsorted(weights, generator.random() * weights[-1], side="right"))

    def draw_parameters(self, statistics: TermCounts, source: ChoiceSource) -> npt.NDArray[np.float64]:
        """Draw the topic: Dirichlet(eta + n_k), shape (V,)."""
        return source.dirichlet(self.eta_vector + statistics.terms)

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Log probabilities of terms under topics: shape (n, K)."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(parameters)[:, np.asarray(values)].T)

    def posterior_mean(self, statistics: TermCounts) -> npt.NDArray[np.float64]:
        """Mean of the topic, shape (V,)."""
        return (statistics.terms + self.eta_vector) / (statistics.total + self.eta_sum)

    def term_means(
        self,
        bank: Any,
        slots: npt.NDArray[np.int32],
        dishes: npt.NDArray[np.int32],
        totals: npt.NDArray[np.int64],
    ) -> tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]:
        """Return the coefficients of a mean topic: (n_kv + eta_v) / (n_k + sum of eta)."""
        eta, scale = self.eta_vector, 1.0 / (totals + self.eta_sum)
        return (eta[0] if np.all(eta == eta[0]) else eta), scale, scale

    def bank(self, data: GroupedData) -> StatisticsBank:
        return PythonBank(self, np.asarray(data.values))
