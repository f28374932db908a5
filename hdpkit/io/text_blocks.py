"""Texts as blocks of counts; neither texts nor counts are all in memory at once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import numpy as np

from hdpkit.data.matrices import read_matrix
from hdpkit.formats.cell_spool import CellSpool
from hdpkit.formats.counts import Counts
from hdpkit.io.vectorizer import TextCounter

__all__ = ["text_blocks"]

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
    """Count the words of texts; a counter without a vocabulary takes that of these texts.

    Texts are iterated over once. If the vocabulary isn't known yet, all words are kept on disk until the
    vocabulary has been found; only the distinct words of all texts are in memory.

    Parameters
    ----------
    texts : iterable of str
    counter : TextCounter
    folder : Path
        A new folder, which is removed after the last block.
    refusals : callable
        Returns a context in which errors of the operating system on writing become errors of hdpkit.

    Yields
    ------
    Counts
        Together, the counts of `TextCounter.fit_count`.

    Raises the errors of `TextCounter.fit_count`.
    """
    if counter.vocabulary is not None:
        rest = iter(texts)
        while batch := list(islice(rest, _TEXTS)):
            yield read_matrix(counter.count(batch), None)
        return
    numbers = _Numbers()
    with CellSpool(folder, refusals) as spool:
        spool.fill(_numbered(texts, counter.analyzer(), numbers))
        n_texts, n_words = np.zeros((2, len(numbers)), np.int64)
        for block in spool.blocks():
            n_texts += np.bincount(block.term, minlength=len(numbers))
            np.add.at(n_words, block.term, block.count)
        ids = counter.choose(numbers, n_texts, n_words, len(spool.cells))
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
