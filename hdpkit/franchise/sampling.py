"""Creation of a `Sample` from the present state of a franchise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.base_measures import BaseMeasure
from hdpkit.errors import StateError
from hdpkit.franchise.counts import columns_of
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.sample_parts import Level, TermMeans, rows_at_once
from hdpkit.franchise.state import State

__all__ = ["hyperparameter_values", "levels_of", "sample_of"]

_CUSTOMERS = 1 << 20  # customers of a flat mixture whose dishes are kept


def hyperparameter_values(state: State) -> dict[str, Any]:
    """Hyperparameters by their keys in a trace."""
    values: dict[str, Any] = {}
    for declaration in state.declarations:
        name = declaration.name
        values[f"concentration/{name}"], values[f"discount/{name}"] = state.hyperparameters.present(name)
    for name, value in state.measure.parameters.items():
        values[f"base/{name}"] = float(value) if np.ndim(value) == 0 else value
    return values


def check_latent(state: State) -> None:
    """Raise a StateError if dishes are observed: they are not inferred components."""
    if state.measure.atomic:
        raise StateError(
            "samples", "of observed dishes", "of latent ones: components",
            "Where dishes are the values themselves: franchise.snapshot(), or hk.NGramModel.",
        )  # fmt: skip


def sample_of(reading: Any, log_joint: float | None = None) -> Sample:
    """The sample. ``log_joint`` may be passed if known; ``reading`` is the owner that reads the state."""
    state: State = reading.state
    check_latent(state)
    slots, topology = state.slots.occupied_slots(), state.topology
    columns = _columns(state, slots)
    levels = levels_of(state, columns)
    sizes = _sizes(state, *columns, len(slots))
    deepest = len(state.declarations) - 1
    counts, means, parameters = _of_dishes(reading, slots)
    weights, rest = reading.root_weights()
    streams = state.streams
    return Sample(
        chain=0 if streams is None else streams.chain,
        sweep=state.sweep,
        ids=state.slots.ids(),
        sizes=sizes,
        counts=counts,
        parameters=parameters,
        root_weights=np.append(weights, rest),
        root_precision=_precision(state, reading.seats.root._kind()),
        label=state.declarations[deepest].each or state.declarations[deepest].name,
        names=topology.keys_of(deepest),
        group_counts=levels[-1].counts if levels else scipy.sparse.csr_array(sizes[None, :]),
        dishes=None if levels or topology.n_customers > _CUSTOMERS else reading.dishes().astype(np.int32),
        hyperparameters=hyperparameter_values(state),
        log_joint=float(reading.log_joint() if log_joint is None else log_joint),
        term_means=means,
        levels=levels,
    )


def _precision(state: State, root: str) -> float:
    """Sum of the Dirichlet parameters of the root's weights; infinite if they are in the state or fixed."""
    n = state.seating.node_customers(0)
    return float(state.hyperparameters.theta[0]) + n if root == "restaurant" and n > 0 else np.inf


Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _columns(state: State, slots: npt.NDArray[np.int32]) -> Columns:
    """Restaurant, dish from 0, customers and tables of each entry of the seating."""
    rank = np.full(int(slots[-1]) + 1 if len(slots) else 0, -1, dtype=np.int64)
    rank[slots] = np.arange(len(slots))
    node, dish, customers, tables = (
        np.asarray(c, dtype=np.int64) for c in columns_of(state.seating, state.topology.n_nodes)
    )
    return node, rank[dish], customers, tables


def levels_of(state: State, columns: Columns | None = None) -> tuple[Level, ...]:
    """The declarations below the root, as a sample has them."""
    slots = state.slots.occupied_slots()
    node, dish, customers, tables = _columns(state, slots) if columns is None else columns
    return tuple(
        _level(state, number, node, dish, customers, tables, len(slots))
        for number in range(1, len(state.declarations))
    )


def _level(
    state: State,
    number: int,
    node: npt.NDArray[np.int64],
    dish: npt.NDArray[np.int64],
    customers: npt.NDArray[np.int64],
    tables: npt.NDArray[np.int64],
    n_dishes: int,
) -> Level:
    nodes: Any = state.topology.nodes(number)
    here = slice(*np.searchsorted(node, [nodes.start, nodes.stop]))  # restaurants are ascending
    shape = (nodes.stop - nodes.start, n_dishes)

    def by_dish(values: npt.NDArray[np.int64]) -> Any:
        begin = np.searchsorted(node[here], np.arange(nodes.start, nodes.stop + 1))
        kind = np.int32 if max(len(values), n_dishes) < 2**31 else np.int64
        made = scipy.sparse.csr_array((values, dish[here].astype(kind), begin.astype(kind)), shape=shape)
        made.sort_indices()
        return made

    theta, d = (_shared(a[nodes]) for a in (state.hyperparameters.theta, state.hyperparameters.d))
    return Level(
        name=state.declarations[number].name,
        parent=np.asarray(state.topology.parent[nodes], dtype=np.int64),
        counts=by_dish(customers[here].copy()),
        tables=by_dish(tables[here].copy()) if np.any(d > 0) else None,
        concentration=theta,
        discount=d,
    )


def _shared(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A single number if all are equal."""
    return np.array(values[0] if len(values) and np.all(values == values[0]) else values, dtype=np.float64)


def _sizes(
    state: State,
    node: npt.NDArray[np.int64],
    dish: npt.NDArray[np.int64],
    customers: npt.NDArray[np.int64],
    tables: npt.NDArray[np.int64],
    n_dishes: int,
) -> npt.NDArray[np.int64]:
    """Data customers of each dish: customers of all restaurants minus tables of all but the root."""
    sizes = np.bincount(dish, weights=customers, minlength=n_dishes)
    below = node > 0
    sizes -= np.bincount(dish[below], weights=tables[below], minlength=n_dishes)
    sizes[: state.topology.n_all - state.topology.n_customers] -= 1  # customers of known components
    return sizes.astype(np.int64)


def _of_dishes(
    reading: Any, slots: npt.NDArray[np.int32]
) -> tuple[Any, TermMeans | None, dict[str, npt.NDArray[Any]]]:
    """Counts of terms, the means of topics as functions of them, and other parameters."""
    state, measure = reading.state, reading.state.measure
    bank: Any = reading.statistics.fresh_bank()
    counts, means = None, None
    if measure.takes_terms and getattr(state.data, "n_terms", None):
        counts = _term_counts(reading, bank, slots)
        totals = counts.sum(axis=1)
        if state._known is None:
            means = _term_means(measure, bank, slots, state.dishes_for_bank(), totals)
    if means is not None or not len(slots):
        return counts, means, {}
    if not (measure.supports("posterior_mean") or measure.supports("posterior_means")):
        return counts, None, {}
    parameters = {"mean": np.array(reading.dish_parameters())}
    if counts is not None and state._known is not None:
        # Topics of known components don't depend only on their counts.
        totals = state._known.add_seen(totals)
        means = _term_means(measure, bank, slots, state.dishes_for_bank(), totals)
        if means is not None:
            parameters["precision"] = np.where(state._known.is_fixed(len(totals)), np.inf, 1.0 / means.inside)
    return counts, None, parameters


def _term_means(measure: BaseMeasure, bank: Any, *dishes: npt.NDArray[Any]) -> TermMeans | None:
    """`term_means` of the measure, unless a subclass overrides its means but not `term_means`."""
    for kind in type(measure).__mro__:
        if "term_means" in vars(kind):
            break
        if not _MEANS.isdisjoint(vars(kind)):
            return None
    found = measure.term_means(bank, *dishes)
    if found is None:
        return None
    return TermMeans(*(np.array(one, dtype=np.float64) for one in found))


_MEANS = {"posterior_mean", "posterior_means", "log_predictive", "predictive"}


def _term_counts(reading: Any, bank: Any, slots: npt.NDArray[np.int32]) -> Any:
    """Counts of terms by dish, sparse; if a bank has them, they are never dense for all dishes at once."""
    if not callable(getattr(bank, "counts", None)):
        return scipy.sparse.csr_array(reading.dish_counts())
    n = rows_at_once(reading.state.data.n_terms)
    parts = [
        scipy.sparse.csr_array(np.asarray(bank.counts(slots[first : first + n]), dtype=np.int64))
        for first in range(0, len(slots), n)
    ]
    if not parts:
        return scipy.sparse.csr_array((0, reading.state.data.n_terms), dtype=np.int64)
    counts = scipy.sparse.csr_array(scipy.sparse.vstack(parts, format="csr"))
    known = reading.state._known
    if known is not None:
        seen = scipy.sparse.csr_array(known.pseudo)
        seen.resize(counts.shape)
        counts = scipy.sparse.csr_array(counts - seen)
        counts.eliminate_zeros()
    return counts
