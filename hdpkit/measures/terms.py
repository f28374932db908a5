"""Common parts of the measures over terms: counts of terms, and checks of the vocabulary."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError
from hdpkit.measures.protocol import BaseMeasure


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
        """Log probability of a term under a topic."""
        with np.errstate(divide="ignore"):
            return float(np.log(parameters[value]))

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw terms from a topic: shape (n,)."""
        return generator.choice(len(parameters), size=n, p=parameters)
