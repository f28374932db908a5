"""Keyed streams: a chain depends only on its seed.

A stream is identified by (seed, chain, place in the schedule, sweep, unit). Its words come from a
counter-based generator, so its start doesn't depend on the number of earlier draws, and the identifier is
sufficient to resume a run. A serial sweep is one unit; a parallel one has a unit per document.

For a seed passed to a function outside a run, each function has a separate place (`Purpose`), so no two
functions, and no run, use the same words when they are given the same number. Functions that change a
franchise count their calls: the second call with a seed uses other words than the first.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from hdpkit.checks import seed_number, whole_number
from hdpkit.errors import ParameterError
from hdpkit.random._source import ChoiceSource
from hdpkit.random.sources import RandomStream

_MOST = 2**32 - 1
STARTS = 0  # the place in the schedule for draws of initial states; moves are counted from 1


class Purpose(IntEnum):
    """Places for draws outside a schedule, far above those of moves; the results of a seed depend on them."""

    OTHER = 2**32 - 1
    SIMULATE = 2**32 - 2
    EXTEND = 2**32 - 3
    DISCARD = 2**32 - 4
    UNSEAT = 2**32 - 5
    SEAT = 2**32 - 6
    SPELL = 2**32 - 7
    SENTENCES = 2**32 - 8
    FOLD_IN = 2**32 - 9
    EVALUATE = 2**32 - 10
    SPLIT = 2**32 - 11
    DOWNSAMPLE = 2**32 - 14
    RANKS = 2**32 - 15


Seed = int | np.integer | np.random.SeedSequence | np.random.Generator | None


class Streams:
    """The streams of one chain.

    Parameters
    ----------
    seed : int, SeedSequence, Generator or None
        A Generator provides 128 bits of its stream as the seed; None uses entropy of the system.
    chain : int
        Number of the chain; each chain of a seed has separate streams.
    member : int
        Number of a further franchise of the chain, from 1 (`Move.others`); 0 is the chain's own.

    Attributes
    ----------
    seed : int
        The number to pass to get these streams again.
    """

    def __init__(self, seed: Seed = None, chain: int = 0, member: int = 0) -> None:
        self.seed = _entropy(seed)
        self.chain = chain = whole_number("chain", chain, 0, _MOST, remedy="Chains are numbered from 0.")
        member = whole_number("member", member, 0, _MOST, remedy="0 is the chain's own franchise.")
        sequence = np.random.SeedSequence(self.seed, spawn_key=(chain, member) if member else (chain,))
        key = sequence.generate_state(2, np.uint64)
        self._key = (int(key[0]), int(key[1]))
        self._source = RandomStream(self._key)

    def __repr__(self) -> str:
        return f"Streams(seed={self.seed}, chain={self.chain})"

    def source(self, place: int, sweep: int = 0, unit: int = 0) -> RandomStream:
        """The source at the start of this stream.

        The same object is returned every time, moved to the stream, so only one stream is in use at a time.
        """
        self._source.rekey(*self._key, unit, sweep, place)
        return self._source


def as_source(rng: ChoiceSource | Seed, purpose: Purpose = Purpose.OTHER, calls: int = 0) -> ChoiceSource:
    """Convert an ``rng`` argument to a choice source; a source is returned as it is.

    ``purpose`` is the use of a seed: each has separate words. ``calls`` is the number of earlier calls, if
    the words must differ from theirs.
    """
    return rng if isinstance(rng, ChoiceSource) else Streams(rng).source(purpose, calls)


def _entropy(seed: Seed) -> int:
    if seed is None:
        return _as_int(np.random.SeedSequence().entropy)
    if isinstance(seed, np.random.Generator):
        high, low = seed.integers(0, 2**63, size=2)
        return (int(high) << 63) | int(low)
    if isinstance(seed, np.random.SeedSequence):
        words = seed.generate_state(2, np.uint64)
        return (int(words[0]) << 64) | int(words[1])
    try:
        return seed_number("rng", seed)
    except ParameterError:
        raise ParameterError(
            "rng",
            seed,
            "an integer from 0 to 2**256 - 1, a numpy Generator or SeedSequence, or None",
            "Pass a number to get the same chain again.",
        ) from None


def _as_int(entropy: object) -> int:
    if isinstance(entropy, int):
        return entropy
    raise TypeError(f"fresh entropy should be one integer, not {entropy!r}")
