"""The contract of a seating store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from math import factorial
from types import SimpleNamespace
from typing import Any

import numpy as np

from hdpkit.checks import flag, whole_number
from hdpkit.errors import ParameterError, StateError, importing_extra
from hdpkit.franchise.scores import log_seating_of_restaurant
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.steps.journal import Journal
from hdpkit.stores import (
    CountsStore,
    Detail,
    ExplicitReference,
    FrozenSeating,
    FrozenSeats,
    HistogramReference,
    TakesBack,
    detail_of,
    missing_methods,
)
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.enumeration import Shape, seatings, table_sizes
from hdpkit.testing.exact import law_of
from hdpkit.testing.states import (
    counted,
    frozen_key,
    labelled_arrays,
    same,
    seen,
    to_counts,
    to_histograms,
)


class StoreFailure(AssertionError):
    """A seating store breaks its contract."""


def require(condition: Any, what: str) -> None:
    """Raise a StoreFailure unless the condition holds."""
    if not condition:
        raise StoreFailure(what)


def canonical(store: Any) -> Hashable:
    """A state without table numbers: the data customers below each table, or the histograms."""
    frozen = store.freeze()
    if not isinstance(FrozenSeating.of(frozen), FrozenSeats):
        return tuple(tuple(frozen[name].tolist()) for name in sorted(frozen))
    below: dict[int, set[int]] = defaultdict(set)
    for i, table in enumerate(frozen["seat"].tolist()):
        while table >= 0:
            below[table].add(i)
            table = int(frozen["table_seat"][table])
    rows = zip(frozen["table_node"].tolist(), frozen["table_dish"].tolist(), strict=True)
    return frozenset((node, dish, frozenset(below[t])) for t, (node, dish) in enumerate(rows))


def expected_of(store: Any, sizes: Counter[int]) -> Any:
    """The value that `seen` should return for tables of these sizes."""
    return counted(sizes) if detail_of(store) is Detail.COUNTS else sizes


def check_capacity(store_class: type) -> str:
    """Hundreds of dishes at one restaurant, thousands of tables, many customers; twice, without a leak."""
    n_dishes, n_tables, n_customers = 500, 2000, 6000
    store, source = store_class(n_customers, 3), RandomStream((3, 3))
    held: list[int] = []
    for _ in range(3):
        empty = store.memory_bytes()
        if not held:
            fresh = empty
        sizes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        expected = np.full(n_customers, -1)
        order = source.permutation(n_dishes)
        for i, dish in enumerate(order.tolist()):  # in random order, so that entries are inserted in between
            store.open(1, dish, i)
            sizes[1, dish][1] += 1
            expected[i] = dish
        for i in range(n_dishes, n_dishes + n_tables):
            store.open(2, 7, i)
            expected[i] = 7
        sizes[2, 7][1] = n_tables
        joined = n_dishes + n_tables + 300
        for i in range(n_dishes + n_tables, joined):
            store.join(2, 7, i, 0.5, source)
            expected[i] = 7
        for i in range(joined, n_customers):
            dish = int(order[i % n_dishes])
            store.join(1, dish, i, 0.0, source)
            sizes[1, dish] = Counter({max(sizes[1, dish]) + 1: 1})
            expected[i] = dish
        require(np.array_equal(store.dishes(), expected), "dishes after growth")
        require(store.node_dishes(1).tolist() == list(range(n_dishes)), "node_dishes ascend after growth")
        for dish in range(n_dishes):
            require(seen(store, 1, dish) == expected_of(store, sizes[1, dish]), f"tables of dish {dish}")
        big = [store.tables(2, 7), store.customers(2, 7)]
        require(big == [n_tables, n_tables + 300], "tables of one dish after growth")
        if detail_of(store) is not Detail.COUNTS:
            many = store.table_sizes(2, 7)
            require([len(many), int(many.sum())] == big, "sizes of the tables of one dish after growth")
        require(store.node_tables(2) == store.tables(2, 7) == n_tables, "tables after growth")
        require(store.node_customers(1) == n_customers - n_tables - 300, "customers after growth")
        full = store.memory_bytes()
        require(isinstance(full, int), f"memory_bytes() = {full!r} is no int")
        require(full >= empty >= 0, f"memory_bytes falls from {empty} to {full} while customers come")
        require(full == 0 or full >= 2 * n_customers, f"memory_bytes() = {full} for {n_customers} customers")
        held.append(full)
        for i in source.permutation(n_customers).tolist():
            store.remove(1 if i < n_dishes or i >= joined else 2, int(expected[i]), i, source)
        require(store.dishes().tolist() == [-1] * n_customers, "customers stay after their removal")
        left = [store.node_customers(node) + store.node_tables(node) for node in range(3)]
        require(left == [0, 0, 0] and store.node_dishes(1).tolist() == [], f"tables stay when empty: {left}")
        left_over = store.memory_bytes()
        require(left_over >= 0, "memory_bytes is negative")
        compacts = hasattr(store, "compact")
        if compacts:
            require(store.compact() == (left_over > fresh), "compact gives back what a peak has left")
            # Scratch memory for the weights of one draw may remain.
            allowed = fresh + 8 * 2 * n_tables
            require(store.memory_bytes() <= allowed, f"compact leaves {store.memory_bytes()} of {left_over}")
    require(held[-1] <= 1.5 * held[0], f"memory leaks when restaurants fill and empty: {held}")
    return (
        f"capacity: {n_dishes} dishes at a restaurant, {n_tables} tables of a dish, {n_customers} customers"
    )


TOLERANCE = 1e-12
COMPARED: dict[Detail, Any] = {
    Detail.COUNTS: CountsStore,
    Detail.SIZES: HistogramReference,
    Detail.SEATS: ExplicitReference,
}
FORMS = {
    Detail.COUNTS: "dishes and counts",
    Detail.SIZES: "dishes and histograms",
    Detail.SEATS: "labelled seating",
}
PARENT, HOME = [-1, 0, 0, 1], [3, 3, 3, 3, 1, 1, 2, 2, 2, 0]  # the tree on which stores are compared


def check_store(store_class: type, *, examples: int = 60, steps: int = 30, shrink: bool = True) -> list[str]:
    """Check a user-defined seating store, and raise an error if it is wrong.

    Returns what was checked, one line each. Raises an AssertionError that names what is wrong.

    Parameters
    ----------
    store_class : type
        A class with the methods of `hdpkit.SeatingStore` (and of `TableStore` if it keeps seats).
    examples, steps : int
        How long the state machine runs.
    shrink : bool
        Look for the shortest sequence of operations that fails; it can take minutes.
    """
    if not isinstance(store_class, type):
        raise ParameterError("store_class", store_class, "a class", "Pass the class, not an instance.")
    whole_number("examples", examples, 1, 1_000_000, remedy="60 is usual.")
    whole_number("steps", steps, 1, remedy="30 is usual.")
    flag("shrink", shrink)
    missing = missing_methods(store_class)
    require(not missing, f"it lacks {missing}")
    counts = detail_of(store_class) is Detail.COUNTS
    with importing_extra("hypothesis", "testing", ", to check stores"):
        from hdpkit.testing.machines import run_store_machine
    run_store_machine(store_class, examples, steps, shrink)
    return [
        "state machine: the store agrees with a plain model",
        *([_check_counts(store_class)] if counts else [_check_join(store_class), _check_remove(store_class)]),
        _check_laws(store_class),
        _check_continuation(store_class),
        _check_labelled_seating(store_class),
        check_capacity(store_class),
        *([_check_taking_back(store_class)] if isinstance(store_class(1, 1), TakesBack) else []),
    ]


def _compare(what: str, law: dict[Any, float], expected: dict[Any, float]) -> None:
    error = max(abs(law.get(key, 0.0) - expected.get(key, 0.0)) for key in [*law, *expected])
    require(error <= TOLERANCE, f"{what}: the law is {law}, should be {expected}")


# ---------------------------------------------------------------------------------------------- direct checks


SIZES = [1, 1, 3, 4]


def _seated(store_class: type, sizes: Iterable[int] = SIZES) -> Any:
    """One restaurant (node 1) with tables of these sizes, all of dish 1, and one customer waiting."""
    sizes = list(sizes)
    n = sum(sizes)
    tables = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    labelled = {
        "seat": np.append(tables, np.int32(-1)).astype(np.int32),
        "table_node": np.array([0] + [1] * len(sizes), dtype=np.int32),
        "table_dish": np.ones(len(sizes) + 1, dtype=np.int32),
        "table_seat": np.array([-1] + [0] * len(sizes), dtype=np.int32),
    }
    labelled["seat"][:n] += 1
    store = store_class(n + 1, 2)
    store.thaw(FrozenSeating.of(labelled).to(detail_of(store_class)).arrays())
    return store


def _check_join(store_class: type) -> str:
    """Each table of size s has weight s - d."""
    for discount in (0.0, 0.3, 0.9):
        total = sum(size - discount for size in SIZES)
        expected: dict[Any, float] = defaultdict(float)
        for place, size in enumerate(SIZES):
            grown = tuple(sorted([*SIZES[:place], size + 1, *SIZES[place + 1 :]]))
            expected[grown] += (size - discount) / total

        def join(source: ScriptedSource, discount: float = discount) -> Hashable:
            store = _seated(store_class)
            store.join(1, 1, sum(SIZES), discount, source)
            return tuple(store.table_sizes(1, 1).tolist())

        _compare(f"join with discount {discount}", law_of(join), expected)
    # With equal sizes every table must be chosen: as many branches as a labelled store can distinguish.
    if detail_of(store_class) is Detail.SEATS:

        def neighbours(source: ScriptedSource) -> Hashable:
            store = _seated(store_class, [2, 2, 2])
            store.join(1, 1, 6, 0.5, source)
            return tuple(store.table_at(i) == store.table_at(6) for i in range(6))

        law = law_of(neighbours)
        require(len(law) == 3, f"join reaches {len(law)} of three equal tables")
        _compare("join among equal tables", law, dict.fromkeys(law, 1.0 / 3.0))
    return "join: a table of size s with weight s - d"


def _check_remove(store_class: type) -> str:
    """By customer: a table of size s with probability s c_s / n, independent of the discount."""
    known = detail_of(store_class) is Detail.SEATS
    n = sum(SIZES)
    for customer in (0, 2, n - 1):
        own = int(np.repeat(np.arange(len(SIZES)), SIZES)[customer])
        expected: dict[Any, float] = defaultdict(float)
        for place, size in enumerate(SIZES):
            left = tuple(sorted(s for s in [*SIZES[:place], size - 1, *SIZES[place + 1 :]] if s))
            expected[left, size == 1] += float(place == own) if known else size / n

        def remove(source: ScriptedSource, customer: int = customer) -> Hashable:
            store = _seated(store_class)
            closed, _ = store.remove(1, 1, customer, source)
            return tuple(store.table_sizes(1, 1).tolist()), closed

        law = law_of(remove)
        _compare(f"removal of customer {customer}", law, {k: p for k, p in expected.items() if p > 0.0})
    return "remove: by customer, " + ("from its own table" if known else "size s with probability s c_s / n")


def _check_counts(store_class: type) -> str:
    """Only `set_tables` depends on draws: those of who calls it."""
    store, source, n = _seated(store_class), ScriptedSource(), sum(SIZES)
    store.join(1, 1, n, 0.0, source)
    for customer in range(n + 1):
        store.remove(1, 1, customer, source)
    require(source.probability == 1.0 and not source.advance(), "join or remove draws")
    try:
        store.table_sizes(1, 1)
    except StateError:
        return "join and remove draw nothing; sizes of tables are refused"
    raise StoreFailure("table_sizes of a store of counts must be a StateError")


# ---------------------------------------------------------------------------------------------- laws


def _random_seating(seed: int) -> dict[str, Any]:
    """A labelled seating of the tree, some customers unseated, drawn by the readable store."""
    store, source = ExplicitReference(len(HOME), len(PARENT)), RandomStream((seed, 11))
    for i in range(len(HOME)):
        if not source.bernoulli(0.15):
            _seat_up(store, i, source.index(2), source, 0.2)
    return store.freeze()


def _check_taking_back(store_class: type) -> str:
    """Random changes are taken back: the frozen state, and the numbers of the tables."""
    numbers = SimpleNamespace(theta=np.ones(len(PARENT)), d=np.full(len(PARENT), 0.3))
    for seed in range(60):
        store: Any = store_class(len(HOME), len(PARENT))
        store.thaw(_random_seating(seed))
        rng = RandomStream((seed, 12))
        before, seats = store.freeze(), [store.table_at(i) for i in range(len(HOME))]
        customers = [store.node_customers(node) for node in range(len(PARENT))]
        journal = Journal(
            store, None, None, np.array(PARENT, dtype=np.int32), numbers, lambda dish: 0.0, None
        )
        for customer in rng.permutation(len(HOME))[:5].tolist():
            if store.dish_of(customer) >= 0:
                journal.unseat(customer, HOME[customer], store.dish_of(customer))
            table = store.table_at(rng.index(len(HOME)))
            while table >= 0 and store.table_node(table) != HOME[customer] and rng.bernoulli(0.8):
                table = store.table_at(~table)
            if table >= 0 and store.table_node(table) in (HOME[customer], PARENT[HOME[customer]], 0):
                dish = store.table_dish(table)
                journal.seat(customer, HOME[customer], dish, table)
                require(store.dish_of(customer) == dish, "sit seats at a table of another dish")
            else:
                journal.seat(customer, HOME[customer], rng.index(3))
        journal.serve(store.table_at(customer), 3)
        require(store.table_dish(store.table_at(customer)) == 3, "table_dish is not the dish served")
        require(store.table_dish(2**30) == -1, "table_dish of a table that doesn't exist isn't -1")
        journal.take_back()
        require(same(store.freeze(), before), "changes are not taken back")
        left = [store.node_customers(node) for node in range(len(PARENT))]
        require(left == customers, "numbers of customers are not taken back")
        again = [store.table_at(i) for i in range(len(HOME))]
        require(again == seats, "tables that come back have other numbers")
    return "taking back: random changes, with the order and the numbers of the tables"


def _seat_up(
    store: Any, customer: int, dish: int, source: Any, discount: float = 0.3, chance: float = 0.5
) -> int:
    """Share an existing table, by a coin of the source; otherwise open one and continue in the parent."""
    node, code = HOME[customer % len(HOME)], customer
    while node >= 0:
        if store.tables(node, dish) and source.bernoulli(chance):
            store.join(node, dish, code, discount, source)
            break
        code = store.open(node, dish, code)
        node = PARENT[node]
    return node


def _take_out(store: Any, customer: int, source: Any) -> int:
    """Remove a customer, and every table that closes; returns the first restaurant that is left as it is."""
    dish, node, code, closed = store.dish_of(customer), HOME[customer % len(HOME)], customer, True
    while closed and node >= 0:
        closed, code = store.remove(node, dish, code, source)
        node = PARENT[node]
    return node


def _one_step(
    kind: Any, frozen: dict[str, Any], customer: int, dish: int
) -> Callable[[ScriptedSource], Hashable]:
    """Remove a seated customer, or seat an unseated one at dish 1."""

    def step(source: ScriptedSource) -> Hashable:
        store = kind(len(HOME), len(PARENT))
        store.thaw(frozen)
        if dish >= 0:
            _take_out(store, customer, source)
        else:
            _seat_up(store, customer, 1, source)
        return canonical(store)

    return step


def _check_laws(store_class: type) -> str:
    """From any state every customer is removed and seated as a store of the package does it, exactly."""
    detail = detail_of(store_class)
    other: Any = COMPARED[detail]
    compared = 0
    for seed in range(6):
        seating = _random_seating(seed)
        frozen = FrozenSeating.of(seating).to(detail).arrays()
        dishes = other(len(HOME), len(PARENT))
        dishes.thaw(frozen)
        for customer, dish in enumerate(dishes.dishes().tolist()):
            law, expected = (law_of(_one_step(kind, frozen, customer, dish)) for kind in (store_class, other))
            _compare(f"customer {customer} of seating {seed}, as {other.__name__} does it", law, expected)
            compared += len(expected)
    return f"laws: {compared} outcomes have the probabilities of {other.__name__}"


def _check_continuation(store_class: type) -> str:
    """A thawed copy makes the same choices under the same stream afterwards."""
    detail = detail_of(store_class)
    parent, home = PARENT, np.tile(HOME, 12)
    store = store_class(len(home), len(parent))

    def churn(store: Any, source: RandomStream, n: int) -> list[Any]:
        log = []
        for _ in range(n):
            i = source.index(len(home))
            dish = store.dish_of(i)
            if dish >= 0:
                node = _take_out(store, i, source)
            else:
                dish = source.index(3)
                node = _seat_up(store, i, dish, source, chance=0.7)
            log.append((i, dish, node, seen(store, int(home[i]), dish)))
        return log

    for seed in range(3):
        churn(store, RandomStream((seed, 21)), 400)
        frozen = store.freeze()
        twin = store_class(len(home), len(parent))
        twin.thaw(frozen)
        logs = [churn(one, RandomStream((seed, 22)), 400) for one in (store, twin)]
        require(logs[0] == logs[1], "a thawed copy goes on otherwise than the original")
        a, b = store.freeze(), twin.freeze()
        require(all(np.array_equal(a[k], b[k]) for k in a), "a thawed copy ends in another state")
        for name, array in frozen.items():
            require(array.dtype == np.int32 and array.flags.c_contiguous, f"{name} must be int32, contiguous")
    dishes = store.dishes()
    if hasattr(store, "dish_sizes"):
        expected = np.bincount(dishes[dishes >= 0])
        require(np.array_equal(store.dish_sizes(), expected[expected > 0]), "dish_sizes: others than counted")
    (_check_score if detail is Detail.COUNTS else _check_optional)(store, len(parent))
    return f"freeze and thaw: a copy made of the {FORMS[detail]} goes on exactly"


def _check_score(store: Any, n_nodes: int) -> None:
    """The optional `log_seating` of counts equals that of the compiled store."""
    other = CountsStore(len(store.dishes()), n_nodes)
    other.thaw(store.freeze())
    theta, d = np.array([0.5, 2.0, 7.0, 1.0]), np.zeros(n_nodes)
    expected = other.log_seating(theta, d)
    score = store.log_seating(theta, d) if hasattr(store, "log_seating") else expected
    require(abs(score - expected) <= 1e-9 * abs(expected), f"log_seating: {score}, not {expected}")


def _check_optional(store: Any, n_nodes: int) -> None:
    """Optional methods agree with their definitions."""
    scores, counts = hasattr(store, "log_seating"), hasattr(store, "size_counts")
    if scores:
        theta, d = np.array([0.5, 2.0, 7.0, 1.0]), np.array([0.0, 0.3, 0.0, 0.8])
        expected = 0.0
        for node in range(n_nodes):
            sizes = [store.table_sizes(node, k) for k in store.node_dishes(node)]
            if sizes:
                expected += log_seating_of_restaurant(
                    np.concatenate(sizes), float(theta[node]), float(d[node])
                )
        score = store.log_seating(theta, d)
        require(abs(score - expected) <= 1e-9 * abs(expected), f"log_seating: {score}, not {expected}")
    if counts:
        nodes = np.array([1, 2], dtype=np.int64)
        expected_sizes = Counter(
            s for n in (1, 2) for k in store.node_dishes(n) for s in store.table_sizes(n, k).tolist()
        )
        counted = dict(zip(*(column.tolist() for column in store.size_counts(nodes)), strict=True))
        require(counted == expected_sizes, f"size_counts: {counted}, not {dict(expected_sizes)}")


# ---------------------------------------------------------------------------------------- labelled seatings


def _check_labelled_seating(store_class: type) -> str:
    """Missing details are drawn from their law, and aggregation undoes it."""
    states, detail = 0, detail_of(store_class)
    for name in ("2+2", "2+1 with one at the root", "three levels"):
        tree: Any = tiny_franchise(name, DirichletMultinomial(0.5, n_terms=3)).topology
        shape = Shape(tree.parent.tolist(), tree.home.tolist())
        reduce = to_counts if detail is Detail.COUNTS else to_histograms
        members: dict[Any, list[Any]] = defaultdict(list)
        for key in seatings(shape):
            members[reduce(key, shape)].append(key)
        for state, keys in members.items():
            store = store_class(shape.n_customers, shape.n_nodes)
            labelled = FrozenSeating.of(labelled_arrays(keys[0], shape))
            store.thaw(labelled.to(detail).arrays())
            if detail is Detail.SEATS:
                require(frozen_key(store.freeze(), shape) == keys[0], "thaw, freeze changes the seating")
            frozen = FrozenSeating.of(store.freeze()).to(min(detail, Detail.SIZES))
            require(frozen_key(frozen.arrays(), shape) == state, "freezing or aggregation loses the state")
            weights = {key: _weight(key, shape) if detail is Detail.COUNTS else 1.0 for key in keys}
            expected = {key: weight / sum(weights.values()) for key, weight in weights.items()}
            law = law_of(_labelled_seating_of(frozen, tree, shape))
            _compare(f"labelled seatings on {name!r}", law, expected)
            states += 1
    return f"labelled seatings: by their law from each of {states} aggregated states"


def _weight(key: Any, shape: Shape) -> float:
    sizes = [size for tables in table_sizes(key, shape) for size in tables.values()]
    return float(np.prod([factorial(size - 1) for size in sizes]))


def _labelled_seating_of(
    frozen: FrozenSeating, tree: Any, shape: Shape
) -> Callable[[ScriptedSource], Hashable]:
    def out(source: ScriptedSource) -> Hashable:
        seating = frozen.to(Detail.SEATS, tree, source)
        again, before = seating.to(frozen.DETAIL).arrays(), frozen.arrays()
        require(
            all(np.array_equal(again[name], before[name]) for name in again), "aggregating changes the state"
        )
        return frozen_key(seating.arrays(), shape)

    return out
