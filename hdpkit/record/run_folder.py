"""The folder of a run: its declarations, data and start, and a folder for each chain."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import attrs
import filelock
import numpy as np

from hdpkit.checks import flag, positive_number, whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import CorruptRunError, HdpkitError, RunError, RunVersionError, short_repr
from hdpkit.franchise import Franchise
from hdpkit.record.chain_folder import ChainFolder, take_lock
from hdpkit.record.data_file import pack_data, read_data, write_data
from hdpkit.record.describe import describe
from hdpkit.record.encode import from_json, pack, to_json, unpack
from hdpkit.record.files import (
    FORMAT_VERSION,
    read_bytes,
    read_sealed,
    refusals,
    refuse_others,
    seal,
    write_whole,
)
from hdpkit.record.leave import Leave
from hdpkit.record.rebuild import rebuild
from hdpkit.record.samples import Samples

__all__ = [
    "COMMAND",
    "MODEL",
    "MOST_CHAINS",
    "READING",
    "SIGNATURES",
    "RunFolder",
    "Settings",
    "Start",
    "check_free",
    "versions",
]

MODEL = "model"
"""Subfolder for a model's own files in the folder of its run, made before the run begins."""

READING = "reading.json"
COMMAND = "command.json"
"""How the corpus was read (`hdpkit.io.reading`), written before the run begins."""

SIGNATURES = "signatures.json"
"""How signatures are extracted from the run (`hdpkit.signatures.settings`), written before it begins."""

MOST_CHAINS = 10_000
_INIT_MAGIC = b"hdp-INIT"
_FORMAT = "hdpkit run"


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
        try:
            self.id = bytes.fromhex(content["run"])
            self.settings = Settings(**content["settings"])
            self.versions = dict(content["versions"])
            self.data_digest = str(content["data"]["digest"])
            self._init_digest = content["init"]["digest"]
            if len(self.id) != 16:
                raise ValueError("run")
            _check_settings(self.settings)
            for name, kind in (("franchise", dict), ("moves", list), ("init", dict)):
                if not isinstance(content[name], kind):
                    raise ValueError(f"{name} = {short_repr(content[name])}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(path / "run.json", error) from error

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
                "franchise": _described_franchise(franchise),
                "moves": [describe(move, f"moves[{i}]") for i, move in enumerate(moves)],
            }
        except RecursionError as error:
            raise RunError(
                "moves",
                moves,
                "without circular references",
                "An object that contains itself can't be saved.",
            ) from error
        init_inline, init_packed = _described_start(franchise, start)
        to_json(described, path="declaration")
        data = pack_data(franchise.data)
        _refuse_run(path)
        with refusals(path, "make a folder"):
            path.mkdir(parents=True, exist_ok=True)
            _refuse_strangers(path)
        lock = take_lock(path / "lock", 0.0)
        try:
            _refuse_run(path)
            content = {
                "run": os.urandom(16).hex(),
                "versions": versions(),
                "data": {
                    "file": "data.bin",
                    "digest": write_data(path / "data.bin", data),
                    "kind": type(franchise.data).__name__,
                    "customers": len(franchise.data),
                },
                "init": {"value": init_inline, "digest": None},
                **described,
                "settings": attrs.asdict(
                    settings, filter=lambda field, value: field.name != "samples" or value is not None
                ),
            }
            if init_packed is not None:
                sealed = seal(_INIT_MAGIC, init_packed)
                write_whole(path / "init.bin", sealed)
                content["init"] = {"value": None, "digest": sealed[-32:].hex()}
            node = to_json(content)
            text = {"format": _FORMAT, "version": FORMAT_VERSION, "sha256": _sha256(node), "content": node}
            write_whole(path / "run.json", (json.dumps(text, indent=1) + "\n").encode())
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
        file = path / "run.json"
        if not os.path.lexists(file):
            raise RunError(
                "folder", str(path), "a folder with a run.json", "Begin one: run(..., folder=...)."
            )
        try:
            text = json.loads(read_bytes(file))
            if text["format"] != _FORMAT:
                raise ValueError(f"format {text['format']!r}")
            if type(text["version"]) is not int or text["version"] != FORMAT_VERSION:
                raise RunVersionError(
                    str(file), text["version"], f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it."
                )
            if text["sha256"] != _sha256(text["content"]):
                raise ValueError("a wrong checksum")
            content = from_json(text["content"])
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            if isinstance(error, HdpkitError):
                raise
            raise _damaged(file, error) from error
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

    def data(self) -> GroupedData:
        """The data."""
        return read_data(self.path / "data.bin", self.data_digest)

    def start(self) -> Start:
        """How the chains begin."""
        if self._init_digest is None:
            return Start(rebuild(self._content["init"]["value"], Leave(), "start"))
        path = self.path / "init.bin"
        payload, digest = read_sealed(path, _INIT_MAGIC)
        tree = unpack(payload, str(path))
        if digest != self._init_digest or not isinstance(tree, dict) or "kind" not in tree:
            raise CorruptRunError(
                str(path), digest[:12], "the start of this run", "Restore the file of this run."
            )
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
        try:
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
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, HdpkitError):
                raise
            raise _damaged(self.path / "run.json", error) from error
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
        return [rebuild(move, leave, "move") for move in self._part("moves")]

    def _part(self, name: str) -> Any:
        try:
            return self._content[name]
        except KeyError as error:
            raise _damaged(self.path / "run.json", error) from error


def _check_settings(settings: Settings) -> None:
    """Raise a ParameterError, which is a ValueError, unless the settings are valid."""
    for name, low, high in (
        ("target", 0, 2**62),
        ("seed", 0, None),
        ("stream", 0, 2**32 - 1),
        ("chains", 1, MOST_CHAINS),
        ("thin", 1, None),
        ("audit_every", 1, None),
        ("checkpoint_sweeps", 1, None),
    ):
        value = getattr(settings, name)
        if value is not None or name in ("target", "seed", "stream", "thin"):
            whole_number(name, value, low, high)
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


def _described_franchise(franchise: Franchise) -> dict[str, Any]:
    declared = franchise.restaurant_declared.measure.for_data(franchise.data)
    there = franchise.measure
    return {
        "restaurant": describe(franchise.restaurant_declared, "restaurant"),
        "measure": None if _same(declared, there) else describe(there, "measure"),
        "store": describe(franchise.store_type, "store"),
        "kernel": franchise.forced_kernel,
        # Folders of earlier versions have none: the root was a restaurant.
        **(
            {}
            if franchise.root.declared == "restaurant"
            else {"root": describe(franchise.root.declared, "root")}
        ),
        **({} if franchise.known is None else {"known": describe(franchise.known, "known")}),
        "components": {
            name: describe(component, f"components[{name!r}]")
            for name, component in franchise.components.items()
        },
    }


def _same(declared: Any, there: Any) -> bool:
    """Whether a franchise's measure equals the declared one, apart from current values of parameters."""
    try:
        one, other = describe(declared, "measure"), describe(there, "measure")
    except RunError:
        return type(declared) is type(there)  # the measure prepared for the data need not be describable
    for name in getattr(there, "parameters", {}):
        one["arguments"].pop(name, None)
        other["arguments"].pop(name, None)
    return json.dumps(to_json(one)) == json.dumps(to_json(other))


def _described_start(franchise: Franchise, init: Any) -> tuple[Any, bytes | None]:
    """The description of the start for run.json, or the bytes for init.bin."""
    if init is None:
        return None, pack({"kind": "stand", "value": franchise.freeze()}, "state of the franchise")
    if isinstance(init, Mapping):
        return None, pack({"kind": "state", "value": dict(init)}, "init")
    if isinstance(init, Franchise):
        return None, pack({"kind": "state", "value": init.freeze()}, "init")
    if isinstance(init, str) or (attrs.has(type(init)) and not hasattr(init, "__array__")):
        return describe(init, "init"), None
    return None, pack({"kind": "dishes", "value": np.asarray(init)}, "init")


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
    others = found - left - {COMMAND, MODEL, READING, SIGNATURES}
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


def _sha256(node: Any) -> str:
    return hashlib.sha256(json.dumps(node, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _damaged(path: Path, error: BaseException) -> CorruptRunError:
    return CorruptRunError(
        str(path), f"{type(error).__name__}: {error}", "what hdpkit wrote",
        "The file was damaged or changed; restore a copy of it.",
    )  # fmt: skip
