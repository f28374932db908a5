"""The topics that samples have in common, over sweeps and chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import items, positive_number, real_number
from hdpkit.errors import RUN_FIRST, DataError, ParameterError
from hdpkit.franchise import Sample
from hdpkit.record import ChainTrace, Trace
from hdpkit.schedule import Run
from hdpkit.summaries.aligned import AlignedTopics
from hdpkit.summaries.matching import matched
from hdpkit.summaries.states import settled_samples
from hdpkit.summaries.vectors import ParameterVectors, TermVectors, Vectors

__all__ = ["MIN_OCCURRENCE", "Distance", "align_topics", "distance_of", "samples_of", "vectors_of"]

MIN_OCCURRENCE = 0.05
DEFAULT_THRESHOLDS = {"cosine": 0.5, "hellinger": 0.6}
_SOME = "Run with samples=40, or pass franchise.sample() of several states."

Distance = Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]


def align_topics(
    samples: Any,
    *,
    distance: str | Distance = "cosine",
    threshold: float | None = None,
    level: float = 0.9,
    min_occurrence: float = MIN_OCCURRENCE,
) -> AlignedTopics:
    """Find the topics that samples have in common, by matching the dishes of different samples.

    Dishes are numbered differently in every sample and every chain. Within a chain they are followed by their
    permanent ids as long as they remain similar. The rest is assigned so that the sum of similarities is
    largest (`scipy.optimize.linear_sum_assignment`), along each chain, between chains, and then once more
    against the mean of each topic over all samples, until nothing changes. No two dishes of a sample are the
    same topic.

    Parameters
    ----------
    samples : sequence of Sample, Trace, ChainTrace or Run
        Of one chain or several, over the same data. Of a trace or a run the samples after the burn-in are
        used, which is the first half of its recorded sweeps, as in `diagnose`; of a sequence all.
    distance : "cosine", "hellinger" or function
        Dissimilarity of two topics: 1 - cosine of their distributions over terms, or the Hellinger distance
        between them. For data other than terms, a function that takes the parameters of two sets of
        components, shape (n, ...) and (m, ...), and returns distances, shape (n, m).
    threshold : float, optional
        The largest distance between dishes of the same topic: by default 0.5 for cosine, 0.6 for Hellinger;
        required for a function.
    level : float
        Probability of the credible intervals.
    min_occurrence : float
        Topics that occur in a smaller share of the samples belong to the rest.

    Returns
    -------
    AlignedTopics

    Raises
    ------
    ParameterError
        If an argument is out of range.
    DataError
        If there is no sample, or samples are of different data.
    ReturnValueError
        If a distance function returns anything other than such an array.
    """
    given = samples_of(samples)
    level = _share("level", level, remedy="For instance 0.9.")
    min_occurrence = real_number("min_occurrence", min_occurrence)
    if not 0.0 <= min_occurrence <= 1.0:
        raise ParameterError("min_occurrence", min_occurrence, "from 0 to 1", "0 keeps every topic.")
    threshold = distance_of(distance, threshold)
    labels = matched(given, vectors := vectors_of(given, distance), threshold)
    n = int(max(one.max(initial=-1) for one in labels)) + 1
    there = np.bincount(np.concatenate(labels), minlength=n) / len(given)
    often = there >= min_occurrence
    to = np.where(often, np.cumsum(often) - 1, -1)
    return AlignedTopics(given, [to[one] for one in labels], vectors, level)


def samples_of(given: Any) -> tuple[Sample, ...]:
    """Samples from an argument: one or more, of the same data."""
    found = settled_samples(given) if isinstance(given, Trace | ChainTrace | Run) else given
    samples = items("samples", found, "a sequence of samples, or a run that kept some", remedy=_SOME)
    for sample in samples:
        if not isinstance(sample, Sample):
            raise ParameterError("samples", sample, "samples", _SOME)
    if not samples:
        raise DataError("samples", given, "at least one sample", _SOME)
    if any((sample.counts is None) != (samples[0].counts is None) for sample in samples):
        raise DataError("samples", "of words and of numbers", "of one run's data", "Align them separately.")
    if not any(sample.n_dishes for sample in samples):
        raise DataError(
            "samples", "without a dish", "of a franchise with customers seated",
            RUN_FIRST,
        )  # fmt: skip
    return samples


def distance_of(distance: str | Distance, threshold: float | None) -> float:
    """The threshold for a distance, after checking both; None is the default of a named distance.

    Raises a ParameterError if the distance or the threshold is not valid.
    """
    if isinstance(distance, str):
        if distance not in DEFAULT_THRESHOLDS:
            raise ParameterError(
                "distance", distance, f"one of {sorted(DEFAULT_THRESHOLDS)}, or a function",
                "Leave it out for topics over terms.",
            )  # fmt: skip
        threshold = DEFAULT_THRESHOLDS[distance] if threshold is None else threshold
    elif not callable(distance) or isinstance(distance, type):
        raise ParameterError(
            "distance", distance, "a name, or a function", "Leave it out for topics over terms."
        )
    if threshold is None:
        raise ParameterError(
            "threshold", None, "a number, where the distance is a function",
            "The largest distance of two that are the same.",
        )  # fmt: skip
    return positive_number("threshold", threshold)


def vectors_of(samples: tuple[Sample, ...], distance: str | Distance) -> Vectors:
    """Components of samples as vectors with a distance."""
    if not isinstance(distance, str):
        return ParameterVectors(samples, distance)
    if samples[0].counts is None:
        raise ParameterError(
            "distance", distance, "a function, where the data are no terms",
            "For instance lambda a, b: abs(a[:, None, 0] - b[None, :, 0]), and a threshold.",
        )  # fmt: skip
    return TermVectors(samples, distance == "hellinger")


def _share(name: str, value: Any, *, remedy: str) -> float:
    value = real_number(name, value)
    if not 0.0 < value < 1.0:
        raise ParameterError(name, value, "between 0 and 1", remedy)
    return value
