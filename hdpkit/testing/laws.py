"""The exact law of what code draws: a scripted source walks through every branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from hdpkit.random import ScriptedSource

T = TypeVar("T")


def outcomes(
    run: Callable[[ScriptedSource], T], source: ScriptedSource | None = None
) -> Iterator[tuple[T, float]]:
    """What a function of a source returns on every branch, with the probability of the branch."""
    source = ScriptedSource() if source is None else source
    while True:
        yield run(source), source.probability
        if not source.advance():
            return


def law_of(run: Callable[[ScriptedSource], T], source: ScriptedSource | None = None) -> dict[T, float]:
    """Distribution of what a function of a source returns; 0 for what it never returns."""
    law: Any = Counter()
    for outcome, probability in outcomes(run, source):
        law[outcome] += probability
    return law
