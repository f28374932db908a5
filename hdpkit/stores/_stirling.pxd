from libc.stdint cimport int64_t
from hdpkit.vectors cimport vector

cdef double log_discounted_sum(vector[int64_t] *n, vector[int64_t] *t, double d) except? -1.0 nogil


cdef cppclass Ratios:
    double d                   # the discount
    int64_t rows, columns      # the largest n and t of the table
    vector[double] fewer       # S_d(n, t - 1) / S_d(n, t) at (n - 1) * columns + t - 1, for t <= n


cdef int clear_ratios(Ratios *ratios) except -1 nogil
cdef int cover_ratios(Ratios *ratios, double d, int64_t n, int64_t t) except -1 nogil


cdef inline double fewer_tables(Ratios *ratios, int64_t n, int64_t t) noexcept nogil:
    """S_d(n, t - 1) / S_d(n, t), 1 <= t <= n."""
    return ratios.fewer[(n - 1) * ratios.columns + t - 1]


cdef inline double one_shares(Ratios *ratios, int64_t n, int64_t t) noexcept nogil:
    """S_d(n + 1, t) / S_d(n, t), 1 <= t <= n, of a table that covers n and t."""
    return (n - t * ratios.d) + fewer_tables(ratios, n, t)


cdef inline double one_opens(Ratios *ratios, int64_t n, int64_t t) noexcept nogil:
    """S_d(n + 1, t + 1) / S_d(n, t), 0 <= t <= n, of a table that covers n and t."""
    if t == n:
        return 1.0
    return 1.0 + (n - (t + 1) * ratios.d) / fewer_tables(ratios, n, t + 1)


cdef inline double one_alone(Ratios *ratios, int64_t n, int64_t t) noexcept nogil:
    """S_d(n - 1, t - 1) / S_d(n, t), 1 <= t <= n: that the last of n customers at t tables sits alone."""
    cdef double fewer
    if t == n:
        return 1.0
    fewer = fewer_tables(ratios, n - 1, t)
    return fewer / (fewer + ((n - 1) - t * ratios.d))
