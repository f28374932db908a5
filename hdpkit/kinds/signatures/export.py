"""Signatures and exposures as files for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.checks import flag, instance
from hdpkit.data.files.tables import Columns, write_table
from hdpkit.kinds.signatures.extraction import Signatures
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.posterior.export import new_folder


def write_signatures(
    signatures: Signatures,
    folder: str | os.PathLike[str],
    *,
    known: KnownSignatures | None = None,
    raw: bool = False,
) -> list[Path]:
    """Write signatures and exposures to a folder.

    ``signatures.tsv`` (a row per channel, in SigProfiler's order, and a column per signature) and
    ``exposures.tsv`` (a row per sample and a column per signature, rounded to integers) have the layout of
    SigProfiler's files: SigProfilerAssignment accepts the first as ``signatures`` or
    ``signature_database``, and SigProfilerPlotting draws it. Neither contains component "0". The other tables
    contain intervals: ``overview.csv``, ``channels.csv``, ``exposure_intervals.csv`` (which says what the
    intervals cover), ``samples.csv``.

    Parameters
    ----------
    signatures : Signatures
    folder : path
        New or empty.
    known : KnownSignatures, optional
        For matches and decompositions in ``overview.csv``.
    raw : bool
        Write names as they are, even if a spreadsheet would evaluate them.

    Returns
    -------
    list of Path

    Raises
    ------
    ParameterError
        If the folder isn't empty.
    StorageError
        If it can't be written.
    """
    instance(
        "signatures",
        signatures,
        Signatures,
        "what extract_signatures returned",
        remedy="Call extract_signatures first.",
    )
    tables = signature_tables(signatures, known)
    path = Path(folder)
    new_folder(path)
    files = [path / (f"{name}.tsv" if name in _OF_SIGPROFILER else f"{name}.csv") for name in tables]
    for file, table in zip(files, tables.values(), strict=True):
        write_table(file, table, raw=flag("raw", raw))
    return files


_OF_SIGPROFILER = ("signatures", "exposures")


def signature_tables(signatures: Signatures, known: KnownSignatures | None) -> dict[str, Columns]:
    """The tables by name; the first two have the layout of SigProfiler's files."""
    return {
        "signatures": _by_channel(signatures),
        "exposures": _activities(signatures),
        "overview": signatures.overview(known),
        "channels": signatures.channel_table(),
        "exposure_intervals": signatures.exposure_table(),
        "samples": signatures.sample_table(),
    }


def _by_channel(signatures: Signatures) -> dict[str, Any]:
    channels = signatures.channels
    order = signatures.in_order
    if channels is not None:
        order = order[channels.ordered_for_sigprofiler()]
    rows = {"MutationType": [signatures.vocabulary[i] for i in order]}
    return rows | {name: signatures.matrix[k, order] for k, name in enumerate(signatures.names)}


def _activities(signatures: Signatures) -> dict[str, Any]:
    held = signatures.exposures
    whole = np.rint(held.mean).astype(np.int64)
    return {"Samples": list(held.names)} | {name: whole[:, k] for k, name in enumerate(signatures.names)}
