"""Planted bugs: mistakes in Python code (`readable`, see `planted`) and in fused sweeps (`fused_faults`).

Files have, of each mistake, a line ``# name``, a line ``check that detects it, file: what is wrong``
and the difference: lines that stay (after a space), that go (-) and that come (+); the first two kinds are a
text that occurs once in the file. ``in file`` begins a further patch. In fused sweeps FAULT is true while
the mistake is planted (`planting`); patches of a file are applied one after the other.
"""

from __future__ import annotations

from pathlib import Path

import attrs
from planted import PlantedBug

FAULTS_IN = Path(__file__).with_name("fused_faults")


@attrs.frozen
class Patch:
    """A replacement of text that occurs once in a file."""

    file: str
    old: str
    new: str


@attrs.frozen
class PlantedFault:
    """A mistake in a fused sweep, with the check that fails while it is planted."""

    name: str
    caught_by: str
    what: str
    patches: tuple[Patch, ...]


def _read(path: Path) -> tuple[PlantedFault, ...]:
    text = path.read_text(encoding="utf-8")
    return tuple(_fault(part) for part in text.removeprefix("# ").removesuffix("\n").split("\n\n# "))


def _fault(text: str) -> PlantedFault:
    name, told, *lines = text.split("\n")
    where, what = told.split(": ", 1)
    caught_by, file = where.split(", ")
    patches = [(file, [])]
    for line in lines:
        if line.startswith("in "):
            patches.append((line.removeprefix("in "), []))
        else:
            patches[-1][1].append(line)
    return PlantedFault(name, caught_by, what, tuple(_patch(*patch) for patch in patches))


def _patch(file: str, lines: list[str]) -> Patch:
    old, new = ("\n".join(line[1:] for line in lines if line[:1] != other) for other in "+-")
    return Patch(file, old, new)


BUGS = tuple(
    PlantedBug(mistake.name, mistake.what, patch.file, patch.old, patch.new, mistake.caught_by)
    for path in sorted(Path(__file__).with_name("readable").glob("*.txt"))
    for mistake in _read(path)
    for patch in mistake.patches
)

FAULTS = _read(FAULTS_IN / "topics.txt")
BLOCK_FAULTS = _read(FAULTS_IN / "blocks.txt")
OBSERVED_FAULTS = _read(FAULTS_IN / "observed.txt")
DOCUMENT_FAULTS = _read(FAULTS_IN / "documents.txt")
CELL_FAULTS = _read(FAULTS_IN / "cells.txt")
LEVEL_FAULTS = _read(FAULTS_IN / "levels.txt")
BURST_FAULTS = _read(FAULTS_IN / "bursts.txt")
BURSTY_DOCUMENT_FAULTS = _read(FAULTS_IN / "bursty_documents.txt")
STATE_FAULTS = _read(FAULTS_IN / "states.txt")
ALL_FAULTS = (
    *FAULTS, *BLOCK_FAULTS, *OBSERVED_FAULTS, *DOCUMENT_FAULTS, *CELL_FAULTS, *LEVEL_FAULTS, *BURST_FAULTS,
    *BURSTY_DOCUMENT_FAULTS, *STATE_FAULTS,
)  # fmt: skip
