"""What must hold for a move to run over a franchise: each move lists its own in `Move.requires`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from hdpkit.errors import KernelError, ScheduleError
from hdpkit.franchise.franchise import Franchise

SUPPORTED = "moves that this franchise supports"


@attrs.frozen(eq=False)
class Requirement:
    """A condition of a move. A schedule with the move is refused over franchises where it doesn't hold.

    Parameters
    ----------
    holds : callable
        ``holds(state, move)``: whether this move can run over the franchise, and has something to do there.
    remedy : str
        What to do where it can't. ``{move.name}``, ``{state.measure}`` and the like are filled in;
        ``{measure}`` is the class of the measure.
    option, allowed : str
        Name of the parameter of the move that is refused, and what it must be; by default the move itself is.
    """

    holds: Callable[[Franchise, Any], bool]
    remedy: str
    option: str = "moves"
    allowed: str = SUPPORTED

    def check(self, state: Franchise, move: Any) -> None:
        """Raise a ScheduleError unless it holds."""
        if not self.holds(state, move):
            value = move.name if self.option == "moves" else getattr(move, self.option)
            remedy = self.remedy.format(state=state, move=move, measure=type(state.measure).__name__)
            raise ScheduleError(self.option, value, self.allowed, remedy)


def kernel_of(state: Franchise, step: str) -> str | None:
    """Name of the code that runs a step over this franchise, if there is any."""
    try:
        return state.kernel(step)
    except KernelError:
        return None


def something_to_do(holds: Callable[[Franchise, Any], bool], remedy: str) -> Requirement:
    """Return a condition without which a move would change nothing."""
    return Requirement(holds, remedy, allowed="moves that have something to do")


LATENT_DISHES = something_to_do(
    lambda state, move: not state.measure.atomic,
    "Dishes are observed, each customer's is its value: use TableGibbs and DishGibbs.",
)
"""Dishes are not the data themselves: a customer's dish can change."""

MARGINALS = Requirement(
    lambda state, move: bool(state.measure.conjugate),
    "{measure} is not conjugate: use TableGibbs, DishGibbs and DishParameters.",
)
"""Parameters of dishes are integrated out."""

SEVERAL_RESTAURANTS = something_to_do(
    lambda state, move: state.topology.n_nodes > 1,
    "A franchise of one restaurant has no table whose dish could change, and no groups; leave {move.name} "
    "out.",
)

NO_ROOT_DISCOUNT = Requirement(
    lambda state, move: state.root.discount == 0.0,
    "With a discount of the root its remainder would be divided into too many dishes: use TableGibbs.",
)

DRAWN_PARAMETERS = Requirement(
    lambda state, move: state.measure.supports("draw_parameters"),
    "{measure} has no draw_parameters(): leave {move.name} out; TableGibbs needs none.",
)

NO_KEPT_PARAMETERS = Requirement(
    lambda state, move: not state.keeps_parameters,
    "Integrate out what dishes of {measure} keep, or use TableGibbs.",
)


def no_tables_of_values(option: str, without: str) -> Requirement:
    """Return the condition of an option with restricted scans: values must not sit at tables of their own."""
    return Requirement(
        lambda state, move: getattr(move, option) is None or not state.measure.seats_values,
        "The numbers of tables of {measure} are part of a proposal, and have no density after restricted "
        f"scans or under a dish of one unit: use {without}.",
        option,
        "None (sequential allocation of a uniform pair)",
    )
