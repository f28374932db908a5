"""Arguments of plots converted to arrays: traces, samples, topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import check_unmasked, instance, items, number_array
from hdpkit.data.matrices import sparse_entries
from hdpkit.errors import RUN_FIRST, DataError, ParameterError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.run.trace import ChainTrace, Trace, chains_in


def chains_of(trace: Any) -> list[tuple[int, Trace]]:
    """The chains of a Trace or a ChainTrace, with their numbers."""
    instance(
        "trace", trace, (Trace, ChainTrace), "a Trace or a ChainTrace", remedy="Scheduler.run returns it."
    )
    chains = list(chains_in(trace).items())
    if not any(chain.n_draws for _, chain in chains):
        raise DataError("trace", trace, "a trace with at least one sweep", "Run some sweeps first.")
    return chains


def scalar(trace: Trace, key: str) -> npt.NDArray[np.float64]:
    """A key of a trace that has one number per sweep."""
    values = trace[key]
    if values.dtype == object or values.ndim != 1:
        remedy = f"trace[{key!r}] has one array per sweep; plot it yourself."
        raise ParameterError("key", key, "a key with one number per sweep", remedy)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("key", key, "a key with one number per sweep", "Choose another one.") from error


def shares_of(samples: Any) -> tuple[npt.NDArray[np.float64], list[npt.NDArray[np.float64]]]:
    """Sweeps and the sizes of topics at each: from samples, a trace with samples, or arrays."""
    remedy = "Run with samples=50, or give the sizes of the topics at each sweep."
    allowed = "samples, a trace that has some, or a sequence of arrays of sizes"
    held = getattr(samples, "samples", samples)
    things = items("samples", held, allowed, remedy=remedy)
    if not things:
        raise DataError("samples", held, "at least one sample", remedy)
    if len({getattr(thing, "chain", 0) for thing in things}) > 1:
        one_chain = "Pass one chain, for instance trace.chains[0]."
        raise DataError("samples", "of several chains", "samples of one chain", one_chain)
    sweeps = np.array([getattr(thing, "sweep", i + 1) for i, thing in enumerate(things)], dtype=np.float64)
    sizes = []
    for thing in things:
        check_unmasked("samples", thing)
        one = number_array(getattr(thing, "sizes", thing))
        if one is None or one.ndim != 1 or not np.isfinite(one).all() or (one < 0).any() or one.sum() <= 0:
            raise ParameterError("samples", thing, "sizes of topics, not negative and not all 0", remedy)
        sizes.append(one)
    return sweeps, sizes


def topic_weights(topics: Any) -> npt.NDArray[np.float64]:
    """Weights of terms in topics, shape (K, V), rows sum to one: of a franchise, a sample or an array."""
    remedy = "Give a franchise, a sample, or an array with a row per topic."
    if isinstance(topics, Franchise):
        if topics.n_dishes == 0:
            raise StateError("topics", topics, "a franchise with topics", RUN_FIRST)
        try:
            value: Any = topics.dish_parameters()
        except StateError as error:
            raise DataError("topics", topics, "a franchise that has topics over terms", remedy) from error
    else:
        value = getattr(topics, "rows", getattr(topics, "topics", topics))
        value = value() if callable(value) else value
    if scipy.sparse.issparse(value):
        value = sparse_entries("topics", value).matrix().toarray()
    check_unmasked("topics", value)
    weights = number_array(value)
    shaped = weights is not None and weights.ndim == 2 and weights.size > 0
    if weights is None or not shaped or not np.isfinite(weights).all() or (weights < 0).any():
        allowed = "weights of terms, shape (K, V), finite and not negative"
        raise ParameterError("topics", topics, allowed, remedy)
    totals = weights.sum(axis=1, keepdims=True)
    if (totals <= 0).any():
        raise ParameterError("topics", topics, "topics with at least one term each", remedy)
    return np.asarray(weights / totals)


def term_names(topics: Any, vocabulary: Any, n_terms: int) -> Sequence[str]:
    """Words of the terms: those given, those of the franchise's data, or numbers."""
    if vocabulary is None and isinstance(topics, Franchise):
        vocabulary = getattr(topics.data, "vocabulary", None)
    if vocabulary is None:
        return [str(v) for v in range(n_terms)]
    words = items(
        "vocabulary", vocabulary, "a sequence of words", remedy="Pass the vocabulary of the corpus."
    )
    if len(words) != n_terms:
        raise DataError(
            "vocabulary", f"{len(words)} words", f"{n_terms} words", "Pass the vocabulary of the corpus."
        )
    return [str(word) for word in words]


def named(name: str, value: Any, allowed: str, remedy: str) -> dict[str, Any]:
    """A nonempty mapping, with its keys as strings."""
    if not isinstance(value, Mapping) or not value:
        raise ParameterError(name, value, allowed, remedy)
    return {str(key): one for key, one in value.items()}
