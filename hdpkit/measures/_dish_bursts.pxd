"""The bank of topics that differ by restaurant, each with a concentration of its own."""

from hdpkit.measures._bursty cimport BurstyBank
from hdpkit.measures._dish_values cimport DishValues


cdef class DishBurstsBank(BurstyBank):
    cdef DishValues own
    cdef readonly object kept
