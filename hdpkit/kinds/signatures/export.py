"""Signatures and exposures as files for other programs."""

from __future__ import annotations

import os
from pathlib import Path

from hdpkit.checks import flag
from hdpkit.data.files.tables import write_table
from hdpkit.kinds.signatures.extraction import signature_tables
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.posterior.components import Components
from hdpkit.posterior.export import new_folder


def write_signatures(
    signatures: Components,
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
    signatures : Components
        As `extract_signatures` returns them.
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
    tables = signature_tables(signatures, known)
    path = Path(folder)
    new_folder(path)
    files = [path / (f"{name}.tsv" if name in _OF_SIGPROFILER else f"{name}.csv") for name in tables]
    for file, table in zip(files, tables.values(), strict=True):
        write_table(file, table, raw=flag("raw", raw))
    return files


_OF_SIGPROFILER = ("signatures", "exposures")
