"""Mistakes in the fused sweeps: patches of their sources, in the files of `fused_faults`.

Each fault has a line ``# name``, a line ``check that detects it: what is wrong``, and patches: ``--- file``,
the text that the fault changes, which occurs once in the file, ``+++``, and what takes its place. FAULT there
is true while the fault is planted (`planting`). Patches of a file are applied one after the other.
"""

from __future__ import annotations

from pathlib import Path

import attrs

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


def _read(group: str) -> tuple[PlantedFault, ...]:
    text = (FAULTS_IN / f"{group}.txt").read_text(encoding="utf-8")
    return tuple(_fault(part) for part in text.removeprefix("# ").rstrip("\n").split("\n\n# "))


def _fault(text: str) -> PlantedFault:
    heading, *patches = text.split("\n--- ")
    name, told = heading.split("\n")
    caught_by, what = told.split(": ", 1)
    return PlantedFault(name, caught_by, what, tuple(_patch(patch) for patch in patches))


def _patch(text: str) -> Patch:
    file, changed = text.split("\n", 1)
    return Patch(file, *changed.split("\n+++\n"))


FAULTS = _read("topics")
BLOCK_FAULTS = _read("blocks")
OBSERVED_FAULTS = _read("observed")
DOCUMENT_FAULTS = _read("documents")
CELL_FAULTS = _read("cells")
LEVEL_FAULTS = _read("levels")
BURST_FAULTS = _read("bursts")
BURSTY_DOCUMENT_FAULTS = _read("bursty_documents")
STATE_FAULTS = _read("states")
ALL_FAULTS = (
    *FAULTS, *BLOCK_FAULTS, *OBSERVED_FAULTS, *DOCUMENT_FAULTS, *CELL_FAULTS, *LEVEL_FAULTS, *BURST_FAULTS,
    *BURSTY_DOCUMENT_FAULTS, *STATE_FAULTS,
)  # fmt: skip
