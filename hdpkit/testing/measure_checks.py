"""Common checks of the contracts of base measures of latent and of observed dishes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.measures.protocol import BaseMeasure

RELATIVE = 1e-9


class MeasureFailure(AssertionError):
    """A base measure breaks its contract."""


def statistics_of(measure: BaseMeasure, values: Sequence[Any]) -> Any:
    """Statistics of a dish with these values."""
    statistics = measure.make()
    for value in values:
        measure.add(statistics, value)
    return statistics


def close(what: str, a: Any, b: Any) -> None:
    """Raise unless two results agree to 1e-9; minus infinity agrees only with itself."""
    if not np.allclose(a, b, rtol=RELATIVE, atol=RELATIVE):
        raise MeasureFailure(f"{what}: {np.asarray(a)} is not {np.asarray(b)}")


def value_key(value: Any) -> str:
    """A key that is equal for equal values of any kind."""
    return repr(np.asarray(value).tolist())


def check_frequencies(draws: list[Any], logs: Any) -> None:
    """Check that values drawn 30 times or more have the right frequency within 6.5 standard errors."""
    keys = [value_key(value) for value in draws]
    probability = dict(zip(keys, np.exp(np.minimum(logs, 0.0)).tolist(), strict=True))
    for key, count in Counter(keys).items():
        expected = len(draws) * probability[key]
        error = np.sqrt(expected * (1.0 - probability[key])) + 1e-9
        if count >= 30 and abs(count - expected) > 6.5 * error:
            raise MeasureFailure(f"simulate draws {key} {count} times for {expected:.1f} of {len(draws)}")
