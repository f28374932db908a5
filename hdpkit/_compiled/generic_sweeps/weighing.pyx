# distutils: language = c++
"""Weights of dishes: prior times density, also where there can be no new dish.

Measures give densities relative to the largest of them. Where no dish can be new, the largest may be that under a
new one, and all others too small to be told apart: then they are computed again, relative to the largest of these.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.measures.measure cimport measure_t
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.numerics cimport det_exp
from hdpkit.random._source cimport choice_source


cdef int64_t choose_dish(Walk walk, measure_t *measure, const int32_t *block, int64_t size, int64_t n_live,
                         double *w, choice_source *source) noexcept nogil:
    """Place of the dish of a block, the last for a new one, -1 for a failure: w has the densities, the walk the row."""
    cdef const double *row = walk.row.data()
    cdef int64_t i
    cdef double total = 0.0
    for i in range(n_live + 1):
        w[i] *= row[i]
    if row[n_live] == 0.0:      # the sum is for this case alone: it takes as long as the products
        for i in range(n_live):
            total += w[i]
        if not total >= LEAST_TOTAL:
            weigh_again(measure, block, size, walk.slots.live.data(), n_live, row, w)
    return source.choose(source.state, w, n_live + 1)


cdef double weigh_again(measure_t *measure, const int32_t *block, int64_t size, const int32_t *slots, int64_t n,
                        const double *prior, double *w) noexcept nogil:
    """Fill w, n + 1 numbers, with weights relative to the largest density of a slot; their sum, 0 after a failure.

    A slot whose prior is 0 has none, nor has a new dish, the last.
    """
    cdef int64_t k
    cdef double total = 0.0, top = -INFINITY
    cdef int status = measure.log_block(measure.self, block, size, slots, n, w)
    for k in range(n):
        if prior[k] > 0.0 and w[k] > top:
            top = w[k]
    for k in range(n):
        w[k] = prior[k] * det_exp(w[k] - top) if status >= 0 and prior[k] > 0.0 and w[k] > -INFINITY else 0.0
        total += w[k]
    w[n] = 0.0
    return total
