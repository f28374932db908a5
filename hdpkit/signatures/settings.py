"""Settings for extracting signatures from a run, kept in its folder with the known signatures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import absolute_path
from hdpkit.errors import CorruptRunError
from hdpkit.record.files import read_bytes, refusals, write_whole
from hdpkit.record.run_folder import SIGNATURES
from hdpkit.schedule import Run
from hdpkit.signatures.channels import channels_of
from hdpkit.signatures.extraction import Signatures, extract_signatures
from hdpkit.signatures.known import KnownSignatures
from hdpkit.summaries.states import states_of_run

__all__ = ["Settings", "load_settings", "save_settings", "signatures_of_run"]

_FORMAT, _VERSION = "hdpkit signatures", 1
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


def save_settings(folder: Path, settings: Settings) -> None:
    """Write ``signatures.json`` into a run folder, or into a folder in which a run will begin.

    Raises a StorageError if it can't be written.
    """
    content: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    content |= {name: getattr(settings, name) for name in _NUMBERS}
    if settings.known is not None:
        content["known"] = {
            "names": list(settings.known.names),
            "channels": list(settings.known.vocabulary),
            "shares": settings.known.matrix.tolist(),
        }
    if settings.totals is not None:
        content["mutations"] = [int(total) for total in settings.totals]
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / SIGNATURES, (json.dumps(content) + "\n").encode())


def load_settings(folder: str | os.PathLike[str]) -> Settings | None:
    """Read ``signatures.json`` of a run folder; None if there is none.

    Raises a CorruptRunError if its content is not valid.
    """
    path = absolute_path("folder", folder, remedy="Give the folder of the run.") / SIGNATURES
    if not os.path.lexists(path):
        return None
    try:
        content = json.loads(read_bytes(path))
        if (content["format"], content["version"]) != (_FORMAT, _VERSION):
            raise ValueError(f"{content['format']!r}, version {content['version']!r}")
        numbers: dict[str, Any] = {name: float(content[name]) for name in _NUMBERS}
        numbers["min_samples"] = int(content["min_samples"])
        known = totals = None
        if "mutations" in content:
            totals = tuple(int(total) for total in content["mutations"])
        if "known" in content:
            held = content["known"]
            matrix = np.array(held["shares"], dtype=np.float64)
            if matrix.shape != (len(held["names"]), len(held["channels"])):
                raise ValueError(f"shares of shape {matrix.shape}")
            known = KnownSignatures(
                tuple(map(str, held["names"])), tuple(map(str, held["channels"])), matrix,
                channels_of(list(map(str, held["channels"]))),
            )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRunError(
            str(path),
            f"{type(error).__name__}: {error}",
            "unchanged since it was written",
            "Restore a copy of it.",
        ) from error
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
