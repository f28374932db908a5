"""Draws of all quantities from the model: seating, data, hyperparameters; by cell or not."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s, sums_by_key
from hdpkit.checks import choice
from hdpkit.data import Corpus
from hdpkit.data.corpus import Cells
from hdpkit.errors import DeclarationError, ParameterError, StateError
from hdpkit.franchise.franchise import offered, take_values
from hdpkit.franchise.freezing import maker
from hdpkit.franchise.population import restaurants_of
from hdpkit.franchise.scores import ROOT_WEIGHTS
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.numerics import add_up, exp, exp_each
from hdpkit.priors import Prior, draw_from
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.steps._table_counts import tables_drawn
from hdpkit.stores import FrozenCells, FrozenSeating
from hdpkit.stores.frozen import COUNTED, count_columns

Franchise = Any  # of several kinds of data; the module of that class imports this one
SEATED = ("seating", "dishes")
"""Values of ``keep`` with which the seating is kept."""


def simulate_cells(franchise: Franchise, source: ChoiceSource, keep: str | None) -> Any:
    """`simulate` where customers are counted by cell; hyperparameters are those of the state."""
    frozen = franchise.freeze()
    if len(franchise.held.nodes):
        raise StateError(
            "franchise", "with held groups", "one without them, where data are drawn", "Release them first."
        )
    measure = franchise.measure
    if keep in SEATED:
        slots = franchise.slots.occupied_slots()
        pairs = dishes_of_documents(franchise)
        counted = {name: frozen["seating"][name] for name in COUNTED}
    else:
        pairs, counted, n_dishes = _drawn_seating(franchise, source.generator)
        slots = np.arange(n_dishes, dtype=np.int32)
        frozen |= {
            "slots": slots, "held": slots[:0], "dish_ids": np.arange(n_dishes), "births": n_dishes,
            "components": {name: one for name, one in frozen["components"].items() if name != ROOT_WEIGHTS},
        }  # fmt: skip
    topics = (
        measure.draw_many(franchise.bank, slots, np.empty(0, np.int32), source)
        if keep == "dishes"
        else [measure.draw_parameters(measure.make(), source) for _ in slots]
    )
    documents, dishes, n = pairs
    burst = burst_of(measure)
    pair, term, count = redraw_cells(np.searchsorted(slots, dishes), n, topics, source.generator, burst)
    document, dish = documents[pair], dishes[pair]
    order = np.lexsort((dish, term, document))
    document, term, dish, count = (one[order] for one in (document, term, dish, count))
    n_terms = franchise.data.n_terms
    cells, first, runs = np.unique(
        document.astype(np.int64) * n_terms + term, return_index=True, return_counts=True
    )
    begin = np.searchsorted(cells, np.arange(franchise.data.n_documents + 1) * n_terms)
    totals = np.add.reduceat(count, first).astype(np.int32)
    data = franchise.data.with_cells(Cells.of(begin, (cells % n_terms).astype(np.int32), totals))
    seating = FrozenCells(
        runs.astype(np.int32), dish.astype(np.int32), count.astype(np.int32), np.zeros(4, np.int32),
        *(counted[name] for name in COUNTED),
    ).arrays()  # fmt: skip
    if burst is not None:
        share = np.asarray(topics)[np.searchsorted(slots, dish), term]
        masses = zip((burst * share).tolist(), count.tolist(), strict=True)
        tables = [tables_drawn(mass, c, source, True) if c > 1 else 1 for mass, c in masses]
        frozen["bank"] = {"run_tables": np.array(tables, dtype=np.int32)}
    return maker(franchise, data)({**frozen, "seating": seating}, source)


def burst_of(measure: Any) -> float | None:
    """Concentration of topics that differ by document; over cells there is no discount. None: they don't."""
    return float(measure.concentration) if isinstance(measure, Bursty) else None


def dishes_of_documents(franchise: Franchise) -> tuple[Int64s, Int64s, Int64s]:
    """Document, slot of the dish and number of customers of each pair that has customers."""
    return _in_documents(franchise.store.freeze(), int(franchise.topology.first[-1]))


def _in_documents(counts: Mapping[str, Int32s], first: int) -> tuple[Int64s, Int64s, Int64s]:
    deep = counts["count_node"] >= first
    node, dish, customers = (counts[name][deep].astype(np.int64) for name in COUNTED[:3])
    return node - first, dish, customers


def _drawn_seating(
    franchise: Franchise, generator: np.random.Generator
) -> tuple[tuple[Int64s, Int64s, Int64s], dict[str, Int32s], int]:
    """Draw seatings from the prior: pairs of document and dish, and the counts of all restaurants."""
    topology, theta = franchise.topology, franchise.hyperparameters.theta
    own = np.zeros(topology.n_nodes, dtype=np.int64)
    first = int(topology.first[-1])
    own[first:] += franchise.data.document_lengths
    n_levels = topology.n_levels
    tables: list[tuple[Int64s, Int64s]] = []  # by level, the deepest first: restaurant and size of each table
    customers = own.copy()
    for level in range(n_levels - 1, 0, -1):
        nodes = np.flatnonzero(topology.level == level)
        where, size = _broken(customers[nodes], theta[nodes], generator)
        tables.append((nodes[where], size))
        np.add.at(customers, topology.parent[nodes[where]], 1)
    # The dishes of the root's customers, from the top down.
    total, most = int(customers[0]), franchise.root.most_dishes
    if most is None:
        _, size = _broken(customers[:1], theta[:1], generator)
        eaten = generator.permutation(np.repeat(np.arange(len(size)), size))
    else:
        eaten = np.unique(generator.integers(0, most, size=total), return_inverse=True)[1]
    n_dishes = int(eaten.max()) + 1
    served, n = np.unique(eaten, return_counts=True)
    columns = [(np.zeros_like(served), served, n, np.ones_like(n))]
    pending = {0: eaten}
    for where, size in reversed(tables):
        dish = np.empty(len(where), dtype=np.int64)
        for node, mine in _by_number(topology.parent[where]):
            dish[mine] = pending[node]
        columns.append(_counted(where, dish, size, n_dishes))
        # The customers of inner restaurants, in random order.
        pending = {
            node: generator.permutation(np.repeat(dish[own], size[own]))
            for node, own in _by_number(where)
            if node < first
        }
    counts = count_columns(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    return _in_documents(counts, first), counts, n_dishes


def _by_number(numbers: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each of these numbers, ascending, and its places."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for places in np.split(order, starts[1:]):
        yield int(numbers[places[0]]), places


def _counted(
    nodes: Int64s, dishes: Int64s, sizes: Int64s, n_dishes: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Restaurant, dish, customers and tables of each pair that has tables."""
    key, *sums = sums_by_key(nodes * n_dishes + dishes, sizes, np.ones_like(sizes))
    return key // n_dishes, key % n_dishes, *sums


def _broken(n: Int64s, theta: Floats, generator: np.random.Generator) -> tuple[Int64s, Int64s]:
    """Tables of Chinese restaurants with these numbers of customers: place of the restaurant, and size."""
    # A restaurant's tables are a size-biased sample of its weights: the first has Binomial(n, v) customers,
    # v ~ Beta(1, theta), the next one the same of the rest.
    rest, found = n.copy(), []
    left = np.flatnonzero(rest)
    while len(left):
        size = generator.binomial(rest[left], generator.beta(1.0, theta[left]))
        found.append((left[size > 0], size[size > 0]))
        rest[left] -= size
        left = left[rest[left] > 0]
    where, sizes = zip(*found, strict=True)
    return np.concatenate(where), np.concatenate(sizes)


def topics_of(franchise: Franchise, slots: Any, source: ChoiceSource) -> list[Floats] | None:
    """Topics of the dishes in these slots, each of shape (V,), drawn given the data; None if not of terms."""
    measure, data = franchise.measure, franchise.data
    by_restaurant = isinstance(measure, ByRestaurant) and not measure.seats_values
    n_terms = data.n_terms if isinstance(data, Corpus) else getattr(measure, "n_terms", None)
    if n_terms is None or by_restaurant or not measure.supports("draw_parameters"):
        return None
    drawn = measure.draw_many(franchise.bank, slots, franchise.population.dishes(), source)
    return list(drawn) if all(np.shape(one) == (n_terms,) for one in drawn) else None


def terms_of(topic: Floats, n: int, generator: np.random.Generator) -> Int32s:
    """Draw n terms of a topic: int32, shape (n,)."""
    ends = np.cumsum(topic)
    terms = np.searchsorted(ends, generator.random(n) * ends[-1], side="right")
    return np.minimum(terms, np.flatnonzero(topic)[-1]).astype(np.int32)


def redraw_cells(
    dishes: Int64s, n: Int64s, topics: Any, generator: np.random.Generator, burst: float | None = None
) -> tuple[Int64s, Int64s, Int64s]:
    """Draw n terms of the topic of each pair, of Dirichlet(burst x topic) with ``burst``."""
    found: list[tuple[Any, Any, Any]] = []
    for dish, mine in _by_number(dishes):
        topic = np.asarray(topics[dish], dtype=np.float64)
        if burst is not None:
            used = np.flatnonzero(topic)
            for pair in mine.tolist():
                own = generator.dirichlet(burst * topic[used])
                counts = generator.multinomial(n[pair], own / own.sum())
                term = np.flatnonzero(counts)
                found.append((np.full(len(term), pair), used[term], counts[term]))
            continue
        large = n[mine] >= len(topic)
        for pair in mine[large].tolist():
            counts = generator.multinomial(n[pair], topic / topic.sum())
            term = np.flatnonzero(counts)
            found.append((np.full(len(term), pair), term, counts[term]))
        few = mine[~large]
        if len(few):
            pair = np.repeat(few, n[few])
            key = pair * len(topic) + terms_of(topic, len(pair), generator)
            key, count = np.unique(key, return_counts=True)
            found.append((key // len(topic), key % len(topic), count))
    pairs, terms, counts = (np.concatenate(one).astype(np.int64) for one in zip(*found, strict=True))
    return pairs, terms, counts


F = TypeVar("F")
KEEP = ("hyperparameters", "seating", "dishes")
MOST_TRIES = 1000  # most states that are drawn until one is accepted


@offered
def simulate(self: F, rng: ChoiceSource | Seed, keep: str | None = None) -> F:
    """Return a franchise of the same shape with all quantities drawn from the model.

    Raises a StateError if customers without dishes should keep them, or groups are held where customers are
    counted.

    Parameters
    ----------
    rng : seed, Generator or random stream
        The same seed gives the same data. The random numbers differ from those of a run with this seed.
    keep : None, "hyperparameters", "seating" or "dishes"
        "hyperparameters" keeps their current values; "seating" keeps them and the seating, and draws only the
        data given it (the resampling step of Geweke's test). If dishes are observed, the data are the atoms
        of the root's tables; a measure with a remainder raises an error. "dishes" keeps the seating and what
        the dishes have: their parameters are drawn given the data, and every value is drawn again from its
        dish, for posterior predictive checks. The state is then not a draw from its posterior.
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
    seated = franchise if keep in SEATED and franchise.dish_kind.name == "latent" else franchise.copy()
    seating: dict[str, Any] = {}
    if franchise.dish_kind.name == "latent":
        if keep not in SEATED:
            _draw_state(seated, source, keep)
        values, seating = _with_tables(seated, source, keep == "dishes")
    elif keep == "seating":
        seating = {"seating": redraw_atoms(seated, source)}
        dishes = FrozenSeating.of(seating["seating"]).dishes
        values = np.where(dishes >= 0, dishes, franchise.data.values)
    else:
        # Over a store without customers, which records the dishes that are drawn.
        seated.store = seated.store_type(seated.topology.n_customers, seated.topology.n_nodes)
        values = _draw_state(seated, source, keep)
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
    if franchise.dish_kind.name != "latent" and franchise.measure.remainder > 0.0:
        raise DeclarationError(
            f"remainder of {type(franchise.measure).__name__}", franchise.measure.remainder,
            "0 where data are simulated",
            "A value that is not an atom has no number: use a measure without a remainder.",
        )  # fmt: skip
    needs_dishes = keep == "dishes" or (keep == "seating" and not franchise.population.single)
    if needs_dishes and not franchise.population.all_seated():
        raise StateError(
            "franchise", "with unseated customers", f"one whose customers all have dishes, to keep {keep!r}",
            "Run some sweeps first.",
        )  # fmt: skip


def simulate_in_place(given: F, source: ChoiceSource, keep: str | None = None) -> F:
    """Make the draws of `simulate` without a new franchise where dishes are latent; the data are lost."""
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
    """Draw everything except the data, given that the data are observable."""
    # A state from the prior is accepted with the probability of observable data given it, a product over its
    # dishes; observable values are then drawn directly. The law is that of rejecting whole data sets.
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
    if hasattr(type(bank), "read"):  # including the dish's values in the state
        return [bank.begin(int(slot)) for slot in slots]
    if measure.conjugate:
        return [measure.make() for _ in slots]
    # The parameters.
    return list(franchise.bank.statistics(slots, franchise.seating.dishes()))


def _with_tables(franchise: Franchise, source: ChoiceSource, kept: bool) -> tuple[Any, dict[str, Any]]:
    """Values, and the frozen bank if values sit at tables of their own; with ``kept`` of the same dishes."""
    if franchise.measure.seats_values:
        values, opens = draw_in_restaurants(franchise, source, kept)
        own = {} if franchise.measure.conjugate else franchise.bank.freeze()  # concentrations of dishes
        return values, {"bank": {**own, "opens": opens}}
    return (redraw_values if kept else draw_values)(franchise, source), {}


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


def draw_values(franchise: Franchise, source: ChoiceSource) -> Any:
    """Draw all data given the dishes, dish parameters integrated out (by the chain rule within a dish)."""
    dishes = franchise.seating.dishes()
    slots = np.unique(dishes)
    return _by_chain_rule(franchise, dishes, slots, _begun(franchise, slots), 0, source)


def redraw_values(franchise: Franchise, source: ChoiceSource, topics: Any = None) -> Any:
    """Draw all data given the dishes and their data; ``topics`` are drawn ones of all used slots."""
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
    """Draw all terms given the dishes, and which customers open tables, over a `Bursty` measure."""
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


# b: concentration, of all restaurants or of that of each customer; a: discount; keys ascend.
def seated_in_turn(
    keys: Int64s, b: float | Floats, a: float, generator: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], Int64s]:
    """Seat customers of restaurants ``keys``: who opens a table, and who opened that of each."""
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
