"""The command line that began a run, in its folder: ``command.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hdpkit.errors import CorruptRunError, RunVersionError
from hdpkit.record.files import read_bytes, refusals, write_whole
from hdpkit.record.run_folder import COMMAND

__all__ = ["kept_command", "load_command"]

_FORMAT, _VERSION = "hdpkit command", 1


@contextmanager
def kept_command(folder: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Keep a command line in the folder of a run that begins inside the block; remove it if no run began.

    Parameters
    ----------
    folder : Path
    arguments : sequence of str
        The arguments after the name of the program.

    Raises
    ------
    StorageError
        If the file can't be written.
    """
    content = [str(argument) for argument in arguments]
    text = {"format": _FORMAT, "version": _VERSION, "sha256": _sha256(content), "content": content}
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / COMMAND, (json.dumps(text, indent=1) + "\n").encode())
    try:
        yield
    finally:
        if not (folder / "run.json").exists():
            with suppress(OSError):
                (folder / COMMAND).unlink()


def load_command(folder: Path) -> tuple[str, ...] | None:
    """Arguments of the command that began a run; None if it wasn't a command, or one of an older hdpkit.

    Parameters
    ----------
    folder : Path
        Folder of the run.

    Raises
    ------
    RunError
        CorruptRunError or RunVersionError if the file is damaged or from a newer hdpkit.
    """
    path = folder / COMMAND
    if not os.path.lexists(path):
        return None
    try:
        text = json.loads(read_bytes(path))
        if text["format"] != _FORMAT:
            raise ValueError(f"format {text['format']!r}")
        version, content = text["version"], text["content"]
        if type(version) is int and version > _VERSION:
            raise RunVersionError(str(path), version, f"version {_VERSION}", "Use the hdpkit that wrote it.")
        if text["sha256"] != _sha256(content) or not all(isinstance(one, str) for one in content):
            raise ValueError("a wrong checksum")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, RunVersionError):
            raise
        raise CorruptRunError(
            str(path), f"{type(error).__name__}: {error}", "unchanged since it was written",
            "The file was damaged or changed; restore a copy of it, or remove it.",
        ) from error  # fmt: skip
    return tuple(content)


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
