from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.stores._seating cimport ENTRY_WORDS, Seating
from hdpkit.measures._slots cimport DishSlots
from hdpkit.random._source cimport choice_source


cdef class Root:
    cdef Seating store
    cdef DishSlots slots
    cdef const double[::1] concentration
    cdef const double[::1] discount
    cdef const double[::1] base      # if dishes are atoms: H of each atom and, last, of all others
    cdef const int32_t[::1] value    # if dishes are atoms: atom of each data customer

    cdef int bind(self, Seating store, DishSlots slots, object concentration, object discount) except -1
    cdef int check_dishes(self) except -1
    cdef int32_t given(self, int32_t customer) noexcept nogil
    cdef bint opens_again(self) noexcept nogil
    cdef bint loses_dishes(self) noexcept nogil
    cdef int fill(self, double *row, int64_t n_live) noexcept nogil
    cdef double above(self, int32_t dish) noexcept nogil
    cdef double probability(self, int32_t dish, int32_t place, double above) noexcept nogil


cdef class LatentRoot(Root):
    pass


cdef class AtomRoot(Root):
    pass


cdef class WeightTable:
    cdef vector[double] weight        # of each slot, 0 if it has no dish
    cdef double rest                  # weight of all new dishes
    cdef int make_room(self, int64_t n_slots) except -1


cdef class WeightedRoot(Root):
    cdef readonly WeightTable table


cdef class FixedRoot(WeightedRoot):
    cdef double n_dishes


cdef class Walk:
    cdef readonly Seating store
    cdef readonly DishSlots slots
    cdef readonly object topology     # keeps the arrays below alive
    cdef const int32_t[::1] parent
    cdef const int32_t[::1] home
    cdef const double[::1] concentration
    cdef const double[::1] discount
    cdef readonly Root root           # the distribution from which the root's children draw
    cdef const double[::1] base       # of an AtomRoot: H of each atom and, last, of all others
    cdef const int32_t[::1] value     # of an AtomRoot: atom of each data customer
    cdef readonly bint tables_at_end   # tables are drawn at the end of a step, given counts of customers
    cdef vector[int32_t] path         # from a restaurant to the root
    cdef vector[double] level         # probability of one dish at each restaurant of the path, the base last
    cdef vector[int32_t] place        # place of its entry at each restaurant of the path, -1 for none
    cdef vector[double] row           # probability of each live dish, a new one last

    cdef int check_dishes(self) except -1

    cdef inline int ready(self, int32_t node) except -1 nogil:
        """Allocate the memory that a customer of a restaurant may need to leave and enter.

        Call it before anything changes, so that a step can't fail half way.
        """
        cdef int64_t n_words = 0, n_levels = 0
        while node >= 0:
            n_words += self.store.words_for(node)
            n_levels += 1
            node = self.parent[node]
        return self.ready_for(n_words, n_levels, n_levels)

    cdef inline int ready_anywhere(self) except -1 nogil:
        """Allocate what `ready` does for a customer of any restaurant, in a tree with two levels."""
        return self.ready_for(2 * ENTRY_WORDS * (1 + 2 * <int64_t>self.store.largest), 2, 2)

    cdef inline int ready_for(self, int64_t n_words, int64_t n_tables, size_t n_levels) except -1 nogil:
        cdef size_t n_dishes = self.slots.live.size() + 2
        self.store.ready(n_words, n_tables)
        self.slots.ready()
        if self.row.capacity() < n_dishes:
            self.row.reserve(n_dishes + n_dishes // 2)
        if self.level.capacity() < n_levels + 1:      # the longest of the three
            self.path.reserve(n_levels + 1)
            self.place.reserve(n_levels + 1)
            self.level.reserve(n_levels + 1)
        return 0

    cdef int fill_row(self, int32_t node) except -1 nogil
    cdef int trace_dish(self, int32_t node, int32_t dish, double above) except -1 nogil
    cdef int seat_customer(self, int32_t customer, int32_t node, int32_t dish,
                           choice_source *source) except -1 nogil
    cdef int unseat_customer(self, int32_t customer, int32_t node, int32_t dish,
                             choice_source *source) except -1 nogil
    cdef int begin(self) except -1
    cdef bint stays(self, int32_t node, int32_t dish, choice_source *source) except -1 nogil
    cdef int take_away(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil
    cdef int weigh(self, int32_t node) except -1 nogil
    cdef int bring_back(self, int32_t customer, int32_t node, int32_t dish, choice_source *source) except -1 nogil
