"""Draws, with the scalars that are recorded of each; traces of one chain or several, and on disk.

On disk they are files of a number of sweeps each, of which the last is written again as it grows.
"""

from __future__ import annotations

import abc
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import flag, function, instance, items, seed_number, text, whole_number
from hdpkit.errors import ChainError, CorruptRunError, ParameterError, RegistryError, RunError, StateError
from hdpkit.files import ChainFiles, reading
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample, SeatingSample, hyperparameter_values
from hdpkit.franchise.scores import data_sizes, totals
from hdpkit.run.samples import SampleFile
from hdpkit.run.tables import SEPARATOR, inference_data, summary, trace_frame, trace_table

_SHARES = 5
_KEYS = ("sweep", "n_dishes", "n_tables", "largest_shares", "log_likelihood", "log_joint")
OF_ANY_SHAPE = ("largest_shares", "concentration/", "discount/", "base/")
"""Keys, or their prefixes, with an array for each sweep; other standard keys have a number."""

_PREFIXES = ("n_tables/", "concentration/", "discount/", "base/")


@attrs.frozen
class MoveRecord:
    """Statistics of one move in one sweep."""

    move: str
    sweep: int
    tried: int
    accepted: int
    seconds: float


@attrs.frozen
class Draw:
    """The state after a sweep.

    Attributes
    ----------
    sweep : int
        Number of the sweep, from 1.
    franchise : Franchise
        The live franchise, which changes with the next sweep: use copy() to keep it.
    moves : tuple of MoveRecord
        Statistics of the moves in this sweep.
    values : dict
        The scalars of this sweep, by key.
    """

    sweep: int
    franchise: Franchise
    moves: tuple[MoveRecord, ...]
    values: Mapping[str, Any]


class _Convertible(Mapping[str, npt.NDArray[Any]]):
    """What traces of one chain and of several are converted to."""

    @abc.abstractmethod
    def _by_number(self) -> tuple[Sequence[Trace], Sequence[int]]:
        """The trace of each chain, and their numbers."""

    def _repr_html_(self) -> str:
        return trace_table(repr(self).split(":")[0].strip("<>"), self._by_number()[0])

    def to_arviz(self, *, after: int = 0, separator: str = SEPARATOR) -> Any:
        """Convert for ArviZ; chains of different lengths are cut to the common part.

        Parameters
        ----------
        after : int
            Leave out the sweeps up to this one (warm-up).
        separator : str
            Replacement for the "/" in keys, which names in ArviZ 1.x and netCDF files can't contain.

        Returns
        -------
        xarray.DataTree, or arviz.InferenceData by ArviZ 0.x
            Coordinates ``chain`` and ``draw`` (the sweep), and these groups:

            - ``posterior``: every recorded scalar or array except log_joint and log_likelihood;
            - ``sample_stats``: log_joint, log_likelihood_total (the sum over all data, not a log likelihood
              by observation) and the acceptance rate of every move;
            - ``log_likelihood``, as ``arviz.loo`` needs it, if keys begin with "log_likelihood/"
              (`hdpkit.GroupLogLikelihood`): ``by_NAME`` for "log_likelihood/NAME". Then only draws for which
              they were computed are exported.

            A MissingExtraError is raised without ArviZ: ``pip install 'hdpkit[arviz]'``.
        """
        return inference_data(*self._by_number(), after, separator)

    def to_pandas(self) -> Any:
        """Convert to a pandas.DataFrame: one row per recorded sweep and chain, with ``chain`` and every key.

        A key with an array per sweep has one column per entry, "key[0]", "key[1]"; if the shape varies
        between sweeps it is one column of arrays. A MissingExtraError without pandas (``pip install
        'hdpkit[pandas]'``).
        """
        return trace_frame(*self._by_number())

    def summary(self, *, after: int = 0, **options: Any) -> Any:
        """Summarise every key over all chains, by ArviZ: means, quantiles, effective sample sizes, R-hat.

        Returns a ``pandas.DataFrame``. Raises a MissingExtraError without ArviZ.

        Parameters
        ----------
        after : int
            Leave out the sweeps up to this one (warm-up).
        **options
            Passed to ``arviz.summary``. Without ``var_names``, constant quantities (a fixed concentration)
            and arrays that ``record`` adds are left out. The interval is ArviZ's: by default equal-tailed of
            89 % in ArviZ 1.x (``ci_prob=``, ``ci_kind=``), of highest density with 94 % before
            (``hdi_prob=``).
        """
        return summary(*self._by_number(), after, options, is_standard)


class Trace(_Convertible):
    """The record of a run: ``trace[key]`` has one value per recorded sweep, shape (sweeps, ...).

    Keys: sweep, n_dishes, n_tables, n_tables/NAME, concentration/NAME, discount/NAME, base/PARAMETER,
    largest_shares (shares of the data in the five largest dishes), log_likelihood, log_joint, and the keys
    of ``record``. The initial state is not included. Keys of ``record`` that begin with "log_likelihood/"
    are log likelihoods by observation (`to_arviz`).

    Attributes
    ----------
    seed : int or None
        Seed of the run; as ``rng`` it gives the same chain.
    interrupted : bool
        Whether Ctrl-C ended the run early.
    exact : bool
        False if a move of the schedule is only approximate.
    """

    def __init__(
        self,
        record: Mapping[str, Callable[[Franchise], Any]] | None = None,
        seed: int | None = None,
        exact: bool = True,
    ) -> None:
        self._own = own_functions(record)
        self._values: dict[str, list[Any]] = {}
        self._moves: list[MoveRecord] = []
        self._samples: list[Sample | SeatingSample | SampleFile] = []
        self.seed = None if seed is None else seed_number("seed", seed)
        self.exact = flag("exact", exact)
        self.interrupted = False

    def append(self, draw: Draw) -> None:
        """Record a draw: all of it, or nothing if a user's function fails."""
        instance("draw", draw, Draw, "a Draw", remedy="Scheduler.sample yields them.")
        self._append_row(
            {
                "sweep": draw.sweep,
                **draw.values,
                **{key: function(draw.franchise) for key, function in self._own.items()},
            }
        )

    def _append_row(self, row: Mapping[str, Any]) -> None:
        """Record the values of a sweep by their keys."""
        columns = self._values
        if not self.n_draws:
            columns |= {key: [] for key in row}
        elif row.keys() != columns.keys():
            raise StateError(
                "recorded numbers", sorted(row.keys() ^ columns.keys()), "those of the sweeps before",
                "The scalars of a part have the same names in every sweep.",
            )  # fmt: skip
        for key, value in row.items():
            columns[key].append(value)

    def append_moves(self, draw: Draw) -> None:
        """Record the statistics of the moves (also in sweeps that thinning leaves out)."""
        instance("draw", draw, Draw, "a Draw", remedy="Scheduler.sample yields them.")
        self._moves.extend(draw.moves)

    def keep(self, sample: Sample | SeatingSample | SampleFile) -> None:
        """Keep a sample, or its file."""
        kinds = (Sample, SeatingSample, SampleFile)
        instance("sample", sample, kinds, "a Sample", remedy="Franchise.sample() makes one.")
        self._samples.append(sample)

    def _forget(self, sweeps: Set[int]) -> None:
        """Drop the samples of some sweeps."""
        self._samples = [sample for sample in self._samples if sample.sweep not in sweeps]

    @property
    def samples(self) -> tuple[Any, ...]:
        """The kept samples in order of sweeps; those in a run folder are read each time they are used."""
        return tuple(one.read() if isinstance(one, SampleFile) else one for one in self._samples)

    def followed_by(self, later: Trace, after: int) -> Trace:
        """The trace of this run and of one that continues it.

        Parameters
        ----------
        later : Trace
        after : int
            Samples of later sweeps than this are kept.
        """
        after = whole_number("after", after, 0)
        made = Trace(None, self.seed, self.exact and later.exact)
        made._own = self._own
        made._values = {key: [*values, *later._values[key]] for key, values in self._values.items()}
        made._moves = [*self._moves, *later._moves]
        made._samples = [one for one in (*self._samples, *later._samples) if one.sweep > after]
        made.interrupted = later.interrupted
        return made

    def columns(self) -> dict[str, list[Any]]:
        """The recorded values: key -> one per recorded sweep."""
        return self._values

    def records(self) -> list[MoveRecord]:
        """Statistics of the moves, one entry per move and sweep; `moves` is the same as an array."""
        return self._moves

    def own(self, record: Mapping[str, Callable[[Franchise], Any]] | None) -> None:
        """Set the functions that `append` records in addition to the scalars."""
        self._own = own_functions(record)

    def _by_number(self) -> tuple[Sequence[Trace], Sequence[int]]:
        return [self], [0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": {}}  # functions aren't sent to other processes

    def __getitem__(self, key: str) -> npt.NDArray[Any]:
        if not isinstance(key, str) or key not in self._values:
            raise RegistryError(
                "key", key, f"one of {list(self._values)}", "Record more with record={name: function}."
            )
        values = self._values[key]
        if len({np.shape(value) for value in values}) <= 1:
            return np.asarray(values)
        objects = np.empty(
            len(values), dtype=object
        )  # shapes that change with the sweep: one array per sweep
        objects[:] = [np.asarray(value) for value in values]
        return objects

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        end = ", interrupted" if self.interrupted else ""
        return f"<Trace of {self.n_draws} draws, seed {self.seed}{end}: {', '.join(self._values)}>"

    @property
    def n_draws(self) -> int:
        """Number of recorded sweeps."""
        return len(self._values.get("sweep", ()))

    @property
    def moves(self) -> npt.NDArray[Any]:
        """Statistics of each move in each sweep: structured array (move, sweep, tried, accepted, seconds)."""
        width = max([len(record.move) for record in self._moves], default=1)
        dtype = [
            ("move", f"U{width}"),
            ("sweep", np.int64),
            ("tried", np.int64),
            ("accepted", np.int64),
            ("seconds", np.float64),
        ]
        return np.array([attrs.astuple(record) for record in self._moves], dtype=dtype)


def own_functions(record: Any) -> dict[str, Callable[[Franchise], Any]]:
    """Check the argument ``record``: callables under unused names; otherwise raise a ParameterError."""
    if record is None:
        return {}
    if not isinstance(record, Mapping):
        raise ParameterError("record", record, "a dict of functions", "record={name: function_of_franchise}")
    for name, value in record.items():
        text("record", name, remedy="Keys of a trace are strings.")
        if is_standard(name):
            raise ParameterError("record", name, "a key that the trace doesn't have", "Choose another name.")
        function(f"record[{name!r}]", value, remedy="Give a function of the franchise.")
    return dict(record)


def make_draw(franchise: Franchise, moves: tuple[MoveRecord, ...]) -> Draw:
    """The draw for the current state of a franchise."""
    return Draw(franchise.sweep, franchise, moves, scalars(franchise))


def is_standard(key: str) -> bool:
    """Whether a key of a trace is one that the package records, so that no function of a user may have it."""
    return key in _KEYS or key.startswith(_PREFIXES)


def scalars(franchise: Franchise) -> dict[str, Any]:
    """The scalars recorded after every sweep, by key."""
    with franchise.lock():
        values: dict[str, Any] = _scalars(franchise)
    return values


def _scalars(franchise: Franchise) -> dict[str, Any]:
    store, topology = franchise.seating, franchise.topology
    tables = topology.summed(totals(store, topology.n_nodes)[1])
    names = [f"n_tables/{declaration.name}" for declaration in franchise.declarations]
    below = (np.add.reduce(tables[topology.nodes(number)]) for number in range(1, len(names)))
    n_tables = [int(tables[0]), *map(int, below)]
    log_likelihood, parts = franchise.dish_kind.log_likelihood(), franchise.parts
    seated, prior = franchise.log_seating(), franchise.log_prior()
    values: dict[str, Any] = {
        "n_dishes": franchise.dish_kind.number(),
        "n_tables": sum(n_tables[1:]) if len(tables) > 1 else n_tables[0],
        "log_likelihood": log_likelihood,
        "log_joint": seated + log_likelihood + prior + parts.log_density(franchise),
    }
    if not franchise.measure.atomic:
        values["largest_shares"] = largest_shares(data_sizes(store, topology.n_nodes))
    values |= zip(names, n_tables, strict=True)
    values |= hyperparameter_values(franchise)
    for name, part in parts.items():
        for key, scalar in part.scalars(franchise).items():
            values[f"{name}/{key}"] = float(scalar)
    return values


def last_of_burn_in(sweeps: npt.NDArray[np.int64]) -> int:
    """The last sweep of the burn-in, which is the first half of the recorded sweeps; 0 of a single one."""
    return int(sweeps[len(sweeps) // 2 - 1]) if len(sweeps) > 1 else 0


def largest_shares(dish_sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Shares of the data of the largest dishes, in descending order; 0 if there are fewer dishes."""
    sizes = dish_sizes.tolist()
    largest, total = sorted(sizes, reverse=True)[:_SHARES], max(sum(sizes), 1)
    return np.array([n / total for n in largest] + [0.0] * (_SHARES - len(largest)))


def chains_in(trace: Trace | ChainTrace) -> dict[int, Trace]:
    """The chains of a trace by number."""
    return dict(zip(*reversed(trace._by_number()), strict=True))


class ChainTrace(_Convertible):
    """The traces of several chains: ``trace[key]`` has shape (chains, sweeps, ...).

    Failed chains are not included. If chains have different lengths (after an interrupted run),
    ``trace[key]`` is the part that all have; ``chains`` has everything.

    Attributes
    ----------
    chains : list of Trace
        One for each chain that did not fail.
    numbers : tuple of int
        Numbers of these chains; chain c draws from ``Streams(seed, chain=c)``.
    franchises : list of Franchise
        Their final states, in the same order; empty for a trace read from disk.
    failures : dict
        Number of a failed chain -> its `ChainError`.
    """

    def __init__(
        self,
        chains: Sequence[Trace],
        numbers: Sequence[int] | None = None,
        franchises: Sequence[Franchise] = (),
        failures: Mapping[int, ChainError] | None = None,
    ) -> None:
        remedy = "run(..., chains=4) returns one."
        self.chains = list(items("chains", chains, "traces, one per chain", remedy=remedy))
        for chain in self.chains:
            instance("chains", chain, Trace, "traces, one per chain", remedy=remedy)
        counted = range(len(self.chains)) if numbers is None else numbers
        given = items("numbers", counted, "numbers, one per chain", remedy=remedy)
        if len(given) != len(self.chains):
            raise ParameterError("numbers", numbers, f"{len(self.chains)} numbers, one per chain", remedy)
        self.numbers = tuple(whole_number("numbers", number) for number in given)
        self.franchises = list(items("franchises", franchises, "a list of franchises", remedy=remedy))
        if failures is not None:
            instance("failures", failures, Mapping, "a dict, or None", remedy=remedy)
        self.failures = dict(failures or {})

    def _by_number(self) -> tuple[Sequence[Trace], Sequence[int]]:
        return self.chains, self.numbers

    def __getitem__(self, key: str) -> npt.NDArray[Any]:
        parts = [chain[key][: self.n_draws] for chain in self.chains]
        if len({part.shape for part in parts}) > 1 or any(part.dtype == object for part in parts):
            out = np.empty((len(parts), self.n_draws), dtype=object)
            for row, part in zip(out, parts, strict=True):
                row[:] = list(part)
            return out
        return np.stack(parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.chains[0] if self.chains else ())

    def __len__(self) -> int:
        return len(self.chains[0]) if self.chains else 0

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        lengths = {chain.n_draws for chain in self.chains}
        draws = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{self.n_draws}"
        end = ", interrupted" if self.interrupted else ""
        end += ", final states in .franchises" if self.franchises else ""
        return f"<ChainTrace of {len(self.chains)} chains{failed}, {draws} draws, seed {self.seed}{end}>"

    @property
    def n_draws(self) -> int:
        """Number of recorded sweeps that all chains have."""
        return min((chain.n_draws for chain in self.chains), default=0)

    @property
    def seed(self) -> int | None:
        """Seed of the run; as ``rng`` it gives the same chains."""
        return self.chains[0].seed if self.chains else None

    @property
    def exact(self) -> bool:
        """False if a move of the schedule is only approximate."""
        return all(chain.exact for chain in self.chains)

    @property
    def interrupted(self) -> bool:
        """Whether a chain ended early."""
        return any(chain.interrupted for chain in self.chains)

    @property
    def moves(self) -> npt.NDArray[Any]:
        """Records of the moves of all chains: `Trace.moves` with another field, ``chain``."""
        parts = []
        for number, chain in zip(self.numbers, self.chains, strict=True):
            records = chain.moves
            part = np.empty(len(records), dtype=[*records.dtype.descr, ("chain", np.int64)])
            for name in records.dtype.names or ():
                part[name] = records[name]
            part["chain"] = number
            parts.append(part)
        return np.concatenate(parts)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples (`Trace.samples`) of all chains, ordered by chain and sweep."""
        return tuple(sample for chain in self.chains for sample in chain.samples)

    def followed_by(self, later: ChainTrace, after: int) -> ChainTrace:
        """The traces of these chains and of runs that continue them.

        Parameters
        ----------
        later : ChainTrace
        after : int
            As in `Trace.followed_by`.
        """
        pairs = zip(self.chains, later.chains, strict=True)
        chains = [one.followed_by(more, after) for one, more in pairs]
        return ChainTrace(chains, self.numbers, later.franchises, self.failures)


_KINDS = "biufc"
_SWEEPS = 500
"""Sweeps in a file: a checkpoint writes those of the last one again."""

PREFIX = "trace"
_COUNTS = ("sweep", "tried", "accepted", "seconds")


def file_of_trace(number: int) -> str:
    """Name of the file with the sweeps from 500 * number + 1 to 500 * (number + 1)."""
    return f"{PREFIX}-{number:06d}.npz"


def check_columns(trace: Trace) -> None:
    """Raise a RunError unless everything recorded so far can be kept in a run folder."""
    for key, values in trace.columns().items():
        _column(key, values)


def write_trace(files: ChainFiles, trace: Trace, written: int, sweep: int) -> tuple[int, int]:
    """Write the trace from one sweep up to another; returns the numbers of draws and of records up to it."""
    for number in range(max(written - 1, 0) // _SWEEPS, (sweep - 1) // _SWEEPS + 1):
        first, last = _up_to(trace, number * _SWEEPS), _up_to(trace, min((number + 1) * _SWEEPS, sweep))
        rows, records = slice(first[0], last[0]), trace.records()[first[1] : last[1]]
        if first == last:  # before the first sweep of the chain
            continue
        names = list(dict.fromkeys(record.move for record in records))
        code = {name: place for place, name in enumerate(names)}
        tree = {
            "values": {key: _column(key, values[rows]) for key, values in trace.columns().items()},
            "names": names,
            "move": np.array([code[record.move] for record in records], np.int32),
            **{name: np.array([getattr(record, name) for record in records]) for name in _COUNTS},
        }
        files.write(file_of_trace(number), "trace", tree)
    return _up_to(trace, sweep)


def _up_to(trace: Trace, sweep: int) -> tuple[int, int]:
    """Numbers of draws and of records of moves up to a sweep."""
    of_moves = bisect_right(trace.records(), sweep, key=lambda record: record.sweep)
    return bisect_right(trace.columns().get("sweep", ()), sweep), of_moves


def read_trace(files: ChainFiles, sweep: int, n_draws: int, n_records: int) -> Trace:
    """The trace up to a sweep; a CorruptRunError unless it has these numbers of draws and records."""
    trace = Trace()
    for number in files.numbers(PREFIX):
        if number * _SWEEPS < sweep:
            append_rows(trace, files, number, sweep)
    found = trace.n_draws, len(trace.records())
    if found != (n_draws, n_records):
        raise CorruptRunError(
            str(files.path / f"{PREFIX}-*.npz"), f"{found[0]} draws and {found[1]} records of moves",
            f"{n_draws} and {n_records} up to sweep {sweep}",
            "Restore a copy of them, or delete the chain's folder to begin the chain again.",
        )  # fmt: skip
    return trace


def append_rows(trace: Trace, files: ChainFiles, number: int, last: int) -> None:
    """Append to a trace what a file has up to the sweep ``last``."""
    name = file_of_trace(number)
    tree = files.read(name, "trace")
    with reading(files.path / name):
        names, columns = tree["names"], trace.columns()
        for key, column in tree["values"].items():
            _check_column(key, column, columns.get(key, ()))
        whole = all(isinstance(name, str) for name in names) and int(tree["move"].min(initial=0)) >= 0
        if not whole or len({len(column) for column in tree["values"].values()}) > 1:
            raise ValueError("columns of different lengths, or other names of moves")
        if trace.n_draws and tree["values"].keys() != columns.keys():
            raise ValueError("columns of other names than in the files before")
        rows = bisect_right(tree["values"].get("sweep", ()), last)
        for key, column in tree["values"].items():
            columns.setdefault(key, []).extend(column[:rows])
        trace.records().extend(
            MoveRecord(names[move], *numbers)
            for move, *numbers in zip(*(tree[name].tolist() for name in ("move", *_COUNTS)), strict=True)
            if numbers[0] <= last
        )


def _check_column(key: str, column: Any, before: Sequence[Any]) -> None:
    """Raise an error unless this can be a column of a block; ``before`` has the values of earlier blocks."""
    arrays = column if isinstance(column, list) else [column]
    if not all(isinstance(array, np.ndarray | np.generic) and array.dtype.kind in _KINDS for array in arrays):
        raise TypeError(f"{key}: not numbers")
    if is_standard(key) and len(column):
        row = np.shape(column[0])
        wanted = np.shape(before[0]) if len(before) else row if key.startswith(OF_ANY_SHAPE) else ()
        if not isinstance(column, np.ndarray) or column.dtype.kind not in "iuf" or row != wanted:
            raise TypeError(f"{key}: numbers of another type or shape")


def _column(key: str, values: Sequence[Any]) -> npt.NDArray[Any] | list[npt.NDArray[Any]]:
    """Values of one key, one per row: an array, or a list of arrays if their shapes differ."""
    arrays = [np.asarray(value) if not _ragged(value) else np.empty(0, object) for value in values]
    for array in arrays:
        if array.dtype.kind not in _KINDS or (array.dtype.kind in "fc" and array.dtype.itemsize > 16):
            raise RunError(
                f"record[{key!r}]",
                array if array.dtype.kind not in "O" else values[0],
                "a number or an array of numbers, where a run folder keeps it",
                "Return numbers from the function, or record it without a folder.",
            )
    if len({array.shape for array in arrays}) > 1:
        return arrays
    return np.asarray(values)


def _ragged(value: Any) -> bool:
    try:
        np.asarray(value)
    except ValueError:
        return True
    return False
