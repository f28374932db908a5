"""What a sparse topic needs of its number of distinct terms and of customers, for banks and sweeps."""

from libc.stdint cimport int64_t, uint64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.measures.selection_cells cimport Cell, Coefficients, cell_columns
from hdpkit._compiled.measures.selection_law cimport SelectionLaw
from hdpkit._compiled.measures.selection_nodes cimport SelectionNodes
from hdpkit.random._source cimport choice_source


cdef struct Run:
    int64_t stamp, a, n     # of which law; distinct terms; the first number of customers; stamp 0: no run
    int64_t place           # of the first value


cdef cppclass SelectionTable:
    vector[Run] runs                # open addressing, a power of two of places, at least half of them empty
    vector[Coefficients] values     # of run after run
    int64_t n_runs
    int64_t times_emptied           # places of before mean nothing
    int64_t limit                   # bytes of these two; 0 until a law is set
    int64_t last_stamp
    SelectionNodes nodes            # scratch
    Cell cell                       # scratch


cdef inline uint64_t run_hash(int64_t stamp, int64_t a, int64_t n) noexcept nogil:
    cdef uint64_t h = <uint64_t>stamp * 0x9E3779B97F4A7C15u + <uint64_t>a * 0xC2B2AE3D27D4EB4Fu + <uint64_t>n
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u
    return h ^ (h >> 32)


cdef inline const Coefficients *selection_at(SelectionTable *table, const SelectionLaw *law, int64_t a,
                                             int64_t n) noexcept nogil:
    """Values of a dish with a terms and n customers, 1 <= a <= V or a = n = 0; valid until the next call.

    They depend on the law, a and n alone, whatever the table holds. NULL if there is no memory; then nothing changed.
    """
    cdef int64_t first = n & -cell_columns(n), place, mask = <int64_t>table.runs.size() - 1
    cdef const Run *run
    if mask >= 0:
        place = <int64_t>(run_hash(law.stamp, a, first) & <uint64_t>mask)
        while True:
            run = &table.runs[place]
            if run.stamp == law.stamp and run.a == a and run.n == first:
                return &table.values[run.place + n - first]
            if run.stamp == 0:
                break
            place = (place + 1) & mask
    return selection_added(table, law, a, n)


cdef const Coefficients *selection_added(SelectionTable *table, const SelectionLaw *law, int64_t a,
                                         int64_t n) noexcept nogil
cdef int set_integrated(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double r,
                        double s) noexcept nogil
cdef int set_given(SelectionTable *table, SelectionLaw *law, int64_t n_terms, double smoothing, double log_pi,
                   double log_rest) noexcept nogil
cdef double log_sum_of(const SelectionLaw *law, int64_t a, int64_t n, double log_share) noexcept nogil
cdef double log_sum_ratio(const SelectionLaw *law, int64_t a0, int64_t n0, double share0, int64_t a1, int64_t n1,
                          double share1) noexcept nogil
cdef int64_t draw_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                       choice_source *source) noexcept nogil
cdef double expected_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil
cdef double log_density_of_more(SelectionTable *table, const SelectionLaw *law, int64_t a, int64_t n,
                                int64_t y) noexcept nogil
cdef int64_t table_bytes(SelectionTable *table) noexcept nogil


cdef class Selection:
    cdef SelectionLaw law
    cdef SelectionTable table

    cdef const Coefficients *at(self, object a, object n) except NULL
    cdef int check(self, object a, object n) except -1
