"""Adding and removing data: sentences in place, documents in a new franchise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int64s
from hdpkit.checks import whole_number
from hdpkit.data import Corpus, GroupedData, Groups, NGrams
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.customers import bank_for
from hdpkit.franchise.dish_kinds import cloned
from hdpkit.franchise.freezing import Freezing
from hdpkit.franchise.guard import changes, unguarded
from hdpkit.franchise.several_parents import GraphTopology
from hdpkit.franchise.state import measure_of
from hdpkit.franchise.topology import ContextTopology, Topology
from hdpkit.priors import Each
from hdpkit.random import ChoiceSource, Purpose, Seed
from hdpkit.stores import FrozenSeating, KeepsCells

_LABELLED = (Topology, GraphTopology)


def _grown(franchise: Any, data: Corpus | Groups) -> Any:
    """A franchise like this one with new customers unseated."""
    before = franchise.data
    if not isinstance(before, Corpus | Groups) or not isinstance(franchise.topology, _LABELLED):
        raise DeclarationError(
            "franchise", franchise, "over a Corpus or Groups",
            "N-grams grow by extend; for other data build a new franchise over all of them.",
        )  # fmt: skip
    if isinstance(before, Groups):
        if not isinstance(data, Groups) or not _continues_groups(data, before):
            raise DataError(
                "data", data, f"the {len(before)} current customers first",
                "Build them with franchise.data.plus(groups).",
            )  # fmt: skip
    elif not isinstance(data, Corpus) or not _continues_corpus(data, before):
        raise DataError(
            "data", data, f"the {before.n_documents} current documents first, with the same terms",
            "Build them with franchise.data.plus(documents).",
        )  # fmt: skip
    kind, root = type(franchise), franchise.root.declared
    made = kind(
        franchise.declarations[-1], data, store=franchise.store_type, kernel=franchise.forced_kernel,
        root=root, measure=franchise.prepared, known=franchise.known,
    )  # fmt: skip
    for name, part in franchise.components.items():
        made.register(name, cloned(name, part, made))
    made.thaw(_moved(franchise, made))
    return made


def _moved(franchise: Any, made: Any) -> dict[str, Any]:
    """The frozen state of a franchise, converted to one with more documents."""
    if franchise.measure.seats_values and isinstance(franchise.store, KeepsCells):
        franchise = franchise.copy()
        franchise.expand_cells()  # tables of values are kept customer by customer below
    frozen = franchise.freeze()
    to = _numbers_in(franchise.topology, made.topology, franchise.declarations)
    seating = FrozenSeating.of(frozen["seating"])
    seating = seating.to(seating.DETAIL, franchise.topology)  # with a dish for each customer
    more = made.topology.n_customers - franchise.topology.n_customers
    seating = seating.with_customers(more, made.topology.known).without(slice(0, 0), to)
    hyperparameters = {
        name: _values(frozen[name], getattr(made.hyperparameters, name), franchise, made.topology, to, name)
        for name in ("concentration", "discount")
    }
    held = {"held_groups": np.sort(to[franchise.held.nodes]).astype(np.int32)}
    bank = frozen["bank"]
    if franchise.measure.seats_values:  # new customers have no tables yet
        bank = {**bank, "opens": np.pad(bank["opens"], (0, more))}
    return {**frozen, "seating": seating.arrays(), "bank": bank, **hyperparameters, **held}


def _numbers_in(before: Any, after: Any, declarations: Any) -> Int64s:
    """Number in the larger tree of each restaurant."""
    to = np.empty(before.n_nodes, dtype=np.int64)
    for number, declaration in enumerate(declarations):
        nodes = before.nodes(number)
        if declaration.each in (None, "document"):  # documents are in the order of both corpora
            new = np.arange(nodes.stop - nodes.start)
        else:
            place = {key: i for i, key in enumerate(after.keys[number])}
            new = np.array([place[key] for key in before.keys[number]], dtype=np.int64)
        to[nodes] = after.first[number] + new
    if isinstance(before, GraphTopology):
        before.map_arms(after, to)
    return to


def _values(old: Any, start: Any, franchise: Any, after: Topology, to: Int64s, name: str) -> Any:
    """Concentrations or discounts by restaurant of the larger tree."""
    values = np.array(start, dtype=np.float64)
    for number, declaration in enumerate(franchise.declarations):
        nodes = franchise.topology.nodes(number)
        if not isinstance(getattr(declaration, name), Each) and nodes.stop > nodes.start:
            values[after.nodes(number)] = old[nodes][0]
    values[to] = old
    return values


def _continues_corpus(data: Corpus, before: Corpus) -> bool:
    """Whether the first documents of data, with their labels, are those of the previous data."""
    n, n_documents = len(before), before.n_documents
    if (
        data.n_terms != before.n_terms
        or data.vocabulary != before.vocabulary
        or not np.array_equal(data.document_lengths[:n_documents], before.document_lengths)
        or not np.array_equal(data.values[:n], before.values)
    ):
        return False
    for name in before.label_names:
        if name == "document":
            continue
        if name not in data.label_names:
            return False
        (old, keys), (new, others) = before.document_labels[name], data.document_labels[name]
        there = [None if code < 0 else keys[code] for code in np.asarray(old).tolist()]
        now = [None if code < 0 else others[code] for code in np.asarray(new)[:n_documents].tolist()]
        if there != now:
            return False
    return True


def _continues_groups(data: Groups, before: Groups) -> bool:
    """Whether the first customers of data, with their labels, are those of the previous data."""
    n = len(before)
    if data.values.shape[1:] != before.values.shape[1:] or not np.array_equal(data.values[:n], before.values):
        return False
    for name in before.label_names:
        if name not in data.label_names:
            return False
        (old, keys), (new, others) = before.labels[name], data.labels[name]
        if others[: len(keys)] != keys or not np.array_equal(new[:n], old):
            return False
    return True


class Extending(Freezing):
    """Adds documents or points in a new franchise; adds and removes sentences of a franchise over n-grams."""

    @unguarded
    def with_documents(self, data: Corpus | Groups, rng: ChoiceSource | Seed = None) -> Self:
        """Return a franchise over more documents, or more observations in groups.

        Present seats are kept. Each new customer is seated in order by its predictive given all seated
        customers. This is a start for further sweeps, not a draw from the posterior. This franchise doesn't
        change.

        Parameters
        ----------
        data : Corpus or Groups
            ``franchise.data.plus(documents)``: the current documents, followed by new ones. Of groups the
            current customers, followed by new ones, in these groups or others.
        rng : seed, Generator or choice source
            For seating the new customers. Calls with a seed are counted as in `extend`.

        Returns
        -------
        Franchise
            Its hyperparameters, sweep counter and streams are those of this one; hyperparameters with
            separate values begin at the starting value in new restaurants.

        Raises
        ------
        DataError
            If the first documents or customers are not the current ones.
        DeclarationError
            If the data are neither documents nor groups.
        """
        made: Self = self.access.call(_grown, (self, data), {}, True)
        n, n_all = self.topology.n_customers, made.topology.n_customers
        source = made._own_source(rng, Purpose.EXTEND)
        made.in_chunks(n, n_all, lambda first, last: made.enter(first, last, source))
        made.settle()
        return made

    @changes
    def extend(self, data: GroupedData, rng: ChoiceSource | Seed = None) -> None:
        """Replace the data by a continuation, and seat the new customers with their predictive probabilities.

        Restaurants are created for new contexts. If it fails or is interrupted, nothing has changed.

        Parameters
        ----------
        data : NGrams
            For instance ``franchise.data.plus(sentences)``: the same customers, followed by others.
        rng : seed, Generator or choice source
            The same seed gives the same state after the same calls. A second call with this seed uses other
            random numbers: calls with a seed are counted, and the count is part of the state.

        Raises
        ------
        DataError
            If the first customers are not those of the current data.
        """
        topology = self._growing()
        before, n = self.data, topology.n_customers
        assert isinstance(before, NGrams)
        if not isinstance(data, NGrams) or not _continues_ngrams(data, before):
            raise DataError(
                "data", data, f"n-grams of order {before.order}, the {n} current customers first",
                "Build them with franchise.data.plus(sentences).",
            )  # fmt: skip
        with self.transaction():
            source = self._own_source(rng, Purpose.EXTEND)
            same = np.arange(topology.n_nodes)
            grown = topology.extended(data)
            seating = FrozenSeating.of(self.store.freeze()).with_customers(grown.n_customers - n).arrays()
            self.access.change(self._replace_data, grown, data, seating, same)
            self.in_chunks(n, grown.n_customers, lambda first, last: self.enter(first, last, source))

    @changes
    def discard(self, first: int, last: int, rng: ChoiceSource | Seed = None) -> None:
        """Remove sentences first .. last - 1 permanently.

        Later customers are renumbered, and empty contexts are freed.

        Parameters
        ----------
        first, last : int
            Sentences of `data`; ``last`` is excluded.
        rng : seed, Generator or choice source
            A store of sizes draws the table that a customer leaves. Calls with a seed are counted as in
            `extend`.
        """
        topology = self._growing()
        data: Any = self.data
        whole_number("first", first, 0, data.n_sentences, remedy="Sentences are numbered from 0.")
        whole_number(
            "last", last, first, data.n_sentences, remedy="Sentences are numbered from 0; last is excluded."
        )
        shorter = data.without(first, last)
        gone = slice(int(data.offsets[first]), int(data.offsets[last]))
        with self.transaction():
            source = self._own_source(rng, Purpose.DISCARD)
            self.leave(gone.start, gone.stop, source)
            fewer = ContextTopology(topology.n_levels, shorter)
            to = topology.numbers_in(fewer)
            seating = FrozenSeating.of(self.store.freeze()).without(gone, to).arrays()
            self.access.change(self._replace_data, fewer, shorter, seating, to)

    def _growing(self) -> ContextTopology:
        self._not_lent("given other data")
        if not isinstance(self.topology, ContextTopology):
            raise DeclarationError(
                "franchise", self, "over n-grams, with restaurants each='context 1', 'context 2', ...",
                "Build a new franchise over all the data.",
            )  # fmt: skip
        return self.topology

    def _replace_values(self, values: Any, changes: Mapping[str, Any]) -> None:
        slots, held, bank, parts = self._current_dishes()
        self.data = self.data.with_values(values)
        self.prepared = measure_of(self.prepared, "for_data", self.prepared.for_data(self.data))
        self.measure = measure_of(self.measure, "for_data", self.measure.for_data(self.data))
        self.bank = bank_for(self, self.measure, self.data)
        self._replaced(slots, held, changes.get("bank", bank), parts)

    def _replace_data(
        self, topology: ContextTopology, data: NGrams, seating: dict[str, Any], to: npt.NDArray[Any]
    ) -> None:
        """Change to a tree in which restaurant r of the current one is to[r], and to a seating there."""
        dishes, values = self._current_dishes(), self.base_parameters
        self.topology, self.data = topology, data
        measure = self.prepared = self.declarations[-1].measure.for_data(data)
        self.measure = measure.with_parameters(**values) if values else measure
        self.bank = bank_for(self, self.measure, data)
        self.store = self.population.store(topology, self.bank)
        self.store.thaw(seating)
        before = self.hyperparameters
        self.hyperparameters = before.over(topology, to, before.theta, before.d)
        self._replaced(*dishes)

    def _current_dishes(self) -> tuple[Any, Any, Any, Any]:
        """Occupied slots, held slots, and the frozen states of the bank and of parts."""
        return (
            self.slots.occupied_slots(),
            self.slots.held_slots(),
            self.bank.freeze(),
            self.parts.freeze(),
        )


def _continues_ngrams(data: NGrams, before: NGrams) -> bool:
    """Whether the first customers of data, with their contexts, are those of the previous data."""
    n = len(before)
    if data.order != before.order or len(data) < n or not np.array_equal(data.values[:n], before.values):
        return False
    if tuple(data.vocabulary[: len(before.vocabulary)]) != tuple(before.vocabulary):
        return False
    step = 1 << 16
    return all(
        np.array_equal(data.contexts(i, min(i + step, n)), before.contexts(i, min(i + step, n)))
        for i in range(0, n, step)
    )


def take_values(state: Any, values: Any, changes: Mapping[str, Any]) -> None:
    """Replace the values of the customers, whose seats don't change, and the frozen bank if it does."""
    state.access.change(state._replace_values, values, changes)
