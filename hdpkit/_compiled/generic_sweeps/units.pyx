# distutils: language = c++
"""Units: the blocks that dish Gibbs and split-merge move."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport copy_into, vector

from hdpkit._compiled.support.arguments cimport check_length, check_numbers32, numbers64, refuse, whole
from hdpkit._compiled.stores.explicit cimport ExplicitStore
from hdpkit._compiled.support.guarded import guarded
from hdpkit.errors import StateError


cdef class Units:
    """Tables of one level (and data customers of the level above) as blocks, by their first customer.

    ``codes[u]`` is the unit as a customer of its restaurant (a data customer, or ~t for table t);
    ``customers[offsets[u]:offsets[u + 1]]`` are the data customers below it, ascending, and
    ``tables[table_offsets[u]:table_offsets[u + 1]]`` the tables from it downwards.

    Units are valid for the seating in which they were found. They remain valid after verbs that move the same
    units (`resample_dish`, `move_units`), which don't change the blocks. After any other change (customers seated or
    unseated, other units moved, tables renumbered by `settle` or `thaw`) using them raises a StateError.
    """

    cdef int belong(self, ExplicitStore store) except -1:
        """Raise a StateError unless these units are valid for the current seating."""
        if store is None or self.serial != store.serial:
            raise StateError("units", "of another seating", "units of this franchise, as it is seated now",
                             "Index the units again: franchise.units(level).")
        if self.seen != store.moved():
            raise StateError("units", "out of date", "units of the current seating",
                             "Customers or tables have moved since: index the units again.")
        return 0

    cdef int has_tables_only(self) except -1:
        cdef size_t u
        for u in range(self.code.size()):
            if self.code[u] >= 0:
                refuse("units", "with customers", "tables only", "Index them without with_customers=True.")
        return 0

    cdef int found_in(self, ExplicitStore store, int32_t level) except -1:
        self.serial = store.serial
        self.n_customers = store.n_customers
        self.level = level
        self.seen = store.moved()
        return 0

    cdef int kept(self, ExplicitStore store) except -1:
        """Record that only these units have moved."""
        self.seen = store.moved()
        return 0

    def check(self, ExplicitStore store not None):
        """Raise a StateError unless these units are valid for the current seating."""
        self.belong(store)

    def __len__(self):
        return self.code.size()

    @property
    def codes(self):
        """Units as customers of their restaurants: int32, shape (n,)."""
        return _copy32(&self.code)

    @property
    def firsts(self):
        """Smallest data customer below each unit, ascending: int32, shape (n,)."""
        cdef size_t u
        out = np.empty(self.code.size(), dtype=np.int32)
        cdef int32_t[::1] o = out
        for u in range(self.code.size()):
            o[u] = self.customer[self.offset[u]]
        return out

    def customers(self, unit):
        """Data customers below a unit, ascending: int32."""
        cdef int64_t i, u = whole("unit", unit, 0, <int64_t>self.code.size() - 1)
        out = np.empty(self.offset[u + 1] - self.offset[u], dtype=np.int32)
        cdef int32_t[::1] o = out
        for i in range(o.shape[0]):
            o[i] = self.customer[self.offset[u] + i]
        return out

    def gather(self, which):
        """Data customers below several units, unit by unit: int32."""
        cdef int64_t k, i, n = 0
        cdef const int64_t[::1] asked = numbers64("which", which, 0, <int64_t>self.code.size() - 1)
        for k in range(asked.shape[0]):
            n += self.offset[asked[k] + 1] - self.offset[asked[k]]
        out = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] o = out
        n = 0
        for k in range(asked.shape[0]):
            for i in range(self.offset[asked[k]], self.offset[asked[k] + 1]):
                o[n] = self.customer[i]
                n += 1
        return out

    def tables(self, unit):
        """Tables from a unit downwards: int32 (none for a data customer)."""
        cdef int64_t i, u = whole("unit", unit, 0, <int64_t>self.code.size() - 1)
        out = np.empty(self.table_offset[u + 1] - self.table_offset[u], dtype=np.int32)
        cdef int32_t[::1] o = out
        for i in range(o.shape[0]):
            o[i] = self.table[self.table_offset[u] + i]
        return out


cdef _copy32(vector[int32_t] *values):
    cdef size_t i
    out = np.empty(values.size(), dtype=np.int32)
    cdef int32_t[::1] o = out
    for i in range(values.size()):
        o[i] = values.at(i)
    return out


cdef int check_tree(ExplicitStore store, const int32_t[::1] home, const int32_t[::1] parent,
                    const int32_t[::1] node_level) except -1:
    """Raise an error unless these arrays describe a tree of the store's restaurants and customers."""
    check_length("home", home.shape[0], store.n_customers)
    check_length("parent", parent.shape[0], <int64_t>store.nodes.size())
    check_length("node_level", node_level.shape[0], <int64_t>store.nodes.size())
    check_numbers32("home", home, 0, <int64_t>store.nodes.size() - 1)
    return 0


@guarded
def index_units(ExplicitStore store not None, const int32_t[::1] home not None,
                const int32_t[::1] parent not None, const int32_t[::1] node_level not None, int32_t level,
                bint with_customers):
    """Units of a level: the tables of its restaurants, and data customers seated one level above.

    They are in the order of their first data customers, which doesn't depend on table numbers.
    """
    cdef Units units = Units()
    cdef vector[int32_t] unit_of_table, unit_of_customer
    cdef vector[int32_t] table_unit, tables_seen
    cdef vector[int64_t] fill
    cdef int64_t i, n = store.n_customers, start
    cdef int32_t table, unit, below, t
    check_tree(store, home, parent, node_level)
    unit_of_table.assign(store.pool.size(), -1)
    unit_of_customer.assign(n, -1)
    with nogil:
        for i in range(n):
            if node_level[home[i]] < level:
                if with_customers and node_level[home[i]] == level - 1 and store.seats[i] >= 0:
                    unit_of_customer[i] = <int32_t>units.code.size()
                    units.code.push_back(<int32_t>i)
                    units.node.push_back(home[i])
                continue
            table = store.seats[i]
            if table < 0:
                continue
            start = tables_seen.size()
            unit = unit_of_table[table]
            while unit < 0:
                tables_seen.push_back(table)
                if node_level[store.pool[table].node] == level:
                    unit = <int32_t>units.code.size()
                    units.code.push_back(~table)
                    units.node.push_back(parent[store.pool[table].node])
                    break
                table = store.pool[table].seat
                unit = unit_of_table[table]
            for t in range(<int32_t>start, <int32_t>tables_seen.size()):
                unit_of_table[tables_seen[t]] = unit
            unit_of_customer[i] = unit
        # Counting sort of customers and tables by unit, stable for both.
        units.offset.assign(units.code.size() + 1, 0)
        units.table_offset.assign(units.code.size() + 1, 0)
        for i in range(n):
            if unit_of_customer[i] >= 0:
                units.offset[unit_of_customer[i] + 1] += 1
        for i in range(<int64_t>tables_seen.size()):
            units.table_offset[unit_of_table[tables_seen[i]] + 1] += 1
        for i in range(<int64_t>units.code.size()):
            units.offset[i + 1] += units.offset[i]
            units.table_offset[i + 1] += units.table_offset[i]
        units.customer.resize(units.offset[units.code.size()])
        units.table.resize(tables_seen.size())
        copy_into(fill, units.offset)
        for i in range(n):
            if unit_of_customer[i] >= 0:
                units.customer[fill[unit_of_customer[i]]] = <int32_t>i
                fill[unit_of_customer[i]] += 1
        copy_into(fill, units.table_offset)
        for i in range(<int64_t>tables_seen.size()):
            unit = unit_of_table[tables_seen[i]]
            units.table[fill[unit]] = tables_seen[i]
            fill[unit] += 1
    units.found_in(store, level)
    return units
