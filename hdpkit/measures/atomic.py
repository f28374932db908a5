"""Base measures with atoms: dishes are observed, a customer's dish is its value."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import number_array, real_number, validator, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.measures._measure import AtomicBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import BaseMeasure, base_measures, missing_method
from hdpkit.numerics import exp_each, log, log_each

SLACK = 1e-8  # tolerance of the sum of all probabilities


@attrs.define
class Atom:
    """Statistics of one table of the root: the common value of all customers below it, and their number."""

    value: int = -1
    n: int = 0


class AtomicMeasure(BaseMeasure):
    """A distribution H over the values 0, 1, ... themselves. Each table of the root is one draw from it.

    Several tables of the root may serve one value, so a franchise identifies dishes by value: they are never
    created or removed (Teh 2006; Blunsom et al. 2009). A subclass defines the number of values and their
    probabilities; moves, stores and kernels need nothing else.
    """

    atomic = True
    exact_statistics = True

    @property
    @abc.abstractmethod
    def n_terms(self) -> int:
        """Number of values that data may have: 0 .. n_terms - 1."""

    @abc.abstractmethod
    def log_probabilities(self) -> Floats:
        """log H of every value: shape (n_terms,), nats."""

    @property
    def remainder(self) -> float:
        """Probability of all other values, which no customer has yet."""
        return 0.0

    def log_probability_of(self, value: Any) -> float:
        """Return log H of a value itself, which need not be an atom (an unseen word), in nats. Optional."""
        raise missing_method(self, "log_probability_of")

    def supports(self, method: str) -> bool:
        if method == "log_probability_of":
            return type(self).log_probability_of is not AtomicMeasure.log_probability_of
        return super().supports(method)

    def for_data(self, data: GroupedData) -> Self:
        """Check that H is a distribution and every value is one of its atoms."""
        logs = self._checked()
        values = np.asarray(data.values)
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise DataError(
                "values", values.dtype, "atoms (whole numbers from 0)",
                "Number the values, or choose a base measure for values of this kind.",
            )  # fmt: skip
        if len(values):
            low, high = int(values.min()), int(values.max())
            if low < 0 or high >= self.n_terms:
                raise DataError(
                    "values", (low, high), f"from 0 to {self.n_terms - 1}",
                    f"{type(self).__name__} has {self.n_terms} atoms: give it more, or check the data.",
                )  # fmt: skip
            present = np.unique(values)
            never = present[np.isneginf(logs[present])]
            if len(never):
                raise DataError(
                    "values",
                    int(never[0]),
                    "a value of positive probability",
                    "Give a positive probability to every value that occurs.",
                )
        return self

    def _checked(self) -> Floats:
        """log H; raises a DeclarationError if it is invalid, as compiled code doesn't check its length."""
        kind = type(self).__name__
        n = whole_number(f"n_terms of {kind}", self.n_terms, 1, 2**31 - 2, remedy="Count the values.")
        logs = number_array(self.log_probabilities())
        if logs is None or logs.shape != (n,) or not np.all(logs < np.inf):
            raise DeclarationError(
                f"log_probabilities of {kind}", logs, f"logarithms of probabilities, shape ({n},)",
                "Return one for each value; -inf where a value can't occur.",
            )  # fmt: skip
        rest = real_number(
            f"remainder of {kind}", self.remainder, remedy="0.0 where there is no other value."
        )
        total = float(exp_each(logs).sum()) + rest
        if not (0.0 <= rest <= 1.0 and abs(total - 1.0) <= SLACK):
            raise DeclarationError(
                f"H of {kind}, remainder {rest:.6g} included", total, "a sum of 1, remainder >= 0",
                "Divide the probabilities by their sum.",
            )  # fmt: skip
        return logs

    def example_values(self) -> Sequence[int]:
        """A few atoms, one of them repeated, so that several tables of the root serve it."""
        possible = np.flatnonzero(np.isfinite(self._checked()))
        return [int(possible[min(i, len(possible) - 1)]) for i in (0, 0, 0, 1, 0, 0)]

    # ------------------------------------------------------------------ one table of the root

    def make(self) -> Atom:
        return Atom()

    def copy(self, statistics: Atom) -> Atom:
        return Atom(statistics.value, statistics.n)

    def add(self, statistics: Atom, value: int) -> None:
        statistics.value = int(value)
        statistics.n += 1

    def remove(self, statistics: Atom, value: int) -> None:
        statistics.n -= 1

    def log_predictive(self, value: int, many: Sequence[Atom]) -> Floats:
        """log H(value) for a table without customers; 0 if they have this value, else -inf: shape (n,)."""
        new = float(self.log_probabilities()[value])
        return np.array([new if atom.n == 0 else 0.0 if atom.value == value else -math.inf for atom in many])

    def simulate(self, statistics: Atom, generator: np.random.Generator) -> int:
        """Draw an atom from H (without the remainder), or repeat that of the table."""
        if statistics.n:
            return statistics.value
        weights = np.cumsum(exp_each(self.log_probabilities()))
        return int(np.searchsorted(weights, generator.random() * weights[-1], side="right"))

    def posterior_mean(self, statistics: Atom) -> int:
        return statistics.value

    def posterior_means(self, bank: Any, slots: Int32s, dishes: Int32s) -> npt.NDArray[Any]:
        """The atoms: dishes are their own values."""
        return np.asarray(slots, dtype=np.int64)

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return the values and their probabilities; there is nothing to count."""
        return AtomicBank(np.asarray(data.values, dtype=np.int32), self)


@attrs.frozen(eq=False)
class Uniform(AtomicMeasure):
    """The uniform distribution over a vocabulary of V values: H(w) = 1/V.

    Parameters
    ----------
    n_terms : int, optional
        V; by default the vocabulary of the data.
    """

    n_terms: int | None = attrs.field(  # type: ignore[assignment]
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 2, remedy="The size of the vocabulary.")
        ),
    )

    def for_data(self, data: GroupedData) -> Self:
        """Take V from the data if it is not given, and check that every value is an atom."""
        if self.n_terms is not None:
            return super().for_data(data)
        values = np.asarray(data.values)
        largest = int(values.max()) + 1 if values.dtype.kind in "iu" and values.size else 1
        known = attrs.evolve(self, n_terms=int(getattr(data, "n_terms", None) or max(largest, 1)))
        return super(Uniform, known).for_data(data)

    def example_values(self) -> Sequence[int]:
        """Return some terms for the harness; the first two if V is not known yet."""
        return [0, 0, 0, 1, 0, 0] if self.n_terms is None else super().example_values()

    def log_probabilities(self) -> Floats:
        """Return -log V for every value: shape (V,)."""
        if self.n_terms is None:
            raise DeclarationError("n_terms", None, "known", "Build a Franchise, or pass n_terms.")
        return np.full(self.n_terms, -log(self.n_terms))


def _probabilities(value: Any) -> Floats:
    p = number_array(value)
    if p is None or p.ndim != 1 or not np.all(p >= 0.0) or not abs(float(p.sum()) - 1.0) <= SLACK:
        raise ParameterError(
            "probabilities", value, "a vector of numbers >= 0 that sum to 1", "Divide it by its sum."
        )
    p.setflags(write=False)
    return p


@attrs.frozen(eq=False)
class Categorical(AtomicMeasure):
    """A distribution over a vocabulary: H(w) = p_w.

    Parameters
    ----------
    probabilities : array of shape (V,)
        They sum to 1. A value of probability 0 can't occur.
    """

    probabilities: Floats = attrs.field(converter=_probabilities)

    @property
    def n_terms(self) -> int:
        return len(self.probabilities)

    def log_probabilities(self) -> Floats:
        """Return log p: shape (V,)."""
        return log_each(self.probabilities)


base_measures.register("uniform", Uniform, lambda: [Uniform(3)])
base_measures.register("categorical", Categorical, lambda: [Categorical([0.5, 0.2, 0.3])])
