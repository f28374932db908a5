"""The franchise: the one owner of mutable seating and of dish ids."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.checks import number_array
from hdpkit.errors import BusyError, DataError, ParameterError, printable
from hdpkit.franchise.audit import audit
from hdpkit.franchise.growth import FranchiseGrowth
from hdpkit.franchise.guard import unguarded
from hdpkit.franchise.hyperparameters import log_prior, present
from hdpkit.franchise.look import Look, look
from hdpkit.franchise.scores import log_seating, size_counts
from hdpkit.franchise.simulate import simulate
from hdpkit.franchise.snapshot import Snapshot
from hdpkit.franchise.view import RestaurantView
from hdpkit.priors import log_density_at
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.stores import ReportsMemory, TotalsInBulk

__all__ = ["Franchise"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 18  # customers that are counted at once


class Franchise(FranchiseGrowth):
    """A tree of restaurants with its data: everything a chain moves.

    Parameters
    ----------
    restaurant : Restaurant
        The deepest declaration; its bases come with it. A single one is a flat mixture.
    data : Corpus or Groups
        With the labels that the declarations name.
    store : str or type
        How seating is remembered: "histogram", "explicit", or a SeatingStore class.
    kernel : str
        "auto" takes the fastest code for each verb; "fused", "generic" or "reference" forces one. Verbs that
        no fused sweep has, and hyperparameters at which it would not keep the law, are left to the next best
        code. `kernel` tells which one runs now.
    root : str
        "restaurant": the weights of the dishes are integrated out, the root is a Chinese restaurant (Teh et
        al. 2006, section 5.1). "weights": they are part of the state (section 5.2); schedule
        `hdpkit.moves.RootWeights`.

    Notes
    -----
    Dishes are numbered 0 .. K-1 in every array that leaves; the numbers are those of this moment. One thread
    at a time may use a franchise, to read it, too; a second gets a BusyError. `look` is for all threads.

    Attributes
    ----------
    data, declarations, measure, topology
        What it was built from; ``measure`` is ready for the data.
    sweep : int
        Sweeps done since the last start.
    """

    def __repr__(self) -> str:
        names = " > ".join(printable(declaration.name) for declaration in self.declarations)
        try:
            counts = f"{self.n_dishes} dishes, {self.n_tables} tables"
        except BusyError:
            counts = "in use by another thread"
        return (
            f"<Franchise {names}: {self.topology.n_customers} customers, {counts}, "
            f"store {self.store_type.__name__}>"
        )

    # ------------------------------------------------------------------ dishes and tables

    @property
    def dishes(self) -> Ints:
        """Dish of each customer, in data order: int64, shape (n_customers,); -1 while unseated.

        Where dishes are observed they are the values themselves.
        """
        return self._ranks()[self.seating.dishes()]

    def _ranks(self) -> Ints:
        """Place of each occupied slot among them; -1 at the end, for the unseated."""
        live = self.slots.occupied_slots()
        rank = np.full((int(live[-1]) if len(live) else 0) + 2, -1, dtype=np.int64)
        rank[live] = np.arange(len(live))
        return rank

    @property
    def n_dishes(self) -> int:
        """Number of dishes that have customers, K."""
        return len(self.seating.node_dishes(0)) if self.measure.atomic else len(self.slots)

    @property
    def n_tables(self) -> int:
        """Tables of every restaurant but the root's; of the root where it is alone."""
        tables = self._tables()
        return int(tables.sum() - tables[0]) if self.topology.n_nodes > 1 else int(tables[0])

    def tables_of(self, name: str) -> int:
        """Tables of all restaurants of a declaration."""
        return int(self._tables()[self.topology.nodes(self.declaration_number(name))].sum())

    def _tables(self) -> Ints:
        return self.totals()[1]

    def totals(self) -> tuple[Ints, Ints]:
        """Customers and tables of every restaurant by number: two int64 arrays, shape (n_nodes,)."""
        store = self.seating
        if isinstance(store, TotalsInBulk):
            customers, tables = store.totals()
            return customers, tables
        nodes = range(self.topology.n_nodes)
        return (
            np.array([store.node_customers(node) for node in nodes], dtype=np.int64),
            np.array([store.node_tables(node) for node in nodes], dtype=np.int64),
        )

    def size_counts(self, nodes: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Sizes of the tables of some restaurants together, ascending, and how many have each.

        Parameters
        ----------
        nodes : array of int
            Numbers of restaurants.

        Returns
        -------
        sizes, counts : int64 arrays of one shape
        """
        given = number_array(nodes)
        n = self.topology.n_nodes
        if (
            given is None
            or given.ndim != 1
            or not np.all((given >= 0) & (given < n) & (given == np.floor(given)))
        ):
            raise ParameterError(
                "nodes", nodes, f"whole numbers from 0 to {n - 1}", "See Franchise.topology.nodes."
            )
        return size_counts(self.seating, given.astype(np.int64))

    @property
    def dish_counts(self) -> Ints:
        """How often each dish has each term: int64, shape (K, V). For data that are terms."""
        if self.measure.atomic:
            raise DataError(
                "base", type(self.measure).__name__, "a measure over latent dishes",
                "Observed dishes are the terms themselves: count franchise.dishes.",
            )  # fmt: skip
        n_terms = getattr(self.data, "n_terms", None) or getattr(self.measure, "n_terms", None)
        if n_terms is None:
            raise DataError(
                "data", type(self.data).__name__, "terms of a vocabulary", "See dish_parameters()."
            )
        dishes, values = self.seating.dishes(), np.asarray(self.data.values)
        rank, counts = self._ranks(), np.zeros(self.n_dishes * n_terms, dtype=np.int64)
        for first in range(0, len(dishes), _CHUNK):
            places = rank[dishes[first : first + _CHUNK]]
            seated = places >= 0
            np.add.at(counts, places[seated] * n_terms + values[first : first + _CHUNK][seated], 1)
        return counts.reshape(self.n_dishes, n_terms)

    def dish_parameters(self) -> npt.NDArray[Any]:
        """Posterior mean of each dish's parameters given its data, shape (K, ...): topics for words."""
        return self.measure.posterior_means(
            self.fresh_bank(), self.slots.occupied_slots(), self.seating.dishes()
        )

    # ------------------------------------------------------------------ weights

    def root_weights(self) -> tuple[Floats, float]:
        """Posterior mean weights of the K dishes in the root, and the remainder (all that is new).

        With ``root="weights"`` the weights themselves, as they are in the state.

        Observed dishes: of all V atoms, and of those that no customer has had yet.
        """
        row = self.walk().prior_row(0)
        return row[:-1], float(row[-1])

    def group_weights(self, name: str) -> Floats:
        """Posterior mean weights in each restaurant of a declaration: shape (n, K + 1), what is new last."""
        nodes = np.arange(self.topology.n_nodes)[self.topology.nodes(self.declaration_number(name))]
        walk = self.walk()
        return np.array([walk.prior_row(node) for node in nodes.tolist()])

    def concentration(self, name: str) -> Any:
        """Concentration of a declaration: a float, or shape (n,) where each restaurant has its own."""
        return present(self, name)[0]

    def discount(self, name: str) -> Any:
        """Discount of a declaration: a float, or shape (n,) where each restaurant has its own."""
        return present(self, name)[1]

    # ------------------------------------------------------------------ restaurants

    def keys(self, name: str) -> list[Any]:
        """Label values of a declaration's restaurants, one each."""
        return list(self.topology.keys_of(self.declaration_number(name)))

    def restaurant(self, name: str, key: Any = None) -> RestaurantView:
        """Live view of one restaurant. ``key`` may be left out where there is only one."""
        return RestaurantView(self, self.declaration_number(name), name, key)

    def snapshot(self) -> Snapshot:
        """What predictions need of the present state, kept while the franchise goes on."""
        return Snapshot(self)

    @unguarded
    def look(self, timeout: float | None = None) -> Look:
        """What a run last finished, from whichever thread: for watching a run while it goes on.

        During a run in another thread it is the state at the end of the present sweep, which is waited for.
        Between the draws of `Scheduler.sample`, outside a run, or when the run ends or fails it is made at
        once. The run goes on as it would have. It does nothing for this unless somebody looks.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; None waits as long as the sweep takes.

        Returns
        -------
        Look
            An immutable copy.

        Raises
        ------
        BusyError
            If no sweep ends in time.
        StateError
            If the thread that runs looks while customers are seated out, in the midst of a move.
        """
        return look(self, timeout)

    # ------------------------------------------------------------------ scores

    def log_likelihood(self) -> float:
        """log p(data | dishes) with dish parameters integrated out, in nats: what to compare samplers by.

        Where dishes are observed each table of the root is a draw from H: the sum of log H over them.
        """
        slots = self.slots.occupied_slots()
        if self.measure.atomic:
            bank: Any = self.bank
            served = self.seating.node_dishes(0)
            tables = [self.seating.tables(0, dish) for dish in served.tolist()]
            return float(np.dot(tables, bank.log_base[served]))
        statistics = self.fresh_bank()
        whole = getattr(statistics, "log_marginal_total", None)
        total = None if whole is None else whole(slots)
        if total is None:
            dishes = self.seating.dishes() if getattr(statistics, "needs_dishes", True) else None
            total = np.sum(statistics.log_marginals(slots, dishes))
        return float(total)

    def log_seating(self) -> float:
        """log p(labelled seating | hyperparameters), all restaurants included, in nats."""
        return log_seating(self.seating, self._concentration, self._discount)

    def log_prior(self) -> float:
        """Log prior density of the hyperparameters that have a prior, in nats."""
        total = log_prior(self)
        values = self.base_parameters
        total += sum(log_density_at(prior, values[name]) for name, prior in self.measure.priors.items())
        return total

    def log_joint(self) -> float:
        """log p(labelled seating, data | hyperparameters) + log priors of those that have one, in nats.

        The same number on every store that keeps table sizes.
        """
        return self.log_seating() + self.log_likelihood() + self.log_prior() + self.log_parts()

    def log_parts(self) -> float:
        """Log density of the parts of the state given the rest of it, in nats."""
        return sum(part.log_density(self) for part in self._components.values())

    # ------------------------------------------------------------------ the whole

    def simulate(self, rng: ChoiceSource | Seed, keep: str | None = None) -> Self:
        """Return a franchise of the same shape with everything drawn anew from the model.

        Parameters
        ----------
        rng : seed, Generator or random stream
            The same number gives the same data again. Its words are none of those that a run with this seed
            uses.
        keep : None, "hyperparameters" or "seating"
            "hyperparameters" keeps their present values; "seating" keeps them and the seating, and draws
            only the data given it (the resampling step of Geweke's test). Where dishes are observed these
            are the atoms of the root's tables; a measure with a remainder is refused, for its other values
            have no numbers.
        """
        return simulate(self, as_source(rng, Purpose.SIMULATE), keep)

    def audit(self) -> None:
        """Recount everything from who sits where; raise an AuditError where the state contradicts itself."""
        if not self.measure.atomic:
            self.fresh_bank()
        audit(self)

    def memory_bytes(self) -> int:
        """Bytes of the seating and of the statistics, the data themselves not counted."""
        return sum(self.memory_parts().values())

    def memory_parts(self) -> dict[str, int]:
        """The same by what it is for.

        Returns
        -------
        dict
            "customers" (dish or table of each), "restaurants", "entries" (dishes of restaurants) and "tables"
            of the compiled stores, "seating" of any other; "tree" (restaurants of customers, parents),
            "hyperparameters" and "statistics" of the dishes (the topic-term counts).
        """
        store = self.seating
        reports = isinstance(store, ReportsMemory)
        parts = store.memory_parts() if reports else {"seating": store.memory_bytes()}
        return {
            **{name: int(size) for name, size in parts.items()},
            "tree": self.topology.memory_bytes(),
            "hyperparameters": self._concentration.nbytes + self._discount.nbytes,
            "statistics": int(self.bank.memory_bytes()),
            **{name: int(part.memory_bytes()) for name, part in self._components.items()},
        }
