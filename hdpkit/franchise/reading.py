"""Properties of the current state, draws given it, and its audit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, instance, refuse, whole_number, whole_numbers
from hdpkit.errors import CopiedFranchiseWarning, ParameterError, StateError
from hdpkit.franchise.arguments import check_source
from hdpkit.franchise.blocks import Blocks
from hdpkit.franchise.declarations import number_of
from hdpkit.franchise.frozen import Disagreement, cell_counts, check_columns, check_tables, data_counts
from hdpkit.franchise.guard import changes
from hdpkit.franchise.population import Parts, bank_for, restaurants_of
from hdpkit.franchise.sample import Sample, drawn_weights, levels_of, sample_of, table_counts
from hdpkit.franchise.scores import (
    columns_of,
    draw_size_counts_in_dishes,
    log_seating,
    size_counts,
    totals,
    totals_in_dishes,
)
from hdpkit.franchise.state import State
from hdpkit.franchise.whole_corpus import WholeCorpus
from hdpkit.measures.by_restaurant import ByRestaurant
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.numerics import add_up
from hdpkit.parts import inconsistent
from hdpkit.priors import log_density_at
from hdpkit.random import ChoiceSource, Purpose, RandomStream, Seed, as_source
from hdpkit.steps._counts_walk import CountsWalk
from hdpkit.stores import (
    Detail,
    FrozenCells,
    FrozenSeating,
    FrozenSeats,
    detail_of,
)
from hdpkit.stores.frozen import COUNTED

RELATIVE = 1e-9  # tolerance of cached log probabilities against recomputed ones


def _require(condition: Any, what: str, value: Any, *allowed: Any) -> None:
    """Raise an error unless the condition holds. The message is made only then: formatting arrays is slow."""
    if not condition:
        words = " ".join(str(word) for word in allowed)
        raise inconsistent(what, value, words)


def audit(state: State, parts: Parts) -> None:
    """Raise an AuditError unless counts, tables, dishes, statistics and components agree."""
    store, live = state.seating, state.slots.occupied_slots()
    t: Any = state.topology.placed(store)
    frozen = FrozenSeating.of(store.freeze())
    by_cell = isinstance(frozen, FrozenCells)
    counts: Any = frozen if by_cell else frozen.to(Detail.COUNTS, t)
    arrays = counts.arrays() | frozen.arrays()
    of_customer = np.asarray(counts.run_dish if by_cell else counts.dish)
    data = partial(cell_counts, arrays, t.cells, t) if by_cell else partial(data_counts, of_customer, t)
    columns = [arrays[name] for name in COUNTED]
    try:
        if isinstance(frozen, FrozenSeats):
            check_tables(frozen.seat, frozen.table_node, frozen.table_dish, frozen.table_seat, t, None)
        check_columns(columns, of_customer, data, t, None)
    except Disagreement as error:
        raise inconsistent(error.key, arrays[error.key], error.allowed) from None
    # Customers and tables of each size of tables, or of each restaurant and dish.
    for name in frozen.names()[-2:] if not isinstance(frozen, FrozenSeats) else ():
        _require(np.all(arrays[name] >= 1), name, arrays[name], "positive")
    _require(np.isin(of_customer[of_customer >= 0], live).all(), "dishes", of_customer, "occupied slots")
    if isinstance(frozen, FrozenCells):  # all customers of a cell are seated, or none
        of = np.repeat(np.arange(len(frozen.cell_runs)), frozen.cell_runs)
        seated = np.bincount(of, weights=frozen.run_count, minlength=len(frozen.cell_runs))
        there = (frozen.cell_runs == 0) | (seated == t.cells.count)
        _require(np.all(there), "customers of cells", seated, str(t.cells.count))

    node, dish, *numbers = columns
    for what, reported, own in zip(("customers", "tables"), totals(store, t.n_nodes), numbers, strict=True):
        recounted = np.bincount(node, own, t.n_nodes).astype(np.int64)
        _require(np.array_equal(reported, recounted), f"{what} of restaurants", reported, recounted)
    for n in range(t.n_nodes) if t.n_nodes < 200 else ():
        listed, served = store.node_dishes(n), dish[node == n]
        _require(np.array_equal(listed, served), f"dishes of restaurant {n}", listed, "as counted,", served)
    for n, k, c, m in zip(*(column.tolist() for column in columns), strict=True):
        _require(store.customers(n, k) == c, f"customers of dish {k} in {n}", store.customers(n, k), c)
        _require(store.tables(n, k) == m, f"tables of dish {k} in {n}", store.tables(n, k), m)

    if state.measure.atomic:  # the dishes of customers are their values
        own = np.asarray(state.data.values)[of_customer >= 0]
        same = np.array_equal(of_customer[of_customer >= 0], own)
        _require(same, "dishes", of_customer, "the customers' values")
    else:
        root = dict(zip(dish[node == 0].tolist(), columns[3][node == 0].tolist(), strict=True))
        # A dish that `open_dish` has just made has no customers yet.
        served = dict.fromkeys(
            (slot for slot in live.tolist() if slot in root or slot not in state._waiting), 1
        )
        _require(root == served, "tables of the root", root, "one each of", live.tolist())
        _statistics(state, of_customer, live)
    for component in parts.values():
        component.audit(live)
    state.topology.audit(store)


def _statistics(state: State, dishes: npt.NDArray[np.int32], live: npt.NDArray[np.int32]) -> None:
    """Check that cached statistics give the same log marginals as recomputed ones."""
    counted = state.population.dishes()
    cached = np.asarray(state.bank.log_marginals(live, counted))
    fresh_bank = bank_for(state, state.measure, state.data)
    fresh_bank.thaw(state.bank.freeze())
    state.population.recount(fresh_bank, live)
    fresh = np.asarray(fresh_bank.log_marginals(live, counted))
    scale = np.maximum(np.abs(fresh), 1.0)
    with np.errstate(invalid="ignore"):
        same = (cached == fresh) | (np.abs(cached - fresh) <= RELATIVE * scale)  # both may be -inf
    _require(np.all(same), "log marginals", cached, fresh)
    # Marginals may be computed from the data alone; predictives use the statistics.
    slots = live.tolist()[: 50 if state.measure.conjugate and state.population.single else 0]
    witnesses = [int(np.argmax(dishes == slot)) for slot in slots]
    if isinstance(state.measure, ByRestaurant) and state.population.single:
        # Statistics of every dish in every restaurant.
        witnesses += np.unique(restaurants_of(state, state.measure), return_index=True)[1].tolist()
    for i in witnesses:
        a, b = (np.asarray(bank.log_predictive(i, live)) for bank in (state.bank, fresh_bank))
        a_ratios, b_ratios = a - a[-1], b - b[-1]
        with np.errstate(invalid="ignore"):
            near = bool(np.all(np.abs(a_ratios - b_ratios) <= RELATIVE))
        # `allclose` is slow, so it is used only for large values and infinities.
        near = near or np.allclose(a_ratios, b_ratios, rtol=RELATIVE, atol=RELATIVE)
        _require(near, "predictives", a, b)


_LEAST_SHAPE = 1e-300  # of gamma draws
_KEYS = 2**62  # a stream is identified by two numbers below this


class Reading(Blocks):
    """Properties of the current state, and draws given it, which are valid until the state changes."""

    _summed_out: Callable[..., float]  # offered by a later room
    _copied_at: int | None = None  # state of this franchise when several chains ran on copies of it

    def __init__(self, *declared: Any) -> None:
        super().__init__(*declared)
        # A draw is kept as the key of its stream; its numbers are computed when they are read.
        self._keys: dict[str, tuple[int, tuple[int, int]]] = {}

    @property
    def dishes(self) -> Int64s:
        """Dish of each customer, in data order: int64, shape (n_customers,); -1 while unseated.

        If dishes are observed they are the values themselves.
        """
        self._warn_of_copies("dishes are -1")
        return self._ranks()[self.seating.dishes()[: self.topology.n_customers]]

    def _ranks(self) -> Int64s:
        """Rank of each occupied slot; -1 at the end, for unseated customers."""
        live = self.slots.occupied_slots()
        rank = np.full((int(live[-1]) if len(live) else 0) + 2, -1, dtype=np.int64)
        rank[live] = np.arange(len(live))
        return rank

    @property
    def dish_ids(self) -> Int64s:
        """Lasting id of each dish, its number in the order of births: int64, shape (K,).

        It is kept when slots are renumbered, in frozen states, and when the seating is replaced by one of the
        same dishes. No move reads it.
        """
        return self.slots.ids()

    def sample(self) -> Sample:
        """The part of the current state that summaries of the posterior need.

        It has counts, weights and hyperparameters, and doesn't change with the franchise. Raises a StateError
        if dishes are observed.
        """
        self._warn_of_copies("the sample has no dishes")
        return sample_of(self)

    @property
    def n_dishes(self) -> int:
        """Number of dishes, K; one that was opened and has no customers yet is counted, too."""
        self._warn_of_copies("n_dishes is 0")
        return self.dish_kind.number()

    def _warn_of_copies(self, what: str) -> None:
        """Warn a user, once, that this franchise isn't where the states of the chains are."""
        if self._copied_at is None:
            return
        if self._copied_at != self.n_changes:  # it has a state of its own by now
            self._copied_at = None
            return
        reader = str(sys._getframe(3).f_globals.get("__name__", ""))  # beyond the property and its guard
        if reader.partition(".")[0] != "hdpkit":
            self._copied_at = None
            warnings.warn(
                f"{what}: several chains ran on copies of this franchise, which has no customers. The last "
                "states of the chains are trace.franchises; for instance trace.franchises[0].n_dishes.",
                CopiedFranchiseWarning,
                stacklevel=4,
            )

    @property
    def n_tables(self) -> int:
        """Total number of tables in all restaurants except the root, or of the root if it is the only one."""
        self._warn_of_copies("n_tables is 0")
        tables = self.totals()[1]
        return int(tables.sum() - tables[0]) if self.topology.n_nodes > 1 else int(tables[0])

    def tables_of(self, name: str) -> int:
        """Tables of all restaurants of a declaration."""
        return int(self.totals()[1][self._nodes_of(name)].sum())

    def _nodes_of(self, name: str) -> Any:
        """Numbers of the restaurants of a declaration, as an index."""
        return self.topology.nodes(number_of(self.declarations, name))

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant by number: two int64 arrays, shape (n_nodes,)."""
        customers, tables = map(self.topology.summed, totals(self.seating, self.topology.n_nodes))
        return customers, tables

    def totals_of(self, number: int) -> tuple[Int64s, Int64s, Int64s]:
        """Restaurants of a declaration, by its number, with their customers and tables: three int64 arrays.

        A franchise over some shards of a corpus returns those of the complete corpus, numbered from 1
        (`WholeCorpus.totals`). Override tables are not among the customers of the root.

        ``number`` is the number of the declaration; the root's is 0.
        """
        corpus = self._whole_corpus_of(number)
        if corpus is not None:
            customers, tables = corpus.totals()
            return np.arange(1, len(customers) + 1), customers, tables
        customers, tables = self.totals()
        nodes = np.arange(len(tables))[self.topology.nodes(number)]
        overrides = self.topology.overrides(self.slots.occupied_slots()).sum() if number == 0 else 0
        return nodes, customers[nodes] - overrides, tables[nodes]

    def counted_totals_of(self, number: int) -> tuple[tuple[Int64s, Int64s], tuple[Int64s, Int64s]]:
        """Return how often each number of customers, and of tables, occurs among a declaration's restaurants.

        A franchise over some shards of a corpus returns the numbers of the entire corpus. Returns, of
        customers and of tables, the distinct numbers, ascending, and how many restaurants have each: int64.

        ``number`` is the number of the declaration; the root's is 0.
        """
        corpus = self._whole_corpus_of(number)
        if corpus is not None:
            return corpus.counted_totals()
        _, *totals = self.totals_of(number)
        customers, tables = (np.unique(each, return_counts=True) for each in totals)
        return customers, tables

    def _whole_corpus_of(self, number: int) -> WholeCorpus | None:
        """The documents of other shards, if a declaration's restaurants are in several shards."""
        last = len(self.declarations) - 1
        whole_number("number", number, 0, last, remedy="Place of it in franchise.declarations.")
        return self.whole_corpus if number > 0 else None

    def size_counts(self, nodes: npt.ArrayLike) -> tuple[Int64s, Int64s]:
        """Sizes of the tables of some restaurants, ascending, and the number of tables of each size.

        Returns two int64 arrays of one shape.

        ``nodes`` has numbers of restaurants.
        """
        last = self.topology.n_nodes - 1
        chosen = whole_numbers("nodes", nodes, 0, last, remedy="See Franchise.topology.nodes.")
        if self.topology.lead is not None:
            chosen = np.concatenate([chosen[:0], *map(self.topology.arms, chosen.tolist())])
        return size_counts(self.seating, chosen)

    def totals_in_dishes(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant in a dish, sorted: two int64 arrays of one shape.

        Dishes of a `Bursty` measure differ by restaurant: the customers of a dish in a restaurant sit at
        tables, which are the observations of the dish. Raises a StateError if dishes don't differ by
        restaurant.
        """
        self._check_in_dishes()
        return totals_in_dishes(self.bank)

    def size_counts_in_dishes(self, source: ChoiceSource) -> tuple[Int64s, Int64s]:
        """Draw the sizes of the tables of restaurants in dishes, given the numbers of tables.

        Returns them ascending, and the number of tables of each size: two int64 arrays of one shape. Raises a
        StateError if dishes don't differ by restaurant.
        """
        check_source(source)
        self._check_in_dishes()
        measure: Any = self.measure
        return draw_size_counts_in_dishes(self.bank, float(measure.discount), source)

    def _check_in_dishes(self) -> None:
        if not callable(getattr(self.bank, "cells", None)):
            raise StateError(
                "base", type(self.measure).__name__, "a measure whose dishes have restaurants of their own",
                "hk.Bursty is one.",
            )  # fmt: skip

    @property
    def dish_counts(self) -> Int64s:
        """Counts of terms by dish: int64, shape (K, V). For data that are terms."""
        self._warn_of_copies("there are no dishes")
        self.dish_kind.check_counted()
        return self.population.term_counts()

    @property
    def topic_counts(self) -> Int64s:
        """Counts from which topics are learned: int64, shape (K, V). For data that are terms.

        They are `dish_counts`, but over a `Bursty` measure the tables of each term: customers of a document
        who share a table are one observation of the topic.
        """
        if not self.measure.seats_values:
            return self.dish_counts
        self._warn_of_copies("there are no dishes")
        return table_counts(self, self.slots.occupied_slots()).toarray()

    def dish_parameters(self) -> npt.NDArray[Any]:
        """Posterior mean of each dish's parameters given its data, shape (K, ...): topics for words."""
        self._warn_of_copies("there are no dishes")
        means = self.measure.posterior_means(self.bank, self.slots.occupied_slots(), self.population.dishes())
        return self.known_dishes.put_topics(means)

    def named_parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Posterior mean parameters of the dishes by name: "mean[0]", "sd[0]"; each of shape (K,).

        Columns of a DataFrame in `Groups` name the dimensions: "mean[weight]". `BaseMeasure.named_parameters`
        gives the names; ``pandas.DataFrame(franchise.named_parameters())`` has a row for each dish.
        """
        columns = getattr(self.data, "columns", None)
        found = self.measure.named_parameters(self.dish_parameters(), columns)
        n = len(self.slots.occupied_slots())
        if not isinstance(found, dict) or any(np.shape(one) != (n,) for one in found.values()):
            allowed = "a dict: name -> values, one for each dish"
            raise refuse(self.measure, "named_parameters", found, allowed)
        return found

    def selected_terms(self) -> Floats:
        """Expected number of terms that each dish selects, given its data: float64, shape (K,).

        Divided by V it is one minus the sparsity of the dish (Wang & Blei 2009). If selection proportions are
        stored, it is conditional on them. Raises a StateError if dishes of the base measure don't select
        terms.
        """
        measure = self.measure
        if not measure.supports("selected_terms"):
            raise StateError(
                "base", type(measure).__name__, "a measure whose dishes select terms",
                "hk.SparseDirichletMultinomial is one.",
            )  # fmt: skip
        slots = self.slots.occupied_slots()
        dishes = self.bank.statistics(slots, self.population.dishes())
        return np.array([measure.selected_terms(one) for one in dishes], dtype=float)

    def root_weights(self) -> tuple[Floats, float]:
        """Posterior mean weights of the K dishes in the root, and the remainder (all new dishes).

        With ``root="weights"`` or fixed weights these are the weights in the state.

        If dishes are observed, the weights of all V atoms, and of all other values.
        """
        self._warn_of_copies("all weight is that of a new dish")
        row = self.walk().prior_row(0)
        return row[:-1], float(row[-1])

    def group_weights(self, name: str) -> Floats:
        """Posterior mean weights in each restaurant of a declaration: shape (n, K + 1), a new dish last."""
        nodes = np.arange(self.topology.n_nodes)[self._nodes_of(name)]
        self._warn_of_copies("all weight is that of a new dish")
        walk = self.walk()
        return np.array([walk.prior_row(node) for node in nodes.tolist()])

    def keys(self, name: str) -> list[Any]:
        """The label value of each restaurant of a declaration."""
        return list(self.topology.keys_of(number_of(self.declarations, name)))

    def log_likelihood(
        self,
        measure: BaseMeasure | None = None,
        *,
        states: str = "given",
        parameters: str = "mean",
        rng: ChoiceSource | Seed = None,
    ) -> float:
        """log p(data | dishes) with dish parameters integrated out, in nats.

        If dishes are observed, each table of the root is a draw from H, and this is the sum of log H over
        them.

        Parameters
        ----------
        measure : BaseMeasure, optional
            Another base measure with the same statistics of dishes, such as
            ``franchise.measure.tempered(0.5)``; by default that of the franchise.
        states : "given" or "summed out"
            "summed out", in a hidden Markov model: log p(data | transition probabilities, parameters of the
            dishes) by the forward pass, where both come from the current state. It is the sum of
            `StateProbabilities.log_probability`, and comparable with the log likelihood of other software.
        parameters : "mean" or "drawn"
            Which ones, if states are summed out: see `state_probabilities`.
        rng : seed, Generator or choice source
            For drawn ones.
        """
        choice("states", states, ("given", "summed out"), remedy="Leave it out for log p(data | dishes).")
        choice("parameters", parameters, ("mean", "drawn"), remedy='They are used with states="summed out".')
        source = as_source(rng, Purpose.FOLD_IN)
        if states == "summed out":
            if measure is not None:
                raise ParameterError("measure", measure, "None where states are summed out", "Leave it out.")
            return float(self._summed_out(parameters, source))
        if measure is not None:
            instance("measure", measure, BaseMeasure, "a base measure, or None", remedy="Leave it out.")
            if type(measure.make()) is not type(self.measure.make()):
                raise ParameterError(
                    "measure", measure, "a measure with the statistics of the franchise's", "Leave it out."
                )
            slots, dishes = self.slots.occupied_slots(), self.population.dishes()
            return add_up(measure.log_marginals(self.bank, slots, dishes).tolist())
        return self.dish_kind.log_likelihood()

    def log_seating(self) -> float:
        """log p(labelled seating | hyperparameters), all restaurants included, in nats.

        With a store of counts it is log p(dishes, numbers of tables | hyperparameters): the total
        probability of all labelled seatings with these numbers.
        """
        store, current = self._seating, self.hyperparameters
        own = log_seating(store, current.theta, current.d) + self.root._log_of_dishes(store)
        if self.topology.lead is not None and detail_of(store) is Detail.COUNTS:
            own += self.topology.log_splits(*columns_of(store, self.topology.n_nodes)[:3])
        return own + self.topology.log_seating(store, current.theta, current.d)

    def log_prior(self) -> float:
        """Log prior density of the hyperparameters that have a prior, in nats."""
        total, priors = self.hyperparameters.log_prior(), self.measure.priors
        if priors:
            values = self.base_parameters
            total += add_up(log_density_at(prior, values[name]) for name, prior in priors.items())
        return total

    def log_joint(self) -> float:
        """log p(labelled seating, data | hyperparameters) + log priors of those that have one, in nats.

        It is the same for every store that keeps table sizes; for a store of counts see `log_seating`.
        """
        return self.log_seating() + self.log_likelihood() + self.log_prior() + self.parts.log_density(self)

    def memory_bytes(self) -> int:
        """Bytes of the seating and of the statistics, without the data."""
        return sum(self.memory_parts().values())

    def memory_parts(self) -> dict[str, int]:
        """Bytes by purpose.

        Keys: "customers" (dish or table of each), "restaurants", "entries" (dishes of restaurants) and
        "tables" of the compiled stores, "seating" of any other; "ratios" (of Stirling numbers) over counts;
        "drawn topics" (with arrays of threads) after sweeps over documents in parallel; "tree" (restaurants
        of customers, parents), "hyperparameters" and "statistics" of the dishes (topic-term counts).
        """
        store = self.seating
        by_purpose = hasattr(store, "memory_parts")
        parts = store.memory_parts() if by_purpose else {"seating": store.memory_bytes()}
        walks = [walk for _, _, walk in self._walks.values() if isinstance(walk, CountsWalk)]
        if ratios := sum(walk.memory_bytes() for walk in walks):
            parts = {**parts, "ratios": ratios}
        if topics := sum(one.memory_bytes() for one in self.workspaces.values()):
            parts = {**parts, "drawn topics": topics}
        return {
            **{name: int(size) for name, size in parts.items()},
            "tree": self.topology.memory_bytes(),
            "hyperparameters": self.hyperparameters.memory_bytes(),
            "statistics": int(self.bank.memory_bytes()),
            **{name: int(part.memory_bytes()) for name, part in self.parts.items()},
        }

    def audit(self) -> None:
        """Recompute everything from the seating, and raise an AuditError if the state is inconsistent."""
        audit(self, self.parts)

    # ------------------------------------------------------------------ draws

    @changes
    def draw_topics(self, source: ChoiceSource) -> None:
        """Draw the parameters of every dish given its data, for `drawn_topics` until the state changes."""
        self._draw("topics", source)

    @changes
    def draw_proportions(self, source: ChoiceSource) -> None:
        """Draw the proportions of every group given its dishes and root weights, for `drawn_proportions`.

        Raises a StateError if the weights of the root are integrated out.
        """
        if self.root._kind() not in ("weights", "fixed"):
            raise StateError(
                "root", self.root._kind(), "weights, given which proportions are drawn",
                "Build hk.Franchise(..., root='weights'), or call Sample.draw_group_weights.",
            )  # fmt: skip
        self._draw("proportions", source)

    def _draw(self, what: str, source: ChoiceSource) -> None:
        check_source(source)
        self._keys[what] = self.n_changes, (source.index(_KEYS), source.index(_KEYS))

    def _stream(self, what: str, move: str) -> RandomStream:
        """The stream of a draw; raises a StateError unless it was made in the current state."""
        changes, key = self._keys.get(what, (-1, (0, 0)))
        if changes != self.n_changes:
            raise StateError(
                what, "not drawn" if changes < 0 else "drawn before the state changed",
                "drawn given the current state",
                f"Let {move} be the last move of the schedule, or call draw_{what}(rng).",
            )  # fmt: skip
        return RandomStream(key)

    def drawn_topics(self) -> list[Any]:
        """Drawn parameters of the dishes, one per dish, as returned by `BaseMeasure.draw_parameters`.

        Topics of words are distributions over terms, shape (V,). Raises a StateError if they were not drawn
        since the last change of the state.
        """
        stream = self._stream("topics", "moves.DrawTopics()")
        slots = self.slots.occupied_slots()
        drawn = self.measure.draw_many(self.bank, slots, self.population.dishes(), stream)
        return self.known_dishes.put_topics(list(drawn))

    def drawn_proportions(self) -> Floats:
        """Drawn proportions of the groups, shape (groups, K + 1), that of new dishes last.

        Groups are the restaurants below the root, in order (in a hidden Markov model the start row and the
        rows of the dishes, with kappa for the own dish); each is Dirichlet(n_jk + alpha_j psi_k, ..., alpha_j
        psi_u) given its customers and psi, the proportions of the restaurant above. Those of the root are its
        weights. With discounts they are drawn as by `Sample.draw_group_weights`. Raises a StateError if they
        were not drawn since the last change of the state.
        """
        stream = self._stream("proportions", "moves.DrawProportions()")
        slots = self.slots.occupied_slots()
        weights: Any = self.root.weights
        psi = weights.table.many(slots)
        if np.any(self.hyperparameters.d[1:] > 0.0) or self.topology.chained:
            rows = psi[None]
            for level in levels_of(self):
                rows = np.concatenate([rows, drawn_weights(level, rows, slice(None), stream.generator)])
            return np.asarray(rows[1:], dtype=np.float64)
        drawn = np.zeros((self.topology.n_nodes, len(slots) + 1))
        drawn[0] = psi
        for node in range(1, self.topology.n_nodes):  # parents first
            n = [self.seating.customers(node, slot) for slot in slots.tolist()]
            above = drawn[self.topology.parent[node]]
            shapes = np.append(n, 0.0) + self.hyperparameters.theta[node] * above
            some = shapes >= _LEAST_SHAPE  # in a finite model the remainder may be 0
            drawn[node, some] = stream.dirichlet(shapes[some])
        return drawn[1:]


def ran_as_copies(state: Any) -> None:
    """Remember that several chains ran on copies, while this franchise has no customers seated."""
    state._copied_at = state.n_changes if state.dish_kind.number() == 0 else None
