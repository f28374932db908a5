"""Contexts of words as numbers of symbols, and as labels.

The number of a symbol is the id of a word, or negative if it isn't a word to be predicted: -1, -2, ... in
order of first appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import check_unmasked
from hdpkit.data.labels import encode
from hdpkit.formats.names import Codes

__all__ = ["NO_SYMBOL", "UNKNOWN_SYMBOL", "Ints", "as_context", "context_labels", "contexts_of"]

Ints = npt.NDArray[np.int32]

NO_SYMBOL = -(2**31)
"""Number in contexts for positions before the sentence's start."""

UNKNOWN_SYMBOL = NO_SYMBOL + 1
"""Number in contexts for a symbol that doesn't occur in the data, and so in no restaurant."""


def as_context(context: Any) -> tuple[Any, ...]:
    """Return a context as a tuple of symbols; a single symbol is a context of one."""
    check_unmasked("context", context)
    if isinstance(context, np.ndarray):
        context = context.tolist()
    return tuple(context) if isinstance(context, list | tuple) else (context,)


def contexts_of(
    history: Ints, offsets: npt.NDArray[np.int64], first: int, last: int, width: int, start: int
) -> Ints:
    """Return the contexts of the tokens first..last-1 of sentences.

    Parameters
    ----------
    history : int32 array, shape (n,)
        Ids of all words.
    offsets : int64 array
        Index at which each sentence begins.
    first, last : int
        Tokens first .. last - 1.
    width : int
        Number of symbols of a context.
    start : int
        Symbol of the sentence's start, or NO_SYMBOL.

    Returns
    -------
    int32 array, shape (last - first, width)
        Nearest symbol first, NO_SYMBOL beyond the sentence's start.
    """
    contexts = np.full((last - first, width), NO_SYMBOL, np.int32)
    if first == last or width == 0:
        return contexts
    token = np.arange(first, last)
    # of several equal offsets (empty sentences), the last one begins the sentence of a token
    place = token - offsets[np.searchsorted(offsets, token, side="right") - 1]
    reach = min(width, int(place.max()) + 1)
    for j in range(reach):
        inside = np.flatnonzero(place > j)
        contexts[inside, j] = history[token[inside] - (j + 1)]
        contexts[place == j, j] = start
    return contexts


def context_labels(contexts: Ints, names: Sequence[str], symbol: Callable[[int], Any]) -> dict[str, Codes]:
    """Return contexts as labels: the first symbol, the first two, and so on.

    Parameters
    ----------
    contexts : int32 array, shape (n, width)
        Nearest symbol first, NO_SYMBOL if a context is shorter.
    names : sequence of str
        Name of the label for each length from 1 to width.
    symbol : callable
        Maps a symbol's number to the symbol.

    Returns
    -------
    dict
        Name -> (codes, keys): codes are -1 if the context is shorter, keys are tuples in reading order.
    """
    code = np.zeros(len(contexts), np.int64)  # of the context with one symbol less, at first the empty one
    keys: list[tuple[Any, ...]] = [()]
    labels: dict[str, Codes] = {}
    for j, name in enumerate(names):
        there = np.flatnonzero(contexts[:, j] != NO_SYMBOL)
        # combined in one number: a longer context is the shorter one and one more symbol
        packed = code[there] * 2**32 + (contexts[there, j].astype(np.int64) - NO_SYMBOL)
        found, numbers = encode(name, packed, len(there), "customer")
        code = np.full(len(contexts), -1, np.int64)
        code[there] = found
        code.setflags(write=False)
        keys = [(symbol(number % 2**32 + NO_SYMBOL), *keys[number >> 32]) for number in numbers]
        labels[name] = code, keys
    return labels
