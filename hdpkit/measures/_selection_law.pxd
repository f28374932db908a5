"""The distribution of the number of selected terms of one topic, up to a factor, in logs.

A dish with a distinct terms and n customers has R = a + y selected terms, y = 0 .. V - a, with weight C(V-a,
y) p(a+y) g(a+y; n), where p is the prior probability of a given set of R terms and g(R; n) = G(lambda R) /
G(lambda R + n) (Wang & Blei 2009). The readable twin is `hdpkit.measures.selection`.
"""

from libc.stdint cimport int64_t

from hdpkit.measures._log_gammas cimport gain, log_binomial, log_choices_gain, rough_lgamma
from hdpkit.numerics cimport det_log


cdef cppclass SelectionLaw:
    int64_t n_terms            # V
    double smoothing           # lambda
    bint given                 # whether the proportion pi is given; if not, it is integrated out under Beta(r, s)
    double r, s
    double log_beta            # log B(r, s)
    double log_pi, log_rest    # log pi and log(1 - pi)
    double pi, rest            # the same as probabilities; either may underflow to 0
    int64_t stamp              # unique for each distribution used with a table


cdef inline double log_weight_gain(const SelectionLaw *law, int64_t a, int64_t n, double y, double y0) noexcept nogil:
    """Log weight of y minus that of y0, with an error of a few times 1e-16 of its terms."""
    cdef double left = <double>(law.n_terms - a)
    cdef double value, x = y - y0 if y > y0 else y0 - y
    if y == y0:
        return 0.0
    if law.given:
        value = (y - y0) * (law.log_pi - law.log_rest) + log_choices_gain(y, left - y, y0, left - y0)
    else:
        value = gain(y, y0, x, law.r + a, 1.0) + gain(left - y, left - y0, x, law.s, 1.0)
    if n > 0:
        value += gain(law.smoothing * (a + y), law.smoothing * (a + y0), law.smoothing * x, 0.0, <double>n)
    return value


cdef inline double log_share_of(const SelectionLaw *law, int64_t a, int64_t n, double y) noexcept nogil:
    """log C(V-a, y) p(a+y) g(a+y; n) / g(a; n): the log weight without factors common to all y."""
    cdef double V = <double>law.n_terms, left = V - a, value, x = a + y + law.r - 1.0
    if law.given:
        value = a * law.log_pi + log_binomial(left, y, law.log_pi, law.log_rest, law.pi, law.rest)
    else:
        value = (
            -gain(left, y, left - y, law.r + a, 1.0) - gain(V + law.r - 1.0, left - y, x if x > 0.0 else -x, law.s, 1.0)
            - det_log(V + law.r + law.s - 1.0) - law.log_beta
        )
    if n > 0 and y > 0.0:
        value += gain(law.smoothing * (a + y), law.smoothing * a, law.smoothing * y, 0.0, <double>n)
    return value


cdef inline double rough_weight(const SelectionLaw *law, int64_t a, int64_t n, double y, double *convex) noexcept nogil:
    """The approximate log weight of y up to a constant, as a concave part (returned) and a convex part."""
    cdef double left = law.n_terms - a - y, R = a + y, concave = 0.0, part
    convex[0] = rough_lgamma(law.smoothing * R) - rough_lgamma(law.smoothing * R + n) if n > 0 else 0.0
    if law.given:
        return y * (law.log_pi - law.log_rest) - rough_lgamma(y + 1.0) - rough_lgamma(left + 1.0)
    part = rough_lgamma(law.r + R) - rough_lgamma(y + 1.0)
    if law.r + a >= 1.0:
        concave += part
    else:
        convex[0] += part
    part = rough_lgamma(law.s + left) - rough_lgamma(left + 1.0)
    if law.s >= 1.0:
        concave += part
    else:
        convex[0] += part
    return concave
