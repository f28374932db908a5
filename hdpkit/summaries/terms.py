"""Topics as arguments of summaries, and their first terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError
from hdpkit.plots.readings import topic_weights

__all__ = ["first_terms", "weights_of"]

Floats = npt.NDArray[np.float64]


def weights_of(topics: Any) -> Floats:
    """Weights of terms in the topics of a franchise, a sample or an array: shape (K, V), rows sum to one."""
    return topic_weights(topics)


def first_terms(weights: Floats, n_terms: int) -> npt.NDArray[np.int64]:
    """The terms with the largest weights in each topic, shape (K, n_terms); ties by the lower number."""
    if n_terms > weights.shape[1]:
        raise DataError("n_terms", n_terms, f"at most {weights.shape[1]}, the number of terms", "Take fewer.")
    return np.argsort(-weights, axis=1, kind="stable")[:, :n_terms]
