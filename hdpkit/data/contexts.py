"""Contexts as numbers of symbols: of the words of sentences, and as labels.

A symbol is the id of a word, or negative if it is no word to be predicted: -1, -2, ... in order of first
appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.data.labels import encode
from hdpkit.formats.names import Codes

__all__ = ["NO_SYMBOL", "UNKNOWN_SYMBOL", "Ints", "as_context", "context_labels", "contexts_of"]

Ints = npt.NDArray[np.int32]

NO_SYMBOL = -(2**31)
"""Stands in a context for what lies before the sentence's start."""

UNKNOWN_SYMBOL = NO_SYMBOL + 1
"""Stands in a context for a symbol that the data don't have: no restaurant has it."""


def as_context(context: Any) -> tuple[Any, ...]:
    """Return a context as a tuple of symbols; a single symbol is a context of one."""
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
        Where sentences begin in it.
    first, last : int
        Which tokens.
    width : int
        Symbols of a context.
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
    # of several offsets that are equal (empty sentences) the last one begins the sentence of a token
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
        Nearest symbol first, NO_SYMBOL where a context is shorter.
    names : sequence of str
        Name of the label for each length from 1 to width.
    symbol : callable
        From a symbol's number to the symbol.

    Returns
    -------
    dict
        Name -> (codes, keys): codes are -1 where the context is shorter, keys are tuples in reading order.
    """
    code = np.zeros(len(contexts), np.int64)  # of the context of one symbol less; the empty one is there
    keys: list[tuple[Any, ...]] = [()]
    labels: dict[str, Codes] = {}
    for j, name in enumerate(names):
        there = np.flatnonzero(contexts[:, j] != NO_SYMBOL)
        # both in one number: a longer context is the shorter one and a symbol more
        packed = code[there] * 2**32 + (contexts[there, j].astype(np.int64) - NO_SYMBOL)
        found, numbers = encode(name, packed, len(there), "customer")
        code = np.full(len(contexts), -1, np.int64)
        code[there] = found
        code.setflags(write=False)
        keys = [(symbol(number % 2**32 + NO_SYMBOL), *keys[number >> 32]) for number in numbers]
        labels[name] = code, keys
    return labels
