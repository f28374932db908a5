"""Every seating of a small Chinese restaurant franchise, by brute force, with its exact probability.

This is the independent reference against which samplers are checked. It doesn't use the package's stores,
moves and measures, and each formula is written as in the literature, one factor at a time.

Terms. A data customer sits at a table of its home restaurant; each table is a customer of the parent
restaurant and sits at a table there; and so on up to the root. With latent dishes each table of the root is a
separate dish. The restaurants form a tree of any depth, and data customers may have any node as their home.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import attrs

from hdpkit.errors import AuditError, DataError

Key = tuple[tuple[Any, ...], ...]
"""A seating. ``key[i][p]`` is the smallest data customer beneath the table under which data customer i sits
at the p-th restaurant of its path home..root; with several parents (`Shape.lead`), the table's arm and this
customer. Two seatings are equal if and only if their keys are."""

LogMarginal = Callable[[list[Any]], float]
"""Log marginal probability (nats) of all the values that one dish has."""

T = TypeVar("T")


def _ints(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


@attrs.frozen
class Shape:
    """A tree of restaurants and the home of each data customer."""

    # parent of each node; ``parent[0]`` is -1 (the root) and parents come before their children
    parent: tuple[int, ...] = attrs.field(converter=_ints)
    # the node at which each data customer sits, which may be an inner node
    home: tuple[int, ...] = attrs.field(converter=_ints)
    # if restaurants have several parents: the restaurant of each node, which is its arm to ``parent``.
    # A table of a restaurant is in one of its arms.
    lead: tuple[int, ...] | None = attrs.field(default=None, converter=attrs.converters.optional(_ints))
    # probability that a table chooses each node among those of its restaurant
    weight: tuple[float, ...] = attrs.field(default=(), converter=tuple)

    @classmethod
    def from_lengths(cls, lengths: Sequence[int]) -> Shape:
        """Two levels: a root and a document for each length; customers in document order."""
        home = [j for j, length in enumerate(lengths, start=1) for _ in range(length)]
        return cls(parent=(-1,) + (0,) * len(lengths), home=tuple(home))

    @property
    def n_nodes(self) -> int:
        """Number of restaurants."""
        return len(self.parent)

    @property
    def n_customers(self) -> int:
        """Number of data customers."""
        return len(self.home)

    def path(self, node: int) -> tuple[int, ...]:
        """Nodes from ``node`` to the root, both included."""
        nodes = [node]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(self.parent[nodes[-1]])
        return tuple(nodes)

    def arms(self, node: int) -> tuple[int, ...]:
        """Nodes that have the tables of a restaurant."""
        if self.lead is None:
            return (node,)
        return tuple(arm for arm, lead in enumerate(self.lead) if lead == node)

    @property
    def restaurants(self) -> range:
        """The restaurants by number."""
        return range(self.n_nodes if self.lead is None else max(self.lead) + 1)

    def places(self, customer: int, tables: Sequence[Any]) -> list[tuple[int, Any]]:
        """Node and label of each table of a customer's entry of a key."""
        if self.lead is not None:
            return list(tables)
        return list(zip(self.path(self.home[customer]), tables, strict=True))


def _partitions(items: Sequence[T]) -> Iterator[list[list[T]]]:
    """All set partitions of ``items``, as lists of blocks."""
    if not items:
        yield []
        return
    first = items[0]
    for blocks in _partitions(items[1:]):
        yield [[first], *blocks]
        for place, block in enumerate(blocks):
            yield [*blocks[:place], [first, *block], *blocks[place + 1 :]]


def seatings(shape: Shape) -> Iterator[Key]:
    """Every labelled seating of a franchise, once each: children before parents, up to the root."""
    # A customer is the tuple of the data customers beneath it: (i,) for data customer i itself.
    customers: list[list[tuple[int, ...]]] = [[] for _ in shape.parent]
    for i, node in enumerate(shape.home):
        customers[node].append((i,))
    seats: list[tuple[Any, ...]] = [() for _ in shape.home]

    def seat(node: int) -> Iterator[Key]:
        if node < 0:
            yield tuple(seats)
            return
        for blocks in _partitions(customers[node]):
            tables = [tuple(sorted(i for customer in block for i in customer)) for block in blocks]
            for arms in itertools.product(shape.arms(node), repeat=len(tables)):
                above = [customers[shape.parent[arm]] for arm in arms if shape.parent[arm] >= 0]
                for table, arm in zip(tables, arms, strict=True):
                    for i in table:
                        seats[i] = (*seats[i], table[0] if shape.lead is None else (arm, table[0]))
                for those, table in zip(above, tables, strict=False):
                    those.append(table)
                yield from seat(node - 1)
                for those in above:  # take the tables back before the next partition
                    those.pop()
                for table in tables:
                    for i in table:
                        seats[i] = seats[i][:-1]

    yield from seat(shape.restaurants[-1])


def canonical_key(seats: Sequence[Sequence[Hashable]], shape: Shape) -> Key:
    """The key of a seating whose tables have names of any kind."""
    if shape.lead is not None:
        return _key_of_arms(seats)
    smallest: dict[tuple[int, Hashable], int] = {}
    for home, tables in zip(shape.home, seats, strict=True):
        if len(tables) != len(shape.path(home)):
            raise AuditError(
                "seats", tables, f"one table for each of {shape.path(home)}", "Seat it up to the root."
            )
    return tuple(
        tuple(
            smallest.setdefault((node, table), i)
            for node, table in zip(shape.path(home), tables, strict=True)
        )
        for i, (home, tables) in enumerate(zip(shape.home, seats, strict=True))
    )


def _key_of_arms(seats: Sequence[Sequence[Any]]) -> Key:
    """The key of a seating whose tables are named by pairs of an arm and anything."""
    smallest: dict[Any, int] = {}
    return tuple(
        tuple((table[0], smallest.setdefault(table, i)) for table in tables) for i, tables in enumerate(seats)
    )


def table_sizes(key: Key, shape: Shape) -> list[dict[int, int]]:
    """For each restaurant the customers of each table, by its label: the smallest data customer beneath."""
    sitting: list[dict[int, set[tuple[int, int]]]] = [{} for _ in shape.parent]
    for i, tables in enumerate(key):
        customer = (-1, i)  # at home: the data customer itself; further up: (child, its table)
        for node, table in shape.places(i, tables):
            sitting[node].setdefault(table, set()).add(customer)
            customer = (node, table)
    return [{table: len(who) for table, who in tables_here.items()} for tables_here in sitting]


def log_prior(key: Key, shape: Shape, concentration: Sequence[float], discount: Sequence[float]) -> float:
    """Log probability of a labelled seating in all restaurants, the root included.

    Chinese restaurant franchise joint (Teh et al. 2006, section 5.1), with discounts (Pitman-Yor). With
    theta, d the concentration and discount of a restaurant of c customers at T tables of n_1..n_T customers,
    and [x]_y^n = x (x+y) ... (x+(n-1)y), it contributes

        [theta+d]_d^(T-1) / [theta+1]_1^(c-1) * prod_t [1-d]_1^(n_t-1),

    and 1 if it has no customers. Every factor is positive for 0 <= d < 1 and theta > -d, so each is put in
    logs by itself and theta in (-d, 0] needs no care.
    """
    total = 0.0
    sizes = table_sizes(key, shape)
    for node in shape.restaurants:
        theta, d, arms = concentration[node], discount[node], shape.arms(node)
        tables = {(arm, table): size for arm in arms for table, size in sizes[arm].items()}
        if len(arms) > 1:  # every table chose its arm
            total += sum(math.log(shape.weight[arm]) for arm, _ in tables)
        c, n_open = sum(tables.values()), len(tables)
        if c == 0:
            continue
        total += sum(math.log(theta + t * d) for t in range(1, n_open))  # [theta+d]_d^(T-1)
        total -= sum(math.log(theta + i) for i in range(1, c))  # [theta+1]_1^(c-1)
        for size in tables.values():
            total += sum(math.log(s - d) for s in range(1, size))  # [1-d]_1^(n_t-1)
    return float(total)


@functools.lru_cache(maxsize=64)
def listed(shape: Shape) -> tuple[Key, ...]:
    """`seatings`, cached, since every test of a shape uses the same ones."""
    return tuple(seatings(shape))


@functools.lru_cache(maxsize=64)
def _log_priors(
    shape: Shape, concentration: tuple[float, ...], discount: tuple[float, ...]
) -> tuple[float, ...]:
    return tuple(log_prior(key, shape, concentration, discount) for key in listed(shape))


def log_likelihood(key: Key, values: Sequence[Any], log_marginal: LogMarginal) -> float:
    """Log probability (nats) of the data given the seating: the sum over dishes of ``log_marginal``."""
    of_dish: dict[int, list[Any]] = {}
    for tables, value in zip(key, values, strict=True):
        of_dish.setdefault(tables[-1], []).append(value)
    return float(sum(log_marginal(these) for these in of_dish.values()))


def exact_posterior(
    shape: Shape,
    values: Sequence[Any],
    log_marginal: LogMarginal,
    concentration: Sequence[float],
    discount: Sequence[float],
    n_dishes: int | None = None,
) -> dict[Key, float]:
    """The posterior of labelled seatings given the data and the hyperparameters, normalised."""
    log_weights: dict[Key, float] = {}
    of_block: dict[tuple[int, ...], float] = {}  # few sets of customers, each a dish of many seatings

    def marginal(block: list[int]) -> float:
        customers = tuple(block)
        if customers not in of_block:
            of_block[customers] = log_marginal([values[i] for i in customers])
        return of_block[customers]

    log_priors = _log_priors(shape, tuple(concentration), tuple(discount))
    for key, of_seating in zip(listed(shape), log_priors, strict=True):
        log_weight = log_likelihood(key, range(len(values)), marginal)
        if n_dishes is not None:
            sizes = list(table_sizes(key, shape)[0].values())
            log_weight += log_labels(sizes, n_dishes) - log_root(sizes, concentration[0], discount[0])
        if log_weight > -math.inf:
            log_weights[key] = log_weight + of_seating
    if not log_weights:
        raise DataError("values", values, "possible under the model", "Check log_marginal.")
    largest = max(log_weights.values())
    weights = {key: math.exp(log_weight - largest) for key, log_weight in log_weights.items()}
    normaliser = math.fsum(weights.values())
    return {key: weight / normaliser for key, weight in weights.items()}


def log_root(sizes: Sequence[int], theta: float, d: float) -> float:
    """Log probability of the root's tables as those of a restaurant."""
    flat = Shape((-1,), (0,) * sum(sizes))
    firsts = [sum(sizes[:t]) for t in range(len(sizes))]
    key = tuple((first,) for first, size in zip(firsts, sizes, strict=True) for _ in range(size))
    return log_prior(key, flat, [theta], [d])


def log_labels(sizes: Sequence[int], n_dishes: int) -> float:
    """Log probability of such a partition of the root's customers if each draws one of ``n_dishes``."""
    if len(sizes) > n_dishes:
        return -math.inf
    labelled = math.perm(n_dishes, len(sizes))  # ways of giving the parts different labels
    return math.log(labelled) - sum(sizes) * math.log(n_dishes)


def n_tables(key: Key, shape: Shape) -> int:
    """Number of tables of all restaurants except the root, or of the root if it is the only one."""
    sizes = table_sizes(key, shape)
    return len(sizes[0]) if shape.n_nodes == 1 else sum(len(tables) for tables in sizes[1:])


def n_dishes(key: Key) -> int:
    """Dishes of a seating whose dishes are latent: tables of the root."""
    return len({tables[-1] for tables in key})
