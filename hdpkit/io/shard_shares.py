"""Topic shares of the documents of a run over shards as tables, one file per shard."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hdpkit.checks import choice, flag, instance
from hdpkit.checks import path as path_of
from hdpkit.evaluation import ShardedState
from hdpkit.evaluation.sharded_state import numbers_of
from hdpkit.io.tables import TABLE_SUFFIXES, write_table
from hdpkit.record.files import refusals

__all__ = ["write_shares"]


def write_shares(
    state: ShardedState,
    out: str | os.PathLike[str],
    suffix: str = ".csv",
    shards: Sequence[int] | None = None,
    *,
    raw: bool = False,
) -> list[Path]:
    """Write the topics of documents, a table for each shard: ``shares-0000.csv`` and so on.

    A table has one row for each document and topic with tokens; see `ShardedState.shares`. Several processes
    can each write some of the shards to the same folder.

    Parameters
    ----------
    state : ShardedState
    out : path
        A folder, which is created if it doesn't exist. Existing files with these names are replaced.
    suffix : str
        ".csv", ".tsv", ".jsonl" or ".parquet".
    shards : sequence of int, optional
        Numbers of the shards; by default all.
    raw : bool
        In CSV and TSV, write texts as they are, even if a spreadsheet would evaluate them (`write_table`).

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ShardError
        If a shard, or its state, is missing or damaged.
    StorageError
        If a file can't be written.
    MissingExtraError
        For ".parquet", if pyarrow isn't installed.
    """
    instance("state", state, ShardedState, "a ShardedState", remedy="ShardedState.open(folder, ...).")
    choice("suffix", suffix, TABLE_SUFFIXES, remedy="Leave it out for CSV.")
    folder = path_of("out", out, remedy="Name a folder.")
    numbers = numbers_of(shards, len(state.corpus.shards))
    with refusals(folder, "make a folder"):
        folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in numbers:
        file = folder / f"shares-{number:04d}{suffix}"
        columns: dict[str, Any] = state.shares(number)
        write_table(file, columns, raw=flag("raw", raw))
        files.append(file)
    return files
