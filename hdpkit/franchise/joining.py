"""New documents in a franchise: the present seating is kept, and the new customers are seated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.guard import unguarded
from hdpkit.franchise.parts import cloned
from hdpkit.franchise.topology import Topology
from hdpkit.priors import Each
from hdpkit.random import ChoiceSource, Purpose, Seed
from hdpkit.stores import Detail, FrozenCells, FrozenSeating

__all__ = ["with_documents"]

Ints = npt.NDArray[np.int64]


@unguarded
def with_documents(self: Any, data: Corpus, rng: ChoiceSource | Seed = None) -> Any:
    """Return a franchise over more documents. Present seats are kept; new customers are seated in order.

    Each new customer is seated by its predictive given all seated customers. This is a start for further
    sweeps, not a draw from the posterior. This franchise doesn't change.

    Parameters
    ----------
    data : Corpus
        ``franchise.data.plus(documents)``: the present documents, followed by new ones.
    rng : seed, Generator or choice source
        For seating the new customers. Calls with a seed are counted as in `extend`.

    Returns
    -------
    Franchise
        Its hyperparameters, sweep counter and streams are those of this one; hyperparameters with separate
        values begin at the starting value in new restaurants.

    Raises
    ------
    DataError
        If the first documents are not the present ones.
    DeclarationError
        If the data are not documents of words.
    """
    made = self._turn.call(self, _grown, (self, data), {}, True)
    n, n_all = self.topology.n_customers, made.topology.n_customers
    source = made._own_source(rng, Purpose.EXTEND)
    made.in_chunks(n, n_all, lambda first, last: made.enter(first, last, source))
    made.settle()
    return made


def _grown(franchise: Any, data: Corpus) -> Any:
    """A franchise like this one with new customers unseated."""
    before = franchise.data
    if not isinstance(before, Corpus) or not isinstance(franchise.topology, Topology):
        raise DeclarationError(
            "franchise", franchise, "over a Corpus",
            "N-grams grow by extend; for other data build a new franchise over all of them.",
        )  # fmt: skip
    if not isinstance(data, Corpus) or not _continues(data, before):
        raise DataError(
            "data", data, f"the {before.n_documents} present documents first, with the same terms",
            "Build them with franchise.data.plus(documents).",
        )  # fmt: skip
    kind, root = type(franchise), franchise.root.declared
    made = kind(
        franchise.restaurant_declared, data, store=franchise.store_type, kernel=franchise.forced_kernel,
        root=root, measure=franchise.measure, known=franchise.known,
    )  # fmt: skip
    for name, part in franchise.components.items():
        made.register(name, cloned(name, part, made))
    made.thaw(_moved(franchise, made))
    return made


def _moved(franchise: Any, made: Any) -> dict[str, Any]:
    """The frozen state of a franchise, converted to one with more documents."""
    frozen = franchise.freeze()
    to = _numbers_in(franchise.topology, made.topology, franchise.declarations)
    seating = FrozenSeating.of(frozen["seating"])
    if isinstance(seating, FrozenCells):
        seating = seating.to(Detail.COUNTS, franchise.topology)
    more = made.topology.n_customers - franchise.topology.n_customers
    seating = seating.with_customers(more, made.topology.known).without(slice(0, 0), to)
    hyperparameters = {
        name: _values(frozen[name], getattr(made.hyperparameters, name), franchise, made.topology, to, name)
        for name in ("concentration", "discount")
    }
    held = (
        {"held_groups": np.sort(to[franchise.held_nodes]).astype(np.int32)} if "held_groups" in frozen else {}
    )
    return {**frozen, "seating": seating.arrays(), **hyperparameters, **held}


def _numbers_in(before: Topology, after: Topology, declarations: Any) -> Ints:
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
    return to


def _values(old: Any, start: Any, franchise: Any, after: Topology, to: Ints, name: str) -> Any:
    """Concentrations or discounts by restaurant of the larger tree."""
    values = np.array(start, dtype=np.float64)
    for number, declaration in enumerate(franchise.declarations):
        nodes = franchise.topology.nodes(number)
        if not isinstance(getattr(declaration, name), Each) and nodes.stop > nodes.start:
            values[after.nodes(number)] = old[nodes][0]
    values[to] = old
    return values


def _continues(data: Corpus, before: Corpus) -> bool:
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
