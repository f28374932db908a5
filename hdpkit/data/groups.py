"""Grouped observations of any kind, and their labels: codes, keys, and missing values.

A label is stored as ``codes`` (int64, one per customer, -1 = missing) and ``keys`` (the label's values in
order of first appearance), so all other code uses integers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import (
    Codes,
    as_sequence,
    check_names,
    check_unmasked,
    hashable,
    instance,
    is_missing,
    plain,
    whole_number,
)
from hdpkit.errors import DataError, MissingMethodError, ParameterError, printable


def encode(label: str, values: Any, n: int, unit: str) -> Codes:
    """Encode a label's values as integers."""
    parameter = f"label {label!r}"
    sequence = as_sequence(parameter, values, f"values, one per {unit}")
    if len(sequence) != n:
        raise DataError(
            parameter, f"{len(sequence)} values", f"{n} values, one per {unit}", f"Give one value per {unit}."
        )
    if isinstance(sequence, np.ndarray) and sequence.dtype.kind in "biufmM":
        codes, keys = _encode_array(sequence)
    else:
        # Also for strings: a hash table is much faster than sorting fixed-width strings.
        codes, keys = _encode_objects(parameter, list(sequence), unit)
    codes.setflags(write=False)
    return codes, keys


def _encode_array(values: npt.NDArray[Any]) -> Codes:
    present = values == values  # neither NaN nor NaT
    unique, first, inverse = np.unique(values[present], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes = np.full(len(values), -1, np.int64)
    codes[present] = rank[inverse]
    # tolist() would convert a datetime64 of nanoseconds to an integer.
    keys = list(unique[order]) if values.dtype.kind in "mM" else unique[order].tolist()
    return codes, keys


def _encode_objects(parameter: str, values: list[Any], unit: str) -> Codes:
    known: dict[Any, int] = {}
    raw: list[int] = []
    try:
        raw = [known.setdefault(value, len(known)) for value in values]
    except TypeError:
        position = next(i for i, value in enumerate(values) if not hashable(value))
        raise DataError(
            f"{parameter}, {unit} {position}",
            values[position],
            "a hashable value or None",
            "Use strings, numbers or tuples of them as labels.",
        ) from None
    # Missing values are searched only among the distinct values, which are usually few (each NaN object
    # counts as distinct, so all are found).
    keys: list[Any] = []
    recode = np.empty(len(known), np.int64)
    for value, code in known.items():
        missing = is_missing(value)
        recode[code] = -1 if missing else len(keys)
        if not missing:
            keys.append(plain(value))
    return recode[np.array(raw, np.int64)], keys


def check_label_name(label: Any, taken: Iterable[str] = ()) -> str:
    """Return `label` if it is a valid name of a label, or raise a DataError."""
    if not isinstance(label, str) or not label:
        raise DataError(
            "label name", label, "a non-empty string", 'Name the label, as in {"author": authors}.'
        )
    if label in taken:
        raise DataError(
            "label name",
            label,
            "a name that isn't taken",
            f"The data have a label {label!r} already; rename yours.",
        )
    return label


def encode_all(parameter: str, groups: Any, n: int, unit: str, taken: Iterable[str] = ()) -> dict[str, Codes]:
    """Encode a mapping of label name -> one value per unit (see `encode`); None is an empty mapping."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise DataError(
            parameter,
            groups,
            f"a dict of label name -> one value per {unit}",
            'Write it as {"author": authors}.',
        )
    return {
        check_label_name(label, taken): encode(label, values, n, unit) for label, values in groups.items()
    }


def spread(
    label: str, keys: list[Any], lengths: Sequence[int] | npt.NDArray[np.int64], by_unit: dict[str, Codes]
) -> dict[str, Codes]:
    """Labels of customers in the order of units: ``label``, the units with these ``keys``, and others."""
    own = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    own.setflags(write=False)
    labels: dict[str, Codes] = {label: (own, keys)}
    for name, (codes, values) in by_unit.items():
        customers = codes[own]
        customers.setflags(write=False)
        labels[name] = (customers, values)
    return labels


def _missing(data: Any, member: str) -> MissingMethodError:
    """Return the error for what the base class leaves to its subclasses."""
    return MissingMethodError("data", type(data).__name__, f"data with {member}", "Build Groups or a Corpus.")


@attrs.frozen(eq=False, repr=False, kw_only=True)
class GroupedData:
    """Base class of all data for a franchise: one value per customer, and labels that group customers.

    Build `Groups` or `Corpus` by their class methods; the constructor checks nothing.
    """

    _labels: dict[str, Codes]

    @property
    def values(self) -> npt.NDArray[Any]:
        """One entry per customer along the first axis. Read-only."""
        raise _missing(self, "values")

    @property
    def n_customers(self) -> int:
        """Number of customers (observations)."""
        return len(self)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> dict[str, Codes]:
        """Labels: name -> (codes, keys).

        ``codes`` is a read-only int64 array with one code per customer, -1 if the label is missing; ``keys``
        lists the label's values in order of first appearance, including those without customers (empty
        documents).
        """
        return {name: (self.codes(name), self.keys(name)) for name in self._labels}

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return tuple(self._labels)

    def codes(self, name: str) -> npt.NDArray[np.int64]:
        """Return the codes of label `name`, shape (n_customers,), -1 = missing; read-only.

        Raises a ParameterError if there is no such label.
        """
        return self.codes_between(name, 0, len(self))

    def codes_between(self, name: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """Return the codes of customers first .. last - 1, to process codes in pieces.

        Returns an int64 array, shape (last - first,). Raises a ParameterError if there is no such label, or
        the range isn't valid.

        Parameters
        ----------
        name : str
            Name of the label.
        first, last : int
            Customers first .. last - 1.
        """
        codes = self._label(name)[0]
        return codes[slice(*self._range(first, last))]

    def _range(self, first: int, last: int) -> tuple[int, int]:
        n = len(self)
        first = whole_number("first", first, 0, n, remedy=f"A range lies within 0 .. {n}.")
        return first, whole_number(
            "last", last, first, n, remedy=f"It is excluded: give a number from {first} to {n}."
        )

    def keys(self, name: str) -> list[Any]:
        """Return the values of label `name`; code i means value i.

        Raises a ParameterError if there is no such label.
        """
        return list(self._label(name)[1])

    def key_view(self, name: str) -> Sequence[Any]:
        """Return the values of label `name` without copying: a list, a tuple or, for 0, 1, ..., a range.

        Raises a ParameterError if there is no such label.
        """
        return self._label(name)[1]

    def numbers(self, name: str) -> npt.NDArray[np.int32] | None:
        """Return the codes of label `name` plus one as an int32 array, if these are stored; otherwise None.

        If only this label defines restaurants, they are also the numbers of the restaurants.
        """
        self._label(name)
        return None

    def _label(self, name: str) -> Codes:
        try:
            return self._labels[name]
        except (KeyError, TypeError):
            known = ", ".join(map(repr, self.label_names)) or "none: these data have no labels"
            raise ParameterError(
                "label",
                name,
                f"one of the labels of the data ({known})",
                "Give labels when you build the data.",
            ) from None

    def with_values(self, values: Any) -> Self:
        """Return data with the same grouping and other values, of the same number."""
        raise _missing(self, "with_values")

    def empty_row(self, n: int) -> npt.NDArray[np.int32]:
        """Return an int32 array for one number a customer: in memory, or in a file for mapped data."""
        return np.empty(n, dtype=np.int32)

    def check_unchanged(self) -> None:
        """Raise a ChangedDataError if the data are mapped from files that were changed."""


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Groups(GroupedData):
    """Observations of any kind, in groups.

    Built by `Groups.from_arrays` (one array per group) or `Groups.from_labels` (one label per customer).

    Attributes
    ----------
    values : ndarray
        One entry per customer: shape (n_customers,) for scalars, (n_customers, p) for vectors; an object
        array only if NumPy has no type for the values. Read-only. The base measure decides which values
        are valid (NaN, for instance).
    n_customers : int
        Number of customers.
    labels : dict
        Label name -> (codes, keys); see `GroupedData.labels`.
    columns : tuple of str, length p, or None
        Names of the dimensions of vectors, if the data were a table with named columns (a DataFrame).
    """

    values: npt.NDArray[Any]
    columns: tuple[str, ...] | None = None

    @classmethod
    def from_arrays(cls, arrays: Any, names: Any = None, groups: Any = None, label: str = "group") -> Groups:
        """Build from one array per group.

        Raises a DataError if there are no observations, the arrays have different types or widths, or names
        or labels don't fit them.

        Parameters
        ----------
        arrays : sequence of array-like
            Observations of each group: shape (n_j,) for scalars, (n_j, p) for vectors. Empty arrays are
            groups without customers. The columns of the first DataFrame name the dimensions.
        names : sequence, optional
            Names of the groups, all different; by default 0, 1, ...
        groups : dict, optional
            Further labels: name -> one value per array; None, NaN, NaT or pandas.NA if it is missing.
        label : str
            Name of the label that distinguishes the arrays.
        """
        check_label_name(label)
        if isinstance(arrays, np.ndarray) and arrays.ndim > 1:
            arrays = list(arrays)
        given = as_sequence("arrays", arrays, "arrays, one per group")
        parts = [as_values(f"arrays, {label} {j}", array) for j, array in enumerate(given)]
        if not parts:
            raise DataError(
                "arrays", arrays, "at least one array: the data are empty", "Give one array per group."
            )
        lengths = [len(part) for part in parts]
        values = concatenate(parts, label)
        keys = list(range(len(parts)))
        if names is not None:
            keys = list(check_names("names", names, len(parts), "array", strings=False))
        by_array = encode_all("groups", groups, len(parts), "array", taken=[label])
        columns = next((own for own in map(columns_of, given) if own is not None), None)
        return cls(values=values, labels=spread(label, keys, lengths, by_array), columns=columns)

    @classmethod
    def from_labels(cls, values: Any, labels: Any = None) -> Groups:
        """Build from one or more labels per customer.

        Raises a DataError if there are no observations, or a label doesn't have one value per customer.

        Parameters
        ----------
        values : array-like
            Observations, shape (n,) for scalars, (n, p) for vectors. Columns of a DataFrame name the
            dimensions.
        labels : dict, optional
            Label name -> n values; None, NaN, NaT or pandas.NA if it is missing (-1 is a value like any
            other). By default, or if empty: data for a flat mixture.
        """
        checked = as_values("values", values)
        if len(checked) == 0:
            raise DataError(
                "values", values, "at least one observation: the data are empty", "Give observations."
            )
        return cls(
            values=checked,
            labels=encode_all("labels", {} if labels is None else labels, len(checked), "customer"),
            columns=columns_of(values),
        )

    def with_values(self, values: Any) -> Self:
        """Return the same grouping with other values (used to simulate data).

        Raises a DataError if their number isn't `n_customers`.

        Parameters
        ----------
        values : array-like
            One entry per customer along the first axis.
        """
        checked = as_values("values", values)
        if len(checked) != len(self):
            raise DataError(
                "values", f"{len(checked)} values", f"{len(self)} values", "Give one value per customer."
            )
        same = checked.shape[1:] == self.values.shape[1:]
        return type(self)(values=checked, labels=self._labels, columns=self.columns if same else None)

    def plus(self, more: Groups) -> Groups:
        """Return these observations followed by others of the same kind.

        Raises a DataError if its values have another shape or type.

        Parameters
        ----------
        more : Groups
            With values of the same shape. If one of the two doesn't have a label, it is missing for its
            customers.
        """
        remedy = "hk.Groups.from_labels(values, labels)."
        instance("more", more, Groups, "Groups", remedy=remedy)
        if more.values.shape[1:] != self.values.shape[1:]:
            raise DataError(
                "more",
                f"values of shape {more.values.shape[1:]}",
                f"values of shape {self.values.shape[1:]}, as these",
                "Give all observations the same shape.",
            )
        values = concatenate([self.values, more.values], "part")
        names = dict.fromkeys([*self.label_names, *more.label_names])
        labels = {
            name: label_values(self._labels, name, len(self)) + label_values(more._labels, name, len(more))
            for name in names
        }
        made = Groups.from_labels(values, labels)
        known = {name: self._labels[name][1] for name in self.label_names}
        every = {name: _with_keys(own, known.get(name, [])) for name, own in made._labels.items()}
        return attrs.evolve(made, labels=every, columns=self.columns)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.values.shape))
        labels = (
            ", ".join(printable(f"{name} ({len(keys)})") for name, (_, keys) in self._labels.items())
            or "none"
        )
        return f"<Groups: {len(self)} customers, values {self.values.dtype} {shape}, labels: {labels}>"


def label_values(labels: Mapping[str, Codes], name: str, n: int) -> list[Any]:
    """The n values of a label, None where they are missing, or all if there is no such label."""
    codes, keys = labels.get(name, (np.full(n, -1), ()))
    return [None if code < 0 else keys[code] for code in codes.tolist()]


def _with_keys(own: Codes, first: Sequence[Any]) -> Codes:
    """A label with the same values, of which ``first`` have the first codes, also those without customers."""
    codes, keys = own
    place = {key: i for i, key in enumerate(first)}
    every = [*first, *(key for key in keys if key not in place)]
    place = {key: i for i, key in enumerate(every)}
    to = np.array([*(place[key] for key in keys), -1], dtype=np.int64)
    moved = to[codes]
    moved.setflags(write=False)
    return moved, every


def as_values(parameter: str, values: Any) -> npt.NDArray[Any]:
    """Return a read-only copy of `values` with one entry per customer along the first axis."""
    check_unmasked(parameter, values)
    try:
        # A copy: the seating depends on the values, so they must not change.
        array = np.array(values)
    except ValueError:  # ragged: for NumPy each value is an object
        array = _as_objects(list(values))
    if array.ndim == 0:
        raise DataError(
            parameter,
            values,
            "a list or an array of observations",
            "Pass one entry per customer along the first axis.",
        )
    # NumPy converts numbers among strings to strings; they must remain numbers, and tuples of both tuples.
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        items = list(values)
        inner = itertools.chain.from_iterable(items) if array.ndim > 1 else items
        if len({isinstance(value, str) for value in inner}) > 1:
            array = _as_objects(items)
    array.setflags(write=False)
    return array


def columns_of(values: Any) -> tuple[str, ...] | None:
    """Names of the columns of a table; None for anything else."""
    names = getattr(values, "columns", None)
    shape: tuple[int, ...] = getattr(values, "shape", ())
    if isinstance(values, type) or names is None or len(shape) != 2:
        return None
    named = tuple(str(name) for name in names)
    return named if len(named) == shape[1] else None


def _as_objects(values: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):  # not array[:] = values, which would unpack the values
        array[i] = value
    return array


def concatenate(parts: list[npt.NDArray[Any]], label: str) -> npt.NDArray[Any]:
    """Join the values of several arrays; raises a DataError if their types or widths differ."""
    # NumPy chooses type and dimension of an empty list, which must not determine those of the others.
    filled = [(j, part) for j, part in enumerate(parts) if len(part)]
    if not filled:
        raise DataError(
            "arrays",
            f"{len(parts)} empty arrays",
            "at least one observation: the data are empty",
            "Give observations.",
        )
    first, model = filled[0]
    for j, part in filled[1:]:
        if part.shape[1:] != model.shape[1:]:
            raise DataError(
                f"arrays, {label} {j}",
                f"observations of shape {part.shape[1:]}",
                f"observations of shape {model.shape[1:]}, as in {label} {first}",
                "Give all observations the same shape.",
            )
        # Concatenation would convert numbers to strings if there are strings.
        kinds = {part.dtype.kind, model.dtype.kind}
        if "O" not in kinds and len({kind in "US" for kind in kinds}) > 1:
            raise DataError(
                f"arrays, {label} {j}",
                f"values of type {part.dtype}",
                f"values like those of {label} {first} ({model.dtype})",
                "Give all observations one type.",
            )
    try:
        values = np.concatenate([part for _, part in filled])
    except TypeError:
        types = sorted({str(part.dtype) for _, part in filled})
        raise DataError("arrays", types, "values of one type", "Give all observations one type.") from None
    values.setflags(write=False)
    return values
