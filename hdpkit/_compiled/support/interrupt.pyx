"""Ctrl-C deferred to the end of a block.

It is compiled because Python runs signal handlers only between byte codes: an exception raised by another
handler (a timeout by SIGALRM) can't occur between the end of the block and the moment when the handler of
Ctrl-C is restored.
"""

import _signal      # without the enumerations of signal, which cost more than a sweep over a few customers
import signal
import sys
import threading
from types import FrameType

from hdpkit.errors import ParameterError

cdef int SIGINT = signal.SIGINT
cdef object last = None      # the replaced handler: it may be the one being called

cdef bint runs(block, frame):
    """Whether a frame is this one or was called from it, directly or indirectly."""
    while frame is not None:
        if frame is block:
            return True
        frame = frame.f_back
    return False


cdef bint is_ours(handler, frame):
    """Whether Ctrl-C raises KeyboardInterrupt here, ignoring a block that has already been left."""
    held = getattr(handler, "__self__", None)
    if isinstance(held, HeldInterrupt):
        return not runs((<HeldInterrupt>held).block, frame)
    return handler is signal.default_int_handler


cdef class HeldInterrupt:
    """Defer Ctrl-C inside a ``with`` block; the block receives a function that raises it when called.

    This applies only in the main thread, where Python delivers signals, and only if Ctrl-C would raise
    KeyboardInterrupt; otherwise nothing changes. The block is identified by its frame: if an exception keeps
    `__exit__` from being called, the next Ctrl-C detects that the block is no longer running and works as
    before.
    """

    cdef bint asked
    cdef bint held
    cdef object block

    def __enter__(self):
        main = threading.current_thread() is threading.main_thread()
        frame = sys._getframe()
        if main and is_ours(_signal.getsignal(SIGINT), frame):
            self.block = frame
            self.held = True
            try:
                _signal.signal(SIGINT, self.remember)
            except BaseException:
                self.give_back()
                raise
        return self.answer

    def __exit__(self, kind, error, trace):
        late = self.give_back()
        if late is not None:
            raise late
        if kind is None:
            self.answer()
        return False

    def remember(self, number, frame):
        """Record Ctrl-C; this is the signal handler in the block."""
        if frame is not None and not isinstance(frame, FrameType):
            raise ParameterError("frame", frame, "a frame", "Python calls this with the frame that it interrupted.")
        me = self       # Python's only reference to the handler is in the table of handlers, which is about to change
        if not runs(self.block, frame):
            self.give_back()
            raise KeyboardInterrupt
        self.asked = True

    def answer(self):
        """Raise KeyboardInterrupt if Ctrl-C was pressed since the block began or since the last call."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt

    cdef object give_back(self):
        """Restore the handler of Ctrl-C; returns an exception raised by other handlers meanwhile, or None."""
        global last
        late = None
        last = _signal.getsignal(SIGINT)
        while self.held:
            try:
                # Pending handlers run first in this call, and if they raise, the rest of it is not executed.
                _signal.signal(SIGINT, signal.default_int_handler)
                self.held = False
                self.block = None
            except BaseException as error:
                late = error
        return late
