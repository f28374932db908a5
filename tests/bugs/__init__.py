"""Planted bugs: mistakes in Python code (`readable`, see `planted`) and in compiled code (`fused_faults`).

``## check, file`` begins the mistakes that a check detects in a file. Of each they have a line
``# name: what is wrong`` and the difference: lines that stay (after a space), that go (-) and that come (+);
the first two kinds are a text that occurs once in the file. ``in file`` begins a further patch. In
compiled code FAULT is true while the mistake is planted (`planting`); patches of a file are applied one after
the other.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """A mistake in compiled code, with the check that fails while it is planted."""

    name: str
    caught_by: str
    what: str
    patches: tuple[Patch, ...]


def _read(path: Path) -> Iterator[PlantedFault]:
    for group in path.read_text(encoding="utf-8").removeprefix("## ").removesuffix("\n").split("\n\n## "):
        where, mistakes = group.split("\n# ", 1)
        for mistake in mistakes.split("\n# "):
            yield _fault(*where.split(", "), mistake)


def _fault(caught_by: str, file: str, text: str) -> PlantedFault:
    told, *lines = text.split("\n")
    name, what = told.split(": ", 1)
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

(
    FAULTS, BLOCK_FAULTS, OBSERVED_FAULTS, DOCUMENT_FAULTS, CELL_FAULTS, LEVEL_FAULTS, BURST_FAULTS,
    BURSTY_DOCUMENT_FAULTS, STATE_FAULTS, GROUP_FAULTS, SEATING_FAULTS,
) = (
    tuple(_read(FAULTS_IN / f"{name}.txt"))
    for name in (
        "topics", "blocks", "observed", "documents", "cells", "levels", "bursts", "bursty_documents",
        "states", "new_groups", "labelled_seatings",
    )
)  # fmt: skip
ALL_FAULTS = (
    *FAULTS, *BLOCK_FAULTS, *OBSERVED_FAULTS, *DOCUMENT_FAULTS, *CELL_FAULTS, *LEVEL_FAULTS, *BURST_FAULTS,
    *BURSTY_DOCUMENT_FAULTS, *STATE_FAULTS, *GROUP_FAULTS, *SEATING_FAULTS,
)  # fmt: skip
