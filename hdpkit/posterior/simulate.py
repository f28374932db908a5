"""Draws of all quantities from the model: seating, data, hyperparameters."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import choice
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.franchise.franchise import offered, take_values
from hdpkit.franchise.freezing import maker
from hdpkit.franchise.population import restaurants_of
from hdpkit.measures.bank import ReadsParts
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.numerics import add_up, exp, exp_each
from hdpkit.posterior.simulate_cells import SEATED, simulate_cells, terms_of, topics_of
from hdpkit.priors import Prior, draw_from
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.stores import FrozenSeating

Franchise = Any  # of several kinds of data
F = TypeVar("F")
KEEP = ("hyperparameters", "seating", "dishes")
MOST_TRIES = 1000  # most states that are drawn until one is accepted


@offered
def simulate(self: F, rng: ChoiceSource | Seed, keep: str | None = None) -> F:
    """Return a franchise of the same shape with all quantities drawn from the model.

    Parameters
    ----------
    rng : seed, Generator or random stream
        The same seed gives the same data. The random numbers differ from those of a run with this seed.
    keep : None, "hyperparameters", "seating" or "dishes"
        "hyperparameters" keeps their current values; "seating" keeps them and the seating, and draws
        only the data given it (the resampling step of Geweke's test). If dishes are observed, the data
        are the atoms of the root's tables; a measure with a remainder raises an error, because its other
        values have no numbers. "dishes" keeps the seating and what the dishes have: their parameters are
        drawn given the data, and every value is drawn again from its dish, for posterior predictive
        checks. The state is then not a draw from the posterior given the new data.

    Raises
    ------
    StateError
        If customers without dishes should keep them, or groups are held where customers are counted.
    """
    return simulated(self, as_source(rng, Purpose.SIMULATE), keep)


def simulated(given: F, source: ChoiceSource, keep: str | None) -> F:
    """A franchise as `Franchise.simulate` returns it."""
    franchise: Franchise = given
    _check(franchise, keep)
    if not franchise.population.single:
        if keep is None:
            franchise = franchise.copy()
            draw_hyperparameters(franchise, source)
        return simulate_cells(franchise, source, keep)
    seating: dict[str, Any]
    prepared, values_of = _DRAWN[franchise.dish_kind.name]
    seated = prepared(franchise, keep)
    if keep == "dishes":
        values, seating = _with_tables(seated, source, True)
    else:
        drawn = None if keep == "seating" else _draw_state(seated, source, keep)
        values, seating = values_of(seated, drawn, source)
    made: F = maker(franchise, franchise.data.with_values(values))({**seated.freeze(), **seating})
    return made


def _check(franchise: Franchise, keep: str | None) -> None:
    """Raise an error if the data of a franchise can't be simulated."""
    if keep is not None:
        choice("keep", keep, KEEP, remedy="None draws everything.")
    franchise.known_dishes.require_none(
        "no known components where everything is drawn",
        "Their earlier observations are fixed: build a franchise without them.",
    )
    if not (franchise.measure.supports("simulate") or franchise.measure.supports("redraw")):
        raise DeclarationError(
            "base", type(franchise.measure).__name__, "a base measure with simulate()", "Define simulate()."
        )
    if keep == "dishes" and franchise.dish_kind.name != "latent":
        raise ParameterError(
            "keep", keep, "None, 'hyperparameters' or 'seating', because dishes are observed",
            "The data are the dishes: there is nothing to draw that would keep them.",
        )  # fmt: skip
    needs_dishes = keep == "dishes" or (keep == "seating" and not franchise.population.single)
    if needs_dishes and not franchise.population.all_seated():
        raise StateError(
            "franchise", "with unseated customers", f"one whose customers all have dishes, to keep {keep!r}",
            "Run some sweeps first.",
        )  # fmt: skip


def simulate_in_place(given: F, source: ChoiceSource, keep: str | None = None) -> F:
    """Make the draws of `simulate` in less time: if dishes are latent, no new franchise is created.

    The previous state and data of the franchise are lost. If dishes are observed or known, or customers are
    counted by cell, a new franchise is returned, or an error raised, as by `simulate`.
    """
    franchise: Franchise = given
    if franchise.dish_kind.name != "latent" or not franchise.population.single:
        return simulated(given, source, keep)
    _check(franchise, keep)
    if keep not in SEATED:
        _draw_state(franchise, source, keep)
    take_values(franchise, *_with_tables(franchise, source, keep == "dishes"))
    franchise.workspaces.clear()
    return given


def _draw_state(franchise: Franchise, source: ChoiceSource, keep: str | None) -> list[int]:
    """Draw everything except the data, given that the data are observable.

    A state is drawn from the prior and accepted with the probability of observable data given the state,
    which is a product over its dishes (if the first value of a dish is observable, all are). Given the state,
    observable values are drawn directly (`BaseMeasure.simulate`). The distribution is that of rejecting
    complete data sets with unobservable values, without drawing them.
    """
    for _ in range(MOST_TRIES):
        if keep is None:
            draw_hyperparameters(franchise, source)
        drawn = draw_seating(franchise, source)
        for part in franchise.parts.values():
            part.simulate(franchise, source)
        if not franchise.measure.supports("log_observable"):
            return drawn
        of_dishes = [franchise.measure.log_observable(one) for one in _begun(franchise, np.unique(drawn))]
        if source.bernoulli(exp(min(add_up(of_dishes), 0.0))):
            return drawn
    raise DeclarationError(
        "base", franchise.measure, f"a measure whose data can be observed, once in {MOST_TRIES:,} draws",
        "Use a higher probability of selection, or a larger vocabulary.",
    )  # fmt: skip


def _begun(franchise: Franchise, slots: Any) -> list[Any]:
    """Initial statistics of the dishes of these slots."""
    measure, bank = franchise.measure, franchise.bank
    if isinstance(bank, ReadsParts):  # including the dish's values in the state
        return [bank.begin(int(slot)) for slot in slots]
    if measure.conjugate:
        return [measure.make() for _ in slots]
    # The parameters.
    return list(franchise.bank.statistics(slots, franchise.seating.dishes()))


def _seated_latent(franchise: Franchise, keep: str | None) -> Franchise:
    """Values given the seating are drawn without changes of the state: no copy is needed."""
    return franchise if keep in SEATED else franchise.copy()


def _values_latent(
    franchise: Franchise, drawn: list[int] | None, source: ChoiceSource
) -> tuple[Any, dict[str, Any]]:
    return _with_tables(franchise, source, False)


def _with_tables(franchise: Franchise, source: ChoiceSource, kept: bool) -> tuple[Any, dict[str, Any]]:
    """Values, and the frozen bank if values sit at tables of their own; with ``kept`` of the same dishes."""
    if franchise.measure.seats_values:
        values, opens = draw_in_restaurants(franchise, source, kept)
        own = {} if franchise.measure.conjugate else franchise.bank.freeze()  # concentrations of dishes
        return values, {"bank": {**own, "opens": opens}}
    return (redraw_values if kept else draw_values)(franchise, source), {}


def _seated_observed(franchise: Franchise, keep: str | None) -> Franchise:
    """A franchise without customers, over a store that records the dishes that are drawn."""
    _refuse_remainder(franchise.measure)
    seated = franchise.copy()
    if keep != "seating":
        topology = seated.topology
        seated.store = seated.store_type(topology.n_customers, topology.n_nodes)
    return seated


def _values_observed(
    franchise: Franchise, drawn: list[int] | None, source: ChoiceSource
) -> tuple[Any, dict[str, Any]]:
    """The drawn dishes; otherwise new atoms for the root's tables, and the seating with them."""
    if drawn is not None:
        return drawn, {}
    seating = redraw_atoms(franchise, source)
    return _observed(seating, franchise.data.values), {"seating": seating}


def draw_hyperparameters(franchise: Franchise, source: ChoiceSource) -> None:
    """Draw every hyperparameter that has a prior from its prior."""
    franchise.hyperparameters.draw(source)
    franchise.topology.draw_prior(source)
    for name, prior in franchise.measure.priors.items():
        _draw_parameter(franchise, name, prior, source)


def _draw_parameter(franchise: Franchise, name: str, prior: Prior, source: ChoiceSource) -> None:
    """Draw a parameter from its prior, truncated to the measure's domain."""
    for _ in range(1000):
        try:
            franchise.set_base_parameters(**{name: float(draw_from(prior, source))})
            return
        except ParameterError:
            continue
    raise DeclarationError(
        name, prior, "a prior with mass where the measure allows values", "Give it another prior."
    )


def draw_seating(franchise: Franchise, source: ChoiceSource) -> list[int]:
    """Reseat all customers from the prior; returns the dish of each, drawn from its restaurant's row."""
    franchise.clear()
    franchise.bank.prepare(source)
    walk, bank = franchise.walk(), franchise.bank
    drawn: list[int] = []
    for i in range(franchise.topology.n_all):
        node = franchise.topology.home_of(i, franchise.seating)
        place = source.choose(walk.prior_row(node))
        live = franchise.slots.occupied_slots()
        slot = int(live[place]) if place < len(live) else franchise.open_dish(source)
        walk.seat(i, node, slot, source)
        bank.add(slot, [i])
        drawn.append(slot)
    if franchise.draws_tables:
        franchise.draw_tables(0, franchise.topology.n_nodes, source)
    return drawn


def redraw_atoms(franchise: Franchise, source: ChoiceSource) -> dict[str, Any]:
    """Return the labelled seating with a new atom, drawn from H, for each root table and its descendants."""
    measure: Any = franchise.measure
    with franchise.labelled_seating(source):
        seating = franchise.seating.freeze()
    above = np.append(seating["table_seat"], -1)
    weights = exp_each(measure.log_probabilities())
    dish = np.array(
        [source.choose(weights) if seat < 0 else -1 for seat in above[:-1].tolist()], dtype=np.int32
    )
    top = np.arange(len(dish))
    while np.any(above[top] >= 0):
        top = np.where(above[top] >= 0, above[top], top)
    return {**seating, "table_dish": dish[top]}


def _observed(seating: dict[str, Any], current: Any) -> Any:
    """Value of each customer of a frozen seating of observed dishes; unseated ones keep their values."""
    dish = FrozenSeating.of(seating).dishes
    return np.where(dish >= 0, dish, current)


def _refuse_remainder(measure: Any) -> None:
    if measure.remainder > 0.0:
        raise DeclarationError(
            f"remainder of {type(measure).__name__}", measure.remainder, "0 where data are simulated",
            "A value that is not an atom has no number: use a measure without a remainder.",
        )  # fmt: skip


def draw_values(franchise: Franchise, source: ChoiceSource) -> Any:
    """Draw all data given the dishes, dish parameters integrated out (by the chain rule within a dish)."""
    if franchise.measure.seats_values:
        return draw_in_restaurants(franchise, source, False)[0]
    dishes = franchise.seating.dishes()
    slots = np.unique(dishes)
    return _by_chain_rule(franchise, dishes, slots, _begun(franchise, slots), 0, source)


def redraw_values(franchise: Franchise, source: ChoiceSource, topics: Any = None) -> Any:
    """Draw all data given the dishes and their data: new values of the same dishes.

    The parameters of each dish are drawn from their posterior. They are integrated out where a measure has no
    topics to draw: each value is drawn given the data and the values before it. If dishes differ by
    restaurant, the values are drawn in new restaurants, one for each that there is. ``topics`` are the drawn
    ones of `topics_of` for all slots that have customers.
    """
    if franchise.measure.seats_values:
        return draw_in_restaurants(franchise, source, True, topics)[0]
    dishes = franchise.seating.dishes()
    slots = np.unique(dishes)
    topics = topics_of(franchise, slots, source) if topics is None else topics
    if topics is not None:
        order = np.argsort(dishes, kind="stable")
        ends = np.searchsorted(dishes[order], slots, side="right").tolist()
        values = np.empty(len(dishes), dtype=np.int32)
        for topic, first, last in zip(topics, [0, *ends[:-1]], ends, strict=True):
            values[order[first:last]] = terms_of(topic, last - first, source.generator)
        return values
    there = copy.deepcopy(franchise.bank.statistics(slots, franchise.population.dishes()))
    return _by_chain_rule(franchise, dishes, slots, there, franchise.topology.n_nodes, source)


def draw_in_restaurants(
    franchise: Franchise, source: ChoiceSource, kept: bool, topics: Any = None
) -> tuple[Int32s, npt.NDArray[np.int8]]:
    """Draw all terms given the dishes, and which customers open tables, over a `Bursty` measure.

    The topics of dishes are drawn from their posterior given the tables if they are ``kept``, otherwise from
    their prior; the seating in all restaurants is new. ``topics`` are drawn ones of all slots that have
    customers.
    """
    measure = franchise.measure
    dishes = np.asarray(franchise.seating.dishes())[: franchise.topology.n_customers]
    slots = np.unique(dishes)
    if topics is None:
        topics = (
            measure.draw_many(franchise.bank, slots, franchise.population.dishes(), source)
            if kept
            else [_observable_topic(measure, source) for _ in slots]
        )
    rank = np.searchsorted(slots, dishes)
    restaurants = restaurants_of(franchise, measure).astype(np.int64)
    order = np.argsort(restaurants * len(slots) + rank, kind="stable")
    b: Any = measure.concentration
    if not measure.conjugate:  # each dish has one
        bank: Any = franchise.bank
        b = np.array([bank.parameter(slot) for slot in slots.tolist()])[rank][order]
    opens, root = seated_in_turn(
        (restaurants * len(slots) + rank)[order], b, measure.discount, source.generator
    )
    values, rank = np.zeros(len(dishes), dtype=np.int32), rank[order]
    for k, topic in enumerate(topics):
        mine = np.flatnonzero(opens & (rank == k))
        values[mine] = terms_of(np.asarray(topic, dtype=np.float64), len(mine), source.generator)
    made, found = np.empty_like(values), np.zeros(len(dishes), dtype=np.int8)
    made[order], found[order] = values[root], opens
    return made, found


def _observable_topic(measure: Any, source: ChoiceSource) -> Any:
    """A topic from its prior, given that it has terms."""
    for _ in range(MOST_TRIES):
        topic = measure.draw_parameters(measure.make(), source)
        if np.any(topic > 0.0):
            return topic
    raise DeclarationError(
        "base", measure, f"a measure whose topics have terms, once in {MOST_TRIES:,} draws",
        "Use a higher probability of selection, or a larger vocabulary.",
    )  # fmt: skip


def seated_in_turn(
    keys: Int64s, b: float | Floats, a: float, generator: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], Int64s]:
    """Seat customers by Chinese restaurant processes: who opens a table, and who opened that of each.

    ``keys`` are the restaurants of the customers, ascending; b is the concentration, of all restaurants or of
    that of each customer, and a the discount.
    """
    n = len(keys)
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    sizes = np.diff(first, append=n)
    before = np.arange(n) - np.repeat(first, sizes)  # customers before in the restaurant
    if a == 0.0:
        opens = generator.random(n) * (b + before) < b
    else:
        opens, tables = np.ones(n, dtype=bool), np.ones(len(first))
        left, of_first = np.arange(len(first)), np.broadcast_to(b, n)[first]
        for i in range(1, int(sizes.max(initial=0))):
            left = left[sizes[left] > i]
            here = generator.random(len(left)) * (of_first[left] + i) < of_first[left] + a * tables[left]
            opens[first[left] + i] = here
            tables[left] += here
    root = np.arange(n)
    # A table of s customers has the weight s - a: that of its opener counts 1 - a.
    todo = np.flatnonzero(~opens)
    while len(todo):
        root[todo] = todo - before[todo] + (generator.random(len(todo)) * before[todo]).astype(np.int64)
        todo = todo[opens[root[todo]] & (generator.random(len(todo)) < a)] if a > 0.0 else todo[:0]
    while not np.array_equal(above := root[root], root):
        root = above
    return opens, root


def _by_chain_rule(
    franchise: Franchise, dishes: Any, slots: Any, begun: list[Any], shift: int, source: ChoiceSource
) -> list[object]:
    """Draw each value given the statistics and the values before it; ``shift`` is added to restaurants."""
    measure = franchise.measure
    statistics = dict(zip(slots.tolist(), begun, strict=True))
    values: list[object] = []
    if isinstance(measure, ByRestaurant):
        restaurants = (restaurants_of(franchise, measure) + np.int32(shift)).tolist()
        for slot, restaurant in zip(dishes.tolist(), restaurants, strict=True):
            value = measure.simulate_in(statistics[slot], restaurant, source.generator)
            measure.add(statistics[slot], Placed(value, restaurant))
            values.append(value)
        return values
    for i, slot in enumerate(dishes.tolist()):
        value = measure.redraw(franchise.data.values[i], statistics[slot], source.generator)
        measure.add(statistics[slot], value)
        values.append(value)
    return values


# By the kind of dishes: the franchise in which data are drawn; the values and changes of the frozen state.
_DRAWN = {"latent": (_seated_latent, _values_latent), "observed": (_seated_observed, _values_observed)}
