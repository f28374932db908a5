"""Every public member of a class under its turn: no thread uses it while another one does.

It is a hook of the base class, so that no member can be forgotten; those that need no turn say so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from hdpkit._compiled.support.turn import Turn, unweighable

__all__ = ["Guarded", "changes", "unguarded"]

F = TypeVar("F", bound=Callable[..., Any])


def changes(function: F) -> F:
    """Mark a member that changes the state: another thread that meets it is refused, and doesn't wait."""
    function.__dict__["changes"] = True
    return function


def unguarded(function: F) -> F:
    """Mark a member that every thread may use at any time, or that takes the turn itself."""
    function.__dict__["guarded"] = False
    return function


class Guarded:
    """Base of classes whose instances have a turn. What subclasses define in public is wrapped here."""

    _turn: Turn

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                setter = None if member.fset is None else _guarded(member.fset)
                setattr(cls, name, property(_guarded(member.fget), setter, doc=member.__doc__))
            elif callable(member) and not isinstance(member, type):
                setattr(cls, name, _guarded(member))

    def _outside(self) -> None:
        """Refuse a change from inside a verb."""

    def _make_whole(self) -> None:
        """Take back what was begun and never ended, since an exception came in between."""


def _guarded(function: Any) -> Any:
    """The function within the turn of its first argument."""
    marks = getattr(function, "__dict__", {})
    if "guarded" in marks:
        return function
    reading = "changes" not in marks

    # Turn.call is compiled: no exception of a signal handler comes between taking the turn and giving back.
    @wraps(function)
    def within(self: Any, /, *arguments: Any, **named: Any) -> Any:
        if not reading:
            self._outside()
        try:
            return self._turn.call(self, function, (self, *arguments), named, reading)
        except FloatingPointError as error:
            if reading:
                raise
            raise unweighable(error) from error

    within.__dict__["guarded"] = True
    return within
