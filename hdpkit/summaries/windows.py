"""Numbers of sliding windows in which words occur, alone and together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

__all__ = ["Together", "count_documents", "count_windows"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ENTRIES = 4_000_000  # of the matrix of windows by words that is in memory at once

Together = tuple[list[Floats], int]
"""For each topic the numbers of windows that contain both of two words, shape (n, n), with those of single
words on the diagonal; and the total number of windows."""


def count_documents(text: Ints, word: Ints, n_texts: int, topics: Sequence[Ints], n_words: int) -> Together:
    """Count the texts that contain the words of each topic.

    Parameters
    ----------
    text, word : int64 arrays, shape (n_occurrences,)
        Each occurrence of a word of any topic; words are numbered from 0.
    n_texts : int
    topics : sequence of int64 arrays
        Words of each topic.
    n_words : int
    """
    there = np.unique(text * n_words + word)
    counts = [np.zeros((len(topic), len(topic))) for topic in topics]
    _add(counts, there // n_words, there % n_words, n_texts, topics, n_words)
    return counts, n_texts


def count_windows(
    text: Ints,
    position: Ints,
    word: Ints,
    lengths: Ints,
    window: int,
    topics: Sequence[Ints],
    n_words: int,
    as_gensim: bool,
) -> Together:
    """Count the windows that contain the words of each topic.

    Windows of ``window`` tokens begin at every token and lie within a text. A text of at most ``window``
    tokens is one window, even if it is empty.

    Parameters
    ----------
    text, position, word : int64 arrays, shape (n_occurrences,)
        Each occurrence of a word of any topic, with texts in ascending order.
    lengths : int64 array, shape (n_texts,)
        Number of tokens of each text.
    window : int
    topics : sequence of int64 arrays
        Words of each topic.
    n_words : int
    as_gensim : bool
        A word counts as absent once one of its occurrences leaves the window, until it next enters.
    """
    n_windows = np.maximum(lengths - window + 1, 1)
    first_window = np.concatenate([[0], np.cumsum(n_windows)])
    counts = [np.zeros((len(topic), len(topic))) for topic in topics]
    # Texts are taken until they have enough windows; a text is never divided.
    most = np.cumsum(np.bincount(text, minlength=len(lengths)) * min(window, int(lengths.max(initial=1))))
    piece = most // _ENTRIES
    cuts = np.flatnonzero(np.diff(piece)) + 1
    begins = np.searchsorted(text, np.concatenate([[0], cuts, [len(lengths)]]))
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        if begin == end:
            continue
        own = slice(begin, end)
        at, words = _entries(text[own], position[own], word[own], lengths, n_windows, window, as_gensim)
        size = int(first_window[text[end - 1] + 1] - first_window[text[begin]])
        _add(counts, at, words, size, topics, n_words)
    return counts, int(first_window[-1])


def _entries(
    text: Ints, position: Ints, word: Ints, lengths: Ints, n_windows: Ints, window: int, as_gensim: bool
) -> tuple[Ints, Ints]:
    """All pairs of a window and a word in it, each once; windows are numbered across the texts from 0."""
    order = np.lexsort((position, word, text))
    text, position, word = text[order], position[order], word[order]
    new = np.append(True, (np.diff(text) != 0) | (np.diff(word) != 0))
    group = np.cumsum(new) - 1  # number of the group: occurrences of one word in one text
    begin = np.maximum(position - window + 1, 0)
    end = position
    if as_gensim:
        stride = int(lengths.max()) + 1
        place = group * stride + position
        end = position[np.searchsorted(place, group * stride + begin)]
    # Windows that an earlier occurrence already covers are not counted again.
    before = np.where(new, -1, np.concatenate([[-1], end[:-1]]))
    begin = np.maximum(begin, before + 1)
    end = np.minimum(end, n_windows[text] - 1)
    n = np.maximum(end - begin + 1, 0)
    offsets = np.concatenate([[0], np.cumsum(n_windows[text[0] : text[-1] + 1])])
    starts = np.cumsum(n) - n
    at = np.arange(int(n.sum())) + np.repeat(begin + offsets[text - text[0]] - starts, n)
    return at, np.repeat(word, n)


def _add(
    counts: list[Floats], at: Ints, word: Ints, n_windows: int, topics: Sequence[Ints], n_words: int
) -> None:
    """Add the numbers of windows that contain both of two words of a topic."""
    there = scipy.sparse.csc_array((np.ones(len(at)), (at, word)), shape=(n_windows, n_words))
    for own, topic in zip(counts, topics, strict=True):
        columns = there[:, topic]
        own += (columns.T @ columns).toarray()
