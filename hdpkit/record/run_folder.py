"""The folder of a run: its declarations, data and start, and a folder for each chain."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import attrs
import filelock
import numpy as np

from hdpkit.checks import LARGEST, MOST_CHAINS, flag, positive_number, seed_number, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import CorruptRunError, RunError, short_repr
from hdpkit.franchise import Franchise
from hdpkit.record.chain_folder import ChainFolder, take_lock
from hdpkit.record.data_file import DATA_MAGIC, pack_data, unpack_data
from hdpkit.record.describe import describe, described_franchise, described_start
from hdpkit.record.encode import from_json, to_json, unpack
from hdpkit.record.files import (
    read_sealed,
    read_text,
    reading,
    refusals,
    refuse_others,
    seal,
    text_of,
    write_whole,
)
from hdpkit.record.leave import Leave
from hdpkit.record.rebuild import rebuild
from hdpkit.record.samples import Samples

__all__ = [
    "BESIDE",
    "COMMAND",
    "ESTIMATOR",
    "MODEL",
    "MODEL_FILE",
    "MODEL_MAGIC",
    "READING",
    "RUN",
    "SHARDED_RUN",
    "SIGNATURES",
    "RunFolder",
    "Settings",
    "Start",
    "check_free",
    "kept",
    "versions",
]

DATA, INIT, RUN = "data.bin", "init.bin", "run.json"
SHARDED_RUN = "run.bin"
"""What a run over shards has in place of run.json (`hdpkit.shards.files`)."""

READING = "reading.json"
"""How the corpus was read (`hdpkit.io.reading`)."""

COMMAND = "command.json"
"""The command that began the run (`hdpkit.record.command`)."""

SIGNATURES = "signatures.json"
"""How signatures are extracted from the run (`hdpkit.signatures.settings`)."""

ESTIMATOR = "estimator.bin"
"""The parameters of a fitted topic model (`hdpkit.models.topic_saved`)."""

MODEL = "model"
"""Subfolder for the files of a language model (`hdpkit.models.saved`)."""

MODEL_FILE = f"{MODEL}/model.bin"

MODEL_MAGIC = b"hdpMODEL"

BESIDE = (COMMAND, ESTIMATOR, MODEL, READING, SIGNATURES)
"""What other layers put into the folder before its run begins."""

_FORMAT = "hdpkit run"
_KINDS: dict[str, bytes | str] = {
    DATA: DATA_MAGIC,
    INIT: b"hdp-INIT",
    ESTIMATOR: b"hdp-ESTI",
    MODEL_FILE: MODEL_MAGIC,
    COMMAND: "hdpkit command",
    READING: "hdpkit reading",
    SIGNATURES: "hdpkit signatures",
}
"""The files that are written before run.json, which lists them with their checksums: the magic of a sealed
file, or the format of a JSON file."""


@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    target : int
        The sweep at which every chain was planned to end when the run began.
    seed, stream : int
        Seed, and stream number of the first chain.
    chains : int or None
        None: one chain, whose result is a Trace.
    thin, audit_every, checkpoint_sweeps, checkpoint_seconds
        As given to `Scheduler.run`.
    exact : bool
        Whether all moves are exact.
    samples : dict or None
        ``after`` and ``every`` of `Samples`; None if none are kept, or in folders of earlier versions.
    record : dict
        Key -> name of the function; None for a function that can't be found by name.
    """

    target: int
    seed: int
    stream: int
    chains: int | None
    thin: int
    audit_every: int | None
    checkpoint_sweeps: int | None
    checkpoint_seconds: float | None
    exact: bool
    record: dict[str, str | None]
    samples: dict[str, int] | None = None


@attrs.frozen
class Start:
    """How chains begin: with ``init``, or (``frozen``) from the state of the franchise."""

    init: Any
    frozen: dict[str, Any] | None = None


class RunFolder:
    """A run folder with a run.json.

    Parameters
    ----------
    path : Path
    content : dict
        Content of run.json.
    """

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.path = path
        self._content = content
        with reading(path / RUN):
            self.id = bytes.fromhex(content["run"])
            self.settings = Settings(**content["settings"])
            self.versions = dict(content["versions"])
            self.files: dict[str, str | None] = dict(content["files"])
            self.data_digest = str(self.files[DATA])
            if len(self.id) != 16:
                raise ValueError("run")
            _check_settings(self.settings)
            for name, kind in (("franchise", dict), ("moves", list), ("init", dict)):
                if not isinstance(content[name], kind):
                    raise ValueError(f"{name} = {short_repr(content[name])}")
            for name, checksum in self.files.items():
                if name not in _KINDS or not isinstance(checksum, str | None):
                    raise ValueError(f"files: {short_repr(name)}")

    # ------------------------------------------------------------------ making one

    @classmethod
    def create(
        cls, path: Path, franchise: Franchise, moves: Any, start: Any, settings: Settings
    ) -> tuple[Self, filelock.BaseFileLock]:
        """Create a run folder; returns it with its lock, which is held. run.json is written last.

        Raises
        ------
        RunError
            If the folder already contains a run, or something can't be saved (before anything is written).
        StorageError, LockedRunError
        """
        try:
            described = {
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
        init_inline, init_packed = described_start(franchise, start)
        to_json(described, path="declaration")
        own = {DATA: seal(DATA_MAGIC, pack_data(franchise.data))}
        if init_packed is not None:
            own[INIT] = seal(_KINDS[INIT], init_packed)  # type: ignore[arg-type]
        _refuse_run(path)
        with refusals(path, "make a folder"):
            path.mkdir(parents=True, exist_ok=True)
            _refuse_strangers(path)
        lock = take_lock(path / "lock", 0.0)
        try:
            _refuse_run(path)
            run = os.urandom(16).hex()
            files: dict[str, str | None] = {}
            for name, sealed in own.items():
                write_whole(path / name, sealed)
                files[name] = sealed[-32:].hex()
            for name in set(_KINDS).difference((DATA, INIT)):
                if os.path.lexists(path / name):
                    files[name] = _read(path / name, name)[1]
            if MODEL_FILE in files:  # it is written again later, and tells by this id which run it is of
                files[MODEL_FILE] = None
                run = str(unpack(_read(path / MODEL_FILE, MODEL_FILE)[0], MODEL_FILE)["run"])
            content = {
                "run": run,
                "versions": versions(),
                "files": dict(sorted(files.items())),
                "data": {"kind": type(franchise.data).__name__, "customers": len(franchise.data)},
                "init": {"value": init_inline},
                **described,
                "settings": attrs.asdict(
                    settings, filter=lambda field, value: field.name != "samples" or value is not None
                ),
            }
            write_whole(path / RUN, text_of(_FORMAT, to_json(content)))
        except BaseException:
            lock.release()
            raise
        return cls(path, content), lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read run.json.

        Raises
        ------
        RunError
            If there is no run in the folder.
        CorruptRunError, RunVersionError
        """
        file = path / RUN
        if not os.path.lexists(file) and os.path.lexists(path / SHARDED_RUN):
            raise RunError(
                "folder", str(path), "a run that isn't over shards",
                "Topics, shares and scores of this one: from hdpkit.evaluation import ShardedState; "
                "ShardedState.open(folder, restaurant, corpus). To go on with it, repeat what began it: "
                "hdpkit.shards.run(..., folder=folder), or hdpkit fit --shards CORPUS --out FOLDER with the "
                "same options. hdpkit verify FOLDER checks its files.",
            )  # fmt: skip
        if not os.path.lexists(file):
            raise RunError(
                "folder", str(path), "a folder with a run.json",
                "Begin one: hdpkit fit, or run(..., folder=...).",
            )  # fmt: skip
        node, _ = read_text(file, _FORMAT)
        with reading(file):
            content = from_json(node)
        return cls(path, content)

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

    def has(self, name: str) -> bool:
        """Whether a file that is written before run.json belongs to the run.

        Raises a CorruptRunError if it belongs to it and is missing, or is there and doesn't.
        """
        there = os.path.lexists(self.path / name)
        if there != (name in self.files):
            raise CorruptRunError(
                str(self.path / name), "there" if there else "missing",
                "in the folder as when the run began, with all its files and no others",
                "Remove it: it is of another run." if there else "Restore a copy of it.",
            )  # fmt: skip
        return there

    def read(self, name: str) -> Any:
        """Content of a file that is written before run.json: of a sealed file the payload; None if not there.

        Raises
        ------
        CorruptRunError, RunVersionError
            If it is damaged, missing, or not the file of this run.
        """
        if not self.has(name):
            return None
        content, checksum = _read(self.path / name, name)
        listed = self.files[name]
        if listed is not None and checksum != listed:
            raise CorruptRunError(
                str(self.path / name), f"checksum {checksum[:12]}...",
                f"the file of this run, checksum {listed[:12]}...", "Restore the file of this run.",
            )  # fmt: skip
        return content

    def others(self) -> list[str]:
        """Names of the files besides the data that are written before run.json: the run's, and strangers."""
        there = {name for name in _KINDS if os.path.lexists(self.path / name)}
        return sorted(there.union(self.files).difference((DATA,)))

    def data(self) -> GroupedData:
        """The data."""
        return unpack_data(self.read(DATA), self.path / DATA)

    def start(self) -> Start:
        """How the chains begin."""
        payload = self.read(INIT)
        if payload is None:
            return Start(rebuild(self._content["init"].get("value"), Leave(), "start"))
        path = self.path / INIT
        tree = unpack(payload, str(path))
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

    def franchise(self, leave: Leave, data: GroupedData | None = None) -> Franchise:
        """The declared franchise over the data, without seated customers."""
        part, more = self._part("franchise"), dict[str, Any]()
        data = self.data() if data is None else data
        with reading(self.path / RUN):
            if part["measure"] is not None:
                more["measure"] = rebuild(part["measure"], leave, "base measure")
            restaurant = rebuild(part["restaurant"], leave, "restaurant")
            store = rebuild(part["store"], leave, "store")
            components = {
                name: rebuild(component, leave, "component")
                for name, component in dict(part["components"]).items()
            }
            kernel = part["kernel"]
            more["root"] = rebuild(part.get("root", "restaurant"), leave, "root")
            if "known" in part:
                more["known"] = rebuild(part["known"], leave, "known components")
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

    def moves(self, leave: Leave) -> list[Any]:
        """The moves, in the order of the schedule."""
        with reading(self.path / RUN):
            return [rebuild(move, leave, "move") for move in self._part("moves")]

    def _part(self, name: str) -> Any:
        with reading(self.path / RUN):
            return self._content[name]


def _check_settings(settings: Settings) -> None:
    """Raise a ParameterError, which is a ValueError, unless the settings are valid."""
    for name, low, high in (
        ("target", 0, LARGEST),
        ("stream", 0, 2**32 - 1),
        ("thin", 1, LARGEST),
        ("chains", 1, MOST_CHAINS),
        ("audit_every", 1, LARGEST),
        ("checkpoint_sweeps", 1, LARGEST),
    ):
        value = getattr(settings, name)
        if value is not None or name in ("target", "stream", "thin"):
            whole_number(name, value, low, high)
    seed_number("seed", settings.seed)
    if settings.checkpoint_seconds is not None:
        positive_number("checkpoint_seconds", settings.checkpoint_seconds)
    flag("exact", settings.exact)
    if settings.samples is not None:
        Samples(**settings.samples)
    names = settings.record
    if not isinstance(names, dict) or not all(
        name is None or isinstance(name, str) for name in names.values()
    ):
        raise ValueError(f"record = {short_repr(names)}")


def _read(path: Path, name: str) -> tuple[Any, str]:
    """Content and checksum of a file that is written before run.json."""
    kind = _KINDS[name]
    return read_text(path, kind) if isinstance(kind, str) else read_sealed(path, kind)


@contextmanager
def kept(folder: Path, name: str, content: Any) -> Iterator[None]:
    """Keep a file in the folder of a run that begins inside the block; remove it if no run began.

    Parameters
    ----------
    folder : Path
    name : str
        One of `BESIDE`.
    content : object
        JSON-compatible data, or the payload of a sealed file.

    Raises
    ------
    RunError
        If a run can't begin in the folder; StorageError if the file can't be written.
    """
    check_free(folder)
    existed, kind = folder.exists(), _KINDS[name]
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / name, text_of(kind, content) if isinstance(kind, str) else seal(kind, content))
    try:
        yield
    finally:
        if not os.path.lexists(folder / RUN):
            with suppress(OSError):
                (folder / name).unlink()
                if not existed:
                    folder.rmdir()


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
    left = {"lock", "data.bin", "init.bin", "run.json"} if "lock" in found else set()
    others = found - left - set(BESIDE)
    if others:
        raise RunError(
            "folder", str(path), f"empty or new; it holds {sorted(others)[:3]}",
            "Choose another folder.",
        )  # fmt: skip
    for name in found:
        refuse_others(path / name, folder=name == MODEL)


def versions() -> dict[str, str]:
    """Versions of everything on which the bits of a chain may depend."""
    return {
        "hdpkit": str(getattr(sys.modules["hdpkit"], "__version__", "?")),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
