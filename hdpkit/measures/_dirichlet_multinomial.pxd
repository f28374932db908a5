"""Counts of terms by dish slot, for the fused sweeps."""

from libc.stdint cimport int8_t, int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit.measures._term_counts cimport TermCounts, TermCountsBank


cdef cppclass DirichletCounts(TermCounts):
    double eta_sum
    double power                    # of the likelihood: every observation counts as this many
    bint plain                      # whether probabilities of short blocks may be plain products
    vector[double] eta              # of each term
    vector[double] inverse          # 1 / (totals + eta_sum); with a power, the factor of one more observation
    vector[double] product          # scratch
    int64_t n_fixed                 # slots below it may have fixed topics
    vector[int8_t] is_fixed         # whether each of these does
    vector[double] fixed            # n_fixed rows: probabilities of the terms
    vector[double] table            # log-gamma ratios of a symmetric eta, by count
    vector[double] factors          # with a power, the factors of one more observation, by count


cdef class DirichletMultinomialBank(TermCountsBank):
    cdef DirichletCounts b
    cdef object make_statistics
    cdef readonly double smallest_eta
    cdef int64_t eta_version        # increases whenever eta is set

    cdef int invert(self) noexcept
    cdef bint shares_in_floats(self, const double[:, ::1] ends) except -1


cdef class TemperedBank(DirichletMultinomialBank):
    pass
