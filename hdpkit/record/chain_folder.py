"""The folder of one chain: its trace, and two generations of its state."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import filelock
import numpy as np

from hdpkit.checks import flag, seed_number, whole_number, whole_numbers
from hdpkit.errors import CorruptRunError, HdpkitError, LockedRunError
from hdpkit.franchise import Sample
from hdpkit.record.blocks import BlockReader, BlockWriter, Position
from hdpkit.record.columns import append_block, check_columns, pack_rows
from hdpkit.record.encode import pack, unpack
from hdpkit.record.files import read_sealed, reading, refusals, refuse_others, seal, write_whole
from hdpkit.record.sample_files import SampleFile, stored_sweeps
from hdpkit.record.trace import Trace

__all__ = ["ChainFolder", "ChainWriter", "Checkpointed", "holding", "locked_folder", "take_lock"]

_MAGIC = b"hdpSTATE"
GENERATIONS = ("state-0", "state-1")
SECONDS_BETWEEN_BLOCKS = 1.0
SECONDS_FOR_ORPHANS = 10.0  # a worker whose parent has died ends well within this time


@attrs.frozen
class Checkpointed:
    """A checkpoint.

    Attributes
    ----------
    serial : int
        Number of the checkpoint within the chain.
    generation : int
        Which of the two files contains it.
    sweep, target : int
        Current sweep of the chain, and the sweep at which it is to end.
    stopped : bool
        Whether a callback ended the run.
    position : Position
        Length and checksum of the trace at that moment.
    frozen : dict
        The state: see `Franchise.freeze`.
    seed, chain : int
        Seed and chain number of the streams.
    samples : tuple of int
        Sweeps of the samples that the run has taken.
    """

    serial: int
    generation: int
    sweep: int
    target: int
    stopped: bool
    position: Position
    frozen: dict[str, Any]
    seed: int
    chain: int
    samples: tuple[int, ...]


class ChainFolder:
    """The files of a chain on disk. Reading needs no lock, since the files are complete at any time.

    Parameters
    ----------
    path : Path
        For instance ``run/chain-000``.
    run : bytes
        The run's id, 16 bytes.
    chain : int
    """

    def __init__(self, path: Path, run: bytes, chain: int) -> None:
        self.path = path
        self.run = run
        self.chain = chain
        self.trace_path = path / "trace.bin"

    def load(self) -> tuple[Checkpointed | None, BlockReader | None]:
        """The newest intact checkpoint, with the trace; (None, None) before the first one.

        Raises
        ------
        CorruptRunError, RunVersionError
            If there are checkpoints, but none is intact together with the trace up to it.
        """
        self.check_own()
        found: list[Checkpointed] = []
        wrong: list[HdpkitError] = []
        for generation, name in enumerate(GENERATIONS):
            if os.path.lexists(self.path / name):
                try:
                    found.append(self.read(generation))
                except HdpkitError as error:
                    wrong.append(error)
        if not found and not wrong:
            self._check_empty()
            return None, None
        if not found:
            raise wrong[0]
        blocks = BlockReader(self.trace_path, self.run, self.chain)
        for state in sorted(found, key=lambda state: -state.serial):
            if state.position in blocks.ends:
                return state, blocks
        raise CorruptRunError(
            str(self.trace_path), f"{blocks.ends[-1].length} intact bytes",
            f"intact up to a checkpoint's end ({max(state.position.length for state in found)} bytes)",
            "Restore a copy of it, or delete the chain's folder to begin the chain again.",
        )  # fmt: skip

    def _check_empty(self) -> None:
        """Raise a CorruptRunError if there is more than a run leaves before its first checkpoint."""
        if os.path.lexists(self.trace_path):
            begun = bool(BlockReader(self.trace_path, self.run, self.chain).blocks)
        else:
            begun = bool(stored_sweeps(self.path))
        if begun:
            raise CorruptRunError(
                str(self.path / GENERATIONS[0]), "missing", "there, as the trace and samples are",
                "Restore a copy of it, or delete the chain's folder to begin the chain again.",
            )  # fmt: skip

    def check_own(self) -> None:
        """Raise a RunError if the folder, or one of its files, is a link or has another type."""
        refuse_others(self.path, folder=True)
        for name in (*GENERATIONS, self.trace_path.name):
            refuse_others(self.path / name)

    def trace(self, to: Position | None = None, blocks: BlockReader | None = None) -> Trace:
        """The trace on disk, up to a position or up to its last intact block."""
        trace = Trace()
        if blocks is not None:
            for payload, end in zip(blocks.blocks, blocks.ends[1:], strict=True):
                if to is not None and end.length > to.length:
                    break
                append_block(trace, payload, str(self.trace_path))
        return trace

    def sample(self, sweep: int) -> SampleFile:
        """The file of the sample of a sweep, which need not exist yet."""
        return SampleFile(self.path, self.run, self.chain, sweep)

    def samples(self, state: Checkpointed | None) -> list[SampleFile]:
        """The samples of a checkpoint whose files are there. Later ones are rewritten on resuming."""
        there = set(stored_sweeps(self.path))
        return [] if state is None else [self.sample(sweep) for sweep in state.samples if sweep in there]

    def read(self, generation: int) -> Checkpointed:
        """A generation of the state; a CorruptRunError or RunVersionError if it isn't intact."""
        path = self.path / GENERATIONS[generation]
        payload, _ = read_sealed(path, _MAGIC)
        tree = unpack(payload, str(path))
        with reading(path):
            if tree["run"] != self.run.hex() or tree["chain_folder"] != self.chain:
                raise ValueError("it is of another run or chain")
            for name in ("serial", "sweep", "target", "trace_length", "trace_crc", "chain"):
                whole_number(name, tree[name])
            flag("stopped", tree["stopped"])
            if not isinstance(tree["frozen"], dict) or tree["frozen"].get("sweep") != tree["sweep"]:
                raise ValueError("its state is of another sweep")
            samples = whole_numbers("samples", tree["samples"], 0, tree["sweep"], remedy="").tolist()
            if samples != sorted(set(samples)):
                raise ValueError("its samples are in another order")
            return Checkpointed(
                serial=tree["serial"],
                generation=generation,
                sweep=tree["sweep"],
                target=tree["target"],
                stopped=tree["stopped"],
                position=Position(tree["trace_length"], tree["trace_crc"]),
                frozen=tree["frozen"],
                seed=seed_number("seed", tree["seed"]),
                chain=tree["chain"],
                samples=tuple(samples),
            )


class ChainWriter:
    """Writes a chain's trace and checkpoints. It holds the chain's lock until it is closed.

    Parameters
    ----------
    folder : ChainFolder
    seed, chain : int
        Of the streams.
    target : int
        The sweep at which the run is to end.
    """

    def __init__(self, folder: ChainFolder, seed: int, chain: int, target: int) -> None:
        self.folder = folder
        self.target = target
        self._seed = seed
        self._chain = chain
        with refusals(folder.path, "make a folder"):
            folder.path.mkdir(exist_ok=True)
        folder.check_own()
        self._lock = take_lock(folder.path / "lock", SECONDS_FOR_ORPHANS)
        self._blocks: BlockWriter | None = None
        try:
            self.loaded, blocks = folder.load()
            at = None if self.loaded is None else self.loaded.position
            self.trace = folder.trace(at, blocks)
            for file in folder.samples(self.loaded):
                self.trace.keep(file)
            self._blocks = BlockWriter(folder.trace_path, folder.run, folder.chain, at)
        except BaseException:
            self.close()
            raise
        self._samples = set() if self.loaded is None else set(self.loaded.samples)
        self._serial = 0 if self.loaded is None else self.loaded.serial
        self._generation = 1 if self.loaded is None else self.loaded.generation
        self._rows = self.trace.n_draws
        self._records = len(self.trace.records())
        self._checked = False
        self._flushed = time.monotonic()

    def keep(self, sample: Sample) -> None:
        """Write a sample, and add its file to the trace."""
        file = self.folder.sample(sample.sweep)
        file.write(sample)
        self._samples.add(sample.sweep)
        self.trace.keep(file)

    def swept(self) -> None:
        """Called after a sweep was appended to `trace`: checks the first one, and writes blocks of sweeps."""
        if not self._checked and self.trace.n_draws > self._rows:
            check_columns(self.trace)
            self._checked = True
        if time.monotonic() - self._flushed >= SECONDS_BETWEEN_BLOCKS:
            self._flush()

    def checkpoint(self, frozen: Mapping[str, Any], stopped: bool = False) -> None:
        """Write the trace to disk durably, then the state of the franchise at its end."""
        assert self._blocks is not None
        refuse_others(self.folder.path, folder=True)
        self._flush()
        self._blocks.sync()
        serial, generation = self._serial + 1, 1 - self._generation
        tree = {
            "run": self.folder.run.hex(),
            "chain_folder": self.folder.chain,
            "serial": serial,
            "sweep": frozen["sweep"],
            "target": self.target,
            "stopped": stopped,
            "trace_length": self._blocks.position.length,
            "trace_crc": self._blocks.position.crc,
            "seed": self._seed,
            "chain": self._chain,
            "samples": np.array(sorted(self._samples), np.int64),
            "frozen": frozen,
        }
        write_whole(self.folder.path / GENERATIONS[generation], seal(_MAGIC, pack(tree, "state")))
        self._serial, self._generation = serial, generation

    def _flush(self) -> None:
        assert self._blocks is not None
        rows, records = self.trace.n_draws, len(self.trace.records())
        if rows > self._rows or records > self._records:
            self._blocks.append(pack_rows(self.trace, self._rows, self._records))
            self._rows, self._records = rows, records
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Close the files and release the lock, without writing anything."""
        if self._blocks is not None:
            self._blocks.close()
        self._lock.release()


_HELD: ContextVar[Mapping[Path, filelock.BaseFileLock]] = ContextVar("held", default=MappingProxyType({}))


def locked_folder(folder: Path) -> filelock.BaseFileLock:
    """Make a folder if it doesn't exist, and take its lock, or raise a LockedRunError immediately."""
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    return take_lock(folder / "lock", 0.0)


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; what takes it inside the block, in this thread, gets it too.

    For commands that write files before and after a run, which takes the lock itself.
    """
    new = not folder.exists()
    lock = locked_folder(folder)
    before = _HELD.set({**_HELD.get(), (folder / "lock").resolve(): lock})
    try:
        yield
    finally:
        _HELD.reset(before)
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
