# distutils: language = c++
"""The turn: only one thread at a time uses a franchise, to change it or to read it.

This module is compiled for two reasons. It runs at every use, so it must be fast. And Python runs signal
handlers only between byte codes: here, taking the turn, calling a function and releasing the turn is one
step, so an exception raised by a handler can't occur in between.

A thread takes the turn for the duration of a verb, a read or a block. A run also claims the franchise, from
before its first sweep until after its last. Between its sweeps no thread has the turn, but other threads
still get a BusyError. If another thread is reading, a thread waits, since reads are short; if another thread
runs a verb or a run, it doesn't wait.
"""

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident

from time import monotonic, sleep

from hdpkit.errors import BusyError, StateError

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


cdef class Turn:
    """The turn of one franchise. All objects of the franchise refer to it.

    On free-threaded Python a critical section makes each change of its numbers one step; with the global
    interpreter lock it compiles to nothing.
    """

    def __cinit__(self):
        self.whole = True

    cdef bint refuses(self, unsigned long me, bint looking) noexcept:
        """Whether a run of another thread excludes this one."""
        return self.claimed != FREE and self.runner != me and not (looking and not self.stepping)

    cdef int enter(self, bint reading, bint looking) except -1:
        """Take the turn; returns the number of holds of this thread. A second thread gets a BusyError.

        ``reading``: others may wait for the end. ``looking``: allowed between the sweeps of another thread's
        run.
        """
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int level = self.take(me, reading, looking)
        if level == 0:
            level = self.wait(me, reading, looking, True)
        return level

    cdef int take(self, unsigned long me, bint reading, bint looking) noexcept:
        """Take the turn if it is free or already this thread's: the number of its holds, else 0."""
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
        """Wait for a read of another thread. ``taking``: take the turn then, and return the number of holds."""
        cdef double until = monotonic() + PATIENCE
        cdef int level
        # Reads that begin while a verb waits must wait too: otherwise frequent reads could block the verb
        # forever.
        self.await_read(not reading)
        try:
            while True:
                with cython.critical_section(self):
                    if self.refuses(me, looking):
                        raise busy("in a run of another thread")
                    if self.depth > 0 and not self.reading and self.owner != me:
                        raise busy("in use by another thread")
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

    cdef object mend(self, owner):
        """Before the first use after a change was begun: the owner undoes a change that was not completed."""
        if not self.whole and self.depth == 1:
            owner._make_whole()

    cpdef int check(self) except -1:
        """Raise a BusyError while another thread uses the franchise."""
        cdef unsigned long me = PyThread_get_thread_ident()
        with cython.critical_section(self):
            if self.depth > 0 and self.owner == me:
                return 0
            if self.refuses(me, False):
                raise busy("in a run of another thread")
            if self.depth > 0 and not self.reading:
                raise busy("in use by another thread")
        return 0

    def call(self, owner, function, tuple arguments=(), dict named={}, bint reading=False):
        """Call a function while this thread has the turn."""
        cdef Held hold = held_as(self, reading, False)
        try:
            self.mend(owner)
            return function(*arguments, **named)
        finally:
            hold.give()

    def look(self, owner, function):
        """Call a function on the state after a complete sweep; allowed between sweeps of another thread's run."""
        cdef Held hold = held_as(self, True, True)
        try:
            self.mend(owner)
            return function()
        finally:
            hold.give()

    @property
    def in_run(self):
        """Whether a run is in progress."""
        return self.claimed == RUNNING

    @property
    def held(self):
        """Whether this thread has the turn."""
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
        cdef Held hold
        with cython.critical_section(self):
            if self.claimed == PREPARED and self.runner == me:
                self.claimed = state
                return self.claim
            if self.claimed != FREE:
                raise busy("in a run of another thread") if self.runner != me else in_another_run()
        hold = held_as(self, False, False)
        try:
            with cython.critical_section(self):
                # Another thread may have come first: while this one waited, or since the turn was looked at.
                if self.claimed != FREE:
                    raise busy("in a run of another thread") if self.runner != me else in_another_run()
                self.claimed = state
                self.runner = me
                self.claim += 1
                return self.claim
        finally:
            hold.give()

    cdef int begin_step(self, unsigned long me) except -1:
        """The run goes on in this thread, once nobody looks; returns the number of holds of this thread."""
        while True:
            with cython.critical_section(self):
                if self.stepping:
                    raise busy("in a run of another thread") if self.runner != me else in_another_run()
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
        """End the claim with this number, if it is still the present one."""
        with cython.critical_section(self):
            if self.claim == number:
                self.claimed = FREE
                self.stepping = False
        return 0


cdef class Claim:
    """The claim of one run: from its first requested draw until the end of its draws."""

    cdef Turn turn
    cdef long long number
    cdef bint on

    def __cinit__(self, Turn turn not None):
        self.turn = turn

    cdef int end(self) noexcept:
        if self.on:
            self.on = False
            self.turn.give_claim(self.number)
        return 0

    def __dealloc__(self):
        self.end()

    def step(self, draws):
        """The next draw of a generator; the run belongs to the thread that calls this."""
        cdef Turn turn = self.turn
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int depth
        if not self.on:
            self.number = turn.take_claim(me, RUNNING)
            self.on = True
        depth = turn.begin_step(me)
        try:
            draw = next(draws)
        except BaseException:
            self.end()
            raise
        finally:
            turn.end_step(me, depth)
        return draw

    def close(self, draws):
        """End the run."""
        if self.on and self.turn.stepping:
            raise in_another_run()
        try:
            draws.close()
        finally:
            self.end()


# ------------------------------------------------------------------------------------------- holds

@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class Held:
    """One hold of the turn. It ends with its last reference, in compiled code at the end of the function."""

    cdef int give(self) noexcept:
        cdef Turn turn = self.turn
        if turn is None:
            return 0
        self.turn = None
        # Holds within this one that were never given back end with it.
        with cython.critical_section(turn):
            if turn.serial == self.serial and turn.depth >= self.level:
                turn.depth = self.level - 1
        return 0

    def __dealloc__(self):
        self.give()


cdef Held held_as(Turn turn, bint reading, bint looking):
    cdef Held hold = Held.__new__(Held)
    hold.level = turn.enter(reading, looking)
    hold.serial = turn.serial
    hold.turn = turn
    return hold


cdef Held in_turn(Turn turn):
    """A hold of the turn for the duration of a function called from Python; None if the object isn't shared."""
    if turn is None:
        return None
    return held_as(turn, True, False)


cdef class Block:
    """A block in which this thread has the turn. ``end`` undoes what ``begin`` does.

    Parameters
    ----------
    turn : Turn
    owner : object
        Its ``_make_whole`` undoes a change that was begun and not completed: an exception may occur in
        ``end``.
    begin, end : functions, optional
        ``end`` and the block receive the result of ``begin``.
    """

    cdef Turn turn
    cdef object owner, begin, after, value
    cdef Held hold

    def __cinit__(self, Turn turn not None, owner, begin=None, end=None):
        self.turn = turn
        self.owner = owner
        self.begin = begin
        self.after = end

    def __enter__(self):
        cdef Held hold = held_as(self.turn, False, False)
        self.turn.mend(self.owner)
        if self.begin is not None:
            self.turn.whole = False
            self.value = self.begin()
        self.hold = hold
        return self.value

    def __exit__(self, kind, error, traceback):
        cdef Held hold = self.hold
        self.hold = None
        try:
            if self.after is not None:
                self.after(self.value)
        except Exception:
            if error is None:
                raise
            # The first error is the one to raise. The next use undoes what was not undone here.
        finally:
            if hold is not None:
                hold.give()
        if self.begin is None and isinstance(error, FloatingPointError):
            raise unweighable(error) from error
        return False


def unweighable(error):
    """The error for weights from which no index can be drawn."""
    return StateError(
        "weights", str(error), "finite and not all zero",
        "A NaN or an overflow in the base measure is the usual cause; the franchise is still valid.",
    )


# ------------------------------------------------------------------------------------------- attributes

cdef class Inside:
    """An attribute that changes with the state: other threads can't read or replace it during a turn."""

    cdef str name
    cdef bint readable

    def __init__(self, bint readable=False):
        self.readable = readable

    def __set_name__(self, owner, str name):
        self.name = name

    @property
    def readable_by_all(self):
        """Whether any thread may read it at any time, because the value never changes."""
        return self.readable

    def __get__(self, instance, owner):
        cdef Turn turn
        if instance is None:
            return self
        kept = instance.__dict__
        if not self.readable:
            turn = kept["_turn"]
            turn.check()
            if not turn.whole and turn.depth == 0:
                turn.call(instance, nothing)
        try:
            return kept[self.name]
        except KeyError:
            raise AttributeError(self.name) from None

    def __set__(self, instance, value):
        cdef Turn turn = instance.__dict__["_turn"]
        turn.check()
        instance.__dict__[self.name] = value


def nothing():
    """Do nothing; called with the turn, so that a change that was not completed is undone."""
