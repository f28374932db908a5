"""Mistakes built into the fused sweeps, active only with scripts: read from the headers that list them."""

from __future__ import annotations

import re
from pathlib import Path

import hdpkit
from hdpkit.testing.planted import PlantedFault

__all__ = ["BLOCK_FAULTS", "FAULTS", "OBSERVED_FAULTS"]

_FOLDER = Path(hdpkit.__file__).parent / "_compiled" / "fused_sweeps"
_LISTED = re.compile(
    r"^ +(?:FAULT\()?([A-Z_]+)\)? +(?:/\*|#) (check_\w+): (.*?)(?: \*/ ?\\?)?$", re.MULTILINE
)


def _read(file: str, module: str) -> tuple[PlantedFault, ...]:
    return tuple(
        PlantedFault(place.lower().replace("_", " "), what, check, f"hdpkit._compiled.fused_sweeps.{module}")
        for place, check, what in _LISTED.findall((_FOLDER / file).read_text(encoding="utf-8"))
    )


FAULTS = _read("topic_faults.h", "fused_topics")
BLOCK_FAULTS = _read("block_faults.h", "fused_blocks")
OBSERVED_FAULTS = _read("fused_observed.pxd", "fused_observed")
