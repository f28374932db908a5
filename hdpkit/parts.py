"""Parts: components of the state other than the seating (a weight, a selector, a shared variance)."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int32s
from hdpkit.checks import number_array
from hdpkit.errors import AuditError, DataError, MissingMethodError, ParameterError, StateError
from hdpkit.numerics import add_up
from hdpkit.priors import Prior, draw_from, log_density_at
from hdpkit.random import ChoiceSource


def unfitting(key: str, value: Any, allowed: str) -> DataError:
    """The error for an entry of a frozen state that isn't what this franchise could have frozen."""
    remedy = "Thaw a state over the same data and declarations."
    return DataError(f"{key}, in the frozen state", value, allowed, remedy)


def inconsistent(what: str, value: Any, allowed: str) -> AuditError:
    """The error for a state that a move left inconsistent."""
    return AuditError(what, value, allowed, "The state is inconsistent: report the move that ran last.")


class Attached:
    """An object that belongs to a franchise."""

    # The reference is weak, since the franchise refers to it: the memory of an unused franchise is released
    # at once, without garbage collection of cycles.

    def __init__(self, state: Any) -> None:
        self._of = weakref.ref(state)

    @property
    def state(self) -> Any:
        """The franchise that it belongs to."""
        state = self._of()
        if state is None:
            raise StateError(
                "franchise",
                None,
                "one that still exists",
                "Keep a reference to the franchise while its parts are in use.",
            )
        return state


class Part:
    """A part of the state that belongs to dishes. Override what you need and `Franchise.register` it.

    The methods for births, deaths and new numbers of dishes are called inside the step that causes them,
    after the statistics of the dish have changed. A part must not use the franchise in these calls.

    Attributes
    ----------
    enumerable : bool
        Whether all that the part draws comes from ``choose``, ``bernoulli`` and ``index`` of the choice
        source. Then moves over a franchise with this part can be tested by enumeration, with `key` as the
        part's state; otherwise they are tested by one step from exact draws and by Geweke's test.
    of_run : bool
        Whether it belongs to a run over the franchise, such as the further chains of an ensemble move. It
        is in frozen states, but copies of the franchise don't have it.
    of_dishes : bool
        Whether it keeps something of each dish. A part of a measure that doesn't is no obstacle to moves
        that create dishes without births.
    """

    enumerable: bool = False
    of_run: bool = False
    of_dishes: bool = True

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """A dish was born.

        A class may also define ``born(self, slot)``.

        Parameters
        ----------
        slot : int
        source : ChoiceSource or None
            Source of the running step; None if the dish was opened outside a step.
        customers : int32 array
            Data customers for whom the dish is created; empty if they are not known yet.
        """

    def died(self, slot: int) -> None:
        """The dish of this slot lost its last customer."""

    def holds(self, slot: int) -> bool:
        """Whether the slot of a dish that died must remain reserved until `DishSlots.release`."""
        return False

    def relabelled(self, mapping: Int32s) -> None:
        """Slots were renumbered: slot s is now mapping[s] (-1: it was free). Called only between sweeps."""

    def reset(self, slots: Int32s) -> None:
        """The seating was replaced (by a start or a thawed state): exactly these slots are occupied."""

    def begin(self) -> None:
        """Take the starting value, where hyperparameters do: before a start seats customers."""

    def started(self, state: Any, source: ChoiceSource) -> None:
        """Draw the part after a start has seated all customers, or after thawing a state without this part.

        Parameters
        ----------
        state : Franchise
        source : ChoiceSource
            For what the part draws.
        """

    def simulate(self, state: Any, source: ChoiceSource) -> None:
        """Draw the part from its prior given a seating that was just drawn from the prior.

        By default the values drawn at the births of that seating are kept.

        Parameters
        ----------
        state : Franchise
        source : ChoiceSource
            For what the part draws.
        """

    def audit(self, slots: Int32s) -> None:
        """Raise an AuditError unless the part fits these occupied slots."""

    def freeze(self) -> dict[str, Any]:
        """Return the part's state as arrays and numbers."""
        return {}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Replace the state by a frozen one; `reset` has been called before."""

    def clone(self, state: Any) -> Self:
        """Return a part for a copy of the franchise; the result of `freeze` is thawed into it afterwards."""
        return copy.deepcopy(self)

    def memory_bytes(self) -> int:
        """Bytes of memory used, as far as known."""
        return 0

    def log_density(self, state: Any) -> float:
        """Log density of the part given the rest of the state, in nats: a term of `Franchise.log_joint`."""
        return 0.0

    def scalars(self, state: Any) -> Mapping[str, float]:
        """Numbers for the trace, recorded under "<name of the part>/<key>"; the keys never change."""
        return {}

    def key(self) -> Any:
        """Return a hashable value that identifies the state of an `enumerable` part."""
        return None


class IntegrablePart(Part):
    """A part that can be integrated out of the state within a block.

    Within the block nothing may depend on its values. A move that leaves the posterior of the rest of the
    state invariant, followed by a draw of the part given the rest, leaves the joint posterior invariant. See
    `Franchise.parts_integrated`.

    Attributes
    ----------
    integrated : ChoiceSource or None
        The source of the block in which the part is integrated out; None outside of one.
    """

    integrated: ChoiceSource | None = None

    def draw(self, source: ChoiceSource) -> None:
        """Draw the part given the rest of the state. It may be called again after an exception."""
        raise MissingMethodError("part", type(self).__name__, "one with draw()", "Define it in the class.")


class SharedValue(Part):
    """A number or an array that a measure reads, the same for all dishes: a variance, coefficients.

    The measure returns it from `BaseMeasure.parts` and takes its value in `BaseMeasure.given`. Nothing but
    `Franchise.set_shared_value` changes it in a state: the franchise then takes the measure given the new
    value, and recomputes the statistics of all dishes. A move draws the value given the rest of the state.

    Parameters
    ----------
    start : float or array
        The value with which chains begin.
    prior : Prior, optional
        Of the number, or independently of each number of the array: a term of `Franchise.log_joint`, and
        what `Franchise.simulate` draws from. None: the value is simulated nowhere, and has no such term.

    Attributes
    ----------
    value : float or float64 array
        The present value; an array is read-only.
    """

    enumerable = True
    of_dishes = False

    def __init__(self, start: Any, prior: Prior | None = None) -> None:
        if prior is not None and (isinstance(prior, type) or not isinstance(prior, Prior)):
            raise ParameterError("prior", prior, "a prior, or None", "For instance hk.Gamma(1, 1).")
        self.prior = prior
        self._start = self._value = self.checked("start", start)

    @property
    def value(self) -> Any:
        """The present value."""
        return float(self._value) if self._value.ndim == 0 else self._value

    def checked(self, name: str, value: Any) -> npt.NDArray[np.float64]:
        """Return a value as a read-only array; raises a ParameterError unless it is finite and of one shape.

        Parameters
        ----------
        name : str
            For the error.
        value : float or array
        """
        array = number_array(value)
        shape = self._start.shape if hasattr(self, "_start") else np.shape(value)
        if array is None or array.size == 0 or array.shape != shape or not np.isfinite(array).all():
            allowed = f"finite numbers, shape {shape}" if shape else "a finite number"
            raise ParameterError(name, value, allowed, "The shape is that of the start.")
        array.setflags(write=False)
        return array

    def take(self, value: Any) -> None:
        """Take a value; `Franchise.set_shared_value` calls it."""
        self._value = self.checked("value", value)

    def begin(self) -> None:
        """Take the value with which chains begin."""
        self._value = self._start

    def simulate(self, state: Any, source: ChoiceSource) -> None:
        """Draw the value from its prior, if there is one."""
        if self.prior is not None:
            drawn = draw_from(self.prior, source, max(self._value.size, 1))
            state.set_shared_value(self, np.reshape(drawn, self._value.shape))

    def freeze(self) -> dict[str, Any]:
        """Return the value."""
        return {"value": np.array(self._value)}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take a frozen value."""
        self._value = self.checked("value, in the frozen state", frozen["value"])

    def log_density(self, state: Any) -> float:
        """Log prior density of the value, in nats."""
        if self.prior is None:
            return 0.0
        return add_up(log_density_at(self.prior, number) for number in self._value.ravel().tolist())

    def scalars(self, state: Any) -> Mapping[str, float]:
        """Each number: "value", or "value[0]", ... of an array."""
        places = np.ndindex(self._value.shape)
        keys = ["value" + (f"[{','.join(map(str, place))}]" if place else "") for place in places]
        return dict(zip(keys, self._value.ravel().tolist(), strict=True))

    def key(self) -> Any:
        """The numbers."""
        return tuple(self._value.ravel().tolist())

    def memory_bytes(self) -> int:
        """Bytes of the value."""
        return int(self._value.nbytes)


class TablePart(Attached, IntegrablePart):
    """An integrable part of which the dishes' values are in a table by slot, drawn again after a start."""

    table: Any

    def relabelled(self, mapping: Int32s) -> None:
        """Values move to the new slots of their dishes."""
        old = np.flatnonzero(np.asarray(mapping) >= 0).astype(np.int32)
        self.table.put(np.asarray(mapping)[old], self.table.many(old))

    def started(self, state: Any, source: ChoiceSource) -> None:
        """Draw all values given the new seating."""
        self.draw(source)

    def memory_bytes(self) -> int:
        """Bytes of the table."""
        return int(self.table.memory_bytes())
