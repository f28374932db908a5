"""New groups: their customers, and the restaurants above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import Corpus, GroupedData
from hdpkit.errors import DataError, DeclarationError
from hdpkit.franchise.several_parents import OneOf

_NAMED = 5  # most label values listed in an error


@attrs.frozen(eq=False)
class Layout:
    """New groups, one for each value of the last declaration's label, including values without customers.

    Attributes
    ----------
    label : str
        The label.
    names : tuple
        Its values.
    order : int64 array, shape (n_customers,)
        Customers, group by group.
    begins : int64 array, shape (n_groups + 1,)
        Begin of each group in `order`, and the end.
    """

    label: str
    names: tuple[Any, ...]
    order: Int64s
    begins: Int64s

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
    """The distributions from which new groups draw.

    Attributes
    ----------
    share : float64 array, shape (n_parents, K + 1)
        Probability of each dish and, last, of a new one in the restaurants above the groups.
    parent : int64 array, shape (n_groups,)
        Row of `share` of each group.
    """

    share: Floats
    parent: Int64s


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
    """The restaurants above the groups, by their labels, and the current rows of these.

    ``other`` has further customers of the same groups, which provide labels of groups empty in ``data``.
    """
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
