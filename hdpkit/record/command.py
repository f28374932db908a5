"""The command line that began a run, in its folder: ``command.json``."""

from __future__ import annotations

from pathlib import Path

from hdpkit.record.files import reading
from hdpkit.record.run_folder import COMMAND, RunFolder

__all__ = ["load_command"]


def load_command(folder: Path) -> tuple[str, ...] | None:
    """Arguments of the command that began the run of a folder; None if it wasn't a command."""
    content = RunFolder.open(folder).read(COMMAND)
    with reading(folder / COMMAND):
        if not isinstance(content, list | None) or not all(isinstance(one, str) for one in content or ()):
            raise TypeError("not a list of strings")
    return None if content is None else tuple(content)
