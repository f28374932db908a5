"""Conversion of a corpus of any format to shards, without loading it into memory."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from hdpkit.checks import path as path_of
from hdpkit.data import Corpus, Limits, ShardedCorpus
from hdpkit.data.corpus import Described, write_blocks
from hdpkit.data.files.corpora import (
    TEXT_FORMATS,
    Gathered,
    Request,
    check_terms,
    read_documents_of,
    skipped_text,
)
from hdpkit.data.files.counts import Counts, limited
from hdpkit.data.files.counts_on_disk import CellSpool, by_document
from hdpkit.data.files.ldac import read_ldac
from hdpkit.data.files.matrix_market import matrix_entries
from hdpkit.data.files.records import Layout, ReadingNotes
from hdpkit.data.files.shards import check_shards, is_shard, storing_shards
from hdpkit.data.files.text_files import reading
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.data.files.uci import read_uci
from hdpkit.data.matrices import read_matrix
from hdpkit.data.sharded import write_again
from hdpkit.errors import SkippedFilesWarning

_WORDS = 1 << 18  # words per block
_TEXTS = 1 << 10


class _Numbers(dict[str, int]):
    """Word -> number in the order of first appearance."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def text_blocks(
    texts: Iterable[str],
    counter: TextCounter,
    folder: Path,
    refusals: Callable[[], AbstractContextManager[None]],
) -> Iterator[Counts]:
    """Count the words of texts; a counter without a vocabulary takes that of these texts."""
    if counter.vocabulary is not None:
        rest = iter(texts)
        while batch := list(islice(rest, _TEXTS)):
            yield read_matrix(counter.count(batch), None)
        return
    numbers = _Numbers()
    texts = counter._without_function_words(texts)
    with CellSpool(folder, refusals) as spool:
        spool.fill(_numbered(texts, counter.analyzer(), numbers))
        n_texts, n_words = np.zeros((2, len(numbers)), np.int64)
        for block in spool.blocks():
            n_texts += np.bincount(block.term, minlength=len(numbers))
            np.add.at(n_words, block.term, block.count)
        ids = counter._choose(numbers, n_texts, n_words, len(spool.cells))
        for block in spool.blocks():
            term = ids[block.term]
            kept = term >= 0
            yield Counts(
                block.document[kept], term[kept], block.count[kept], block.n_documents, int(ids.max()) + 1
            )


def _numbered(
    texts: Iterable[str], words_of: Callable[[str], list[str]], numbers: _Numbers
) -> Iterator[Counts]:
    """Numbers of the words, in blocks of texts."""
    words, lengths = array("q"), array("q")
    for text in texts:
        before = len(words)
        words.extend(map(numbers.__getitem__, words_of(text)))
        lengths.append(len(words) - before)
        if len(words) >= _WORDS:
            yield _block(words, lengths, len(numbers))
            words, lengths = array("q"), array("q")
    yield _block(words, lengths, len(numbers))


def _block(words: array[int], lengths: array[int], n_terms: int) -> Counts:
    terms = np.array(words, np.int64)
    document = np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))
    return Counts(document, terms, np.ones(len(terms), np.int64), len(lengths), max(n_terms, 1))


def convert_shards(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    shards: int,
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
    notes: ReadingNotes | None = None,
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
    notes : ReadingNotes, optional
        What was noticed about the files is added to it; without it files that were left out are warned of.

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
    noted = ReadingNotes() if notes is None else notes
    if request.format == "shards" and is_shard(request.place):
        with reading(request.place):
            corpus = Corpus.open(request.place)
        made = ShardedCorpus.write(corpus, place, n)
    elif request.format == "shards":
        with reading(request.place):
            before = ShardedCorpus.open(request.place)
        made = write_again(before, place, n)
    elif request.format in TEXT_FORMATS:
        made = _of_texts(request, place, n, noted)
    else:
        made = _of_counts(request, place, n)
    if notes is None and noted.skipped:
        warnings.warn(skipped_text(noted), SkippedFilesWarning, stacklevel=2)
    return made


def _of_counts(request: Request, folder: Path, shards: int) -> ShardedCorpus:
    words = request.words
    blocks = _entries_by_document if request.format == "matrix-market" else _line_by_line

    def described() -> Described:
        return words, None, None

    write_blocks(partial(_read, request, blocks, folder), folder, shards, described)
    return ShardedCorpus.open(folder)


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
    gathered = Gathered(request.place, request.format, layout, limits, notes)

    def blocks(scratch: Path) -> Iterator[Counts]:
        with reading(request.place):
            texts = gathered.texts(read_documents_of(request.place, request.format, layout, notes))
            counts = text_blocks(texts, counter, scratch / "texts", partial(storing_shards, folder))
            yield from limited(f"corpus {request.place}", counts, limits, in_shards=True)
        notes.function_words = counter.function_words

    def described() -> Described:
        return counter.vocabulary, gathered.names, gathered.groups(notes.groups, None)

    write_blocks(blocks, folder, shards, described)
    return ShardedCorpus.open(folder)
