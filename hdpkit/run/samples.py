"""Samples of a run: when they are kept, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, overload

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import LARGEST, validator, whole_number, whole_numbers
from hdpkit.errors import ParameterError
from hdpkit.files import ChainFiles, reading
from hdpkit.franchise.sample import Level, Sample, SeatingSample, TermMeans


@attrs.frozen
class SampleFile:
    """The file of the sample of a sweep, which need not exist yet, in the folder of a chain."""

    files: ChainFiles
    sweep: int

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"sample-{self.sweep:08d}.npz"

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.files.path / self.name

    def write(self, sample: Sample | SeatingSample) -> None:
        """Write the sample; a RunError if something in it can't be stored."""
        own = _packed_seating(sample) if isinstance(sample, SeatingSample) else _packed(sample)
        self.files.write(self.name, "sample", own)

    def read(self) -> Sample | SeatingSample:
        """Read the sample, a SeatingSample in a run of observed dishes."""
        tree = self.files.read(self.name, "sample")
        with reading(self.path):
            if tree["sweep"] != self.sweep:
                raise ValueError("it is of another sweep")
            return _unpacked_seating(tree) if "seating" in tree else _unpacked(tree)


class StoredSamples(Sequence[Any]):
    """Samples, ordered by chain and sweep, that are read from their files each time they are accessed."""

    def __init__(self, files: Iterable[SampleFile]) -> None:
        self.files = tuple(files)

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> StoredSamples: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return StoredSamples(self.files[index])
        return self.files[index].read()

    def __repr__(self) -> str:
        chains = len({file.files.chain for file in self.files})
        return f"<{len(self)} samples of {chains} {'chain' if chains == 1 else 'chains'}, on disk>"


# ---------------------------------------------------------------------- a sample as a tree of values


def _packed(sample: Sample) -> dict[str, Any]:
    default = sample.names == tuple(range(sample.n_groups))
    levels = [
        {
            **{name: getattr(level, name) for name in ("name", "parent", "concentration", "discount")},
            # At the deepest level these are the counts of the groups.
            "counts": None if level.counts is sample.group_counts else sparse_rows(level.counts),
            "tables": None if level.tables is None else sparse_rows(level.tables),
            **({} if level.n_fixed is None else {"n_fixed": level.n_fixed, "sticky": level.own}),
            **({} if level.weights is None else {"weights": level.weights}),
        }
        for level in sample.levels
    ]
    means = sample.term_means
    return {
        "chain": sample.chain,
        "sweep": sample.sweep,
        "ids": sample.ids,
        "sizes": _small(sample.sizes),
        "counts": None if sample.counts is None else sparse_rows(sample.counts),
        **({} if sample.tables is None else {"tables": sparse_rows(sample.tables)}),
        "parameters": dict(sample.parameters),
        "root_weights": sample.root_weights,
        "root_precision": sample.root_precision,
        "label": sample.label,
        "names": None if default else list(sample.names),
        "group_counts": sparse_rows(sample.group_counts),
        "dishes": sample.dishes,
        "hyperparameters": dict(sample.hyperparameters),
        "log_joint": sample.log_joint,
        "term_means": None if means is None else attrs.asdict(means, recurse=False),
        "levels": levels,
    }


def sparse_rows(matrix: Any) -> dict[str, Any]:
    """A sparse matrix as arrays of the smallest sufficient types."""
    return {
        "shape": list(matrix.shape),
        "lengths": _small(np.diff(matrix.indptr)),
        "columns": _small(matrix.indices),
        "values": _small(matrix.data),
    }


def _small(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _unpacked(tree: Mapping[str, Any]) -> Sample:
    ids, sizes = (np.asarray(tree[name], dtype=np.int64) for name in ("ids", "sizes"))
    k = len(ids)
    _check(ids.shape == sizes.shape == (k,) and len(np.unique(ids)) == k and int(ids.min(initial=0)) >= 0)
    counts = None if tree["counts"] is None else sparse_of(tree["counts"], k)
    tables = None if tree.get("tables") is None else sparse_of(tree["tables"], k)
    if tables is not None:  # each term of a dish has from one table to as many as it has customers
        of: Any = counts
        _check(of is not None and of.shape == tables.shape and np.array_equal(of.indptr, tables.indptr))
        _check(np.array_equal(of.indices, tables.indices))
        _check(bool(np.all((tables.data >= 1) & (tables.data <= of.data))))
    groups = sparse_of(tree["group_counts"], None, k)
    names = tree["names"]
    _check(names is None or len(names) == groups.shape[0])
    weights = np.asarray(tree["root_weights"], dtype=np.float64)
    precision = float(tree["root_precision"])
    _check(weights.shape == (k + 1,) and precision > 0.0)
    parameters = {str(name): np.asarray(value) for name, value in tree["parameters"].items()}
    _check(all(value.shape[:1] == (k,) for value in parameters.values()))
    means = None
    if tree["term_means"] is not None:
        arrays: dict[str, Any] = {
            name: None if value is None else np.asarray(value, dtype=np.float64)
            for name, value in tree["term_means"].items()
        }
        means, chosen = TermMeans(**arrays), arrays.get("selection")
        prior = chosen is not None and chosen.shape == (2,) and bool(np.all(chosen > 0.0))
        given = chosen is not None and chosen.shape == (k, 2) and bool(np.all(chosen <= 0.0))
        _check(chosen is None or prior or given)
        _check(counts is not None and means.inside.shape == means.outside.shape == (k,))
        _check(counts is not None and means.smoothing.shape in ((), (counts.shape[1],), (k, 1)))
    levels = _levels(tree["levels"], groups, k)
    dishes = tree["dishes"]
    if dishes is not None:
        dishes = np.asarray(dishes, dtype=np.int32)
        _check(dishes.ndim == 1)
        _check(int(dishes.min(initial=0)) >= -1 and int(dishes.max(initial=-1)) < k)
        _check(np.array_equal(np.bincount(dishes[dishes >= 0], minlength=k), sizes))
    return Sample(
        chain=int(tree["chain"]),
        sweep=int(tree["sweep"]),
        ids=ids,
        sizes=sizes,
        counts=counts,
        tables=tables,
        parameters=parameters,
        root_weights=weights,
        root_precision=precision,
        label=str(tree["label"]),
        names=tuple(range(groups.shape[0]) if names is None else names),
        group_counts=groups,
        dishes=dishes,
        hyperparameters=dict(tree["hyperparameters"]),
        log_joint=float(tree["log_joint"]),
        term_means=means,
        levels=levels,
    )


def _levels(trees: Sequence[Mapping[str, Any]], groups: Any, k: int) -> list[Level]:
    levels, above = [], 1
    for tree in trees:
        counts = groups if tree["counts"] is None else sparse_of(tree["counts"], None, k)
        n = counts.shape[0]
        parent = np.asarray(tree["parent"], dtype=np.int64)
        weights = None if tree.get("weights") is None else np.asarray(tree["weights"], dtype=np.float64)
        _check(parent.shape == ((n,) if weights is None else (n, *weights.shape)))
        _check(bool(np.all((parent >= 0) & (parent < above))))
        theta, d = (np.asarray(tree[name], dtype=np.float64) for name in ("concentration", "discount"))
        _check(all(values.shape in ((), (n,)) for values in (theta, d)))
        tables = None if tree["tables"] is None else sparse_of(tree["tables"], n, k)
        n_fixed, own = tree.get("n_fixed"), float(tree.get("sticky", 0.0))
        _check(n_fixed is None or n == int(n_fixed) + k)
        _check(0.0 <= own < float("inf"))
        levels.append(
            Level(
                name=str(tree["name"]), parent=parent, counts=counts, tables=tables, concentration=theta,
                discount=d, n_fixed=None if n_fixed is None else int(n_fixed), own=own, weights=weights,
            )
        )  # fmt: skip
        above += n
    _check(not levels or levels[-1].counts is groups)
    return levels


def sparse_of(tree: Mapping[str, Any], rows: int | None, columns: int | None = None) -> Any:
    """A sparse matrix of the given shape, checked, since compiled code doesn't check indices."""
    shape = tuple(int(n) for n in tree["shape"])
    _check(len(shape) == 2 and shape[0] == (shape[0] if rows is None else rows))
    _check(shape[1] == (shape[1] if columns is None else columns))
    lengths = np.asarray(tree["lengths"], dtype=np.int64)
    values, where = (np.asarray(tree[name], dtype=np.int64) for name in ("values", "columns"))
    _check(lengths.shape == (shape[0],) and int(lengths.min(initial=0)) >= 0)
    _check(values.shape == where.shape == (int(lengths.sum()),))
    _check(bool(np.all((where >= 0) & (where < shape[1]))) and int(values.min(initial=0)) >= 0)
    kind = np.int32 if max(*shape, len(values)) < 2**31 else np.int64
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
    return scipy.sparse.csr_array((values, where.astype(kind), begin), shape=shape)


_OF_PAIRS, _OF_RESTAURANTS = ("dish", "customers", "tables"), ("concentration", "discount")


def _packed_seating(sample: SeatingSample) -> dict[str, Any]:
    arrays = sample.arrays
    n_dishes = np.bincount(arrays["node"], minlength=len(arrays["discount"]))
    return {
        "chain": sample.chain,
        "sweep": sample.sweep,
        "seating": {
            "n_dishes": _small(n_dishes),
            **{name: _small(arrays[name]) for name in _OF_PAIRS},
            **{name: _runs(arrays[name]) for name in (*_OF_RESTAURANTS, "weights") if name in arrays},
        },
    }


def _runs(values: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
    """Runs of equal values, since the restaurants of a level mostly share their hyperparameters."""
    begins = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return {"values": values[begins], "lengths": _small(np.diff(begins, append=len(values)))}


def _unpacked_seating(tree: Mapping[str, Any]) -> SeatingSample:
    seating = tree["seating"]
    n_dishes, *columns = (
        whole_numbers(name, seating[name], 0, np.iinfo(np.int32).max, remedy="")
        for name in ("n_dishes", *_OF_PAIRS)
    )
    node = _repeated(np.arange(len(n_dishes)), n_dishes, len(columns[0]))
    there = [name for name in (*_OF_RESTAURANTS, "weights") if name in seating]
    theta, d, *weights = (
        _repeated(
            np.asarray(runs["values"], np.float64), np.asarray(runs["lengths"], np.int64), len(n_dishes)
        )
        for runs in map(seating.get, there)
    )
    dish, customers, tables = columns
    _check(dish.shape == customers.shape == tables.shape)
    _check(bool(np.all((node[1:] > node[:-1]) | (dish[1:] > dish[:-1]))))
    _check(bool(np.all((tables >= 1) & (tables <= customers))))
    _check(bool(np.all((d >= 0.0) & (d < 1.0) & np.isfinite(theta) & (theta > -d))))
    _check(all(bool(np.all((w > 0.0) & (w <= 1.0))) for w in weights))
    pairs = zip(("node", *_OF_PAIRS), (node, dish, customers, tables), strict=True)
    arrays = {name: values.astype(np.int32) for name, values in pairs}
    arrays |= zip(there, (theta, d, *weights), strict=True)
    return SeatingSample(int(tree["chain"]), int(tree["sweep"]), arrays)


def _repeated(values: npt.NDArray[Any], lengths: npt.NDArray[np.int64], total: int) -> npt.NDArray[Any]:
    _check(values.ndim == 1 and values.shape == lengths.shape and int(lengths.min(initial=0)) >= 0)
    _check(sum(lengths.tolist()) == total)  # of Python's numbers, which don't overflow
    return np.repeat(values, lengths)


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("counts that contradict each other")


def _sweeps(given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    return tuple(sorted(whole_numbers("at", given, 1, LARGEST, remedy="Numbers of sweeps.").tolist()))


def _at(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None and min(value, default=LARGEST) <= instance.after:
        raise ParameterError(
            "at", list(value), f"sweeps above after = {instance.after}", "Leave the others out."
        )


@attrs.frozen
class Samples:
    """The sweeps of a run after which a `Sample` is kept: after + every, after + 2 every, ...

    Parameters
    ----------
    after : int
        The last sweep of the warm-up; sweeps count from the start of the chain, as in its trace.
    every : int
        Sweeps from one sample to the next.
    at : sequence of int, optional
        These sweeps instead, all above ``after``.
    """

    after: int = attrs.field(validator=validator(whole_number, 0, remedy="The last sweep of the warm-up."))
    every: int = attrs.field(default=1, validator=validator(whole_number, 1, remedy="1 keeps every sweep."))
    at: tuple[int, ...] | None = attrs.field(default=None, converter=_sweeps, validator=_at)

    @classmethod
    def of(cls, given: Any, begun: int, sweeps: int) -> Self | None:
        """The rule given to a run of ``sweeps`` sweeps after sweep ``begun``, or a ParameterError.

        Parameters
        ----------
        given : None, int or Samples
            A number of samples is spread over the second half of the sweeps, at equal distances.
        begun, sweeps : int
        """
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, bool) or not isinstance(given, int):
            raise ParameterError(
                "samples", given, "None, a number of samples, or hk.Samples(after=..., every=...)",
                "For instance samples=40: from the second half of the sweeps.",
            )  # fmt: skip
        number = whole_number("samples", given, 1, remedy="Leave it out to keep none.")
        half = sweeps // 2
        return cls(begun + half, max(1, (sweeps - half) // number))

    def wanted(self, sweep: int) -> bool:
        """Whether the state after this sweep is kept."""
        sweep = whole_number("sweep", sweep, remedy="Give the number of a sweep.")
        if self.at is not None:
            return sweep in self.at
        return sweep > self.after and (sweep - self.after) % self.every == 0

    def as_dict(self) -> dict[str, Any]:
        """The rule as the arguments of this class, for a run folder."""
        return attrs.asdict(self, filter=lambda field, value: value is not None)

    def sweeps(self, last: int) -> Sequence[int]:
        """The sweeps after which the state is kept, up to this one."""
        last = whole_number("last", last, remedy="Give the number of a sweep.")
        if self.at is not None:
            return [sweep for sweep in self.at if sweep <= last]
        return range(self.after + self.every, last + 1, self.every)
