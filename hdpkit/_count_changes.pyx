# distutils: language = c++
"""Changes of counts by term and slot as bytes: the nonzero ones, ordered by term and then by slot.

The place of a count is term x n_slots + slot. Each change is two numbers: the distance of its place from the
previous one (for the first: from place -1), and the change as 2 c for c > 0 and -2 c - 1 for c < 0. A number
is written with seven bits per byte, the lowest first, with the eighth bit set in all bytes except the last.
Most numbers take one byte. Sums over processes are sums of integers, the same in any order.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit.errors import DataError

cdef enum:
    LONGEST = 10         # most bytes of a number
    BLOCK = 16           # cells that are checked together: the length of rows is a multiple


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
    """Read the next change; False at the end, or if the bytes are not in this format."""
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
        raise DataError("counts", "truncated or changed bytes", "changes of counts, unchanged since they were written",
                        "The message of a worker was damaged: continue from the last checkpoint.")
    return 0


cdef bytes as_bytes(vector[uint8_t] *out):
    return PyBytes_FromStringAndSize(<const char *>out.data(), <Py_ssize_t>out.size())


def write_sparse(const int64_t[::1] places not None, const int64_t[::1] changes not None):
    """Changes, all nonzero, at these ascending places, as bytes."""
    cdef vector[uint8_t] out
    cdef int64_t i, last = -1
    for i in range(places.shape[0]):
        put_change(&out, places[i] - last, changes[i])
        last = places[i]
    return as_bytes(&out)


def take_sparse(int32_t[:, ::1] cells not None, int64_t first, int64_t n_slots):
    """The changes in cells by term, from term ``first`` on, and slot, as bytes; they are 0 then."""
    cdef vector[uint8_t] out
    cdef int64_t v, b, i, place, last = -1
    cdef int32_t any_
    cdef int32_t *row
    with nogil:
        for v in range(cells.shape[0]):
            row = &cells[v, 0]
            for b in range((n_slots + BLOCK - 1) // BLOCK):
                any_ = 0
                for i in range(b * BLOCK, (b + 1) * BLOCK):
                    any_ |= row[i]
                for i in range(b * BLOCK, (b + 1) * BLOCK if any_ else b * BLOCK):
                    if row[i] != 0:
                        place = (first + v) * n_slots + i
                        put_change(&out, place - last, row[i])
                        last, row[i] = place, 0
    return as_bytes(&out)


def add_sparse(bytes sparse not None, int32_t[:, ::1] cells not None, int64_t n_slots):
    """Add changes to cells by term and slot."""
    cdef Reader r = reader_of(sparse)
    with nogil:
        while next_change(&r):
            if r.place >= cells.shape[0] * n_slots:
                r.broken = True
                break
            cells[r.place // n_slots, r.place % n_slots] += <int32_t>r.change
    check_whole(&r)


def read_sparse(bytes sparse not None):
    """Decode the places and changes."""
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
    """The sum of two encoded changes of counts, encoded in the same way; the order doesn't matter."""
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
