"""The current dishes of a state, and new groups, for fold-in and evaluation.

Statistics of dishes and the restaurants of the state don't change. A new group has the concentration and the
discount of its declaration, and draws dishes from the current row of the restaurant above it.

The state is read once, under its lock; all further computations use arrays and need no lock. The densities
come from a bank of the measure over the customers of the state followed by the new values, so the code is
that of sampling. If a compiled predictive omits a common factor, its `log_predictives` have it for scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import whole_number
from hdpkit.data import Corpus, GroupedData, Groups
from hdpkit.data.corpus import Tokens
from hdpkit.errors import DataError, DeclarationError, ParameterError, printable
from hdpkit.franchise.franchise import offered
from hdpkit.franchise.guard import unguarded
from hdpkit.franchise.population import bank_for
from hdpkit.franchise.sample import Sample, parameter_key
from hdpkit.franchise.several_parents import OneOf
from hdpkit.franchise.topology import ContextTopology
from hdpkit.measures._measure import CompiledBank
from hdpkit.measures.by_restaurant import SAME, ByRestaurant, NewRestaurants, Repeats
from hdpkit.numerics import exp_each
from hdpkit.priors import Each
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.steps._new_groups import NewGroups

_NAMED = 5  # most unknown terms or label values listed in an error


@attrs.frozen(eq=False)
class Layout:
    """New groups, one for each value of the last declaration's label, including values without customers."""

    label: str
    names: tuple[Any, ...]
    order: Int64s  # customers, group by group, shape (n_customers,)
    begins: Int64s  # begin of each group in order, and the end, shape (n_groups + 1,)

    @property
    def group(self) -> Int64s:
        """Group of each entry of `order`."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.begins))

    def restricted(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Return the groups with only the ``chosen`` customers, in the order of `order`."""
        before = np.append(0, np.cumsum(chosen))
        return attrs.evolve(self, order=self.order[chosen], begins=before[self.begins])


@attrs.frozen(eq=False)
class Parents:
    """The distributions from which new groups draw."""

    # probability of each dish and, last, of a new one in the restaurants above the groups, shape
    # (n_parents, K + 1)
    share: Floats
    parent: Int64s  # row of share of each group, shape (n_groups,)


def layout_of(franchise: Any, data: GroupedData) -> Layout:
    """Customers by group. Raises an error if the label is missing, or a customer has no value of it."""
    label = franchise.declarations[-1].each
    _check_label(label, data)
    codes = np.asarray(data.codes(label))
    if len(codes) and codes.min() < 0:
        raise DataError(
            f"label {label!r}", f"missing for customer {int(np.argmin(codes))}", "given for every customer",
            "Customers without a group of their own can't be folded in: leave them out.",
        )  # fmt: skip
    names = tuple(data.keys(label))
    begins = np.append(0, np.cumsum(np.bincount(codes, minlength=len(names))))
    return Layout(label, names, np.argsort(codes, kind="stable"), begins)


def parents_of(franchise: Any, data: GroupedData, layout: Layout, other: GroupedData | None) -> Parents:
    """The restaurants above the groups, by their labels, and the current rows of these."""
    above = _nodes_above(franchise, data, layout)
    empty = np.diff(layout.begins) == 0
    if other is not None and empty.any() and not _labels_groups(data, layout):
        above[empty] = _nodes_above(franchise, other, layout_of(franchise, other))[empty]
    used, parent = np.unique(above, return_inverse=True)
    walk = franchise.walk()
    share = np.array([walk.prior_row(node) for node in used.tolist()])
    return Parents(share, parent.astype(np.int64))


def _nodes_above(franchise: Any, data: GroupedData, layout: Layout) -> Int64s:
    """Number of the restaurant above each group; the root for a group without labels."""
    chain, topology = franchise.declarations, franchise.topology
    if isinstance(chain[-1].base, OneOf):
        return _nodes_of_values(chain[-1].base, franchise, data, layout)
    if topology.lead is not None:
        return _nodes_in(chain[-1].base, franchise, data, layout)
    above = np.zeros(len(layout.names), dtype=np.int64)  # node of each group's parent, from the root down
    for number, declaration in enumerate(chain[1:-1], start=1):
        if declaration.each is None:
            above[:] = topology.first[number]
            continue
        _check_label(declaration.each, data)
        codes = _codes_of_groups(declaration.each, data, layout)
        nodes = _nodes_of(topology, number, declaration.each, data.key_view(declaration.each), codes)
        given = np.flatnonzero(nodes >= 0)
        astray = given[topology.parent[nodes[given]] != above[given]]
        if len(astray):
            raise DataError(
                f"{layout.label} {layout.names[astray[0]]!r}",
                f"{declaration.each} {data.key_view(declaration.each)[codes[astray[0]]]!r}",
                f"below the same {declaration.base.name} as in the franchise",
                "Give the group the same labels of all levels as a group of the franchise has.",
            )  # fmt: skip
        above[given] = nodes[given]
    return above


def _nodes_in(declaration: Any, franchise: Any, data: GroupedData, layout: Layout) -> Int64s:
    """The restaurant of each group at this declaration; -1 where its label is missing."""
    number = franchise.declarations.index(declaration)
    if declaration.each is None:
        return np.full(len(layout.names), franchise.topology.first[number], dtype=np.int64)
    _check_label(declaration.each, data)
    codes = _codes_of_groups(declaration.each, data, layout)
    keys = data.key_view(declaration.each)
    return _checked(_nodes_of(franchise.topology, number, declaration.each, keys, codes), declaration, layout)


def _nodes_of_values(base: OneOf, franchise: Any, data: GroupedData, layout: Layout) -> Int64s:
    """The restaurant of each group below one of several, by its value of their label."""
    _check_label(base.label, data)
    codes, keys = _codes_of_groups(base.label, data, layout), data.key_view(base.label)
    found = np.full(len(codes), -1, dtype=np.int64)
    for value, declaration in zip(base.values, base.restaurants, strict=True):
        own = np.array([code >= 0 and keys[code] == value for code in codes.tolist()], dtype=bool)
        if own.any():
            found[own] = _nodes_in(declaration, franchise, data, layout)[own]
    return _checked(found, base, layout)


def _checked(nodes: Int64s, base: Any, layout: Layout) -> Int64s:
    """These restaurants; raises an error if a group has none."""
    if np.any(nodes < 0):
        raise DataError(
            f"{layout.label} {layout.names[int(np.argmin(nodes))]!r}", None,
            f"below a restaurant of {base!r} that the franchise has",
            "Give each new group the labels of a group of the franchise.",
        )  # fmt: skip
    return nodes


def _check_label(label: str, data: GroupedData) -> None:
    if label not in data.label_names:
        raise DeclarationError(
            "each", label, f"a label of the new data: {list(data.label_names)}",
            "Give the label when you build the data (groups=...).",
        )  # fmt: skip


def _labels_groups(data: GroupedData, layout: Layout) -> bool:
    """Whether the other labels belong to the groups themselves, not to their customers."""
    return isinstance(data, Corpus) and layout.label == "document"


def _codes_of_groups(label: str, data: GroupedData, layout: Layout) -> Int64s:
    """Code of a label for each group, -1 where it is missing; all customers of a group must have the same."""
    if _labels_groups(data, layout):
        assert isinstance(data, Corpus)
        return np.asarray(data.document_labels[label][0])  # empty documents also have labels
    codes = np.full(len(layout.names), -1, dtype=np.int64)
    of_customers = np.asarray(data.codes(label))[layout.order]
    group = layout.group
    filled = np.flatnonzero(np.diff(layout.begins))
    codes[filled] = of_customers[layout.begins[filled]]
    astray = np.flatnonzero(of_customers != codes[group])
    if len(astray):
        raise DataError(
            f"{layout.label} {layout.names[group[astray[0]]]!r}", f"customers of several {label}s",
            f"within one {label}", f"Give all customers of a {layout.label} one value of {label!r}.",
        )  # fmt: skip
    return codes


def _nodes_of(topology: Any, number: int, label: str, keys: Sequence[Any], codes: Int64s) -> Int64s:
    """Restaurant of each group's label value, -1 where it is missing."""
    known = {key: topology.first[number] + i for i, key in enumerate(topology.keys[number])}
    there = np.unique(codes[codes >= 0]).tolist()
    unknown = [keys[code] for code in there if keys[code] not in known]
    if unknown:
        named = ", ".join(map(repr, unknown[:_NAMED]))
        more = f" and {len(unknown) - _NAMED} others" if len(unknown) > _NAMED else ""
        raise DataError(
            f"label {label!r}", f"{named}{more}", "a value that the franchise has a restaurant for",
            "Groups of a new restaurant depend on each other and aren't folded in together. Give the label "
            "None, and they join the restaurant above it, or build a franchise that has the restaurant.",
        )  # fmt: skip
    node = np.full(len(keys) + 1, -1, dtype=np.int64)  # the last is for a missing label
    for code in there:
        node[code] = known[keys[code]]
    return node[codes]


@attrs.frozen(eq=False, kw_only=True)
class NewGroupModel:
    """New groups, and the densities of their values under the dishes of a state."""

    layout: Layout  # names and customers of the groups
    # density of a value under each dish and, last, a new one, divided by the row's largest, shape
    # (n_rows, K + 1)
    density: Floats
    # log of the divisor of each row; zeros unless they were computed (scaled). If dishes differ by
    # group there are no divisors, shape (n_rows,)
    log_scale: Floats
    # value of each row; they are distinct unless they are vectors, shape (n_rows, ...)
    values: npt.NDArray[Any]
    row: Int64s  # row of each customer's value, shape (n_customers,)
    parents: Parents  # the distributions from which the groups draw
    concentration: float  # of all groups
    discount: float  # of all groups
    repeats: Repeats = SAME  # how dishes differ by group

    def new_groups(self) -> NewGroups:
        """The groups in the form of the compiled sweeps."""
        parents = self.parents
        return NewGroups(
            self.density, parents.share, self.row, self.layout.begins, parents.parent,
            self.concentration, self.discount, *self.repeats,
        )  # fmt: skip

    def with_densities(self, density: Floats, log_scale: Floats) -> Self:
        """Return the groups with other densities, whose rows are divided by exp(``log_scale``)."""
        if self.repeats.differ:
            density, log_scale = density * exp_each(log_scale)[:, None], np.zeros(len(density))
        return attrs.evolve(self, density=density, log_scale=log_scale)

    def with_rows_of(self, other: Self) -> Self:
        """Return the groups with the rows of ``other``, which has all their values, and further ones."""
        place = np.searchsorted(other.values, self.values)
        return attrs.evolve(
            self, density=other.density, log_scale=other.log_scale, values=other.values, row=place[self.row]
        )

    def joined(self, other: Self) -> Self:
        """Return the groups with the rows of both, ascending by value; values are distinct numbers."""
        values, first = np.unique(np.concatenate([self.values, other.values]), return_index=True)
        density = np.concatenate([self.density, other.density])[first]
        log_scale = np.concatenate([self.log_scale, other.log_scale])[first]
        rows = attrs.evolve(self, density=density, log_scale=log_scale, values=values)
        return attrs.evolve(rows, row=np.searchsorted(values, self.values)[self.row])

    def restricted(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Return the groups with some of their customers: ``chosen`` is in the order of groups."""
        return attrs.evolve(self, layout=self.layout.restricted(chosen), row=self.row[chosen])


def new_group_model(
    franchise: Any,
    data: GroupedData,
    *,
    scaled: bool = False,
    parents: Parents | None = None,
    other: GroupedData | None = None,
) -> NewGroupModel:
    """Densities of new groups' values under the dishes of a franchise, and the groups' parents."""
    if not isinstance(data, GroupedData):
        raise ParameterError("data", data, "a Corpus or Groups", "For instance Corpus.from_documents(...).")
    data.check_unchanged()
    arguments = (franchise, data, scaled, parents, other)
    made: NewGroupModel = franchise.access.call(_fixed, arguments, reading=True)
    return made


def _fixed(
    franchise: Any,
    data: GroupedData,
    scaled: bool,
    parents: Parents | None,
    other: GroupedData | None,
) -> NewGroupModel:
    check_foldable(franchise)
    values = _values(franchise, data)
    layout = layout_of(franchise, data)
    values = values[layout.order]
    distinct, row = distinct_values(values)
    state = without_restaurants(franchise)
    density, log_scale = densities(franchise, state, distinct, scaled or state.repeats.differ)
    parents = parents_of(franchise, data, layout, other) if parents is None else parents
    _check_possible(density, row, layout, parents, values)
    nodes = franchise.topology.nodes(len(franchise.declarations) - 1)
    fixed = NewGroupModel(
        layout=layout,
        density=density,
        log_scale=log_scale,
        values=distinct,
        row=row,
        parents=parents,
        concentration=float(franchise.hyperparameters.theta[nodes][0]),
        discount=float(franchise.hyperparameters.d[nodes][0]),
        repeats=state.repeats,
    )
    return fixed.with_densities(density, log_scale) if state.repeats.differ else fixed


def check_foldable(franchise: Any) -> None:
    """Raise an error if new groups of a model can't be folded in."""
    measure, declared = franchise.measure, franchise.declarations[-1]
    if measure.atomic or isinstance(franchise.topology, ContextTopology):
        raise DeclarationError(
            "franchise", franchise, "one whose dishes are latent and whose groups are labels",
            "Where dishes are observed, see hk.NGramModel and Franchise.snapshot.",
        )  # fmt: skip
    if isinstance(measure, ByRestaurant):
        _check_by_restaurant(measure, declared.name)
    elif not measure.predicts:
        raise DeclarationError(
            "base", type(measure).__name__, "a measure with a predictive density of a new dish",
            "The density of a value under a new dish has no closed form here.",
        )  # fmt: skip
    franchise.topology.check_new_groups(franchise)
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


def _check_by_restaurant(measure: ByRestaurant, declared: str) -> None:
    if not measure.supports("in_new_restaurants"):
        raise DeclarationError(
            "base", type(measure).__name__, "a measure whose dishes are the same in every restaurant",
            "Dishes differ by restaurant here, and those of a new group are not known: define "
            "in_new_restaurants(); hk.Bursty has it if all topics have one concentration.",
        )  # fmt: skip
    if measure.differ_by != declared:
        raise DeclarationError(
            f"differ_by of {type(measure).__name__}", measure.differ_by,
            f"{declared!r}, the last declaration, where there are new groups",
            "New groups of one restaurant would depend on each other: let dishes differ by group.",
        )  # fmt: skip


# ---------------------------------------------------------------------- values


def _values(franchise: Any, data: GroupedData) -> npt.NDArray[Any]:
    """Values of new customers, coded as in the franchise's data."""
    if not isinstance(data, Corpus):
        return checked_numbers(franchise, data)
    if not franchise.measure.takes_terms:
        raise DataError(
            "data", data, f"numbers, which {type(franchise.measure).__name__} is a measure over, not words",
            "Pass numbers as hk.Groups.",
        )  # fmt: skip
    return coded_terms(franchise, data, slice(None), "unknown terms")


def checked_numbers(franchise: Any, data: GroupedData) -> npt.NDArray[Any]:
    """New values that aren't terms, after a check that they are of the kind of the franchise's."""
    franchise.measure.for_data(data)
    shape = franchise.data.values.shape[1:]
    if data.values.shape[1:] != shape:
        raise DataError(
            "data", f"values of shape {data.values.shape[1:]}",
            f"values of shape {shape}, as those of the franchise", "Give new values of the same kind.",
        )  # fmt: skip
    return data.values


def coded_terms(franchise: Any, data: Any, there: Any, name: str) -> npt.NDArray[Any]:
    """New terms as numbers of the franchise's; ``there``: those that aren't missing; ``name``: in errors."""
    known, terms = getattr(franchise.data, "vocabulary", None), data.values
    if known is not None and data.vocabulary is not None and data.vocabulary != known:
        number = {word: i for i, word in enumerate(known)}
        to = np.array([number.get(word, -1) for word in data.vocabulary], dtype=np.int32)
        unknown = np.unique(terms[there][to[terms[there]] < 0])
        _check_terms(
            name, [data.vocabulary[v] for v in unknown.tolist()], "words of the franchise's vocabulary"
        )
        return to[terms]
    n_terms = getattr(franchise.data, "n_terms", None) or getattr(franchise.measure, "n_terms", None)
    if n_terms is not None:
        beyond = np.unique(terms[(terms < 0) | (terms >= n_terms)]).tolist()
        words = data.vocabulary
        _check_terms(
            name, [v if words is None else words[v] for v in beyond], f"terms from 0 to {n_terms - 1}"
        )
    return terms


def _check_terms(name: str, unknown: Sequence[Any], allowed: str) -> None:
    if unknown:
        named = ", ".join(map(repr, unknown[:_NAMED]))
        more = f" and {len(unknown) - _NAMED} others" if len(unknown) > _NAMED else ""
        raise DataError(
            name, f"{named}{more}", allowed,
            "No dish has a probability for them: leave them out of the new data, and build these with "
            "vocabulary=franchise.data.vocabulary.",
        )  # fmt: skip


def distinct_values(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64s]:
    """The distinct values, and the index of each customer's value; vectors are not compared."""
    if values.ndim == 1 and values.dtype.kind in "iufb":
        distinct, row = np.unique(values, return_inverse=True)
        return distinct, row.astype(np.int64)
    return values, np.arange(len(values), dtype=np.int64)


# ---------------------------------------------------------------------- densities


def without_restaurants(franchise: Any) -> NewRestaurants:
    """The measure, bank and observations by which densities in a new group are computed."""
    dishes = franchise.dish_kind.to_count(franchise.slots.occupied_slots())
    if isinstance(franchise.measure, ByRestaurant):
        return franchise.measure.in_new_restaurants(franchise.bank, dishes)
    return NewRestaurants(franchise.measure, franchise.bank, dishes, SAME)


def restaurants_of_sample(
    franchise: Any, sample: Sample, dishes: npt.NDArray[np.int32]
) -> tuple[NewRestaurants, npt.NDArray[np.int32]]:
    """The same of a sample over the data of a franchise, and the slots of its dishes."""
    measure = franchise.measure
    if not measure.conjugate or franchise.measure_parts:
        raise DeclarationError(
            "base", type(measure).__name__, "a measure whose parameters are not in the state",
            "A sample doesn't have them: use states of the chain, for instance scheduler.sample(...).",
        )  # fmt: skip
    values = {name: sample.hyperparameters[parameter_key(name)] for name in measure.priors}
    measure = measure.with_parameters(**values) if values else measure
    slots = np.arange(sample.n_dishes, dtype=np.int32)
    bank = bank_for(franchise, measure, franchise.data)
    bank.rebuild(dishes, slots)
    return NewRestaurants(measure, bank, dishes, SAME), slots


def _bank_of_new(
    franchise: Any, state: NewRestaurants, values: npt.NDArray[Any], slots: npt.NDArray[np.int32]
) -> tuple[Any, npt.NDArray[np.int32]]:
    """A bank of the measure over the customers of the state and then new values; the numbers of these."""
    data, measure = franchise.data, state.measure
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
    dishes = np.full(len(joined), -1, dtype=np.int32)
    seated = state.dishes[:before]
    dishes[: len(seated)] = seated
    bank = bank_for(franchise, measure, together)
    dishes = franchise.known_dishes.to_count(dishes, franchise.topology)
    if (kept := state.bank.freeze()) is not None:
        bank.thaw(kept)
    bank.rebuild(dishes, slots)
    if franchise.whole_corpus is not None or not franchise.population.single:  # not all from its customers
        counts = state.bank.counts(slots)
        dish, term = np.nonzero(counts)
        bank.rebuild_counts(term, slots[dish].astype(np.int64), counts[dish, term], slots)
    return bank, np.arange(before, len(joined), dtype=np.int32)


def log_densities(
    franchise: Any, state: NewRestaurants, values: npt.NDArray[Any], slots: npt.NDArray[np.int32]
) -> Floats:
    """Log densities under the dishes in these slots and a new one: shape (n, K + 1)."""
    bank, new = _bank_of_new(franchise, state, values, slots)
    rows = _log_rows(bank, new, slots)
    possible = np.isfinite(rows.max(axis=1))
    if not possible.all():
        raise _impossible(values[int(np.argmin(possible))])
    return rows


def _log_rows(bank: Any, new: npt.NDArray[np.int32], slots: npt.NDArray[np.int32]) -> Floats:
    if isinstance(bank, CompiledBank):
        logs: Floats = bank.log_predictives(new, slots)
        return logs
    return np.reshape([bank.log_predictive(i, slots) for i in new.tolist()], (len(new), len(slots) + 1))


def densities(
    franchise: Any, state: NewRestaurants, values: npt.NDArray[Any], scaled: bool
) -> tuple[Floats, Floats]:
    """Densities under each live dish and a new one, each row divided by its largest; logs of these."""
    slots = franchise.slots.occupied_slots()
    bank, new = _bank_of_new(franchise, state, values, slots)
    compiled_bank = isinstance(bank, CompiledBank)
    rows = bank.predictives(new, slots) if compiled_bank else _log_rows(bank, new, slots)
    top = rows.max(axis=1)
    possible = np.isfinite(top) & ((top > 0.0) | (not compiled_bank))
    if not possible.all():
        raise _impossible(values[int(np.argmin(possible))])
    density: Floats = rows / top[:, None] if compiled_bank else exp_each(rows - top[:, None])
    if not scaled:
        return density, np.zeros(len(values))
    if not compiled_bank:
        return density, top
    if getattr(bank, "has_fixed", False):  # its predictives omit no factor
        return density, np.log(top)
    exact = bank.log_predictives(new, slots)  # others may
    # Under a new dish; if that has no density, under the likeliest.
    best = np.where(density[:, -1] > 0.0, density.shape[1] - 1, density.argmax(axis=1))
    every = np.arange(len(best))
    return density, exact[every, best] - np.log(density[every, best])


def _check_possible(
    density: Floats, row: Int64s, layout: Layout, parents: Parents, values: npt.NDArray[Any]
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


_STEPS = 500_000  # customers reseated between two checks for Ctrl-C


@attrs.frozen(eq=False, repr=False, kw_only=True)
class FoldIn:
    """New groups under the dishes of a state, as `Franchise.fold_in` returns them. Arrays are read-only.

    Attributes
    ----------
    label : str
        The label of the groups, for instance "document".
    names : tuple
        Its values, one per group.
    proportions : float64 array, shape (n_groups, K + 1)
        Posterior means of the weights of the groups over the K dishes of the state and, last, of all new
        dishes.
    dishes, group : int64 arrays, shape (n_customers,)
        Dish after the last sweep (K: a new one), and group of each customer, in the order of the data.
    sweeps, burn_in : int
        Sweeps that were averaged, and those before them.
    """

    label: str
    names: tuple[Any, ...]
    proportions: Floats
    dishes: Int64s
    group: Int64s
    sweeps: int
    burn_in: int

    @property
    def n_groups(self) -> int:
        """Number of new groups."""
        return len(self.names)

    @property
    def n_dishes(self) -> int:
        """Number of dishes of the state, K; the last column of `proportions` is not among them."""
        return self.proportions.shape[1] - 1

    def to_counts(self) -> scipy.sparse.csr_array:
        """Number of customers by group and dish after the last sweep: shape (n_groups, K + 1)."""
        ones = np.ones(len(self.dishes), dtype=np.int64)
        counts = scipy.sparse.coo_array((ones, (self.group, self.dishes)), shape=self.proportions.shape)
        return counts.tocsr()

    def __repr__(self) -> str:
        return (
            f"<FoldIn: {self.n_groups} groups ({printable(self.label)}), {len(self.dishes)} customers, "
            f"{self.n_dishes} dishes and a new one, {self.sweeps} sweeps after {self.burn_in}>"
        )


@offered
@unguarded
def fold_in(
    self: Any,
    data: GroupedData,
    sweeps: int = 50,
    *,
    burn_in: int = 20,
    rng: ChoiceSource | Seed = None,
) -> FoldIn:
    """Dishes and proportions of new groups, by Gibbs sampling; the franchise doesn't change.

    The statistics of the dishes and all restaurants are fixed, so groups don't influence each other. A group
    draws from the restaurant above it, whose row is fixed, with the concentration and the discount of its
    declaration. Where dishes differ by group (`Bursty`), a group has its own, of which its customers are the
    first. See docs/evaluation.md. Raises a DataError if the data have unknown terms, values that are
    impossible under every dish, or labels without a restaurant in the franchise (the message names them); a
    DeclarationError if dishes are observed, if a value has no density in closed form under a new dish, if the
    last declaration has no label, if its restaurants have separate concentrations or discounts, or if dishes
    differ by the restaurants of another declaration.

    Parameters
    ----------
    data : Corpus or Groups
        Each value of the last declaration's label is a new group. Labels of the levels in between name
        restaurants of the franchise; if one is missing, the group draws from the restaurant above. Words are
        matched by the vocabularies if both have one.
    sweeps : int
        Number of sweeps to average.
    burn_in : int
        Number of sweeps before those averaged.
    rng : seed, Generator or choice source
        The same seed gives the same result.
    """
    sweeps = whole_number("sweeps", sweeps, 1, 10_000_000, remedy="At least one sweep is averaged.")
    burn_in = whole_number("burn_in", burn_in, 0, 10_000_000, remedy="Sweeps before those that are averaged.")
    source = as_source(rng, Purpose.FOLD_IN)
    fixed = new_group_model(self, data)
    proportions, drawn = sample_groups(fixed, sweeps, burn_in, source)
    layout = fixed.layout
    dishes, group = np.empty_like(drawn), np.empty_like(drawn)
    dishes[layout.order], group[layout.order] = drawn, layout.group
    for array in (proportions, dishes, group):
        array.setflags(write=False)
    return FoldIn(
        label=layout.label,
        names=layout.names,
        proportions=proportions,
        dishes=dishes,
        group=group,
        sweeps=sweeps,
        burn_in=burn_in,
    )


def sample_groups(
    fixed: NewGroupModel, sweeps: int, burn_in: int, source: ChoiceSource
) -> tuple[Floats, Int64s]:
    """Mean proportions of each group after the burn-in, and dishes after the last sweep, group by group."""
    groups, begins = fixed.new_groups(), fixed.layout.begins
    proportions = np.empty((len(begins) - 1, fixed.density.shape[1]))
    dishes = np.empty(len(fixed.row), dtype=np.int64)
    for first, last in _at_once(begins * (1 + burn_in + sweeps)):
        groups.fold_in(first, last, burn_in, sweeps, source, proportions, dishes)
    return proportions, dishes


def complete_groups(
    fixed: NewGroupModel, rows: Sequence[Int64s], sweeps: int, burn_in: int, source: ChoiceSource
) -> list[Floats]:
    """Sweep over new groups in order; the mean density of the next customer.s value over the sweeps."""
    groups, begins = fixed.new_groups(), fixed.layout.begins
    held = np.cumsum([0, *map(len, rows)])
    of_held = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    found = np.empty(len(of_held))
    for first, last in _at_once(begins * (1 + burn_in + sweeps) + held * sweeps):
        groups.complete(first, last, burn_in, sweeps, source, held, of_held, found)
    return np.split(found, held[1:-1])


def _at_once(steps: Int64s) -> Iterator[tuple[int, int]]:
    """First and last of the groups between checks for Ctrl-C, given numbers of steps before each group."""
    first = 0
    while first < len(steps) - 1:
        last = int(np.searchsorted(steps, steps[first] + _STEPS, side="right")) - 1
        last = min(max(last, first + 1), len(steps) - 1)
        yield first, last
        first = last
