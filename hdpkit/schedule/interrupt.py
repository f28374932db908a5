"""Ctrl-C at places where the state is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_interrupt"]


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back inside the block; the function handed out raises it where it is called.

    Only in the main thread, where Python delivers signals, and only where Ctrl-C would raise
    KeyboardInterrupt; elsewhere nothing changes.
    """
    asked = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    def answer() -> None:
        nonlocal asked
        if asked:
            asked = False
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield answer
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield answer
        answer()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
