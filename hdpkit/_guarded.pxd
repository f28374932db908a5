"""Objects of a franchise that only the thread that has the lock may use (see `guarded.pyx`)."""

from hdpkit._franchise_lock cimport FranchiseLock


cdef class Guarded:
    cdef public FranchiseLock lock      # of the franchise that it belongs to, None if there is none
