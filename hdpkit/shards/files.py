"""Checkpoints of a run over shards: a folder with one file per shard, and a file about the checkpoint.

``run.bin`` contains the sweep, the state common to all parts after it, the numbers so far, and the checksum
of the file of each shard in the folder ``sweep-<number>``. It is written last, under another name, and
renamed, so that a complete one exists at any time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import numbers_between, positive_number, whole_number, whole_numbers
from hdpkit.data import Corpus
from hdpkit.errors import CorruptRunError, RunError, ShardError, StorageError
from hdpkit.formats.writing import write_aside
from hdpkit.franchise.weights import NAME as ROOT_WEIGHTS
from hdpkit.record.encode import pack, unpack
from hdpkit.record.files import read_sealed, reading, refuse_others, seal
from hdpkit.record.run_folder import SHARDED_RUN
from hdpkit.shards.source import Info
from hdpkit.shards.starts import checked_seating

__all__ = [
    "FromFolder",
    "read_run",
    "remove_others",
    "state_folder",
    "write_counts",
    "write_run",
    "write_shard",
]

Ints = npt.NDArray[np.int32]

RUN, SHARD = b"HDPKSRUN", b"HDPKSHRD"

_SLOTS_PER_DISH = 1_000_000


def state_folder(folder: Path, sweep: int) -> Path:
    """Folder of the shards' states after a sweep."""
    return folder / f"sweep-{sweep:08d}"


def shard_file(folder: Path, number: int) -> Path:
    """File of the state of a shard."""
    return folder / f"shard-{number:04d}.bin"


@contextmanager
def _storing(what: str, path: Path) -> Iterator[None]:
    """Make the folder of a file; if writing fails, raise a StorageError that names the file's content."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError.of(
            error, what, str(path), "at a place where it can be written",
            "Make it possible and run again: the run goes on from its last checkpoint.",
        ) from error  # fmt: skip


def write_shard(folder: str, number: int, seating: Mapping[str, Ints]) -> str:
    """Write the state of a shard; returns its checksum (hex). A StorageError names the shard."""
    path = shard_file(Path(folder), number)
    narrow = {name: _narrow(column) for name, column in seating.items()}
    data = seal(SHARD, pack({"shard": number, "seating": narrow}))
    _write(f"shard {number}", path, data)
    return data[-32:].hex()


def _write(what: str, path: Path, data: bytes) -> None:
    refuse_others(path)
    with _storing(what, path), write_aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(data)


def write_counts(folder: str, number: int, columns: dict[str, Any]) -> None:
    """Write columns of a shard's documents as a file of `numpy.savez`."""
    path = Path(folder) / f"shard-{number:04d}.npz"
    with _storing(f"shard {number}", path), write_aside(path, path.with_name(path.name + ".tmp")) as file:
        np.savez(file, **columns)


def _narrow(column: Ints) -> npt.NDArray[Any]:
    """The same numbers in two bytes each, if possible."""
    return column.astype(np.uint16) if column.max(initial=0) < 1 << 16 else column


def write_run(folder: Path, settings: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Make a checkpoint the current one."""
    _write(
        SHARDED_RUN, folder / SHARDED_RUN, seal(RUN, pack({"settings": dict(settings), "state": dict(state)}))
    )


def read_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Settings and state of the current checkpoint; None if there is none.

    Raises a CorruptRunError if the file is damaged.
    """
    path = folder / SHARDED_RUN
    if not os.path.lexists(path):
        return None
    payload, _ = read_sealed(path, RUN)
    tree = unpack(payload, str(path))
    with reading(path):
        settings, state = dict(tree["settings"]), dict(tree["state"])
        common = state["common"]
        for mapping in (common, state["digests"], common["measure"], common["components"]):
            if not isinstance(mapping, dict):
                raise TypeError(type(mapping).__name__)
        _check_common(common)
        if settings.get("root") == repr("weights") and ROOT_WEIGHTS not in common["components"]:
            raise ValueError("no weights of the root")
        if not all(isinstance(digest, str) for digest in state["digests"].values()):
            raise ValueError("other checksums")
        numbers = list(state["rows"])
        if not all(isinstance(row, dict) and row.keys() == numbers[0].keys() for row in numbers):
            raise ValueError("other numbers of sweeps")
        for key in numbers[0] if numbers else ():
            if np.array([row[key] for row in numbers]).dtype.kind not in "iuf":
                raise TypeError(f"{key}: not numbers")
        return settings, state


def _check_common(common: Mapping[str, Any]) -> None:
    """Raise an error unless this can be a state common to all parts; franchises check its other numbers."""
    whole_number("sweep", common["sweep"])
    remedy = "Restore a copy of it."
    slots = whole_numbers("slots", common["slots"], 0, 2**31 - 2, remedy=remedy)
    births = whole_number("births", common["births"])
    ids = whole_numbers("dish_ids", common["dish_ids"], 0, births - 1, length=len(slots), remedy=remedy)
    if not len(slots) or np.any(np.diff(slots) <= 0) or len(np.unique(ids)) < len(ids):
        raise ValueError("dishes twice, or none")
    if slots[-1] > _SLOTS_PER_DISH * len(slots):  # tables by slot would need any amount of memory
        raise ValueError("slots without dishes")
    of_root, of_documents = common["concentration"]
    for value in (of_root, of_documents, *common["measure"].values()):
        positive_number("hyperparameter", value)
    weights = common["components"].get(ROOT_WEIGHTS)
    if weights is not None:
        kept = numbers_between("weights", weights["weights"], 0.0, 1.0, remedy=remedy)
        if kept.shape != (len(slots) + 1,) or abs(kept.sum() - 1.0) > 1e-6:
            raise ValueError("other weights")


def remove_others(folder: Path, sweep: int) -> None:
    """Remove states of all other sweeps, which the current checkpoint doesn't need."""
    for other in folder.glob("sweep-*"):
        if other != state_folder(folder, sweep):
            shutil.rmtree(other, ignore_errors=True)


@attrs.frozen(eq=False)
class FromFolder:
    """A start from a checkpoint: each part reads the states of its own shards.

    Parameters
    ----------
    folder : str
        Folder of the shards' states.
    state : dict
        The state common to all parts.
    digests : dict
        Checksum of each shard's file, by its number as text.
    """

    folder: str
    state: dict[str, Any]
    digests: dict[str, str]

    def common(self) -> dict[str, Any]:
        """The state common to all parts."""
        return self.state

    def seating(self, number: int, info: Info, corpus: Corpus) -> dict[str, Ints]:
        """Read the state of a shard; raises a ShardError that names it if the file is missing or differs."""
        return checked_seating(number, self.read(number), corpus, self.state["slots"])

    def read(self, number: int) -> dict[str, Any]:
        """The seating in the file of a shard, if it is that of the checkpoint; errors as in `seating`."""
        path = shard_file(Path(self.folder), number)
        try:
            refuse_others(path.parent, folder=True)
            payload, digest = read_sealed(path, SHARD)
            wanted = self.digests.get(str(number))
            if digest != wanted:
                raise CorruptRunError(
                    str(path), digest, f"the file of the checkpoint, {wanted}", "Restore a copy of it."
                )
            tree = unpack(payload, str(path))
            with reading(path):
                return dict(tree["seating"])
        except RunError as error:
            raise ShardError.of(number, error.parameter, error.value, error.allowed, error.remedy) from error
