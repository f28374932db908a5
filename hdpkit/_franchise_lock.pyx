# distutils: language = c++
"""The lock: only one thread at a time uses a franchise, to change it or to read it.

This module is compiled for two reasons. It runs at every use, so it must be fast. And Python runs signal
handlers only between byte codes: here, taking the lock, calling a function and releasing the lock is one
step, so an exception raised by a handler can't occur in between.

A thread takes the lock for the duration of a step, a read or a block. A run also claims the franchise, from
before its first sweep until after its last. Between its sweeps no thread has the lock, but other threads
still get a BusyError. If another thread is reading, a thread waits, since reads are short; if another thread
runs a step or a run, it doesn't wait.

A change that raises leaves the franchise closed: every use raises a ClosedError until a complete state is
restored (`FranchiseLock.reopen`). Nothing is repaired.

Here, too, is what defers Ctrl-C to the end of a block.
"""

import _signal      # without the enumerations of signal, which cost more than a sweep over a few customers
import signal
import sys
import threading
from time import monotonic, sleep

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident

from hdpkit.errors import BusyError, ClosedError, StateError

cdef double PATIENCE = 10.0      # seconds to wait for a read of another thread
cdef double NAP = 0.0005

cdef enum:
    FREE
    PREPARED     # a run checks its arguments
    RUNNING


cdef busy(str what):
    return BusyError(
        "franchise", what, "used by one thread at a time",
        "Use look() to read the last finished sweep of a run, or use one copy() per thread.",
    )


cdef in_another_run():
    return BusyError(
        "franchise", "in another run", "run by one run at a time",
        "Close the draws of the other run, or use a copy() for this one.",
    )


cdef closed():
    return ClosedError(
        "franchise", "closed, because a change failed half way", "open",
        "Use `with franchise.transaction():` around changes that may fail. Now thaw a state, or clear() it and "
        "start again, or, if this was within a run or a transaction, go back by another transaction().",
    )


cdef class FranchiseLock:
    """The lock of one franchise. All objects of the franchise refer to it.

    On free-threaded Python a critical section makes each change of its numbers one step; with the global
    interpreter lock it compiles to nothing.
    """

    cdef unsigned long owner     # the thread that holds it, if `depth` > 0
    cdef int depth               # number of nested holds of that thread
    cdef bint reading            # the outermost of them is a read, for which others wait
    cdef long long serial        # number of the outermost hold
    cdef unsigned long runner    # the thread of the run, if `claimed`
    cdef int claimed             # FREE, PREPARED, RUNNING
    cdef long long claim         # number of the run
    cdef bint stepping           # the run is between the start of a sweep and its draw
    cdef int waiting             # number of steps and runs that wait for the end of a read
    cdef readonly bint closed    # a change failed half way
    cdef bint reopening          # a complete state is being restored

    cdef bint refuses(self, unsigned long me, bint looking) noexcept:
        """Whether a run of another thread excludes this one."""
        return self.claimed != FREE and self.runner != me and not (looking and not self.stepping)

    cdef int require_waiting(self, unsigned long me, bint looking) except -1:
        """Raise a BusyError if another thread has a run or a change, for which nobody waits."""
        if self.refuses(me, looking):
            raise busy("in a run of another thread")
        if self.depth > 0 and not self.reading and self.owner != me:
            raise busy("in use by another thread")
        return 0

    cdef object taken(self, unsigned long me):
        """The error for a second run."""
        return busy("in a run of another thread") if self.runner != me else in_another_run()

    cdef int enter(self, bint reading, bint looking, bint anyway) except -1:
        """Take the lock; returns the number of holds of this thread. A second thread gets a BusyError.

        ``reading``: others may wait for the end. ``looking``: allowed between the sweeps of another thread's
        run. ``anyway``: also of a closed franchise.
        """
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int level = self.take(me, reading, looking)
        if level == 0:
            level = self.wait(me, reading, looking, True)
        if self.closed and not self.reopening and not anyway:
            with cython.critical_section(self):
                self.depth -= 1
            raise closed()
        return level

    cdef int take(self, unsigned long me, bint reading, bint looking) noexcept:
        """Take the lock if it is free or already this thread's: the number of its holds, else 0."""
        with cython.critical_section(self):
            if self.depth > 0 and self.owner == me:
                self.depth += 1
                return self.depth
            if self.depth > 0 or (reading and self.waiting > 0) or self.refuses(me, looking):
                return 0
            self.owner = me
            self.depth = 1
            self.reading = reading
            self.serial += 1
            return 1

    cdef int wait(self, unsigned long me, bint reading, bint looking, bint taking) except -1:
        """Wait for a read of another thread. ``taking``: take the lock then, and return the number of holds."""
        cdef double until = monotonic() + PATIENCE
        cdef int level
        # Reads that begin while a step waits must wait too: otherwise frequent reads could block the step
        # forever.
        self.await_read(not reading)
        try:
            while True:
                with cython.critical_section(self):
                    self.require_waiting(me, looking)
                    if not taking and self.depth == 0:
                        return 0
                if taking:
                    level = self.take(me, reading, looking)
                    if level > 0:
                        return level
                if monotonic() > until:
                    raise busy(f"read by another thread for more than {PATIENCE:.0f} seconds")
                sleep(NAP)
        finally:
            self.await_read(-(not reading))

    cdef int await_read(self, int change) noexcept:
        with cython.critical_section(self):
            self.waiting += change
        return 0

    cdef int check(self) except -1:
        """Raise a BusyError while another thread uses the franchise."""
        cdef unsigned long me = PyThread_get_thread_ident()
        with cython.critical_section(self):
            if self.depth == 0 or self.owner != me:
                self.require_waiting(me, False)
        return 0

    def call(self, function, tuple arguments=(), dict named={}, bint reading=False):
        """Call a function while this thread has the lock."""
        cdef Hold hold = held_as(self, reading, False)
        return function(*arguments, **named)

    def replace(self, function, tuple arguments=(), dict named={}, bint reading=False):
        """Call a function that replaces the state while this thread has the lock: also if the franchise is closed."""
        cdef Hold hold = held_as(self, False, False, True)
        cdef bint before = self.reopening      # only this thread may use the franchise now
        try:
            self.reopening = True
            return function(*arguments, **named)
        finally:
            self.reopening = before

    def change(self, function, *arguments):
        """Call a function that changes the state. If it raises, the franchise is closed."""
        cdef Hold hold = held_as(self, False, False)
        try:
            return function(*arguments)
        except BaseException:
            self.closed = True
            raise

    def reopen(self, function, *arguments):
        """Call a function that restores a complete state; only if it returns is the franchise open."""
        return self.replace(self.restored, (function, arguments))

    def restored(self, function, tuple arguments):
        """Call the function of `reopen`; the franchise remains closed if it raises."""
        self.closed = True
        done = function(*arguments)
        self.closed = False
        return done

    def look(self, function):
        """Call a function on the state after a complete sweep; allowed between sweeps of another thread's run."""
        cdef Hold hold = held_as(self, True, True)
        return function()

    @property
    def held(self):
        """Whether this thread has the lock."""
        return self.depth > 0 and self.owner == PyThread_get_thread_ident()

    def prepare(self, function, *arguments):
        """Call a function that checks and then starts a run; no other run can start in between."""
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef long long number
        if self.claimed == PREPARED and self.runner == me:
            return function(*arguments)
        number = self.take_claim(me, PREPARED)
        try:
            return function(*arguments)
        finally:
            self.give_claim(number)

    cdef long long take_claim(self, unsigned long me, int state) except -1:
        """Claim the franchise for a run; returns the number of the run."""
        cdef Hold hold = held_as(self, False, False)
        with cython.critical_section(self):
            if self.claimed == FREE:
                self.runner = me
                self.claim += 1
            elif self.claimed == RUNNING or self.runner != me:
                raise self.taken(me)
            self.claimed = state
            return self.claim

    cdef int begin_step(self, unsigned long me) except -1:
        """The run goes on in this thread, once nobody looks; returns the number of holds of this thread."""
        while True:
            with cython.critical_section(self):
                if self.stepping:
                    raise self.taken(me)
                if self.depth == 0 or self.owner == me:
                    self.runner = me
                    self.stepping = True
                    return self.depth
            self.wait(self.runner, False, False, False)      # somebody looks

    cdef int end_step(self, unsigned long me, int depth) noexcept:
        with cython.critical_section(self):
            self.stepping = False
            if self.depth > depth and self.owner == me:
                self.depth = depth
        return 0

    cdef int give_claim(self, long long number) noexcept:
        """End the claim with this number, if it is still the current one."""
        with cython.critical_section(self):
            if self.claim == number:
                self.claimed = FREE
                self.stepping = False
        return 0


cdef class Claim:
    """The claim of one run: from its first requested draw until the end of its draws."""

    cdef FranchiseLock lock
    cdef long long number
    cdef bint on

    def __cinit__(self, FranchiseLock lock not None):
        self.lock = lock

    cdef int end(self) noexcept:
        if self.on:
            self.on = False
            self.lock.give_claim(self.number)
        return 0

    def __dealloc__(self):
        self.end()

    def step(self, draws):
        """The next draw of a generator; the run belongs to the thread that calls this."""
        cdef FranchiseLock lock = self.lock
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int depth
        if not self.on:
            self.number = lock.take_claim(me, RUNNING)
            self.on = True
        depth = lock.begin_step(me)
        try:
            draw = next(draws)
        except BaseException:
            self.end()
            raise
        finally:
            lock.end_step(me, depth)
        return draw

    def close(self, draws):
        """End the run."""
        if self.on and self.lock.stepping:
            raise in_another_run()
        try:
            draws.close()
        finally:
            self.end()


# ------------------------------------------------------------------------------------------- holds

@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class Hold:
    """One hold of the lock. It ends with its last reference: for a local variable at the end of the function."""

    cdef FranchiseLock lock
    cdef long long serial
    cdef int level

    def __dealloc__(self):
        cdef FranchiseLock lock = self.lock
        if lock is None:
            return
        # Holds within this one that were never given back end with it.
        with cython.critical_section(lock):
            if lock.serial == self.serial and lock.depth >= self.level:
                lock.depth = self.level - 1


cdef Hold held_as(FranchiseLock lock, bint reading, bint looking, bint anyway=False):
    cdef Hold hold = Hold.__new__(Hold)
    hold.level = lock.enter(reading, looking, anyway)
    hold.serial = lock.serial
    hold.lock = lock
    return hold


cdef class Block:
    """A block in which this thread has the lock. ``end`` undoes what ``begin`` does; both may change the state.

    ``begin`` checks first, and then changes by `FranchiseLock.change`; ``end`` and the block receive its result.
    If a change fails within the block, the franchise is closed, and ``end`` isn't called.
    """

    cdef FranchiseLock lock
    cdef object begin, after, value
    cdef Hold hold

    def __cinit__(self, FranchiseLock lock not None, begin=None, end=None):
        self.lock = lock
        self.begin = begin
        self.after = end

    def __enter__(self):
        cdef Hold hold = held_as(self.lock, False, False)
        if self.begin is not None:
            self.value = self.begin()
        self.hold = hold
        return self.value

    def __exit__(self, kind, error, traceback):
        cdef Hold hold = self.hold
        self.hold = None
        try:
            if self.after is not None and not self.lock.closed:
                self.lock.change(self.after, self.value)
        except Exception as second:
            if error is None:
                raise
            error.add_note(f"The end of the block failed too: {second!r}")
        if self.begin is None and isinstance(error, FloatingPointError):
            raise unweighable(error) from error
        return False


cdef class Transaction:
    """A block that either completes or leaves the franchise as it was."""

    cdef FranchiseLock lock
    cdef object owner, before, kept, keep
    cdef Hold hold

    def __cinit__(self, FranchiseLock lock not None, owner, keep):
        self.lock = lock
        self.owner = owner
        self.keep = keep

    def __enter__(self):
        cdef Hold hold
        if self.lock.closed:
            if self.owner.kept is None:
                raise closed()
            self.lock.reopen(self.owner.kept.restore, self.owner)
        hold = held_as(self.lock, False, False)
        self.before = self.owner.kept
        self.kept = self.owner.kept = self.keep(self.owner)
        self.hold = hold
        return self.owner

    def __exit__(self, kind, error, traceback):
        cdef Hold hold = self.hold
        self.hold = None
        try:
            if error is not None:
                self.lock.reopen(self.kept.restore, self.owner)
        except BaseException as second:
            error.add_note(f"The state before could not be restored: {second!r}")
        finally:
            if not self.lock.closed:
                self.owner.kept = self.before
        return False


def unweighable(error):
    """The error for weights from which no index can be drawn."""
    return StateError(
        "weights", str(error), "finite and not all zero",
        "A NaN or an overflow in the base measure is the usual cause.",
    )


# ------------------------------------------------------------------------------------------- attributes

cdef class Inside:
    """An attribute that changes with the state: other threads can't read or replace it during a lock."""

    cdef str name

    def __set_name__(self, owner, str name):
        self.name = name

    def __get__(self, instance, owner):
        cdef FranchiseLock lock
        if instance is None:
            return self
        lock = instance.access
        lock.check()
        if lock.closed and not lock.reopening:
            raise closed()
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        cdef FranchiseLock lock = instance.access
        lock.check()
        instance.__dict__[self.name] = value


# ----------------------------------------------------------------------------------------------- Ctrl-C
# Ctrl-C deferred to the end of a block.
#
# It is compiled because Python runs signal handlers only between byte codes: an exception raised by another
# handler (a timeout by SIGALRM) can't occur between the end of the block and the moment when the handler of
# Ctrl-C is restored.

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
    cdef bint once
    cdef object block

    def __cinit__(self, bint once=False):
        self.once = once

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
        me = self       # Python's only reference to the handler is in the table of handlers, which is about to change
        if not runs(self.block, frame) or (self.once and self.asked):
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
