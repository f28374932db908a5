"""The forward pass over sequences of states, for sweeps and readings."""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    PIECE_OF = 4096
    FINE = 0
    IMPOSSIBLE = 1
    NO_MEMORY = 2

cdef double LEAST       # of a sum; below, it is computed again from logarithms

cdef struct Job:
    # Rows of all states and, last, of the start.
    int64_t n_states
    bint slices
    const double *pi
    const double *sorted
    const int32_t *order
    const int64_t *offsets
    int32_t *states
    double *slice
    uint64_t key0
    uint64_t key1
    # Log likelihoods by row, those divided by the largest of their row, and the row of each customer.
    const double *logs
    const double *likelihoods
    const int32_t *index
    int64_t base          # customer of index[0]
    int64_t first         # sequence
    double *least         # by thread
    int *failed           # by thread
    # What readings need in addition: log p(x_t | x_1 .. x_t-1) of each customer from base on, NULL in a sweep,
    # and the logs of what rows of likelihoods were divided by.
    double *norms
    const double *tops

cdef int64_t forward(Job *job, int64_t first, int64_t last, bint begins, double *f, int32_t *active, double *rows) noexcept nogil
cdef double log_way(Job *job, const double *f, int64_t row, int64_t k, int64_t i) noexcept nogil
cdef double log_prediction(Job *job, const double *f, int64_t k, int64_t i) noexcept nogil
