"""The typed errors of the package.

Every error caused by bad input has four attributes: the name of the parameter, its value, the allowed range,
and what to do. The message contains them too.
"""

from __future__ import annotations

import errno
import reprlib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Self

_COMMANDS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of characters that control a terminal, change text direction, or end a line."""

RUN_FIRST = "Run some sweeps first; a run of several chains returns their states as trace.franchises."
"""What to do with a franchise that was never started."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the file system where there is too little space."""

_HARMLESS = "\xad\u200c\u200d"  # a soft hyphen, and joiners, which occur in words of many scripts


def printable(text: str, keep: str = "") -> str:
    """Return a text that is safe to print: control characters are escaped, except those in ``keep``."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter in keep or letter in _HARMLESS or unicodedata.category(letter) not in _COMMANDS
        else _number(letter)
        for letter in text
    )


def _number(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_SHORT = reprlib.Repr()
_SHORT.maxstring = 100  # values are often what was found in words


def short_repr(value: Any) -> str:
    """A representation of about 30 characters, of texts 100, for any value; of a path, all of it."""
    try:
        if isinstance(value, PurePath):
            return printable(repr(str(value)))
        return printable(_SHORT.repr(value).replace("\n", " "))
    except Exception:  # an int with more digits than Python prints, or a __repr__ that fails
        return f"<{type(value).__name__}>"


class HdpkitError(Exception):
    """Base of all errors that the package raises on purpose.

    Parameters
    ----------
    parameter : str
        Name of the parameter, or the place in the data, that caused the error.
    value : object
        Its value.
    allowed : str
        The allowed values.
    remedy : str
        What to do about it.
    """

    def __init__(self, parameter: str, value: Any, allowed: str, remedy: str) -> None:
        self.parameter = parameter
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        super().__init__(parameter, value, allowed, remedy)

    def __str__(self) -> str:
        told = f"must be {self.allowed}. {self.remedy}"  # may contain names and content of files
        return f"{printable(str(self.parameter))} = {short_repr(self.value)}: {printable(told, keep=chr(10))}"


class ParameterError(HdpkitError, ValueError):
    """A number, a name or an option outside its range."""


class DataError(HdpkitError, ValueError):
    """Invalid observations, counts, labels or files."""


class ShardError(DataError):
    """A shard of a corpus that is missing, truncated or damaged; the message names the shard and the file.

    Attributes
    ----------
    shard : int
        Number of the shard, from 0.
    """

    shard: int = -1

    @classmethod
    def of(cls, shard: int, place: str, value: Any, allowed: str, remedy: str) -> Self:
        """Make the error about a place in this shard."""
        error = cls(f"shard {shard}, {place}", value, allowed, remedy)
        error.shard = shard
        return error


class ChangedDataError(DataError):
    """The files of a mapped corpus were changed after it was opened."""


class DeclarationError(HdpkitError, ValueError):
    """Restaurants that don't fit together or don't fit the data."""


class ScheduleError(HdpkitError, ValueError):
    """A schedule that doesn't fit the franchise: a move has nothing to do, or a step is missing."""


class KernelError(HdpkitError, ValueError):
    """A forced kernel that doesn't exist for the store, the measure or the depth."""


class ExtensionError(HdpkitError, ImportError):
    """Compiled code of another package that doesn't fit this hdpkit, or an extra that is missing."""


class RegistryError(HdpkitError, KeyError):
    """A name that is unknown to a registry or a trace, or that is already used."""

    __str__ = HdpkitError.__str__  # KeyError would print the tuple of arguments


class MissingMethodError(HdpkitError, NotImplementedError):
    """An optional method that a measure, store or root doesn't have (see `BaseMeasure.supports`)."""


class StateError(HdpkitError, RuntimeError):
    """An operation that is impossible in the current state, for instance seating a seated customer."""


class AuditError(StateError):
    """The state is inconsistent: a defect in the package, a move or a component, never in the data."""


class ReturnValueError(StateError):
    """User code (a measure, move, prior, component or store) returned a value that its contract forbids.

    ``parameter`` is the class and the method. The franchise is consistent.
    """


class BusyError(StateError):
    """A second thread used a franchise, or a move used it from inside a step."""


class ClosedError(StateError):
    """A franchise is used after a change of it failed half way (see `hdpkit.Franchise.transaction`)."""


class MissingExtraError(HdpkitError, ImportError):
    """A missing package that belongs to an extra of this package."""


@contextmanager
def importing_extra(package: str, extra: str, purpose: str = "", way_out: str = "") -> Iterator[None]:
    """Raise a MissingExtraError if the block can't import a package of an extra of this package."""
    try:
        yield
    except ImportError as error:
        remedy = f"It is an extra: pip install 'hdpkit[{extra}]'.{way_out}"
        raise MissingExtraError(package, None, f"installed{purpose}", remedy) from error


class InterruptedRunWarning(UserWarning):
    """Ctrl-C ended a run; completed sweeps are returned (``on_interrupt="raise"`` raises)."""


class SkippedFilesWarning(UserWarning):
    """Files of a folder of texts that can't be decoded were left out."""


class UnspacedTextWarning(UserWarning):
    """Texts seem to be in a language without spaces between words, and were split at spaces."""


class ManyTopicsWarning(UserWarning):
    """A run of a topic model ended with more topics than an average topic has tokens."""


class TopicLabelsWarning(UserWarning):
    """Labels in the file labels.csv of a run belong to topics that the run doesn't have any more."""


class LeftOutColumnsWarning(UserWarning):
    """Columns without variation, or that are linear functions of others, were left out of a model."""


class OverdispersedCountsWarning(UserWarning):
    """Counts vary more than the model assumes."""


class SlowModelWarning(UserWarning):
    """A model will take very long with data of this size."""


class CopiedFranchiseWarning(UserWarning):
    """A franchise without dishes was read after a run of several chains, which ran on copies of it."""


class RunError(HdpkitError, RuntimeError):
    """A run folder, or an object to be saved in one, that can't be used.

    Attributes
    ----------
    trace : Trace or None
        The trace before the error, if a run was in progress; the franchise is consistent.
    """

    trace: Any = None


class LostPartError(RunError):
    """A worker of a cluster that had documents of a run was lost, with the state of these documents."""


class SlowPartError(RunError):
    """A worker of a run over shards didn't answer in the given time; the message names its shards."""


class StorageError(RunError):
    """An error of the file system, for instance a full disk. ``__cause__`` is the original error."""

    @classmethod
    def of(cls, error: OSError, parameter: str, path: Any, allowed: str, remedy: str) -> Self:
        """Make the error for one of the system; its remedy names space only where that is missing."""
        if error.errno in _FULL:
            remedy = f"Free some space, or {remedy[0].lower()}{remedy[1:]}"
        return cls(parameter, PurePath(path), f"{allowed} ({error.strerror or error})", remedy)


class LockedRunError(RunError):
    """Another process is using the run folder."""


class CorruptRunError(RunError):
    """A file of a run folder fails its checks: it was damaged or edited."""


class RunVersionError(RunError):
    """A file of a run folder has another version of the format."""


class ChainError(RunError):
    """A chain ended with an error, in its own process.

    Attributes
    ----------
    original : BaseException or None
        The error itself, if it could be passed between processes.
    remote_traceback : str
        Its traceback in the chain's process.
    """

    original: BaseException | None = None
    remote_traceback: str = ""


__all__ = [  # errors and warnings are all public
    "printable",
    *(
        name
        for name, thing in list(vars().items())
        if isinstance(thing, type) and issubclass(thing, HdpkitError | UserWarning)
    ),
]
