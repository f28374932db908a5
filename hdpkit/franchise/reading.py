"""Properties of the state of a franchise: dishes, tables, weights, scores, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import number_array, whole_number
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.declarations import number_of
from hdpkit.franchise.elsewhere import Elsewhere
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.sampling import sample_of
from hdpkit.franchise.scores import log_seating, size_counts, totals
from hdpkit.franchise.seats import Seats
from hdpkit.franchise.slices import Slices
from hdpkit.franchise.state import State
from hdpkit.franchise.statistics import Statistics
from hdpkit.numerics import add_up
from hdpkit.priors import log_density_at
from hdpkit.stores import KeepsCells, ReportsMemory

__all__ = ["Reading"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 18  # customers counted at once


class Reading(Owner):
    """The properties of the state of a `Franchise`, which has the same ones."""

    def __init__(self, state: State, seats: Seats, statistics: Statistics, slices: Slices) -> None:
        super().__init__(state)
        self.seats = seats
        self.statistics = statistics
        self.slices = slices

    def dishes(self) -> Ints:
        """Dish of each customer, in data order: int64, shape (n_customers,); -1 while unseated.

        If dishes are observed they are the values themselves.
        """
        return self._ranks()[self.state.seating.dishes()[: self.state.topology.n_customers]]

    def all_seated(self) -> bool:
        """Whether every data customer is seated."""
        seating = self.state.seating
        if isinstance(seating, KeepsCells):
            return seating.seated() == self.state.topology.n_customers
        return not bool((seating.dishes() < 0).any())

    def _ranks(self) -> Ints:
        """Rank of each occupied slot; -1 at the end, for unseated customers."""
        live = self.state.slots.occupied_slots()
        rank = np.full((int(live[-1]) if len(live) else 0) + 2, -1, dtype=np.int64)
        rank[live] = np.arange(len(live))
        return rank

    def dish_ids(self) -> Ints:
        """Lasting id of each dish: int64, shape (K,)."""
        return self.state.slots.ids()

    def sample(self) -> Sample:
        """The part of the current state that summaries of the posterior need.

        Returns
        -------
        Sample
            Counts, weights and hyperparameters. It doesn't change with the franchise.

        Raises
        ------
        StateError
            If dishes are observed.
        """
        return sample_of(self)

    def n_dishes(self) -> int:
        """Number of dishes that have customers, K."""
        return self.state._dish_kind.number()

    def n_tables(self) -> int:
        """Total number of tables in all restaurants except the root, or of the root if it is the only one."""
        tables = self.totals()[1]
        return int(tables.sum() - tables[0]) if self.state.topology.n_nodes > 1 else int(tables[0])

    def tables_of(self, name: str) -> int:
        """Tables of all restaurants of a declaration."""
        return int(self.totals()[1][self._nodes(name)].sum())

    def _nodes(self, name: str) -> Any:
        """Numbers of the restaurants of a declaration, as an index."""
        return self.state.topology.nodes(number_of(self.state.declarations, name))

    def totals(self) -> tuple[Ints, Ints]:
        """Customers and tables of every restaurant by number: two int64 arrays, shape (n_nodes,)."""
        return totals(self.state.seating, self.state.topology.n_nodes)

    def totals_of(self, number: int) -> tuple[Ints, Ints, Ints]:
        """Restaurants of a declaration, by its number, with their customers and tables: three int64 arrays.

        A franchise over a part of a corpus returns those of the complete corpus, numbered from 1
        (`Elsewhere.totals`).

        Parameters
        ----------
        number : int
            Number of the declaration; the root's is 0.

        Returns
        -------
        nodes, customers, tables : int64 arrays of one shape
        """
        elsewhere = self._elsewhere_of(number)
        if elsewhere is not None:
            customers, tables = elsewhere.totals()
            return np.arange(1, len(customers) + 1), customers, tables
        customers, tables = self.totals()
        nodes = np.arange(len(tables))[self.state.topology.nodes(number)]
        return nodes, customers[nodes], tables[nodes]

    def counted_totals_of(self, number: int) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Return how often each number of customers, and of tables, occurs among a declaration's restaurants.

        A franchise over a part of a corpus returns the numbers of the entire corpus.

        Parameters
        ----------
        number : int
            Number of the declaration; the root's is 0.

        Returns
        -------
        customers, tables : (int64 array, int64 array)
            Distinct numbers, ascending, and how many restaurants have each.
        """
        elsewhere = self._elsewhere_of(number)
        if elsewhere is not None:
            return elsewhere.counted_totals()
        _, *totals = self.totals_of(number)
        customers, tables = (np.unique(each, return_counts=True) for each in totals)
        return customers, tables

    def _elsewhere_of(self, number: int) -> Elsewhere | None:
        """The documents outside this part, if a declaration's restaurants are in several parts."""
        last = len(self.state.declarations) - 1
        whole_number("number", number, 0, last, remedy="Place of it in franchise.declarations.")
        return self.state._elsewhere if number > 0 else None

    def size_counts(self, nodes: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Sizes of the tables of some restaurants, ascending, and the number of tables of each size.

        Parameters
        ----------
        nodes : array of int
            Numbers of restaurants.

        Returns
        -------
        sizes, counts : int64 arrays of one shape
        """
        given = number_array(nodes)
        n = self.state.topology.n_nodes
        if (
            given is None
            or given.ndim != 1
            or not np.all((given >= 0) & (given < n) & (given == np.floor(given)))
        ):
            raise ParameterError(
                "nodes", nodes, f"whole numbers from 0 to {n - 1}", "See Franchise.topology.nodes."
            )
        return size_counts(self.state.seating, given.astype(np.int64))

    def dish_counts(self) -> Ints:
        """Counts of terms by dish: int64, shape (K, V). For data that are terms."""
        self.state._dish_kind.check_counted()
        if isinstance(self.state.seating, KeepsCells):
            bank: Any = self.statistics.fresh_bank()
            by_dish: Ints = bank.counts(self.state.slots.occupied_slots())
            return by_dish if self.state._known is None else self.state._known.without(by_dish)
        n_terms = getattr(self.state.data, "n_terms", None) or getattr(self.state.measure, "n_terms", None)
        if n_terms is None:
            raise DataError(
                "data", type(self.state.data).__name__, "terms of a vocabulary", "See dish_parameters()."
            )
        values = np.asarray(self.state.data.values)
        dishes = self.state.seating.dishes()[: len(values)]
        rank, counts = self._ranks(), np.zeros(self.n_dishes() * n_terms, dtype=np.int64)
        for first in range(0, len(dishes), _CHUNK):
            places = rank[dishes[first : first + _CHUNK]]
            seated = places >= 0
            np.add.at(counts, places[seated] * n_terms + values[first : first + _CHUNK][seated], 1)
        return counts.reshape(self.n_dishes(), n_terms)

    def dish_parameters(self) -> npt.NDArray[Any]:
        """Posterior mean of each dish's parameters given its data, shape (K, ...): topics for words."""
        means = self.state.measure.posterior_means(
            self.statistics.fresh_bank(), self.state.slots.occupied_slots(), self.state.dishes_for_bank()
        )
        return means if self.state._known is None else self.state._known.put_topics(means)

    def selected_terms(self) -> Floats:
        """Expected number of terms that each dish selects, given its data: float64, shape (K,).

        Divided by V it is one minus the sparsity of the dish (Wang & Blei 2009). If selection proportions
        are stored, it is conditional on them.

        Raises
        ------
        StateError
            If dishes of the base measure don't select terms.
        """
        measure = self.state.measure
        if not measure.supports("selected_terms"):
            raise StateError(
                "base", type(measure).__name__, "a measure whose dishes select terms",
                "hk.SparseDirichletMultinomial is one.",
            )  # fmt: skip
        slots = self.state.slots.occupied_slots()
        dishes = self.statistics.fresh_bank().statistics(slots, self.state.dishes_for_bank())
        return np.array([measure.selected_terms(one) for one in dishes], dtype=float)

    def root_weights(self) -> tuple[Floats, float]:
        """Posterior mean weights of the K dishes in the root, and the remainder (all new dishes).

        With ``root="weights"`` or fixed weights these are the weights in the state.

        If dishes are observed, the weights of all V atoms, and of all other values.
        """
        row = self.seats.walk().prior_row(0)
        return row[:-1], float(row[-1])

    def group_weights(self, name: str) -> Floats:
        """Posterior mean weights in each restaurant of a declaration: shape (n, K + 1), a new dish last."""
        nodes = np.arange(self.state.topology.n_nodes)[self._nodes(name)]
        walk = self.seats.walk()
        return np.array([walk.prior_row(node) for node in nodes.tolist()])

    def keys(self, name: str) -> list[Any]:
        """The label value of each restaurant of a declaration."""
        return list(self.state.topology.keys_of(number_of(self.state.declarations, name)))

    def log_likelihood(self) -> float:
        """log p(data | dishes) with dish parameters integrated out, in nats.

        If dishes are observed, each table of the root is a draw from H, and this is the sum of log H over
        them.
        """
        return self.state._dish_kind.log_likelihood(self.statistics.fresh_bank)

    def log_seating(self) -> float:
        """log p(labelled seating | hyperparameters), all restaurants included, in nats.

        With a store of counts it is log p(dishes, numbers of tables | hyperparameters): the total
        probability of all labelled seatings with these numbers.
        """
        store, present = self.state.seating, self.state.hyperparameters
        return log_seating(store, present.theta, present.d) + self.seats.root._log_of_dishes(store)

    def log_prior(self) -> float:
        """Log prior density of the hyperparameters that have a prior, in nats."""
        total = self.state.hyperparameters.log_prior()
        values = self.statistics.base_parameters
        total += add_up(
            log_density_at(prior, values[name]) for name, prior in self.state.measure.priors.items()
        )
        return total

    def log_joint(self) -> float:
        """log p(labelled seating, data | hyperparameters) + log priors of those that have one, in nats.

        It is the same for every store that keeps table sizes; for a store of counts see `log_seating`.
        """
        return self.log_seating() + self.log_likelihood() + self.log_prior() + self.log_parts()

    def log_parts(self) -> float:
        """Log density of the parts of the state given the rest of it, in nats."""
        return self.statistics.parts.log_density(self.state)

    def memory_bytes(self) -> int:
        """Bytes of the seating and of the statistics, without the data."""
        return sum(self.memory_parts().values())

    def memory_parts(self) -> dict[str, int]:
        """Bytes by purpose.

        Returns
        -------
        dict
            "customers" (dish or table of each), "restaurants", "entries" (dishes of restaurants) and "tables"
            of the compiled stores, "seating" of any other; "ratios" (of Stirling numbers) over counts;
            "drawn topics" (including arrays of threads) after sweeps over documents in parallel; "tree"
            (restaurants of customers, parents), "hyperparameters" and "statistics" of the dishes (the
            topic-term counts).
        """
        store = self.state.seating
        reports = isinstance(store, ReportsMemory)
        parts = store.memory_parts() if reports else {"seating": store.memory_bytes()}
        if ratios := self.seats.memory_bytes():
            parts = {**parts, "ratios": ratios}
        if topics := self.slices.memory_bytes():
            parts = {**parts, "drawn topics": topics}
        return {
            **{name: int(size) for name, size in parts.items()},
            "tree": self.state.topology.memory_bytes(),
            "hyperparameters": self.state.hyperparameters.memory_bytes(),
            "statistics": int(self.state.bank.memory_bytes()),
            **{name: int(part.memory_bytes()) for name, part in self.statistics.parts.by_name.items()},
        }
