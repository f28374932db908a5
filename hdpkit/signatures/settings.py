"""Settings for extracting signatures from a run, kept in its folder with the known signatures."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import absolute_path, numbers_between, whole_number
from hdpkit.record.files import reading
from hdpkit.record.run_folder import SIGNATURES, RunFolder, kept
from hdpkit.schedule import Run
from hdpkit.signatures.channels import channels_of
from hdpkit.signatures.extraction import Signatures, extract_signatures
from hdpkit.signatures.known import KnownSignatures
from hdpkit.summaries.states import states_of_run

__all__ = ["Settings", "kept_settings", "load_settings", "signatures_of_run"]

_NUMBERS = ("similarity", "occurrence", "chains", "level", "min_samples")


@attrs.frozen(kw_only=True, eq=False)
class Settings:
    """Settings for extracting signatures from a run.

    Attributes
    ----------
    similarity, occurrence, chains, level : float
        As in `extract_signatures`.
    min_samples : int
        As in `extract_signatures`.
    known : KnownSignatures or None
        Known signatures for comparison.
    totals : tuple of int, or None
        Mutations of each sample before downsampling; None if the run has all mutations.
    """

    similarity: float = 0.9
    occurrence: float = 0.5
    chains: float = 0.5
    level: float = 0.9
    min_samples: int = 1
    known: KnownSignatures | None = None
    totals: tuple[int, ...] | None = None


def kept_settings(folder: Path, settings: Settings) -> AbstractContextManager[None]:
    """Keep settings in the folder of a run that begins inside the block; remove them if no run began."""
    content: dict[str, Any] = {name: getattr(settings, name) for name in _NUMBERS}
    if settings.known is not None:
        content["known"] = {
            "names": list(settings.known.names),
            "channels": list(settings.known.vocabulary),
            "shares": settings.known.matrix.tolist(),
        }
    if settings.totals is not None:
        content["mutations"] = [int(total) for total in settings.totals]
    return kept(folder, SIGNATURES, content)


def load_settings(folder: str | os.PathLike[str]) -> Settings | None:
    """Read ``signatures.json`` of a run folder; None if the run has none.

    Raises a CorruptRunError if its content is not valid, or it isn't the file of this run.
    """
    place = absolute_path("folder", folder, remedy="Give the folder of the run.")
    content = RunFolder.open(place).read(SIGNATURES)
    if content is None:
        return None
    with reading(place / SIGNATURES):
        numbers: dict[str, Any] = {
            name: numbers_between(name, content[name], 0.0, 1.0, remedy="").item()
            for name in _NUMBERS
            if name != "min_samples"
        }
        numbers["min_samples"] = whole_number("min_samples", content["min_samples"])
        known = totals = None
        if "mutations" in content:
            totals = tuple(whole_number("mutations", total) for total in content["mutations"])
        if "known" in content:
            held = content["known"]
            matrix = np.array(held["shares"], dtype=np.float64)
            if matrix.shape != (len(held["names"]), len(held["channels"])):
                raise ValueError(f"shares of shape {matrix.shape}")
            known = KnownSignatures(
                tuple(map(str, held["names"])), tuple(map(str, held["channels"])), matrix,
                channels_of(list(map(str, held["channels"]))),
            )  # fmt: skip
        return Settings(**numbers, known=known, totals=totals)


def signatures_of_run(run: Run, settings: Settings | None = None) -> tuple[Signatures, Settings]:
    """Signatures of a run, from its samples after the burn-in and its newest states.

    By default the settings are those in its folder.

    Parameters
    ----------
    run : Run
    settings : Settings, optional
        Settings to use instead of those in the folder.

    Raises
    ------
    DataError
        If the run's data are not a corpus.
    RunError
        If no chain has a checkpoint.
    """
    used = settings or load_settings(run.folder) or Settings()
    samples, franchises = states_of_run(run)
    corpus: Any = run.data
    found = extract_signatures(
        samples, corpus, similarity=used.similarity, occurrence=used.occurrence, chains=used.chains,
        level=used.level, min_samples=used.min_samples, declared=franchises[0].known, totals=used.totals,
    )  # fmt: skip
    return found, used
