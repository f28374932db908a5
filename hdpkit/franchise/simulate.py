"""Everything drawn from the model: seating, data, hyperparameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hdpkit.checks import choice
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.franchise.hyperparameters import draw
from hdpkit.priors import Prior
from hdpkit.random import ChoiceSource

if TYPE_CHECKING:
    from hdpkit.franchise.franchise import Franchise

__all__ = ["draw_hyperparameters", "draw_seating", "draw_values", "simulate"]

F = TypeVar("F", bound="Franchise")
KEEP = ("hyperparameters", "seating")


def simulate(franchise: F, source: ChoiceSource, keep: str | None) -> F:
    """See `Franchise.simulate`."""
    if keep is not None:
        choice("keep", keep, KEEP, remedy="None draws everything anew.")
    if not franchise.measure.supports("simulate"):
        raise DeclarationError(
            "base", type(franchise.measure).__name__, "a base measure with simulate()", "Write simulate()."
        )
    seated = franchise.copy()
    if keep is None:
        draw_hyperparameters(seated, source)
    if keep != "seating":
        draw_seating(seated, source)
    data = franchise.data.with_values(draw_values(seated, source))
    return franchise._twin(data, seated.freeze())


def draw_hyperparameters(franchise: Franchise, source: ChoiceSource) -> None:
    """Draw every hyperparameter that has a prior from it."""
    draw(franchise, source.generator)
    for name, prior in franchise.measure.priors.items():
        _draw_parameter(franchise, name, prior, source)


def _draw_parameter(franchise: Franchise, name: str, prior: Prior, source: ChoiceSource) -> None:
    """Draw a parameter from its prior, which ends where the measure's domain ends."""
    for _ in range(1000):
        try:
            franchise.set_base_parameters(**{name: float(prior.draw(source.generator))})
            return
        except ParameterError:
            continue
    raise DeclarationError(
        name, prior, "a prior with mass where the measure allows values", "Give it another prior."
    )


def draw_seating(franchise: Franchise, source: ChoiceSource) -> None:
    """Seat everybody anew by the prior: each customer's dish from its restaurant's predictive row."""
    franchise.clear()
    franchise.bank.prepare(source)
    walk, bank = franchise.walk(), franchise.bank
    for i, node in enumerate(franchise.topology.home.tolist()):
        place = source.choose(walk.prior_row(node))
        live = franchise.slots.occupied_slots()
        slot = int(live[place]) if place < len(live) else franchise.open_dish()
        walk.seat(i, node, slot, source)
        bank.add(slot, [i])


def draw_values(franchise: Franchise, source: ChoiceSource) -> list[object]:
    """Draw all data given who eats what, dish parameters integrated out (the chain rule within a dish)."""
    measure = franchise.measure
    dishes = franchise.seating.dishes()
    slots = np.unique(dishes)
    # A conjugate dish begins empty; any other has its parameter already.
    begun = [measure.make() for _ in slots] if measure.conjugate else franchise.bank.statistics(slots, dishes)
    statistics = dict(zip(slots.tolist(), begun, strict=True))
    values: list[object] = []
    for slot in dishes.tolist():
        value = measure.simulate(statistics[slot], source.generator)
        measure.add(statistics[slot], value)
        values.append(value)
    return values
