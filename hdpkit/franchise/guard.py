"""Access to all public members of a class under its lock: only one thread uses it at a time.

The base class wraps all public members, so none can be forgotten; exceptions must be marked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from hdpkit._franchise_lock import FranchiseLock, unweighable

F = TypeVar("F", bound=Callable[..., Any])


def changes(function: F) -> F:
    """Mark a member that changes the state: meanwhile other threads get an error instead of waiting."""
    function.__dict__["changes"] = True
    return function


def reopens(function: F) -> F:
    """Mark a member that replaces the state, which it may also do when the franchise is closed."""
    function.__dict__["reopens"] = True
    return changes(function)


def aside(function: F) -> F:
    """Mark a member that changes nothing of the state but reserved slots: also within a proposal."""
    function.__dict__["aside"] = True
    return changes(function)


def unguarded(function: F) -> F:
    """Mark a member that any thread may use at any time, or that takes the lock itself."""
    function.__dict__["guarded"] = False
    return function


class Locked:
    """Base of classes whose instances have a lock. Public members of subclasses are wrapped here."""

    access: FranchiseLock

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                setter = None if member.fset is None else guarded(member.fset)
                setattr(cls, name, property(guarded(member.fget), setter, doc=member.__doc__))
            elif callable(member) and not isinstance(member, type):
                setattr(cls, name, guarded(member))

    def _outside(self, aside: bool = False) -> None:
        """Raise an error for a change from inside a step or, unless it is ``aside``, of a proposal."""


def guarded(function: Any) -> Any:
    """The function within the lock of its first argument."""
    marks = getattr(function, "__dict__", {})
    if "guarded" in marks:
        return function
    reading = "changes" not in marks
    call = FranchiseLock.replace if "reopens" in marks else FranchiseLock.call

    # FranchiseLock.call is compiled: a signal handler can't raise between taking and releasing the lock.
    @wraps(function)
    def within(self: Any, /, *arguments: Any, **named: Any) -> Any:
        if not reading:
            self._outside("aside" in marks)
        try:
            return call(self.access, function, (self, *arguments), named, reading)
        except FloatingPointError as error:
            if reading:
                raise
            raise unweighable(error) from error

    within.__dict__["guarded"] = True
    return within
