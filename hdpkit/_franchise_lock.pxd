"""The lock of a thread to use a franchise (see `franchise_lock.pyx`)."""


cdef class FranchiseLock:
    cdef unsigned long owner     # the thread that holds it, if `depth` > 0
    cdef int depth               # number of nested holds of that thread
    cdef bint reading            # the outermost of them is a read, for which others wait
    cdef long long serial        # number of the outermost hold
    cdef unsigned long runner    # the thread of the run, if `claimed`
    cdef int claimed             # FREE, PREPARED, RUNNING
    cdef long long claim         # number of the run
    cdef bint stepping           # the run is between the start of a sweep and its draw
    cdef int waiting             # number of steps and runs that wait for the end of a read
    cdef bint changing           # a change is in progress
    cdef readonly bint closed    # a change failed half way
    cdef bint reopening          # a complete state is being restored

    cdef int enter(self, bint reading, bint looking, bint anyway) except -1
    cdef int take(self, unsigned long me, bint reading, bint looking) noexcept
    cdef int wait(self, unsigned long me, bint reading, bint looking, bint taking) except -1
    cdef int await_read(self, int change) noexcept
    cdef bint refuses(self, unsigned long me, bint looking) noexcept
    cdef long long take_claim(self, unsigned long me, int state) except -1
    cdef int begin_step(self, unsigned long me) except -1
    cdef int end_step(self, unsigned long me, int depth) noexcept
    cdef int give_claim(self, long long number) noexcept
    cpdef int check(self) except -1


cdef class Hold:
    cdef FranchiseLock lock
    cdef long long serial
    cdef int level

    cdef int give(self) noexcept


