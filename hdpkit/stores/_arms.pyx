# distutils: language = c++
"""Drawing seats where restaurants have several parents (readable twin: `labelled_seating.seat_out`)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.errors import StateError
from hdpkit.random._source cimport ChoiceSource, shuffle
from hdpkit.stores._seating import SEATS, SIZES, columns


def misfit():
    raise StateError("histograms", "of other customers", "of the customers of each dish in each restaurant",
                     "Pass what freeze() returned.")


def _places(pairs, keys):
    """Place of each key among the pairs, which are ascending; raises an error if one isn't there."""
    places = np.searchsorted(pairs, keys)
    if np.any(places == len(pairs)) or not np.array_equal(pairs[places], keys):
        misfit()
    return places


def seat_out(frozen, home, parent, level, ChoiceSource source not None, lead):
    """Draw a labelled seating uniformly among those that fit dishes and histograms.

    The customers of a restaurant who eat a dish are dealt to the tables of all its arms, the nodes of which it is
    the ``lead``; from the deepest level up.
    """
    dish, node, served, size, count = columns(frozen, "dish", *SIZES)
    base = int(max(served.max(initial=0), dish.max(initial=0))) + 1
    own = lead[node].astype(np.int64) * base + served
    by_pair = np.argsort(own, kind="stable")     # bins, those of one restaurant and dish together
    pairs, first_bin, n_bins = np.unique(own[by_pair], return_index=True, return_counts=True)
    last_bin = first_bin + n_bins
    begin = np.zeros(len(pairs) + 1, dtype=np.int64)     # of the customers of each pair
    np.cumsum(np.add.reduceat((size.astype(np.int64) * count)[by_pair], first_bin) if len(pairs) else [], out=begin[1:])
    seated = np.flatnonzero(dish >= 0)
    of = _places(pairs, np.asarray(home)[seated].astype(np.int64) * base + dish[seated])
    above, upper = parent[node].astype(np.int64), np.full(len(node), -1, dtype=np.int64)     # pair of a bin's tables
    lower = above >= 0
    upper[lower] = _places(pairs, above[lower] * base + served[lower])
    seats = np.bincount(of, minlength=len(pairs)) + np.bincount(upper[lower], count[lower], len(pairs)).astype(np.int64)
    if not np.array_equal(seats, np.diff(begin)):
        misfit()
    order = np.argsort(-np.asarray(level)[pairs // base], kind="stable") if len(pairs) else np.empty(0, dtype=np.int64)
    seat = np.full(len(dish), -1, dtype=np.int32)
    tables = np.full((3, int(count.sum(dtype=np.int64))), -1, dtype=np.int32)
    cdef const int64_t[::1] p_order = order, p_first = first_bin, p_last = last_bin, p_begin = begin
    cdef const int64_t[::1] p_bin = by_pair, p_upper = upper, p_seated = seated, p_of = of
    cdef const int32_t[::1] p_node = node, p_dish = served, p_size = size, p_count = count
    cdef int32_t[::1] p_seat = seat
    cdef int32_t[:, ::1] t = tables
    guests = np.empty(int(begin[len(pairs)]), dtype=np.int64)
    filled = begin[:len(pairs)].copy()
    cdef int64_t[::1] g = guests, f = filled
    cdef int64_t i, j, k, pair, b, bin, place, table = 0
    cdef int32_t who
    cdef bint mixed
    with nogil:
        for i in range(p_seated.shape[0]):
            g[f[p_of[i]]] = p_seated[i]
            f[p_of[i]] += 1
        for i in range(p_order.shape[0]):
            pair = p_order[i]
            bin = p_bin[p_first[pair]]
            mixed = p_last[pair] - p_first[pair] > 1 or (p_count[bin] > 1 and p_size[bin] > 1)
            place = p_begin[pair]
            if mixed and shuffle(&source.c, &g[place], p_begin[pair + 1] - place) < 0:
                with gil:
                    raise FloatingPointError("a labelled seating can't be drawn")
            for b in range(p_first[pair], p_last[pair]):
                bin = p_bin[b]
                for j in range(p_count[bin]):
                    for k in range(p_size[bin]):
                        who = <int32_t>g[place]
                        place += 1
                        if who >= 0:
                            p_seat[who] = <int32_t>table
                        else:
                            t[2, ~who] = <int32_t>table
                    t[0, table] = p_node[bin]
                    t[1, table] = p_dish[bin]
                    if p_upper[bin] >= 0:
                        g[f[p_upper[bin]]] = ~table
                        f[p_upper[bin]] += 1
                    table += 1
    return dict(zip(SEATS, (seat, *tables)))
