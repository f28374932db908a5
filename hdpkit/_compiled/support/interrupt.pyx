"""Ctrl-C held back for the length of a block.

Compiled, since Python runs signal handlers between byte codes only: an exception that another handler raises (a
timeout by SIGALRM) can't fall between the block's end and the moment at which Ctrl-C is as it was.
"""

import signal
import sys
import threading


cdef object last = None      # the handler that was replaced: it may be the one that is being called

cdef bint runs(block, frame):
    """Whether a frame is this one or was called from it, in however many calls."""
    while frame is not None:
        if frame is block:
            return True
        frame = frame.f_back
    return False


cdef bint is_ours(handler, frame):
    """Whether Ctrl-C raises KeyboardInterrupt here, or would but for a block that has been left."""
    held = getattr(handler, "__self__", None)
    if isinstance(held, HeldInterrupt):
        return not runs((<HeldInterrupt>held).block, frame)
    return handler is signal.default_int_handler


cdef class HeldInterrupt:
    """Hold Ctrl-C back inside a ``with`` block; what the block is given raises it where it is called.

    Only in the main thread, where Python delivers signals, and only where Ctrl-C would raise KeyboardInterrupt;
    elsewhere nothing changes. The block is known by its frame: should an exception ever keep `__exit__` from being
    called, Ctrl-C finds that the block is no longer run and is what it was.
    """

    cdef bint asked
    cdef bint held
    cdef object block

    def __enter__(self):
        main = threading.current_thread() is threading.main_thread()
        frame = sys._getframe()
        if main and is_ours(signal.getsignal(signal.SIGINT), frame):
            self.block = frame
            self.held = True
            try:
                signal.signal(signal.SIGINT, self.remember)
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
        """Take note of Ctrl-C; the handler of the signal in the block."""
        me = self       # Python holds the handler by the table of handlers alone, which is about to change
        if not runs(self.block, frame):
            self.give_back()
            raise KeyboardInterrupt
        self.asked = True

    def answer(self):
        """Raise KeyboardInterrupt if Ctrl-C was pressed since the block began or this was last asked."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt

    cdef object give_back(self):
        """Let Ctrl-C be what it was; returns what other handlers raised meanwhile, or None."""
        global last
        late = None
        last = signal.getsignal(signal.SIGINT)
        while self.held:
            try:
                # Handlers that wait run first in there, and what they raise keeps the rest from being done.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                self.held = False
                self.block = None
            except BaseException as error:
                late = error
        return late
