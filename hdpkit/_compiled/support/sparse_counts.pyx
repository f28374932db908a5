# distutils: language = c++
"""Changes of counts by term and slot as bytes: those that are not 0, in the order of terms and, within a term, of slots.

The place of a count is term x n_slots + slot. Each change is two numbers: how far its place is behind the one before
(the first: behind place -1), and the change as 2 c for c > 0 and -2 c - 1 for c < 0. A number is written seven bits
a byte, the lowest first, with the eighth bit set in all bytes but the last. Most take one byte: sums over parts of a
corpus are sums of whole numbers, the same in any order.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length, refuse
from hdpkit.errors import DataError

cdef enum:
    LONGEST = 10         # bytes of a number


cdef struct Reader:
    const uint8_t *at
    const uint8_t *end
    int64_t place        # of the last change
    int64_t change
    bint broken


cdef inline int put(vector[uint8_t] *out, uint64_t number) except -1 nogil:
    while number >= 128:
        out.push_back(<uint8_t>(number & 127 | 128))
        number >>= 7
    out.push_back(<uint8_t>number)
    return 0


cdef inline int put_change(vector[uint8_t] *out, int64_t gap, int64_t change) except -1 nogil:
    put(out, <uint64_t>gap)
    put(out, <uint64_t>(2 * change) if change > 0 else <uint64_t>(-2 * change - 1))
    return 0


cdef inline uint64_t number_at(Reader *r) noexcept nogil:
    cdef uint64_t found = 0
    cdef int i
    for i in range(LONGEST):
        if r.at == r.end:
            break
        found |= <uint64_t>(r.at[0] & 127) << (7 * i)
        r.at += 1
        if not r.at[-1] & 128:
            return found
    r.broken = True
    return 0


cdef inline bint next_change(Reader *r) noexcept nogil:
    """Go on to the next change; False at the end, or where the bytes are none that were written here."""
    cdef uint64_t gap, coded
    if r.at == r.end or r.broken:
        return False
    gap = number_at(r)
    coded = number_at(r)
    if gap == 0 or gap >> 62 or coded == 0 or coded >> 34 or r.place + <int64_t>gap < 0:
        r.broken = True
    if r.broken:
        return False
    r.place += <int64_t>gap
    r.change = -<int64_t>((coded + 1) >> 1) if coded & 1 else <int64_t>(coded >> 1)
    return True


cdef Reader reader_of(bytes sparse) except *:
    cdef Reader r
    r.at = <const uint8_t *>PyBytes_AS_STRING(sparse)
    r.end = r.at + len(sparse)
    r.place = -1
    r.change = 0
    r.broken = False
    return r


cdef int check_whole(Reader *r) except -1:
    if r.broken:
        raise DataError("counts", "bytes that end too early, or are others", "changes of counts as they were written",
                        "The message was damaged on its way: run from the last checkpoint.")
    return 0


cdef bytes as_bytes(vector[uint8_t] *out):
    return PyBytes_FromStringAndSize(<const char *>out.data(), <Py_ssize_t>out.size())


cdef bytes take_sparse(int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots):
    """The cells of the first n_slots of each row as changes; all cells are 0 then."""
    cdef vector[uint8_t] out
    cdef int64_t v, k, last = -1
    cdef int32_t *row
    with nogil:
        for v in range(n_terms):
            row = cells + v * stride
            for k in range(n_slots):
                if row[k] != 0:
                    put_change(&out, v * n_slots + k - last, row[k])
                    last = v * n_slots + k
                    row[k] = 0
    return as_bytes(&out)


cdef int add_sparse(bytes sparse, int32_t *cells, int64_t n_terms, int64_t stride, int64_t n_slots) except -1:
    """Add changes to the cells of the first n_slots of each row."""
    cdef Reader r = reader_of(sparse)
    cdef int64_t v = 0, first = 0, n = n_terms * n_slots
    with nogil:
        while next_change(&r):
            if r.place >= n:
                r.broken = True
                break
            if r.place >= first + n_slots:
                v = r.place // n_slots
                first = v * n_slots
            cells[v * stride + r.place - first] += <int32_t>r.change
    check_whole(&r)
    return 0


def write_sparse(const int64_t[::1] places not None, const int64_t[::1] changes not None):
    """Changes at these places, which ascend, as bytes. None of them is 0.

    Returns
    -------
    bytes
    """
    cdef vector[uint8_t] out
    cdef int64_t i, last = -1
    check_length("changes", changes.shape[0], places.shape[0])
    for i in range(places.shape[0]):
        if places[i] <= last:
            refuse("places", places[i], "ascending, from 0", "Sort them, and add up those of one place.")
        if changes[i] == 0 or not -(1 << 32) < changes[i] < 1 << 32:
            refuse("changes", changes[i], "below 2**32, and not 0", "Leave those of 0 out.")
        put_change(&out, places[i] - last, changes[i])
        last = places[i]
    return as_bytes(&out)


def read_sparse(bytes sparse not None):
    """Places and changes that bytes hold.

    Returns
    -------
    places, changes : int64 arrays of one shape
    """
    cdef vector[int64_t] places, changes
    cdef Reader r = reader_of(sparse)
    cdef int64_t i
    while next_change(&r):
        places.push_back(r.place)
        changes.push_back(r.change)
    check_whole(&r)
    found = np.empty((2, places.size()), dtype=np.int64)
    cdef int64_t[:, ::1] out = found
    for i in range(<int64_t>places.size()):
        out[0, i] = places[i]
        out[1, i] = changes[i]
    return found[0], found[1]


def add_up_sparse(bytes one not None, bytes other not None):
    """The sum of two changes of counts, in bytes as both: the same whichever comes first.

    Returns
    -------
    bytes
    """
    cdef vector[uint8_t] out
    cdef Reader a = reader_of(one), b = reader_of(other)
    cdef bint more_a, more_b
    cdef int64_t last = -1, place, change
    out.reserve(len(one) + len(other))
    with nogil:
        more_a = next_change(&a)
        more_b = next_change(&b)
        while more_a or more_b:
            change = 0
            place = a.place if more_a and (not more_b or a.place <= b.place) else b.place
            if more_a and a.place == place:
                change += a.change
                more_a = next_change(&a)
            if more_b and b.place == place:
                change += b.change
                more_b = next_change(&b)
            if change != 0:
                put_change(&out, place - last, change)
                last = place
    check_whole(&a)
    check_whole(&b)
    return as_bytes(&out)
