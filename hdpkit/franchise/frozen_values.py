"""Checks of the numbers of a frozen state other than its seating: hyperparameters, sweep, streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import LARGEST_SEED, number_array, real_number, whole_number
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.topology import Topology

__all__ = ["check_values"]

_ATTEMPTS = 2**31 - 1
_UNCHANGED = "Pass the state unchanged."


def check_values(
    frozen: Mapping[str, Any],
    topology: Topology | ContextTopology,
    parameters: Mapping[str, Any],
    declarations: Sequence[Restaurant],
) -> None:
    """Raise a DataError unless the numbers of a frozen state are valid.

    Parameters
    ----------
    frozen : mapping
    topology : Topology
    parameters : mapping
        The base measure's parameters that have a prior, by name.
    declarations : sequence of Restaurant
        They determine which restaurants share hyperparameters.
    """
    theta, d = (_numbers(key, frozen[key], topology.n_nodes) for key in ("concentration", "discount"))
    if not np.all((d >= 0.0) & (d < 1.0)):
        raise _wrong("discount", d, "in [0, 1)")
    if not np.all(np.isfinite(theta) & (theta > -d)):
        raise _wrong("concentration", theta, "finite and above -discount")
    for number, declaration in enumerate(declarations):
        nodes = topology.nodes(number)
        named = zip(("concentration", "discount"), (theta, d), declaration.hyperparameters, strict=True)
        for key, values, declared in named:
            own = values[nodes]
            if not declared.each and len(own) and np.any(own != own[0]):
                raise _wrong(key, own, f"one number for all restaurants of {declaration.name!r}")
    try:
        whole_number("sweep, in the frozen state", frozen["sweep"], remedy=_UNCHANGED)
        whole_number("attempt, in the frozen state", frozen["attempt"], 0, _ATTEMPTS, remedy=_UNCHANGED)
        calls = frozen.get("seeded_calls", 0)
        whole_number("seeded_calls, in the frozen state", calls, remedy=_UNCHANGED)
        _check_measure(frozen.get("measure", {}), parameters)
        _check_streams(frozen.get("streams"))
    except ParameterError as error:
        raise DataError(error.parameter, error.value, error.allowed, error.remedy) from None
    components = frozen.get("components", {})
    if not isinstance(components, Mapping):
        raise _wrong("components", components, "a dict of the components' states")


def _check_measure(measure: Any, parameters: Mapping[str, Any]) -> None:
    if not isinstance(measure, Mapping) or not set(measure) <= set(parameters):
        raise _wrong("measure", measure, f"a dict of {sorted(parameters)}")
    for name, value in measure.items():
        real_number(f"{name}, in the frozen state", value, remedy=_UNCHANGED)


def _check_streams(streams: Any) -> None:
    if streams is None:
        return
    if not isinstance(streams, Mapping) or set(streams) != {"seed", "chain"}:
        raise _wrong("streams", streams, "None, or a dict of seed and chain")
    for key, value in streams.items():
        high = LARGEST_SEED if key == "seed" else 2**32 - 1
        whole_number(f"{key} of streams, in the frozen state", value, 0, high, remedy=_UNCHANGED)


def _numbers(key: str, value: Any, n_nodes: int) -> npt.NDArray[np.float64]:
    array = number_array(value)
    if array is None or array.shape != (n_nodes,):
        raise _wrong(key, value, f"{n_nodes} numbers, one per restaurant")
    return array


def _wrong(key: str, value: Any, allowed: str) -> DataError:
    return DataError(
        f"{key}, in the frozen state", value, allowed, "Thaw a state over the same data and declarations."
    )
