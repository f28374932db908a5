"""The folder of a run: its declarations, data and start, and a folder for each chain."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import attrs
import filelock
import numpy as np
from attrs.validators import deep_mapping, instance_of, optional

from hdpkit.allowed import Allowed
from hdpkit.checks import (
    LARGEST,
    MOST_CHAINS,
    flag,
    positive_number,
    seed_number,
    validator,
    whole_number,
    whole_numbers,
)
from hdpkit.data import GroupedData, ShardedCorpus
from hdpkit.data.sharded import CutCorpus
from hdpkit.errors import CorruptRunError, LockedRunError, RunError, short_repr
from hdpkit.files import (
    ChainFiles,
    checksum_of,
    npz_of,
    read_npz,
    read_text,
    reading,
    refusals,
    refuse_others,
    text_of,
    to_json,
    write_whole,
)
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample, SeatingSample
from hdpkit.run.data_file import RunData, data_of_tree, tree_of_data
from hdpkit.run.describe import describe, described_franchise, described_start, rebuild
from hdpkit.run.samples import SampleFile, Samples
from hdpkit.run.trace import PREFIX, Trace, check_columns, read_trace, write_trace

STATE = "state.npz"
SECONDS_FOR_ORPHANS = 10.0  # a worker whose parent has died ends well within this time


def _sweeps(given: Any) -> tuple[int, ...]:
    return tuple(whole_numbers("samples", given, 0, LARGEST, remedy="").tolist())


def _rule(given: dict[str, Any] | None) -> Samples | None:
    return None if given is None else Samples(**given)


_NUMBER = validator(whole_number)
_POSITIVE = validator(whole_number, 1)


@attrs.frozen
class Checkpointed:
    """A checkpoint."""

    sweep: int = attrs.field(validator=_NUMBER)
    target: int = attrs.field(validator=_NUMBER)  # the sweep at which the chain is to end
    stopped: bool = attrs.field(validator=validator(flag))  # whether a callback ended the run
    draws: int = attrs.field(validator=_NUMBER)  # of the trace up to it
    records: int = attrs.field(validator=_NUMBER)  # of moves in this trace
    seed: int = attrs.field(validator=validator(seed_number))  # of the streams, as is ``chain``
    chain: int = attrs.field(validator=_NUMBER)
    samples: tuple[int, ...] = attrs.field(converter=_sweeps)  # of the samples taken
    rule: Samples | None = attrs.field(converter=_rule)  # which it takes, as it was last continued
    frozen: dict[str, Any] = attrs.field()  # see `Franchise.freeze`

    @samples.validator
    def _check_samples(self, attribute: Any, value: Any) -> None:
        if list(value) != sorted(set(value)) or max(value, default=0) > self.sweep:
            raise ValueError("its samples are in another order")

    @frozen.validator
    def _check_sweep(self, attribute: Any, value: Any) -> None:
        if not isinstance(value, dict) or value.get("sweep") != self.sweep:
            raise ValueError("its state is of another sweep")


class ChainFolder(ChainFiles):
    """The files of a chain on disk. Reading needs no lock, since the files are complete at any time."""

    def state(self) -> Checkpointed | None:
        """The newest checkpoint; None before the first one. A CorruptRunError if it isn't intact."""
        refuse_others(self.path, folder=True)
        if not os.path.lexists(self.path / STATE):
            if self.numbers(PREFIX) or self.numbers("sample"):  # which are written after the first one
                raise CorruptRunError(
                    str(self.path / STATE), "missing", "there, as the trace and samples are",
                    "Restore a copy of it, or delete the chain's folder to begin the chain again.",
                )  # fmt: skip
            return None
        tree = self.read(STATE, "state")
        with reading(self.path / STATE):
            return Checkpointed(**{field.name: tree[field.name] for field in attrs.fields(Checkpointed)})

    def begun(self) -> tuple[Checkpointed | None, Trace]:
        """The newest checkpoint, and the trace up to it."""
        state = self.state()
        trace = Trace() if state is None else read_trace(self, state.sweep, state.draws, state.records)
        for file in self.samples(state):
            trace.keep(file)
        return state, trace

    def sample(self, sweep: int) -> SampleFile:
        """The file of the sample of a sweep, which need not exist yet."""
        return SampleFile(self, sweep)

    def samples(self, state: Checkpointed | None) -> list[SampleFile]:
        """The samples of a checkpoint whose files are there. Later ones are rewritten on resuming."""
        there = set(self.numbers("sample"))
        return [] if state is None else [self.sample(sweep) for sweep in state.samples if sweep in there]

    def missing_samples(self, state: Checkpointed | None) -> list[int]:
        """Sweeps of the samples of a checkpoint whose files aren't there."""
        return [] if state is None else sorted(set(state.samples).difference(self.numbers("sample")))

    def without_samples(self, sweeps: list[int]) -> CorruptRunError:
        """The error for missing samples."""
        return CorruptRunError(
            str(self.path), f"no samples of the sweeps {sweeps}", "there, as the checkpoint says",
            "Restore copies of them. Resuming writes only that of the newest checkpoint again.",
        )  # fmt: skip


class ChainWriter:
    """Writes a chain's trace and checkpoints. It holds the chain's lock until it is closed."""

    def __init__(
        self, folder: ChainFolder, seed: int, chain: int, target: int, rule: Samples | None = None
    ) -> None:
        self.folder = folder
        self.target = target
        self.rule = rule
        self._seed = seed
        self._chain = chain
        with refusals(folder.path, "make a folder"):
            folder.path.mkdir(exist_ok=True)
        refuse_others(folder.path, folder=True)
        self._lock = take_lock(folder.path / "lock", SECONDS_FOR_ORPHANS)
        try:
            self.loaded, self.trace = folder.begun()
        except BaseException:
            self.close()
            raise
        self._samples = set() if self.loaded is None else set(self.loaded.samples)
        self._written = 0 if self.loaded is None else self.loaded.sweep
        self._rows = self.trace.n_draws
        self._checked = False

    def keep(self, sample: Sample | SeatingSample) -> None:
        """Write a sample, and add its file to the trace."""
        file = self.folder.sample(sample.sweep)
        file.write(sample)
        if self.rule is not None:
            outdated = {sweep for sweep in self._samples if sweep <= self.rule.after}
            self._samples -= outdated
            self.trace._forget(outdated)
        self._samples.add(sample.sweep)
        self.trace.keep(file)

    def swept(self) -> None:
        """Called after a sweep was appended to `trace`: checks the first one."""
        if not self._checked and self.trace.n_draws > self._rows:
            check_columns(self.trace)
            self._checked = True

    def checkpoint(self, frozen: Mapping[str, Any], stopped: bool = False) -> None:
        """Write the trace to disk durably, then the state of the franchise at its end."""
        sweep = frozen["sweep"]
        draws, records = write_trace(self.folder, self.trace, self._written, sweep)
        tree = {
            "sweep": sweep,
            "target": self.target,
            "stopped": stopped,
            "draws": draws,
            "records": records,
            "seed": self._seed,
            "chain": self._chain,
            "samples": np.array(sorted(self._samples), np.int64),
            "rule": None if self.rule is None else self.rule.as_dict(),
            "frozen": frozen,
        }
        self.folder.write(STATE, "state", tree)
        self._written = sweep
        self._clear()

    def _clear(self) -> None:
        """Remove the files of samples that the chain has no more."""
        for sweep in self.folder.numbers("sample"):
            if sweep not in self._samples:
                with refusals(self.folder.path, "remove a file"), suppress(FileNotFoundError):
                    self.folder.sample(sweep).path.unlink()

    def close(self) -> None:
        """Release the lock, without writing anything."""
        self._lock.release()


_HELD: ContextVar[Mapping[Path, filelock.BaseFileLock]] = ContextVar("held", default=MappingProxyType({}))
_ABOUT: ContextVar[Mapping[str, Any]] = ContextVar("about", default=MappingProxyType({}))


@contextmanager
def holding(folder: Path, about: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Hold the lock of a folder for the block and its thread; ``about`` goes into run.json of a run in it."""
    new = not folder.exists()
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    lock = take_lock(folder / "lock", 0.0)
    before = _HELD.set({**_HELD.get(), (folder / "lock").resolve(): lock})
    said = _ABOUT.set({**_ABOUT.get(), **about})
    try:
        yield
    finally:
        _HELD.reset(before)
        _ABOUT.reset(said)
        with suppress(OSError):
            if new and os.listdir(folder) == ["lock"]:  # nothing began
                os.unlink(folder / "lock")  # who waits for it notices that it is gone
                folder.rmdir()
        lock.release()


def take_lock(path: Path, seconds: float) -> filelock.BaseFileLock:
    """Take a lock that the system releases when the process ends in any way."""
    held = _HELD.get().get(path.resolve())
    if held is not None:
        held.acquire()  # it counts, and is free when each has released it
        return held
    # Not bound to a thread: a run may be ended by another thread than began it (when a generator is closed).
    refuse_others(path, one_name=True)  # taking a lock empties its file
    lock = filelock.FileLock(path, timeout=seconds, thread_local=False)
    with refusals(path, "make a lock file"):
        try:
            lock.acquire(poll_interval=0.05)
        except filelock.Timeout as error:  # it is an OSError too
            raise LockedRunError(
                "folder", str(path.parent), "a folder that no other process is using",
                "Wait until the other process is done (reading its trace with hk.open_run is fine).",
            ) from error  # fmt: skip
    return lock


DATA, INIT, RUN = "data.npz", "init.npz", "run.json"
_FORMAT = "hdpkit run"
_FORMATS = {DATA: "hdpkit data", INIT: "hdpkit start"}
"""The files that are written before run.json, which lists them with their checksums."""


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a run; attributes without a comment are as given to `Scheduler.run`."""

    # the sweep at which every chain was planned to end when the run began
    target: int = attrs.field(validator=_NUMBER)
    seed: int = attrs.field(validator=validator(seed_number))
    stream: int = attrs.field(validator=validator(whole_number, 0, 2**32 - 1))  # of the first chain
    chains: int | None = attrs.field(  # None: one chain, whose result is a Trace
        validator=optional(validator(whole_number, 1, MOST_CHAINS))
    )
    thin: int = attrs.field(validator=_POSITIVE)
    audit_every: int | None = attrs.field(validator=optional(_POSITIVE))
    checkpoint_sweeps: int | None = attrs.field(validator=optional(_POSITIVE))
    checkpoint_seconds: float | None = attrs.field(validator=optional(validator(positive_number)))
    exact: bool = attrs.field(validator=validator(flag))  # whether all moves are exact
    record: dict[str, str | None] = attrs.field(  # names of functions; None if it can't be found by name
        validator=deep_mapping(instance_of(str), optional(instance_of(str)), instance_of(dict))
    )
    samples: dict[str, Any] | None = attrs.field(default=None)  # the arguments of `Samples`
    spool: str | None = attrs.field(  # over shards: folder of the files of its tokens; may change
        default=None, validator=optional(instance_of(str))
    )

    @samples.validator
    def _check_rule(self, attribute: Any, value: Any) -> None:
        if value is not None:
            Samples(**value)


_LEFT_OUT = ("samples", "spool")  # where they are None


@attrs.frozen
class Start:
    """How chains begin: with ``init``, or (``frozen``) from the state of the franchise."""

    init: Any
    frozen: dict[str, Any] | None = None


class RunFolder:
    """A run folder with a run.json of this content."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.path = path
        self._content = content
        with reading(path / RUN):
            self.id = bytes.fromhex(content["run"])
            self.settings = Settings(**content["settings"])
            self.versions = dict(content["versions"])
            self.files: dict[str, str] = dict(content["files"])
            self.data_digest = self.files[DATA]
            if len(self.id) != 16:
                raise ValueError("run")
            for name, kind in (("franchise", dict), ("moves", list), ("init", dict)):
                if not isinstance(content[name], kind):
                    raise ValueError(f"{name} = {short_repr(content[name])}")
            for name, checksum in self.files.items():
                if name not in _FORMATS or not isinstance(checksum, str):
                    raise ValueError(f"files: {short_repr(name)}")
            self.about: dict[str, Any] = dict(content["about"])
            for name, value in self.about.items():
                if not isinstance(value, list if name == "command" else dict):
                    raise ValueError(f"about: {short_repr(name)} = {short_repr(value)}")
            if not all(isinstance(one, str) for one in self.about.get("command", ())):
                raise ValueError("about: command")

    # ------------------------------------------------------------------ making one

    @classmethod
    def create(
        cls,
        path: Path,
        franchise: Franchise,
        moves: Any,
        start: Any,
        settings: Settings,
        data: RunData,
    ) -> tuple[Self, filelock.BaseFileLock]:
        """Create a run folder; returns it with its lock, which is held. run.json is written last."""
        try:
            described = {
                "about": dict(_ABOUT.get()),
                "franchise": described_franchise(franchise),
                "moves": [describe(move, f"moves[{i}]") for i, move in enumerate(moves)],
            }
        except RecursionError as error:
            raise RunError(
                "moves",
                moves,
                "without circular references",
                "An object that contains itself can't be saved.",
            ) from error
        init_inline, init = described_start(franchise, start)
        to_json(described, path="declaration")
        of_data: dict[str, Any] = {"kind": type(data).__name__}
        if isinstance(data, ShardedCorpus | CutCorpus):
            of_data |= {"customers": data.n_tokens, "corpus": data.digest}
        else:
            of_data |= {"customers": len(data)}
        own = {DATA: npz_of(_FORMATS[DATA], tree_of_data(data), "data")}
        if init is not None:
            own[INIT] = npz_of(_FORMATS[INIT], init, "init")
        _refuse_run(path)
        with refusals(path, "make a folder"):
            path.mkdir(parents=True, exist_ok=True)
            _refuse_strangers(path)
        lock = take_lock(path / "lock", 0.0)
        try:
            _refuse_run(path)
            files: dict[str, str] = {}
            for name, npz in own.items():
                write_whole(path / name, npz)
                files[name] = checksum_of(npz)
            content = {
                "run": os.urandom(16).hex(),
                "versions": versions(),
                "files": dict(sorted(files.items())),
                "data": of_data,
                "init": {"value": init_inline},
                **described,
                "settings": attrs.asdict(
                    settings, filter=lambda field, value: field.name not in _LEFT_OUT or value is not None
                ),
            }
            write_whole(path / RUN, text_of(_FORMAT, to_json(content)))
        except BaseException:
            lock.release()
            raise
        return cls(path, content), lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read run.json; a RunError if there is no run in the folder."""
        file = path / RUN
        if not os.path.lexists(file):
            raise RunError(
                "folder", str(path), "a folder with a run.json",
                "Begin one: hdpkit fit, or run(..., folder=...).",
            )  # fmt: skip
        return cls(path, read_text(file, _FORMAT))

    def lock(self) -> filelock.BaseFileLock:
        """Take the folder's lock, or raise a LockedRunError immediately."""
        return take_lock(self.path / "lock", 0.0)

    # ------------------------------------------------------------------ what it holds

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.settings.chains or 1

    def chain(self, number: int) -> ChainFolder:
        """The folder of a chain."""
        return ChainFolder(self.path / f"chain-{number:03d}", self.id, number)

    def read(self, name: str) -> Any:
        """The content of a file written before run.json; None if the run has none of this name."""
        path, listed = self.path / name, self.files.get(name)
        there = os.path.lexists(path)
        if there != (listed is not None):
            raise CorruptRunError(
                str(path), "there" if there else "missing",
                "in the folder as when the run began, with all its files and no others",
                "Remove it: it is of another run." if there else "Restore a copy of it.",
            )  # fmt: skip
        if listed is None:
            return None
        return read_npz(path, _FORMATS[name], listed)

    @property
    def corpus_in_shards(self) -> str | None:
        """The digest of the corpus if the run is over shards, otherwise None."""
        with reading(self.path / RUN):
            found: str | None = self._content["data"].get("corpus")
            return found

    def declared(self) -> tuple[Any, Any]:
        """The descriptions of the franchise and of the moves (`hdpkit.run.describe`)."""
        return self._part("franchise"), self._part("moves")

    def data(self) -> RunData:
        """The data."""
        tree = self.read(DATA)
        with reading(self.path / DATA):
            return data_of_tree(tree)

    def start(self) -> Start:
        """How the chains begin."""
        tree, path = self.read(INIT), self.path / INIT
        if tree is None:
            return Start(rebuild(self._content["init"].get("value"), Allowed(), "start"))
        if not isinstance(tree, dict) or "kind" not in tree:
            raise CorruptRunError(str(path), tree, "the start of a run", "Restore the file of this run.")
        value = tree.get("value")
        if tree["kind"] == "stand":
            if not isinstance(value, dict) or type(value.get("sweep")) is not int:
                raise CorruptRunError(
                    str(path), value, "a state of the franchise", "Restore the file of this run."
                )
            return Start(None, value)
        if not isinstance(value, dict | np.ndarray):
            raise CorruptRunError(str(path), value, "a state or an array", "Restore the file of this run.")
        return Start(value)

    def franchise(self, allowed_imports: Allowed, data: GroupedData) -> Franchise:
        """The declared franchise over the data, without seated customers."""
        part, more = self._part("franchise"), dict[str, Any]()
        with reading(self.path / RUN):
            if part["measure"] is not None:
                more["measure"] = rebuild(part["measure"], allowed_imports, "base measure")
            restaurant = rebuild(part["restaurant"], allowed_imports, "restaurant")
            store = rebuild(part["store"], allowed_imports, "store")
            components = {
                name: rebuild(component, allowed_imports, "component")
                for name, component in dict(part["components"]).items()
            }
            kernel = part["kernel"]
            more["root"] = rebuild(part["root"], allowed_imports, "root")
            if part["known"] is not None:
                more["known"] = rebuild(part["known"], allowed_imports, "known components")
        try:
            franchise = Franchise(restaurant, data, store=store, kernel=kernel, **more)
        except MemoryError as error:
            raise RunError(
                "data", f"{len(data)} customers", "a number that fits into memory",
                "The declarations need more memory than there is; the file may have been changed.",
            ) from error  # fmt: skip
        for name, component in components.items():
            franchise.register(name, component)
        return franchise

    def moves(self, allowed_imports: Allowed) -> list[Any]:
        """The moves, in the order of the schedule."""
        with reading(self.path / RUN):
            return [rebuild(move, allowed_imports, "move") for move in self._part("moves")]

    def _part(self, name: str) -> Any:
        with reading(self.path / RUN):
            return self._content[name]


def check_free(path: Path) -> None:
    """Raise a RunError unless a run can begin in this folder."""
    _refuse_run(path)
    with refusals(path, "look into a folder"):
        if path.exists():
            _refuse_strangers(path)


def _refuse_run(path: Path) -> None:
    if os.path.lexists(path / "run.json"):
        raise RunError(
            "folder", str(path), "a folder that holds no run",
            "Go on with that run by hk.open_run(folder).resume(), or choose another folder.",
        )  # fmt: skip


def _refuse_strangers(path: Path) -> None:
    """Raise an error if the folder has any files except those of a run that ended before writing run.json."""
    found = {entry.name.removesuffix(".tmp") for entry in path.iterdir()}
    left = {"lock", DATA, INIT, RUN} if "lock" in found else set()
    others = found - left
    if others:
        raise RunError(
            "folder", str(path), f"empty or new; it holds {sorted(others)[:3]}",
            "Choose another folder.",
        )  # fmt: skip
    for name in found:
        refuse_others(path / name)


def versions() -> dict[str, str]:
    """Versions of everything on which the bits of a chain may depend."""
    return {
        "hdpkit": str(getattr(sys.modules["hdpkit"], "__version__", "?")),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
