# distutils: language = c++
"""Seating customers out of histograms (see `hdpkit.stores.seating_out`, the readable twin)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.support.arguments cimport check_length, check_numbers32
from hdpkit.errors import StateError
from hdpkit.random._source cimport ChoiceSource, shuffle


cdef int by_key(vector[int32_t] *keys, vector[int64_t] *order, int64_t n_keys) except -1 nogil:
    """Sort an order by key, stably (counting sort)."""
    cdef vector[int64_t] start, sorted_order
    cdef int64_t i
    start.assign(n_keys + 1, 0)
    for i in range(<int64_t>order.size()):
        start[keys.at(order.at(i)) + 1] += 1
    for i in range(n_keys):
        start[i + 1] += start[i]
    sorted_order.resize(order.size())
    for i in range(<int64_t>order.size()):
        sorted_order[start[keys.at(order.at(i))]] = order.at(i)
        start[keys.at(order.at(i))] += 1
    order.swap(sorted_order)
    return 0


def seat_out(frozen, const int32_t[::1] home not None, const int32_t[::1] parent not None,
             const int32_t[::1] level not None, ChoiceSource source not None):
    """Draw a labelled seating uniformly among those that fit dishes and histograms."""
    cdef const int32_t[::1] dish = frozen["dish"]
    cdef const int32_t[::1] bin_node = frozen["bin_node"]
    cdef const int32_t[::1] bin_dish = frozen["bin_dish"]
    cdef const int32_t[::1] bin_size = frozen["bin_size"]
    cdef const int32_t[::1] bin_count = frozen["bin_count"]
    cdef int64_t n = home.shape[0], n_bins = bin_node.shape[0], n_nodes = parent.shape[0]
    cdef int64_t n_dishes = 0, n_levels = 0, n_tables = 0, i, j, b, end, table = 0, size, left
    cdef int32_t at_level, node
    cdef bint mixed
    check_length("dish", dish.shape[0], n)
    check_length("level", level.shape[0], n_nodes)
    check_length("bin_dish", bin_dish.shape[0], n_bins)
    check_length("bin_size", bin_size.shape[0], n_bins)
    check_length("bin_count", bin_count.shape[0], n_bins)
    check_numbers32("home", home, 0, n_nodes - 1)
    check_numbers32("bin_node", bin_node, 0, n_nodes - 1)
    for i in range(n_bins):
        n_tables += bin_count[i]
        n_dishes = max(n_dishes, bin_dish[i] + 1)
    for i in range(n_nodes):
        n_levels = max(n_levels, level[i] + 1)
    seat = np.full(n, -1, dtype=np.int32)
    table_node = np.empty(n_tables, dtype=np.int32)
    table_dish = np.empty(n_tables, dtype=np.int32)
    table_seat = np.full(n_tables, -1, dtype=np.int32)
    cdef int32_t[::1] s = seat
    cdef int32_t[::1] tn = table_node
    cdef int32_t[::1] td = table_dish
    cdef int32_t[::1] ts = table_seat
    # Guests of the level at hand: who, where, which dish. Tables of this level are guests of the next.
    cdef vector[int32_t] who, where, what
    cdef vector[int64_t] order, first_bin, dealt
    cdef int64_t first_table = 0, last_table = 0
    first_bin.assign(n_nodes + 1, 0)
    with nogil:
        for i in range(n_bins):
            first_bin[bin_node[i] + 1] += 1
        for i in range(n_nodes):
            first_bin[i + 1] += first_bin[i]
        for at_level in range(<int32_t>n_levels - 1, -1, -1):
            who.clear()
            where.clear()
            what.clear()
            for i in range(n):
                if dish[i] >= 0 and level[home[i]] == at_level:
                    who.push_back(<int32_t>i)
                    where.push_back(home[i])
                    what.push_back(dish[i])
            for i in range(first_table, last_table):
                who.push_back(~<int32_t>i)
                where.push_back(parent[tn[i]])
                what.push_back(td[i])
            first_table = last_table
            order.resize(who.size())
            for i in range(<int64_t>order.size()):
                order[i] = i
            by_key(&what, &order, n_dishes)
            by_key(&where, &order, n_nodes)
            i = 0
            while i < <int64_t>order.size():
                node = where[order[i]]
                end = i
                while end < <int64_t>order.size() and where[order[end]] == node and (
                        what[order[end]] == what[order[i]]):
                    end += 1
                b = first_bin[node]
                while b < first_bin[node + 1] and bin_dish[b] != what[order[i]]:
                    b += 1
                size = 0
                for j in range(b, first_bin[node + 1]):
                    if bin_dish[j] != what[order[i]]:
                        break
                    size += <int64_t>bin_size[j] * bin_count[j]
                if size != end - i:
                    with gil:
                        raise StateError("histograms", f"of {size} customers", f"of the {end - i} who are there",
                                         "Pass what freeze() returned.")
                mixed = (b + 1 < first_bin[node + 1] and bin_dish[b + 1] == bin_dish[b]) or (
                    bin_count[b] > 1 and bin_size[b] > 1)
                if mixed and shuffle(&source.c, order.data() + i, end - i) < 0:
                    with gil:
                        raise FloatingPointError("customers can't be seated out")
                while i < end:
                    for left in range(bin_count[b]):
                        for j in range(bin_size[b]):
                            if who[order[i]] >= 0:
                                s[who[order[i]]] = <int32_t>last_table
                            else:
                                ts[~who[order[i]]] = <int32_t>last_table
                            i += 1
                        tn[last_table] = node
                        td[last_table] = bin_dish[b]
                        last_table += 1
                    b += 1
    return {"seat": seat, "table_node": table_node, "table_dish": table_dish, "table_seat": table_seat}
