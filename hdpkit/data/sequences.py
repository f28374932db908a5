"""Sequences of observations of any kind, in order, some of which may be missing."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Int64s
from hdpkit.checks import as_sequence, check_names, is_missing
from hdpkit.data.corpus import number_of_terms
from hdpkit.data.groups import (
    GroupedData,
    Groups,
    as_values,
    check_label_name,
    columns_of,
    concatenate,
    encode_all,
    spread,
)
from hdpkit.errors import DataError

Bools = npt.NDArray[np.bool_]


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Sequences(GroupedData):
    """Sequences of observations in order, for hidden Markov models.

    Built by `Sequences.from_arrays`. The observations of a sequence are consecutive, and sequences are in the
    given order. A missing observation is a customer who has a dish, but no value: its likelihood is 1 under
    every dish, and it is in no statistics.

    Attributes
    ----------
    values : ndarray
        One entry per customer along the first axis. Where an observation is missing the entry is that of
        another observation, which is not used.
    missing : bool array, shape (n_customers,)
        Whether each observation is missing. Read-only.
    lengths : int64 array, shape (n_sequences,)
        Number of observations of each sequence, missing ones included; it may be 0.
    names : tuple
        Name of each sequence; by default 0, 1, ...
    n_terms : int
        Number of terms; only if the observations are terms, otherwise an AttributeError.
    vocabulary : tuple of str or None
        Word of each term.
    n_customers, labels, columns
        As in `Groups`. The labels contain that of the sequences.
    """

    values: npt.NDArray[Any]
    missing: Bools
    lengths: Int64s
    names: tuple[Any, ...]
    columns: tuple[str, ...] | None = None
    vocabulary: tuple[str, ...] | None = None
    _n_terms: int | None = None

    @classmethod
    def from_arrays(
        cls,
        arrays: Any,
        n_terms: int | None = None,
        names: Any = None,
        groups: Any = None,
        vocabulary: Any = None,
        label: str = "sequence",
    ) -> Self:
        """Build from one array per sequence.

        Raises a DataError if there is no observation that isn't missing, the arrays have different types or
        widths, a row is missing in part, an observation isn't a term although terms are declared, or names,
        labels or vocabulary don't fit; a ParameterError if `n_terms` isn't a positive int.

        Parameters
        ----------
        arrays : sequence of array-like
            Observations of each sequence, in order: terms, numbers or other values, shape (n_j,), or rows of
            numbers, shape (n_j, p). None, NaN, NaT, pandas.NA and masked entries are missing observations;
            of a row all entries are missing, or none. Strings are words of the vocabulary. The columns of the
            first DataFrame name the dimensions.
        n_terms : int, optional
            The observations are terms, whole numbers from 0 to n_terms - 1. By default, if there is a
            vocabulary, its length.
        names : sequence, optional
            Names of the sequences, all different; by default 0, 1, ...
        groups : dict, optional
            Further labels: name -> one value per sequence; None, NaN, NaT or pandas.NA if it is missing.
        vocabulary : sequence of str, optional
            Word of each term. Without it, the vocabulary of sequences of strings is in order of first
            appearance.
        label : str
            Name of the label that distinguishes the sequences.
        """
        check_label_name(label)
        words = None if vocabulary is None else check_names("vocabulary", vocabulary, None, "term")
        n_terms = number_of_terms(n_terms, words)
        if isinstance(arrays, np.ndarray) and arrays.ndim > 1:
            arrays = list(arrays)
        given = as_sequence("arrays", arrays, "arrays, one per sequence")
        if len(given) == 0:
            raise DataError(
                "arrays", arrays, "at least one array: the data are empty", "Give one array per sequence."
            )
        parts = [_observed(f"arrays, {label} {j}", array) for j, array in enumerate(given)]
        missing = np.concatenate([absent for _, absent in parts])
        if missing.all():
            raise DataError(
                "arrays", f"{len(missing)} missing observations", "at least one observation",
                "Give observations: sequences without any have nothing to infer states from.",
            )  # fmt: skip
        values = concatenate([own for own, _ in parts], label)
        if values.dtype.kind in "US" or n_terms is not None:
            values, words, n_terms = _terms(values, words, n_terms)
        # A missing observation has the value of the last one before it, or of the first.
        values = values[np.maximum(np.cumsum(~missing) - 1, 0)]
        lengths = np.array([len(absent) for _, absent in parts], dtype=np.int64)
        for array in (values, missing, lengths):
            array.setflags(write=False)
        keys = list(range(len(parts)))
        if names is not None:
            keys = list(check_names("names", names, len(parts), "sequence", strings=False))
        return cls(
            values=values,
            labels=spread(
                label, keys, lengths, encode_all("groups", groups, len(parts), "sequence", [label])
            ),
            columns=next((own for own in map(columns_of, given) if own is not None), None),
            missing=missing,
            lengths=lengths,
            names=tuple(keys),
            vocabulary=words,
            n_terms=n_terms,
        )

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.lengths)

    @property
    def n_terms(self) -> int:
        """Number of terms; raises an AttributeError if the observations are not terms."""
        if self._n_terms is None:
            raise AttributeError("n_terms: these sequences are not of terms")
        return self._n_terms

    @property
    def offsets(self) -> Int64s:
        """Sequence s is customers offsets[s] to offsets[s + 1] - 1: int64, shape (n_sequences + 1,)."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.lengths)])

    def with_values(self, values: Any) -> Self:
        """Return the same sequences with other values; the same observations are missing.

        Raises a DataError if their number isn't `n_customers`, or they are not terms as these are.

        Parameters
        ----------
        values : array-like
            One entry per customer along the first axis; those of missing observations are not used.
        """
        made = Groups(values=self.values, labels=self._labels, columns=self.columns).with_values(values)
        if self._n_terms is not None:
            _check_terms(made.values, self._n_terms)
        return attrs.evolve(self, values=made.values, columns=made.columns)

    def __repr__(self) -> str:
        kind = "x".join(map(str, self.values.shape))
        what = f"{self._n_terms} terms" if self._n_terms is not None else f"values {self.values.dtype} {kind}"
        return (
            f"<Sequences: {self.n_sequences} sequences, {len(self)} customers, {what}, "
            f"{int(self.missing.sum())} missing>"
        )


def _observed(parameter: str, array: Any) -> tuple[npt.NDArray[Any], Bools]:
    """The observations of a sequence that are not missing, and which entries are missing."""
    if isinstance(array, np.ma.MaskedArray) and array.ndim > 0:
        absent = np.ma.getmaskarray(array)
        plain = np.array(array.data)
        if plain.dtype.kind in "fcmM":
            absent = absent | (plain != plain)
        rows = _whole_rows(parameter, array, absent.reshape(len(plain), -1))
        return as_values(parameter, plain[~rows]), rows
    if hasattr(array, "isna") and hasattr(array, "to_numpy"):  # pandas
        array = array.to_numpy()
    if isinstance(array, np.ndarray) and array.ndim > 0 and array.dtype.kind != "O":
        entries = array.reshape(len(array), -1) if array.size else np.zeros((len(array), 1))
        absent = entries != entries if array.dtype.kind in "fcmM" else np.zeros(entries.shape, dtype=bool)
        rows = _whole_rows(parameter, array, absent)
        return as_values(parameter, array[~rows]), rows
    if isinstance(array, list | tuple) or (isinstance(array, np.ndarray) and array.ndim > 0):
        listed = list(array)
        rows = np.array([_is_missing(parameter, i, value) for i, value in enumerate(listed)], dtype=bool)
        there = [value for value, absent in zip(listed, rows.tolist(), strict=True) if not absent]
        return as_values(parameter, there), rows
    values = as_values(parameter, array)
    return values, np.zeros(len(values), dtype=bool)


def _is_missing(parameter: str, i: int, value: Any) -> bool:
    """Whether an entry of a list is missing: a value, or a row of them."""
    if value is np.ma.masked:
        return True
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value) > 0:
        absent = np.array([[one is np.ma.masked or is_missing(one) for one in value]])
        return bool(_whole_rows(f"{parameter}, observation {i}", value, absent)[0])
    return is_missing(value)


def _whole_rows(parameter: str, given: Any, absent: Bools) -> Bools:
    """Which rows are missing; raises an error for one that is missing in part."""
    rows: Bools = np.asarray(absent.all(axis=1))
    partly = np.flatnonzero(absent.any(axis=1) & ~rows)
    if len(partly):
        row = given[int(partly[0])] if absent.shape[0] == len(given) else given
        raise DataError(
            parameter, row, "rows with all entries, or with none",
            "Make the whole row missing, or fill the entries that are.",
        )  # fmt: skip
    return rows


def _terms(
    values: npt.NDArray[Any], words: tuple[str, ...] | None, n_terms: int | None
) -> tuple[npt.NDArray[np.int32], tuple[str, ...] | None, int]:
    """Terms of observations, their words, and the number of terms."""
    if values.dtype.kind in "US" and values.ndim == 1:
        built = words is None
        number = {word: v for v, word in enumerate(words or dict.fromkeys(values.tolist()))}
        unknown = next((word for word in values.tolist() if word not in number), None)
        if unknown is not None:
            raise DataError("arrays", unknown, "a word of the vocabulary", "Add it to the vocabulary.")
        words = tuple(number)
        if built and n_terms is not None and len(words) != n_terms:
            raise DataError(
                "n_terms", n_terms, f"{len(words)}, the number of different words",
                "Leave it out, or give the vocabulary.",
            )  # fmt: skip
        values = np.array([number[word] for word in values.tolist()], dtype=np.int32)
    bound = n_terms if words is None else len(words)
    assert bound is not None  # one of both is given, or the observations are words
    return _check_terms(values, bound), words, bound


def _check_terms(values: npt.NDArray[Any], n_terms: int) -> npt.NDArray[np.int32]:
    """Whole numbers from 0 to n_terms - 1 as int32; floats that are whole were integers with missing ones."""
    numbers = values if values.ndim == 1 and values.dtype.kind in "iuf" else np.full(1, -1)
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < n_terms) & (numbers == np.floor(numbers))))
    if len(wrong):
        value = values[int(wrong[0])] if len(values) else values
        raise DataError(
            "arrays", value, f"terms, whole numbers from 0 to {n_terms - 1}",
            "Correct n_terms or the vocabulary, or leave them out if the observations aren't terms.",
        )  # fmt: skip
    return numbers.astype(np.int32)
