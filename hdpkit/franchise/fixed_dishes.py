"""The present dishes of a state, and new groups, for fold-in and evaluation.

Statistics of dishes and the restaurants of the state don't change. A new group has the concentration and the
discount of its declaration, and draws dishes from the present row of the restaurant above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit._compiled.fixed_dishes.new_groups as compiled
from hdpkit._compiled.measures.measure import CompiledBank
from hdpkit.data import Corpus, GroupedData, Groups
from hdpkit.data.cells import Tokens
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.contexts import ContextTopology
from hdpkit.franchise.new_labels import Layout, Parents, layout_of, parents_of
from hdpkit.franchise.reference import new_groups as reference
from hdpkit.numerics import exp_each
from hdpkit.priors import Each
from hdpkit.returned import log_densities

__all__ = ["FixedDishes", "check_foldable", "fixed_dishes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NAMED = 5  # most unknown terms listed in an error


@attrs.frozen(eq=False, kw_only=True)
class FixedDishes:
    """New groups, and the densities of their values under the dishes of a state.

    Customers are in the order of their groups.

    Attributes
    ----------
    layout : Layout
        Names and customers of the groups.
    density : float64 array, shape (n_rows, K + 1)
        Density of a value under each dish and, last, a new one, divided by the row's largest.
    log_scale : float64 array, shape (n_rows,)
        Log of the divisor of each row; zeros unless they were computed (`scaled`).
    row : int64 array, shape (n_customers,)
        Row of each customer's value.
    parents : Parents
        The distributions from which the groups draw. concentration, discount : float Of all groups.
    readable : bool
        Whether to use the readable kernel.
    """

    layout: Layout
    density: Floats
    log_scale: Floats
    row: Ints
    parents: Parents
    concentration: float
    discount: float
    readable: bool = False

    def new_groups(self) -> Any:
        """The groups in the form of a kernel."""
        kind = reference.NewGroups if self.readable else compiled.NewGroups
        parents = self.parents
        return kind(
            self.density, parents.share, self.row, self.layout.begins, parents.parent,
            self.concentration, self.discount,
        )  # fmt: skip

    def restricted(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """The same groups with some of their customers: ``chosen`` is in the order of groups."""
        return attrs.evolve(self, layout=self.layout.restricted(chosen), row=self.row[chosen])


def fixed_dishes(
    franchise: Any,
    data: GroupedData,
    *,
    scaled: bool = False,
    parents: Parents | None = None,
    other: GroupedData | None = None,
) -> FixedDishes:
    """Densities of new groups' values under the dishes of a franchise, and the groups' parents.

    Parameters
    ----------
    franchise : Franchise
        It is used by this thread during the call.
    data : GroupedData
        New groups, with the label of the last declaration and those of the levels between it and the root.
    scaled : bool
        Compute `FixedDishes.log_scale`, which sampling doesn't need.
    parents : Parents, optional
        Parents of the same groups, if they are already known.
    other : GroupedData, optional
        Further customers of the same groups, which provide the labels of groups that are empty in ``data``.

    Raises
    ------
    DataError, DeclarationError, ParameterError
        If the state, the measure or the data don't fit.
    """
    if not isinstance(data, GroupedData):
        raise ParameterError("data", data, "a Corpus or Groups", "For instance Corpus.from_documents(...).")
    data.check_unchanged()
    arguments = (franchise, data, scaled, parents, other)
    made: FixedDishes = franchise._turn.call(franchise, _fixed, arguments, reading=True)
    return made


def _fixed(
    franchise: Any,
    data: GroupedData,
    scaled: bool,
    parents: Parents | None,
    other: GroupedData | None,
) -> FixedDishes:
    check_foldable(franchise)
    values = _values(franchise, data)
    layout = layout_of(franchise, data)
    values = values[layout.order]
    distinct, row = _distinct(values)
    density, log_scale = _densities(franchise, distinct, scaled)
    parents = parents_of(franchise, data, layout, other) if parents is None else parents
    _check_possible(density, row, layout, parents, values)
    nodes = franchise.topology.nodes(len(franchise.declarations) - 1)
    return FixedDishes(
        layout=layout,
        density=density,
        log_scale=log_scale,
        row=row,
        parents=parents,
        concentration=float(franchise.hyperparameters.theta[nodes][0]),
        discount=float(franchise.hyperparameters.d[nodes][0]),
        readable=franchise.forced_kernel == "reference",
    )


def check_foldable(franchise: Any) -> None:
    """Raise an error if new groups of a model can't be folded in."""
    measure, declared = franchise.measure, franchise.declarations[-1]
    if measure.atomic or isinstance(franchise.topology, ContextTopology):
        raise DeclarationError(
            "franchise", franchise, "one whose dishes are latent and whose groups are labels",
            "Where dishes are observed, see hk.NGramModel and Franchise.snapshot.",
        )  # fmt: skip
    if not measure.predicts:
        raise DeclarationError(
            "base", type(measure).__name__, "a measure with a predictive density of a new dish",
            "The density of a value under a new dish has no closed form here.",
        )  # fmt: skip
    if len(franchise.declarations) < 2 or declared.each is None:
        raise DeclarationError(
            "franchise", franchise, 'one whose last declaration has each="a label", below a root',
            'New groups are restaurants of their own: hk.Restaurant(base=root, each="document").',
        )  # fmt: skip
    for name in ("concentration", "discount"):
        if isinstance(getattr(declared, name), Each):
            raise DeclarationError(
                name, getattr(declared, name), f"one for all restaurants of {declared.name!r}",
                "A new group has no value of its own: declare a number or a prior without hk.Each.",
            )  # fmt: skip


# ---------------------------------------------------------------------- values


def _values(franchise: Any, data: GroupedData) -> npt.NDArray[Any]:
    """Values of new customers, coded as in the franchise's data."""
    measure = franchise.measure
    if not isinstance(data, Corpus):
        measure.for_data(data)
        if data.values.shape[1:] != franchise.data.values.shape[1:]:
            raise DataError(
                "data", f"values of shape {data.values.shape[1:]}",
                f"values of shape {franchise.data.values.shape[1:]}, as those of the franchise",
                "Give the new groups values of the same kind.",
            )  # fmt: skip
        return data.values
    if not measure.takes_terms:
        raise DataError(
            "data", data, f"numbers, which {type(measure).__name__} is a measure over, not words",
            "Pass numbers as hk.Groups.",
        )  # fmt: skip
    known, terms = getattr(franchise.data, "vocabulary", None), data.values
    if known is not None and data.vocabulary is not None and data.vocabulary != known:
        number = {word: i for i, word in enumerate(known)}
        to = np.array([number.get(word, -1) for word in data.vocabulary], dtype=np.int32)
        unknown = np.unique(terms[to[terms] < 0])
        _check_terms([data.vocabulary[v] for v in unknown.tolist()], "words of the franchise's vocabulary")
        return to[terms]
    n_terms = getattr(franchise.data, "n_terms", None) or getattr(measure, "n_terms", None)
    if n_terms is not None:
        beyond = np.unique(terms[terms >= n_terms]).tolist()
        _check_terms([data.term(v) for v in beyond], f"terms from 0 to {n_terms - 1}")
    return terms


def _check_terms(unknown: Sequence[Any], allowed: str) -> None:
    if unknown:
        named = ", ".join(map(repr, unknown[:_NAMED]))
        more = f" and {len(unknown) - _NAMED} others" if len(unknown) > _NAMED else ""
        raise DataError(
            "unknown terms", f"{named}{more}", allowed,
            "No dish has a probability for them: leave them out of the new documents, and build these with "
            "vocabulary=franchise.data.vocabulary.",
        )  # fmt: skip


def _distinct(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct values, and the index of each customer's value; vectors are not compared."""
    if values.ndim == 1 and values.dtype.kind in "iufb":
        distinct, row = np.unique(values, return_inverse=True)
        return distinct, row.astype(np.int64)
    return values, np.arange(len(values), dtype=np.int64)


# ---------------------------------------------------------------------- densities


def _densities(franchise: Any, values: npt.NDArray[Any], scaled: bool) -> tuple[Floats, Floats]:
    """Densities under each live dish and a new one, each row divided by its largest, and the logs of these.

    They are computed by the sampling code: a bank of the measure over the customers of the state, followed by
    the new values.
    """
    data, measure = franchise.data, franchise.measure
    before = len(data)
    joined = np.concatenate([data.values, values])
    if isinstance(data, Corpus):
        joined = joined.astype(data.values.dtype, copy=False)
        whole = np.array([0, len(joined)], dtype=np.int64)
        together: GroupedData = attrs.evolve(
            data, tokens=Tokens(joined), offsets=whole, origin=None, files=None, numbers=None
        )
    else:
        together = Groups(values=joined, labels={})
    slots = franchise.slots.occupied_slots()
    dishes = np.full(len(joined), -1, dtype=np.int32)
    seated = franchise._dish_kind.to_count(slots)[:before]
    dishes[: len(seated)] = seated
    bank = franchise._bank_for(measure, together)
    dishes = franchise._for_bank(dishes)
    if (kept := franchise.bank.freeze()) is not None:
        bank.thaw(kept)
    bank.rebuild(dishes, slots)

    compiled_bank = isinstance(bank, CompiledBank)
    if compiled_bank:
        rows = bank.predictives(before, len(joined), slots)
    else:
        rows = np.array([bank.log_predictive(before + i, slots) for i in range(len(values))])
        rows = rows.reshape(len(values), len(slots) + 1)
    top = rows.max(axis=1)
    possible = np.isfinite(top) & ((top > 0.0) | (not compiled_bank))
    if not possible.all():
        raise _impossible(values[int(np.argmin(possible))])
    density: Floats = rows / top[:, None] if compiled_bank else exp_each(rows - top[:, None])
    if not scaled:
        return density, np.zeros(len(values))
    if not compiled_bank:
        return density, top
    scales = _scales(measure, bank, values, density, slots, dishes)
    if getattr(bank, "has_fixed", False):  # its predictives omit no factor
        scales = np.log(top)
    return density, scales


def _scales(
    measure: Any, bank: Any, values: npt.NDArray[Any], density: Floats, slots: Any, dishes: Any
) -> Floats:
    """Log of the largest density in each row: compiled predictives may omit a factor of the row."""
    empty, scales = measure.make(), np.empty(len(values))
    for i in range(len(values)):
        best, statistics = -1, empty
        if density[i, best] == 0.0:  # under a new dish; then a live one has a density
            best = int(density[i].argmax())
            statistics = bank.statistics(slots[best : best + 1], dishes)[0]
        exact = log_densities(measure, "log_predictive", measure.log_predictive(values[i], [statistics]), 1)
        scales[i] = exact[0] - np.log(density[i, best])
    return scales


def _check_possible(
    density: Floats, row: Ints, layout: Layout, parents: Parents, values: npt.NDArray[Any]
) -> None:
    """Raise an error for values with density zero under every dish that is possible in a group."""
    parent = np.repeat(parents.parent, np.diff(layout.begins))
    for number, share in enumerate(parents.share):
        here = np.flatnonzero(parent == number)
        found = (density @ share)[row[here]] if len(here) else np.ones(0)
        if not np.all(found > 0):
            raise _impossible(values[here[int(np.flatnonzero(~(found > 0))[0])]])


def _impossible(value: Any) -> DataError:
    return DataError(
        "value", value, "one that has a positive density under some dish, or a new one",
        "Leave it out, or choose a base measure that allows it.",
    )  # fmt: skip
