# distutils: language = c++
"""The explicit store: the seat of every customer, including tables as customers of the parent."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._arguments cimport whole
from hdpkit.errors import StateError
from hdpkit.stores._seating cimport Entry, Seating, unused_share
from hdpkit.stores._seating import SEATS, empty_row
from hdpkit.random._source cimport choice_source


cdef int64_t seatings = 0     # number of seatings created


cdef class ExplicitStore(Seating):
    """Seats of all customers. A table t is customer ~t of the parent restaurant.

    Tables of one restaurant and dish form a list. Table numbers and the order of the list have no meaning in
    the model; but draws pass through the list in this order, so it is part of a frozen state.
    """

    COMPILED = True
    DETAIL = "seats"
    NAMES = SEATS

    def __cinit__(self):
        global seatings
        seatings += 1
        self.serial = seatings
        self.free_table = -1

    cdef int clear_extra(self) except -1:
        self.pool.clear()
        self.free_table = -1
        self.changes += 1
        self.scattered = 0
        return 0

    cdef int ready_tables(self, int64_t n_tables) except -1 nogil:
        cdef int64_t room = <int64_t>(self.pool.capacity() - self.pool.size())
        cdef int32_t table = self.free_table
        while room < n_tables and table >= 0:
            room += 1
            table = self.pool[table].next
        if room < n_tables:
            self.pool.reserve(self.pool.size() + n_tables + self.pool.size() // 4 + 4)
        if <int64_t>self.weights.capacity() < self.most_tables + n_tables:
            self.weights.reserve(2 * (self.most_tables + n_tables))
        return 0

    cdef int32_t table_of(self, int32_t customer) noexcept nogil:
        return self.of_customer[customer] if customer >= 0 else self.pool[~customer].seat

    cdef int take_seat(self, int32_t customer, int32_t table) noexcept nogil:
        if customer >= 0:
            self.of_customer[customer] = table
            self.changes += 1
        else:
            self.pool[~customer].seat = table
            self.shifted += 1
        return 0

    cdef int64_t moved(self) noexcept nogil:
        """A number that changes when the seat of a customer or of a table may have changed."""
        return self.changes + self.shifted

    cdef int32_t dish_at(self, int32_t customer) noexcept nogil:
        cdef int32_t table = self.of_customer[customer]
        return -1 if table < 0 else self.pool[table].dish

    cdef int read_dishes(self, int32_t *dishes) noexcept nogil:
        cdef int64_t i
        for i in range(self.n_customers):
            dishes[i] = self.dish_at(<int32_t>i)
        return 0

    cdef int join_table(self, int32_t node, int32_t dish, int32_t customer, double discount,
                        choice_source *source) except -1 nogil:
        cdef Entry *entry = self.entries(node) + self.find(node, dish)
        cdef int32_t table = entry.extra
        cdef int64_t chosen
        if entry.tables > 1:
            self.weights.clear()
            while table >= 0:
                self.weights.push_back(self.pool[table].size - discount)
                table = self.pool[table].next
            chosen = source.choose(source.state, self.weights.data(), self.weights.size())
            if chosen < 0:
                with gil:
                    raise FloatingPointError(f"no table of dish {dish} can be chosen in restaurant {node}")
            table = entry.extra
            while chosen > 0:
                table = self.pool[table].next
                chosen -= 1
        self.pool[table].size += 1
        self.take_seat(customer, table)
        self.count_in(node, entry, False)
        return 0

    cdef int open_table(self, int32_t node, int32_t dish, int32_t customer,
                        int32_t *as_customer) except -1 nogil:
        cdef int32_t place = self.find_or_insert(node, dish)
        cdef Entry *entry = self.entries(node) + place
        cdef int32_t table = self.new_table(node, entry)
        self.count_in(node, entry, True)
        self.most_tables = max(self.most_tables, entry.tables)
        self.take_seat(customer, table)
        as_customer[0] = ~table
        return 0

    cdef int32_t new_table(self, int32_t node, Entry *entry) except -1 nogil:
        """A table with one customer, second in the list of its restaurant and dish. The caller updates counts."""
        cdef int32_t table = self.free_table, head = entry.extra
        if table >= 0:
            self.free_table = self.pool[table].next
        else:
            table = <int32_t>self.pool.size()
            if self.pool.capacity() == self.pool.size():
                self.pool.reserve(self.pool.size() + self.pool.size() // 4 + 4)
            self.pool.resize(table + 1)
        self.scattered += 1
        self.pool[table].size = 1
        self.pool[table].dish = entry.dish
        self.pool[table].node = node
        self.pool[table].seat = -1
        if head < 0:
            self.pool[table].next = -1
            entry.extra = table
        else:                   # after the first, which is likely the largest: draws pass through the list
            self.pool[table].next = self.pool[head].next
            self.pool[head].next = table
        return table

    cdef int gather(self) except -1 nogil:
        """Renumber tables if many have opened since the last time, so that lists are contiguous in memory."""
        if 2 * self.scattered > <int64_t>self.pool.size():
            self.renumber(self.pool.size())
        return 0

    cdef int renumber(self, int64_t room) except -1 nogil:
        """Number tables by restaurant, dish and place in the list, as `freeze` does, with this much room."""
        cdef vector[int32_t] number
        cdef vector[Table] fresh
        cdef int32_t node, place, table
        cdef int64_t i
        cdef Entry *entry
        number.resize(self.pool.size())
        fresh.reserve(room)     # nothing below can fail
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                entry = self.entries(node) + place
                table = entry.extra
                entry.extra = <int32_t>fresh.size()
                while table >= 0:
                    number[table] = <int32_t>fresh.size()
                    fresh.push_back(self.pool[table])
                    table = self.pool[table].next
                    fresh.back().next = -1 if table < 0 else <int32_t>fresh.size()
        for i in range(<int64_t>fresh.size()):
            if fresh[i].seat >= 0:
                fresh[i].seat = number[fresh[i].seat]
        for i in range(<int64_t>self.of_customer.size()):
            if self.of_customer[i] >= 0:
                self.of_customer[i] = number[self.of_customer[i]]
        self.pool.swap(fresh)
        self.free_table = -1
        self.scattered = 0
        self.changes += 1
        return 0

    cdef int promote(self, Entry *entry, int32_t table) noexcept nogil:
        """Move a table up by one place in its list if it has become larger than the one before it."""
        cdef int32_t before = -1, at = entry.extra
        if at == table:
            return 0
        while self.pool[at].next != table:
            before = at
            at = self.pool[at].next
        if self.pool[table].size > self.pool[at].size:
            self.pool[at].next = self.pool[table].next
            self.pool[table].next = at
            if before < 0:
                entry.extra = table
            else:
                self.pool[before].next = table
        return 0

    cdef int unlink(self, Entry *entry, int32_t table) noexcept nogil:
        """Remove a table from the list of its restaurant and dish."""
        cdef int32_t before
        if entry.extra == table:
            entry.extra = self.pool[table].next
        else:
            before = entry.extra
            while self.pool[before].next != table:
                before = self.pool[before].next
            self.pool[before].next = self.pool[table].next
        return 0

    cdef int free(self, int32_t table) noexcept nogil:
        """Release a table's number; `seat` is kept until the table is removed from the parent."""
        self.pool[table].next = self.free_table
        self.free_table = table
        return 0

    cdef int remove_customer(self, int32_t node, int32_t dish, int32_t customer, choice_source *source,
                             int32_t *as_customer) except -1 nogil:
        cdef int32_t table = self.table_of(customer)
        cdef int32_t place = self.find(node, dish)
        cdef Entry *entry = self.entries(node) + place
        self.take_seat(customer, -1)
        self.pool[table].size -= 1
        self.count_out(node, entry, self.pool[table].size == 0)
        as_customer[0] = ~table
        if self.pool[table].size > 0:
            return 0
        self.unlink(entry, table)
        if entry.tables == 0:
            self.erase(node, place)
        self.free(table)
        return 1

    cdef int put_back(self, int32_t node, int32_t dish, int32_t customer, int32_t table, bint closed) except -1 nogil:
        """Undo the removal of a customer from a table, which may have closed; in reverse order."""
        cdef int32_t before
        cdef Entry *entry = self.entries(node) + self.find_or_insert(node, dish)
        if closed:
            if self.free_table == table:
                self.free_table = self.pool[table].next
            else:
                before = self.free_table
                while self.pool[before].next != table:
                    before = self.pool[before].next
                self.pool[before].next = self.pool[table].next
            self.pool[table].size = 0
            self.pool[table].dish = dish
            self.pool[table].node = node     # its seat in the parent has already been restored
            self.pool[table].next = entry.extra
            entry.extra = table
        self.pool[table].size += 1
        self.count_in(node, entry, closed)
        self.most_tables = max(self.most_tables, entry.tables)
        self.take_seat(customer, table)
        return 0

    cdef int serve(self, int32_t table, int32_t dish) except -1 nogil:
        """Change the dish of a table within its restaurant; its seat in the parent doesn't change."""
        cdef int32_t node = self.pool[table].node
        cdef int32_t size = self.pool[table].size
        cdef int32_t place = self.find(node, self.pool[table].dish)
        cdef Entry *entry = self.entries(node) + place
        self.unlink(entry, table)
        entry.customers -= size
        entry.tables -= 1
        if entry.tables == 0:
            self.erase(node, place)
        place = self.find_or_insert(node, dish)
        entry = self.entries(node) + place
        entry.customers += size
        entry.tables += 1
        self.most_tables = max(self.most_tables, entry.tables)
        self.pool[table].dish = dish
        self.pool[table].next = entry.extra
        entry.extra = table
        return 0

    cdef int sizes_of(self, int32_t node, int32_t place, vector[int32_t] *sizes,
                      vector[int32_t] *counts) except -1 nogil:
        cdef int32_t table = (self.entries(node) + place).extra
        while table >= 0:
            sizes.push_back(self.pool[table].size)
            counts.push_back(1)
            table = self.pool[table].next
        return 0

    cdef int relabel_extra(self, int32_t[::1] mapping) except -1:
        cdef int32_t node, place, table
        for node in range(<int32_t>self.nodes.size()):
            for place in range(self.nodes[node].n_entries):
                table = self.entries(node)[place].extra
                while table >= 0:
                    self.pool[table].dish = self.entries(node)[place].dish
                    table = self.pool[table].next
        return 0

    cdef bint squeeze_extra(self, double share) except -1 nogil:
        """Renumber the tables if more than this share of the numbers is free."""
        cdef int64_t n_tables = 0
        cdef int32_t node
        for node in range(<int32_t>self.nodes.size()):
            n_tables += self.nodes[node].tables
        if not unused_share(self.pool.capacity(), n_tables, share):
            return False
        self.renumber(n_tables + n_tables // 8)
        return True

    # ------------------------------------------------------------------ methods of a store of seats

    def compact(self, double share=0.5):
        """See `Seating.compact`."""
        self.units_found = None
        return Seating.compact(self, share)

    @property
    def changes_of_seats(self):
        """The number of this seating, and a counter that increases when a seat may have changed."""
        return self.serial, self.moved()

    cdef bint fits(self, int32_t node, int32_t dish, int32_t customer, bint seated) noexcept nogil:
        cdef int32_t table
        if customer < 0 and ~customer >= <int64_t>self.pool.size():
            return False
        table = self.table_of(customer)
        if not seated:
            return table < 0 and (customer >= 0 or self.pool[~customer].size > 0)
        return (0 <= table < <int64_t>self.pool.size() and self.pool[table].node == node
                and self.pool[table].dish == dish)

    cdef int32_t table_number(self, int64_t table) except -1:
        return <int32_t>whole("table", table, 0, <int64_t>self.pool.size() - 1)

    def table_at(self, int32_t customer):
        """Number of the table where a customer sits (a data customer, or ~t for table t), -1 for none."""
        return self.table_of(<int32_t>whole("customer", customer, -<int64_t>self.pool.size(), self.n_customers - 1))

    def table_size(self, int32_t table):
        """Customers of a table."""
        return self.pool[self.table_number(table)].size

    def table_node(self, int32_t table):
        """Restaurant of a table."""
        return self.pool[self.table_number(table)].node

    def serve_dish(self, int32_t table, int32_t dish):
        """Change the dish of a table within its restaurant; its seat in the parent doesn't change."""
        if self.pool[self.table_number(table)].size == 0 or dish < 0:
            raise StateError("table", table, "one that has customers, and a dish that isn't negative", "See table_at.")
        self.ready(self.words_for(self.pool[table].node), 1)
        self.serve(table, dish)

    # ------------------------------------------------------------------ taking changes back: `TakesBack`

    def table_dish(self, int64_t table):
        """Dish of a table, -1 if no table has this number."""
        return self.pool[table].dish if 0 <= table < <int64_t>self.pool.size() and self.pool[table].size > 0 else -1

    def sit(self, int32_t customer, int32_t table):
        """Seat a customer at this table, which has others."""
        cdef Table *given = &self.pool[self.table_number(table)]
        self.check_customer(given.node, given.dish, customer, False, True)
        given.size += 1
        self.count_in(given.node, self.entries(given.node) + self.find(given.node, given.dish), False)
        self.take_seat(customer, table)

    def reopen(self, int32_t node, int32_t dish, int32_t customer, int32_t table):
        """Open a closed table again under its number, with this customer and first in its list."""
        self.table_number(table)
        self.check_node(node)
        self.ready(self.words_for(node), 1)
        self.put_back(node, dish, customer, table, True)

    def table_before(self, int32_t table):
        """The table before this one in the list of its restaurant and dish, -1 if it is the first."""
        cdef int32_t before = -1
        cdef Table *given = &self.pool[self.table_number(table)]
        cdef int32_t at = (self.entries(given.node) + self.find(given.node, given.dish)).extra
        while at != table:
            before = at
            at = self.pool[at].next
        return before

    def place_after(self, int32_t table, int32_t before):
        """Move a table behind another one of its list; with -1 it becomes the first."""
        cdef Table *given = &self.pool[self.table_number(table)]
        cdef Entry *entry = self.entries(given.node) + self.find(given.node, given.dish)
        self.unlink(entry, table)
        if before < 0:
            given.next = entry.extra
            entry.extra = table
        else:
            given.next = self.pool[self.table_number(before)].next
            self.pool[before].next = table

    def freeze(self, empty=empty_row):
        """The labelled seating as arrays (see `hdpkit.stores.frozen.FrozenSeats`)."""
        cdef int32_t node, place, table
        cdef int64_t i, n_tables = 0
        for node in range(<int32_t>self.nodes.size()):
            n_tables += self.nodes[node].tables
        number = np.full(self.pool.size(), -1, dtype=np.int32)
        seat = empty(self.n_customers)
        tables = np.empty((3, n_tables), dtype=np.int32)
        cdef int32_t[::1] to = number
        cdef int32_t[::1] s = seat
        cdef int32_t[:, ::1] t = tables
        n_tables = 0
        with nogil:
            for node in range(<int32_t>self.nodes.size()):
                for place in range(self.nodes[node].n_entries):
                    table = self.entries(node)[place].extra
                    while table >= 0:
                        to[table] = <int32_t>n_tables
                        t[0, n_tables], t[1, n_tables] = node, self.pool[table].dish
                        t[2, n_tables] = self.pool[table].seat   # renumbered below
                        n_tables += 1
                        table = self.pool[table].next
            for i in range(n_tables):
                if t[2, i] >= 0:
                    t[2, i] = to[t[2, i]]
            for i in range(self.n_customers):
                s[i] = -1 if self.of_customer[i] < 0 else to[self.of_customer[i]]
        return dict(zip(SEATS, (seat, *tables)))

    cdef int fill(self, list arrays) except -1:
        cdef const int32_t[::1] seat = arrays[0]
        cdef const int32_t[::1] table_node = arrays[1]
        cdef const int32_t[::1] table_dish = arrays[2]
        cdef const int32_t[::1] table_seat = arrays[3]
        cdef int64_t i, n_tables = table_node.shape[0]
        cdef Table fresh
        cdef Entry *entry
        cdef int32_t place
        fresh.size = 0
        self.pool.assign(n_tables, fresh)
        with nogil:
            for i in range(self.n_customers):
                self.of_customer[i] = seat[i]
                if seat[i] >= 0:
                    self.pool[seat[i]].size += 1
            for i in range(n_tables):
                if table_seat[i] >= 0:
                    self.pool[table_seat[i]].size += 1
            for i in range(n_tables - 1, -1, -1):
                place = self.find_or_insert(table_node[i], table_dish[i])
                entry = self.entries(table_node[i]) + place
                entry.customers += self.pool[i].size
                entry.tables += 1
                self.most_tables = max(self.most_tables, entry.tables)
                self.nodes[table_node[i]].customers += self.pool[i].size
                self.nodes[table_node[i]].tables += 1
                self.pool[i].dish = table_dish[i]
                self.pool[i].node = table_node[i]
                self.pool[i].seat = table_seat[i]
                self.pool[i].next = entry.extra
                entry.extra = <int32_t>i
        return 0

    def memory_parts(self):
        """Bytes held by the store's arrays, including reserved memory, by purpose."""
        return {
            **Seating.memory_parts(self),
            "tables": self.pool.capacity() * sizeof(Table) + self.weights.capacity() * sizeof(double),
        }
