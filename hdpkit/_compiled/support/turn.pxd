"""Whose turn it is (see `turn.pyx`)."""


cdef class Turn:
    cdef unsigned long owner     # the thread that holds it, where `depth` > 0
    cdef int depth               # holds of that thread, one within another
    cdef bint reading            # the outermost of them is a short one, which others wait for
    cdef long long serial        # of the outermost hold
    cdef unsigned long runner    # the thread of the run, where `claimed`
    cdef int claimed             # FREE, PREPARED, RUNNING
    cdef long long claim         # number of the run
    cdef bint stepping           # the run is between the start of a sweep and its draw
    cdef int waiting             # verbs and runs that wait for a read to end
    cdef public bint whole       # False: something was begun that may have to be taken back

    cdef int enter(self, bint reading, bint looking) except -1
    cdef int wait(self, unsigned long me, bint reading, bint looking) except -1
    cdef bint refuses(self, unsigned long me, bint looking) noexcept
    cdef object mend(self, owner)
    cdef long long take_claim(self, unsigned long me, int state) except -1
    cpdef int check(self) except -1


cdef class Held:
    cdef Turn turn
    cdef long long serial
    cdef int level

    cdef int give(self) noexcept


cdef Held in_turn(Turn turn)
