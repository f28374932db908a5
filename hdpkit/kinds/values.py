"""What values a setting takes: how they are checked, read from text, described, and which are wrong.

One declaration serves an estimator's parameter, an option of a command, their documentation, and the test
that gives bad values to both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import attrs

from hdpkit.allowed import Allowed
from hdpkit.checks import LARGEST, choice, flag, items, real_number, text, whole_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.declarations import Hyperparameter
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.priors import Gamma
from hdpkit.run.describe import describe, rebuild

_GAMMA = re.compile(r"gamma\(([^(),]+),([^(),]+)\)", re.IGNORECASE)


class Values:
    """Values of a setting; subclasses say which.

    Attributes
    ----------
    said : str
        The type, in documentation.
    metavar : str or None
        The same in the help of a command.
    place : str
        What an object of this setting may be when it is read from a file (`hdpkit.run.describe.rebuild`).
    """

    said = "object"
    metavar: str | None = None
    place = "number"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """Values that are none of these, for tests of everything that takes the setting."""
        return ()

    def check(self, name: str, value: Any) -> Any:
        """The value; a ParameterError if it is none of these."""
        return value

    def parse(self, name: str, given: str) -> Any:
        """The value that a text says; a ParameterError if it says none."""
        return given

    def kept(self, name: str, value: Any) -> Any:
        """The value as data, for a file."""
        return describe(value, name)

    def back(self, tree: Any, allowed: Allowed) -> Any:
        """The value from data."""
        plain = tree is None or (isinstance(tree, str) and self.place not in ("hyperparameter",))
        return tree if plain else rebuild(tree, allowed, self.place)


@attrs.frozen
class Whole(Values):
    """Whole numbers from ``low`` to ``high``."""

    low: int = 1
    high: int = LARGEST
    remedy: str = "Give a whole number."
    said = "int"
    metavar = "N"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """Numbers beyond the ends, and what is no whole number."""
        return self.low - 1, self.high + 1, 1.5, "x", True, [1]

    def check(self, name: str, value: Any) -> int:
        """The number."""
        return whole_number(name, value, self.low, self.high, remedy=self.remedy)

    def parse(self, name: str, given: str) -> int:
        """The number that a text says."""
        try:
            number = int(given)
        except ValueError as error:
            raise ParameterError(name, given, "a whole number", self.remedy) from error
        return self.check(name, number)


@attrs.frozen
class Between(Values):
    """Numbers from ``low`` to ``high``; without ``ends`` the ends are none of them."""

    low: float
    high: float | None
    metavar: str = "NUMBER"
    ends: bool = True
    said = "float"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """Numbers beyond the ends, and what is no number."""
        inside = () if self.ends else (self.low,)
        beyond = () if self.high is None else (self.high + 1.0,)
        return self.low - 1.0, *inside, *beyond, math.nan, math.inf, "x", [0.5]

    def check(self, name: str, value: Any) -> float:
        """The number."""
        number = real_number(name, value)
        high = math.inf if self.high is None else self.high
        inside = self.low <= number <= high if self.ends else self.low < number < high
        if not inside or math.isinf(number):
            least = f"from {self.low:g}" if self.ends else f"above {self.low:g}"
            most = "" if self.high is None else f" {'to' if self.ends else 'and below'} {self.high:g}"
            raise ParameterError(name, value, f"a number {least}{most}", "Give such a number.")
        return number

    def parse(self, name: str, given: str) -> float:
        """The number that a text says."""
        try:
            number = float(given)
        except ValueError as error:
            raise ParameterError(name, given, "a number", "For instance 0.9.") from error
        return self.check(name, number)


@attrs.frozen
class NumberOrPrior(Values):
    """A positive number, which is fixed, or a prior, by which the parameter is resampled."""

    zero: bool = False  # whether 0 is a value, too
    said = "float or prior"
    metavar = "number|gamma(a,b)"
    place = "hyperparameter"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """What is none of these."""
        return -1.0, math.nan, math.inf, "x", [], {}

    def check(self, name: str, value: Any) -> Any:
        """The value."""
        read = Hyperparameter.of(name, value)
        if read.prior is None and not (read.start > 0.0 or (self.zero and read.start == 0.0)):
            least = "from 0" if self.zero else "above 0"
            told = f"a number {least} (fixed) or a prior (resampled)"
            raise ParameterError(name, value, told, "For instance hk.Gamma(1, 1).")
        return value

    def parse(self, name: str, given: str) -> Any:
        """Read a positive number or ``gamma(shape, rate)``."""
        prior = _GAMMA.fullmatch(re.sub(r"\s+", "", given))
        try:
            numbers = [float(part) for part in (prior.groups() if prior else [given])]
        except ValueError:
            numbers = [math.nan]
        zero = self.zero and numbers == [0.0]
        if not zero and not all(0.0 < number < math.inf for number in numbers):
            raise ParameterError(
                name, given, f"a number {'from' if self.zero else 'above'} 0, or gamma(shape, rate)",
                "A number is fixed; a prior is resampled, for instance gamma(1, 1).",
            )  # fmt: skip
        return Gamma(*numbers) if prior else numbers[0]


@attrs.frozen
class OneOf(Values):
    """One of these words, or in Python an object of a class."""

    words: Sequence[str]
    remedy: str
    kind: type | None = None
    place: str = "number"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """What is none of these."""
        return "cosine-like", 5, [], True

    @property
    def said(self) -> str:  # type: ignore[override]
        """The words, and the class."""
        told = [f'"{word}"' for word in self.words]
        if self.kind is BaseMeasure:
            told.append("base measure")
        return f"{', '.join(told[:-1])} or {told[-1]}"

    def check(self, name: str, value: Any) -> Any:
        """The word, or the object."""
        if self.kind is not None and isinstance(value, self.kind):
            return value
        return choice(name, value, self.words, remedy=self.remedy)

    def parse(self, name: str, given: str) -> str:
        """The word."""
        return choice(name, given, self.words, remedy=self.remedy)


@attrs.frozen
class Flag(Values):
    """True or False."""

    said = "bool"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """What is none of these."""
        return 2, "yes", []

    def check(self, name: str, value: Any) -> bool:
        """The value."""
        return flag(name, value)


@attrs.frozen
class Name(Values):
    """The name of a column."""

    said = "str"
    metavar = "NAME"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """What is none of these."""
        return "", 5, ["x"]

    def check(self, name: str, value: Any) -> str:
        """The name."""
        return text(name, value, remedy="The name of a column.")


@attrs.frozen
class Names(Values):
    """Names of columns; in a command several times, or with commas between them if ``metavar`` says so."""

    metavar: str = "NAME,..."
    said = "sequence of str"

    @property
    def wrong(self) -> tuple[Any, ...]:
        """What is none of these."""
        return 5, "x"

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        """The names."""
        return items(name, value, "names of columns", remedy='For instance ["x", "y"].')
