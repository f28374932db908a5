"""Runs in rounds that are judged in between: until a verdict is green, or no time is left."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

import attrs

from hdpkit.checks import choice, positive_number
from hdpkit.errors import ParameterError
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.samples import Samples
from hdpkit.run.trace import ChainTrace, Trace

VERDICTS = ("readable", "quotable")
FEWEST_CHAINS = 2
"""Chains that a verdict needs to be green."""

_UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:s|sec|min|m|h)\s*)+")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(sec|min|s|m|h)")
_FIRST = 10  # the first round has this part of the sweeps
_SHARE = 0.02  # a round that adds less to the share made no progress
_IN_VAIN = 2  # rounds in a row that made no progress, each with as many sweeps as all before it


def seconds_of(name: str, given: Any) -> float:
    """A duration in seconds: a number, or a text such as "90s", "10min", "1h 30min"."""
    remedy = 'A number of seconds, or for instance "10min".'
    if isinstance(given, str):
        text = given.strip()
        if not _DURATION.fullmatch(text):
            raise ParameterError(name, given, 'a duration such as "90s", "10min" or "1h 30min"', remedy)
        given = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return positive_number(name, given, remedy=remedy)


@attrs.frozen
class _Stop:
    """A callback that ends a chain at a time of the clock. It is sent to the processes of chains."""

    at: float

    def __call__(self, draw: Any) -> bool:
        return time.time() >= self.at


class Until:
    """When a run in rounds ends."""

    def __init__(self, verdict: Any, at_most: Any, sweeps: int) -> None:
        self.verdict = choice("until", verdict, VERDICTS, remedy="Leave it out to run a number of sweeps.")
        self._sweeps = sweeps
        self._last = math.inf if at_most is None else time.time() + seconds_of("at_most", at_most)
        self._most = sweeps if at_most is None else math.inf

    @property
    def callbacks(self) -> tuple[Callable[[Any], Any], ...]:
        """What ends a round when the time is over."""
        return () if math.isinf(self._last) else (_Stop(self._last),)

    def run(
        self,
        begun: int,
        step: Callable[[int, int], tuple[Trace | ChainTrace, int]],
        judge: Callable[[Trace | ChainTrace], Diagnosis],
        told: Callable[[int, Diagnosis], Any] = lambda reached, found: None,
    ) -> Trace | ChainTrace:
        """Run rounds until the run ends; ``step`` returns the whole trace and the sweep reached."""
        before: Diagnosis | None = None
        in_vain = 0
        while True:
            wanted = begun or max(1, self._sweeps // _FIRST)
            trace, begun = step(begun, int(min(wanted, self._most - begun)))
            if trace.interrupted:
                return trace
            found = judge(trace)
            told(begun, found)
            in_vain = 0 if before is None or self._gained(before, found) else in_vain + 1
            over = time.time() >= self._last or begun >= self._most or in_vain >= _IN_VAIN
            if over or getattr(found, self.verdict).light == "green":
                return trace
            before = found

    def _gained(self, before: Diagnosis, found: Diagnosis) -> bool:
        """Whether a round has brought the verdict nearer to green."""
        now, then = (getattr(one, self.verdict) for one in (found, before))
        if "grey" in (now.light, then.light):
            return True
        share = "shared" if self.verdict == "readable" else "settled"
        return not now.figures[share] < then.figures[share] + _SHARE


def samples_of_round(number: int, begun: int, sweeps: int) -> Samples | None:
    """The samples of a round: at least so many of its second half or, if it isn't the first, of all of it."""
    if number < 1:
        return None
    if begun == 0:
        return Samples.of(number, 0, sweeps)
    return Samples(begun // 2, max(1, sweeps // number))
