"""What values a setting takes: how they are checked, read from text and described.

One declaration serves an estimator's parameter, an option of a command, and their documentation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from hdpkit.allowed import Allowed
from hdpkit.checks import LARGEST, choice, flag, items, real_number, text, whole_number
from hdpkit.errors import HdpkitError, ParameterError
from hdpkit.franchise.declarations import Hyperparameter
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.priors import Beta, Each, Gamma, Shifted
from hdpkit.run.describe import describe, rebuild
from hdpkit.stores import stores

_CALL = re.compile(r"([a-z]+)\((.*)\)")
_PRIORS: dict[str, Any] = {"gamma": Gamma, "beta": Beta, "each": Each, "shifted": Shifted}


def prior_of(text: str) -> Any:
    """The number or the prior that a text says, such as each(gamma(1,1)); None if it says neither."""
    text = re.sub(r"\s+", "", text.lower())
    call = _CALL.fullmatch(text)
    try:
        if call is None:
            number = float(text)
            return number if math.isfinite(number) else None
        if call[1] in ("each", "shifted"):
            return _PRIORS[call[1]](prior_of(call[2]))
        return _PRIORS[call[1]](*map(float, call[2].split(",")))
    except HdpkitError:  # of a prior with wrong parameters
        raise
    except (KeyError, TypeError, ValueError):
        return None


def read_prior(name: str, given: str, serves: Callable[[Any], bool], allowed: str, remedy: str) -> Any:
    """What `prior_of` reads, if it serves; or else a ParameterError."""
    try:
        found = prior_of(given)
    except HdpkitError:
        found = None
    if found is None or not serves(found):
        raise ParameterError(name, given, allowed, remedy)
    return found


class Values:
    """Values of a setting; subclasses say which."""

    said = "object"  # the type, in documentation
    metavar: str | None = None  # the same in the help of a command
    place = "number"  # what an object read from a file may be (`hdpkit.run.describe.rebuild`)

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
class Placed(Values):
    """Objects of a ``place``, which are checked where they are used."""

    place: str
    said: str = "object"


class Stores(Values):
    """Names of stores, or classes; the franchise checks them."""

    said = "str or type"
    place = "store"

    @property
    def words(self) -> list[str]:
        """The names, for a command."""
        return sorted(stores)


@attrs.frozen
class Whole(Values):
    """Whole numbers from ``low`` to ``high``."""

    low: int = 1
    high: int = LARGEST
    remedy: str = "Give a whole number."
    said = "int"
    metavar = "N"

    def check(self, name: str, value: Any) -> int:
        return whole_number(name, value, self.low, self.high, remedy=self.remedy)


@attrs.frozen
class Between(Values):
    """Numbers from ``low`` to ``high``; without ``ends`` the ends are none of them."""

    low: float
    high: float | None
    metavar: str = "NUMBER"
    ends: bool = True
    said = "float"

    def check(self, name: str, value: Any) -> float:
        number = real_number(name, value)
        high = math.inf if self.high is None else self.high
        inside = self.low <= number <= high if self.ends else self.low < number < high
        if not inside or math.isinf(number):
            least = f"from {self.low:g}" if self.ends else f"above {self.low:g}"
            most = "" if self.high is None else f" {'to' if self.ends else 'and below'} {self.high:g}"
            raise ParameterError(name, value, f"a number {least}{most}", "Give such a number.")
        return number

    def parse(self, name: str, given: str) -> float:
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

    def check(self, name: str, value: Any) -> Any:
        read = Hyperparameter.of(name, value)
        if read.prior is None and not self._serves(float(read.start)):
            told = f"a number {self._least} (fixed) or a prior (resampled)"
            raise ParameterError(name, value, told, "For instance hk.Gamma(1, 1).")
        return value

    def parse(self, name: str, given: str) -> Any:
        return read_prior(
            name, given, lambda one: isinstance(one, Gamma) or self._serves(one),
            f"a number {self._least}, or gamma(shape, rate)",
            "A number is fixed; a prior is resampled, for instance gamma(1, 1).",
        )  # fmt: skip

    @property
    def _least(self) -> str:
        return "from 0" if self.zero else "above 0"

    def _serves(self, number: Any) -> bool:
        return isinstance(number, float) and (number > 0.0 or (self.zero and number == 0.0))


@attrs.frozen
class OneOf(Values):
    """One of these words, or in Python an object of a class."""

    words: Sequence[str]
    remedy: str
    kind: type | None = None
    place: str = "number"

    @property
    def said(self) -> str:  # type: ignore[override]
        told = [f'"{word}"' for word in self.words]
        if self.kind is BaseMeasure:
            told.append("base measure")
        return f"{', '.join(told[:-1])} or {told[-1]}"

    def check(self, name: str, value: Any) -> Any:
        if self.kind is not None and isinstance(value, self.kind):
            return value
        return choice(name, value, self.words, remedy=self.remedy)


@attrs.frozen
class Flag(Values):
    """True or False."""

    said = "bool"

    def check(self, name: str, value: Any) -> bool:
        return flag(name, value)


@attrs.frozen
class Name(Values):
    """The name of a column."""

    said = "str"
    metavar = "NAME"

    def check(self, name: str, value: Any) -> str:
        return text(name, value, remedy="The name of a column.")


@attrs.frozen
class Names(Values):
    """Names of columns; in a command several times, or with commas between them if ``metavar`` says so."""

    metavar: str = "NAME,..."
    said = "sequence of str"

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        return items(name, value, "names of columns", remedy='For instance ["x", "y"].')
