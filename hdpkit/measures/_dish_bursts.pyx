# distutils: language = c++
"""The compiled bank of topics that differ by restaurant, each with a concentration of its own.

The functions that sweeps call are those of `_dish_values.pyx`, before those of the bank of one concentration.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._bursty_counts cimport OwnCell, collect
from hdpkit.measures._dish_values cimport (
    copy_numbers, hold_numbers, number_bytes, prepare_numbers, set_number)
from hdpkit.measures._dish_values import HasNumbers
from hdpkit.numerics cimport log_rising, log_rising_steps
from hdpkit.random._source cimport ChoiceSource
from hdpkit.vectors cimport vector


cdef class DishBurstsBank(BurstyBank, HasNumbers):
    """Customers and tables of terms in each restaurant, with a separate concentration for each dish.

    Its readable twin is `DishBurstsReferenceBank`.

    Parameters
    ----------
    measure, values, inner, scanned, n_earlier
        As for `BurstyBank`.
    kept : OwnNumbers
        Draws and stores the concentrations.
    """

    COMPILED = COUNTING = SEATS_VALUES = True

    def __cinit__(self, *arguments, kept, **options):
        self.kept = kept
        self.b.own = &self.own
        hold_numbers(&self.own, &self.c, kept)

    def prepare(self, ChoiceSource source not None):
        """Use this source for draws until the end of a step."""
        prepare_numbers(&self.own, source)
        BurstyBank.prepare(self, source)

    # ------------------------------------------------------------------ concentrations

    def set_parameter(self, slot, parameter):
        """Change the concentration of a dish."""
        set_number(&self.own, self.slot_number(slot), parameter)
        self.b.version += 1

    def log_likelihood_of(self, slot, customers):
        """Return log p(terms, numbers of tables) of a dish as a function of its concentration, up to a constant."""
        n, t = self.totals_of(slot)
        discount = self.b.discount
        return lambda b: log_openings(b, discount, n, t)

    def totals_of(self, slot):
        """Customers and tables of every restaurant in the dish of a slot: two int64 arrays, shape (n,)."""
        cdef int32_t k = self.slot_number(slot)
        cdef vector[OwnCell] cells, totals
        cdef int64_t i
        collect(&self.b, False, &cells, &totals)
        found = [(totals[i].customers, totals[i].tables) for i in range(<int64_t>totals.size()) if totals[i].slot == k]
        made = np.array(found, dtype=np.int64).reshape(-1, 2)
        return made[:, 0].copy(), made[:, 1].copy()

    def statistics(self, slots, dishes):
        """Statistics of these slots in the form of the measure's Python methods; copies."""
        found = BurstyBank.statistics(self, slots, dishes)
        for slot, one in zip(slots, found):
            one.concentration = self.parameter(int(slot))
        return found

    def log_marginal_total(self, slots):
        """None: dishes have separate concentrations, so equal numbers don't contribute equally."""
        return None

    def adopt(self, measure):
        """Replace the parameter values; the numbers of tables and the concentrations are kept."""
        self.kept.measure = measure
        return BurstyBank.adopt(self, measure)

    # ------------------------------------------------------------------ saved with the state

    def rebuild(self, const int32_t[::1] dishes not None, slots):
        """Recount everything from each customer's dish (-1: unseated) and the tables of `thaw`."""
        self.kept.rebuild(np.asarray(dishes), slots)
        BurstyBank.rebuild(self, dishes, slots)
        copy_numbers(&self.own)

    def relabelled(self, mapping):
        """Slots have new numbers."""
        BurstyBank.relabelled(self, mapping)
        self.kept.relabelled(np.asarray(mapping))
        copy_numbers(&self.own)

    def freeze(self):
        """The numbers of tables and the concentrations."""
        return {**BurstyBank.freeze(self), **self.kept.freeze()}

    def check_frozen(self, frozen, slots):
        """Raise a DataError unless these are concentrations, one per dish; None is accepted."""
        self.kept.check_frozen(self.kept.without_tables(frozen), slots)

    def thaw(self, frozen):
        """Restore frozen numbers of tables and concentrations; call it before `rebuild`."""
        BurstyBank.thaw(self, frozen)
        self.kept.thaw(self.kept.without_tables(frozen))

    def memory_bytes(self):
        """Bytes of the arrays, of the inner bank and of the concentrations."""
        return BurstyBank.memory_bytes(self) + number_bytes(&self.own)


def log_openings(double b, double discount, const int64_t[::1] customers not None, const int64_t[::1] tables not None):
    """Sum over restaurants of log [b]_a^t / [b]_1^n, a the discount."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(customers.shape[0]):
        total += log_rising_steps(b, discount, tables[i]) - log_rising(b, customers[i])
    return total
