"""Conversion of a corpus of any format to shards, without loading it into memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hdpkit.checks import path as path_of
from hdpkit.data import Corpus, Limits, ShardedCorpus
from hdpkit.data.sharded import Described, write_again, write_blocks
from hdpkit.errors import SkippedFilesWarning
from hdpkit.formats.blocks import reading
from hdpkit.formats.by_document import by_document
from hdpkit.formats.counts import Counts
from hdpkit.formats.ldac import read_ldac
from hdpkit.formats.limits import limited
from hdpkit.formats.matrix_market import matrix_entries
from hdpkit.formats.records import Layout, ReadingNotes
from hdpkit.formats.shard_writing import check_shards, storing_shards
from hdpkit.formats.uci import read_uci
from hdpkit.io.corpora import Request, check_terms, skipped_text
from hdpkit.io.text_blocks import text_blocks
from hdpkit.io.text_options import TextOptions
from hdpkit.io.texts import TEXT_FORMATS, Gathered, read_documents_of
from hdpkit.io.vectorizer import TextCounter

__all__ = ["convert_shards"]


def convert_shards(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    shards: int,
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
) -> ShardedCorpus:
    """Write a corpus in shards of consecutive documents, with about equal numbers of cells (or tokens).

    Together the shards are the corpus that `read_corpus` returns. At any time only a few megabytes of the
    corpus are in memory, and the lengths, names and labels of all documents; for texts, also each distinct
    word. While the folder is written, two to three times its size is needed on disk.

    Parameters
    ----------
    path, format, vocabulary, text, limits, layout
        As in `read_corpus`. The corpus may have 2^31 tokens or more.
    folder : path
        New or empty.
    shards : int
        Number of shards, at most the number of documents with tokens.

    Returns
    -------
    ShardedCorpus

    Raises
    ------
    DataError, ParameterError, MissingExtraError
        As for `read_corpus`; also if there are too many shards or the folder isn't empty.
    StorageError
        If the folder can't be written, for instance because the disk is full; nothing is left behind then.
    """
    n = check_shards(shards)
    place = path_of("folder", folder, remedy="Name a folder, for instance Path('shards').")
    request = Request.of(path, format, vocabulary, text, limits, layout)
    notes = ReadingNotes()
    if request.format == "shards":
        with reading(request.place):
            before = ShardedCorpus.open(request.place)
        made = write_again(before, place, n)
    elif request.format == "arrays":
        with reading(request.place):
            corpus = Corpus.open(request.place)
        made = ShardedCorpus.write(corpus, place, n)
    elif request.format in TEXT_FORMATS:
        made = _of_texts(request, place, n, notes)
    else:
        made = _of_counts(request, place, n)
    if notes.skipped:
        warnings.warn(skipped_text(notes), SkippedFilesWarning, stacklevel=2)
    return made


def _of_counts(request: Request, folder: Path, shards: int) -> ShardedCorpus:
    words = request.words
    blocks = _entries_by_document if request.format == "matrix-market" else _line_by_line

    def described() -> Described:
        return words, None, None

    return write_blocks(partial(_read, request, blocks, folder), folder, shards, described)


def _read(
    request: Request, blocks: Callable[[Request, Path, Path], Iterator[Counts]], folder: Path, scratch: Path
) -> Iterator[Counts]:
    limits = request.limits or Limits()
    with reading(request.place):
        yield from limited(f"file {request.place}", blocks(request, folder, scratch), limits, in_shards=True)


def _line_by_line(request: Request, folder: Path, scratch: Path) -> Iterator[Counts]:
    read = read_ldac if request.format == "ldac" else read_uci
    return read(request.place, None if request.words is None else len(request.words))


def _entries_by_document(request: Request, folder: Path, scratch: Path) -> Iterator[Counts]:
    (n_rows, n_columns), entries = matrix_entries(request.place, request.limits)
    check_terms(request.place, request.words, n_rows, n_columns)
    refusals = partial(storing_shards, folder)
    yield from by_document(entries, n_rows, n_columns, scratch / "entries", refusals)


def _of_texts(request: Request, folder: Path, shards: int, notes: ReadingNotes) -> ShardedCorpus:
    layout = request.layout or Layout()
    counter = TextCounter(request.text, vocabulary=request.words)
    limits = request.limits or Limits()
    named = layout.id_column is not None or request.format == "text"
    gathered = Gathered(request.place, named, limits)

    def blocks(scratch: Path) -> Iterator[Counts]:
        with reading(request.place):
            texts = gathered.texts(read_documents_of(request.place, request.format, layout, notes))
            counts = text_blocks(texts, counter, scratch / "texts", partial(storing_shards, folder))
            yield from limited(f"corpus {request.place}", counts, limits, in_shards=True)

    def described() -> Described:
        return counter.vocabulary, gathered.names, gathered.groups(notes.groups, None)

    return write_blocks(blocks, folder, shards, described)
