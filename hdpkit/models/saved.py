"""Files of a language model in the subfolder ``model`` of its run folder: settings, plan and samples.

Samples are separate files, written after their sweep: in the checkpoint they would be written again every
time. If some are missing after a kill, they are taken again from the checkpoint.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import filelock
import numpy as np
import numpy.typing as npt

from hdpkit.errors import RunError
from hdpkit.franchise import Franchise, Snapshot
from hdpkit.record.describe import Allowed, describe, rebuild
from hdpkit.record.files import pack, read_sealed, reading, refusals, refuse_others, seal, unpack, write_whole
from hdpkit.record.run_folder import MODEL, MODEL_FILE, MODEL_MAGIC, RunFolder, check_free, take_lock

__all__ = ["ModelFolder"]

_SAMPLE_MAGIC = b"hdpSAMPL"
_KIND = "ngram"
_PLACES = {
    "base": "base measure",
    "store": "store",
    "concentrations": "hyperparameter",
    "discounts": "hyperparameter",
}


class ModelFolder:
    """The files of a language model in a run folder.

    Parameters
    ----------
    run : Path
        The run folder.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._path = run / MODEL
        self._model = run / MODEL_FILE
        self._id = ""  # of the run
        self._lock: filelock.BaseFileLock | None = None

    # ------------------------------------------------------------------ one writer

    def make(self) -> Self:
        """Make the folder for a new run."""
        check_free(self.run)
        with refusals(self._path, "make a folder"):
            self._path.mkdir(parents=True, exist_ok=True)
        self._check_own()
        with self:
            check_free(self.run)  # no other process was faster
        self._id = os.urandom(16).hex()
        return self

    def _check_own(self) -> None:
        """Raise a RunError if the folder is a link, which could point outside of the run folder."""
        refuse_others(self._path, folder=True)

    def __enter__(self) -> Self:
        """Take the lock, or raise a LockedRunError immediately."""
        self._check_own()
        self._lock = take_lock(self._path / "lock", 0.0)
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    # ------------------------------------------------------------------ settings and plan

    def write(self, settings: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
        """Write the declaration of the model, and the plan of its samples."""
        self._check_own()
        tree = {
            "run": self._id,
            "kind": _KIND,
            "settings": {name: describe(value, name) for name, value in settings.items()},
            "plan": dict(plan),
        }
        write_whole(self._model, seal(MODEL_MAGIC, pack(tree, "model")))

    def read(self, allow: Iterable[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings and plan."""
        self._check_own()
        files = RunFolder.open(self.run)
        payload = files.read(MODEL_FILE)
        if payload is None:
            raise RunError(
                "folder", str(self.run), "the run folder of an NGramModel",
                "hk.open_run opens runs that were begun by a Scheduler.",
            )  # fmt: skip
        tree = unpack(payload, str(self._model))
        allowed_imports = Allowed(allow)
        with self.reading():
            if tree["kind"] != _KIND or tree["run"] != files.id.hex():
                raise ValueError(f"kind {tree['kind']!r}, or of another run")
            self._id = files.id.hex()
            settings = {
                str(name): rebuild(value, allowed_imports, _PLACES.get(name, "number"))
                for name, value in tree["settings"].items()
            }
            return settings, dict(tree["plan"])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors caused by a changed or damaged tree into a CorruptRunError."""
        with reading(self._model):
            yield

    # ------------------------------------------------------------------ samples

    def _sample(self, sweep: int) -> Path:
        return self._path / f"sample-{sweep:08d}"

    def sweeps(self) -> list[int]:
        """Sweeps for which there are samples, ascending."""
        self._check_own()
        if not self._path.is_dir():
            return []
        names = [entry.name.removeprefix("sample-") for entry in self._path.glob("sample-*")]
        return sorted(int(name) for name in names if name.isdecimal())

    def write_sample(self, sweep: int, sample: Snapshot, franchise: Franchise) -> None:
        """Write a sample of the run."""
        self._check_own()
        tree = {"run": RunFolder.open(self.run).id.hex(), "sweep": sweep, **_packed(sample, franchise)}
        write_whole(self._sample(sweep), seal(_SAMPLE_MAGIC, pack(tree, "sample")))

    def read_sample(self, sweep: int, franchise: Franchise) -> Snapshot:
        """Read a sample, for a franchise with the same restaurants."""
        self._check_own()
        path = self._sample(sweep)
        payload, _ = read_sealed(path, _SAMPLE_MAGIC)
        tree = unpack(payload, str(path))
        run = RunFolder.open(self.run).id.hex()
        with reading(path):
            if tree["run"] != run or tree["sweep"] != sweep:
                raise ValueError("of another run")
            return Snapshot(franchise, _unpacked(tree, franchise))

    def remove(self, sweeps: Iterable[int]) -> None:
        """Remove samples."""
        self._check_own()
        for sweep in sweeps:
            with refusals(self._sample(sweep), "remove a file"), contextlib.suppress(FileNotFoundError):
                os.unlink(self._sample(sweep))


def _packed(sample: Snapshot, franchise: Franchise) -> dict[str, Any]:
    """A sample as arrays: dishes by restaurant, and hyperparameters, by level if they are shared."""
    arrays, topology = sample.arrays(), franchise.topology
    tree: dict[str, Any] = {
        "n_dishes": _small(np.bincount(arrays["node"], minlength=topology.n_nodes)),
        "dish": _small(arrays["dish"]),
        "customers": _small(arrays["customers"]),
        "tables": _small(arrays["tables"]),
    }
    _, first, level = np.unique(topology.level, return_index=True, return_inverse=True)
    for name in ("concentration", "discount"):
        shared = arrays[name][first]
        tree[name] = shared if np.array_equal(shared[level], arrays[name]) else arrays[name]
    return tree


def _small(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _unpacked(tree: Mapping[str, Any], franchise: Franchise) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a snapshot, checked, since compiled code doesn't check indices."""
    topology, n_slots = franchise.topology, len(franchise.slots)
    counts = {
        name: np.asarray(tree[name], dtype=np.int64) for name in ("n_dishes", "dish", "customers", "tables")
    }
    served, dish, customers, tables = counts.values()
    n = len(dish)
    _check(served.shape == (topology.n_nodes,) and int(served.min(initial=0)) >= 0 and served.sum() == n)
    _check(dish.shape == customers.shape == tables.shape == (n,))
    node = np.repeat(np.arange(topology.n_nodes), served)
    _check(bool(np.all((dish >= 0) & (dish < n_slots)) and np.all(np.diff(node * n_slots + dish) > 0)))
    _check(bool(np.all((tables >= 1) & (tables <= customers) & (customers < 2**31))))
    theta, d = (_by_node(tree[name], topology.level) for name in ("concentration", "discount"))
    _check(bool(np.all((d >= 0.0) & (d < 1.0) & np.isfinite(theta) & (theta > -d))))
    return {
        "node": node.astype(np.int32),
        "dish": dish.astype(np.int32),
        "customers": customers.astype(np.int32),
        "tables": tables.astype(np.int32),
        "concentration": theta,
        "discount": d,
    }


def _by_node(given: Any, levels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    values = np.asarray(given, dtype=np.float64)
    present, level = np.unique(levels, return_inverse=True)
    _check(values.shape in ((len(levels),), (len(present),)))
    return values if len(values) == len(levels) else values[level]


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("counts that don't fit the run's data")
