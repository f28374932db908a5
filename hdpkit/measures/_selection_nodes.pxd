"""The distribution of the number of selected terms of one topic, and sums over it as sums over a few dozen nodes.

A dish with a distinct terms and n customers has R = a + y selected terms, y = 0 .. V - a, with weight C(V-a,
y) p(a+y) g(a+y; n), where p is the prior probability of a given set of R terms and g(R; n) = G(lambda R) /
G(lambda R + n) (Wang & Blei 2009).
"""

from libc.stdint cimport int64_t

from hdpkit.numerics cimport artanh_series, det_log, det_log1p, stirling_tail
from hdpkit.vectors cimport vector

# ------------------------------------------------------------------------------------------ log-gammas
# Differences of log-gamma functions without loss of digits for large values: weights are ratios of gamma functions of
# numbers up to millions. Each logarithm has a relative error of 1e-16, and the required difference may be far smaller
# than the logarithms.

cdef inline double tail(double y) noexcept nogil:
    """`stirling_tail` with one division."""
    cdef double inverse = 1.0 / y, z = inverse * inverse
    return inverse * (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (
        1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0)))))))


cdef inline double rough_lgamma(double x) noexcept nogil:
    """Logarithm of the gamma function for x > 0, to 0.003."""
    cdef double y = x if x >= 1.0 else x + 1.0
    cdef double value = (y - 0.5) * det_log(y) - y + 0.91893853320467274178 + 1.0 / (12.0 * y)
    return value if x >= 1.0 else value - det_log(x)


cdef inline double mixed(double z, double x, double d) noexcept nogil:
    """log G(z+x+d) G(z) / (G(z+x) G(z+d)) for z > 0, x >= 0, d >= 0: never negative, and a sum of few small terms."""
    cdef double product = 1.0, rest = 0.0, u, both, zx, zd, total
    if x == 0.0 or d == 0.0:
        return 0.0
    while z < 10.0:      # G(z) = G(z + 1) / z: each step multiplies by (z+x) (z+d) / (z (z+x+d)) = 1 / (1 - u)
        both = (z + x) * (z + d)
        u = x * d / both
        product *= z * (z + x + d) / both
        rest += u - rest * u
        z += 1.0
    zx = z + x
    zd = z + d
    u = x * d / (zx * zd)
    # Stirling's series four times; terms linear in the arguments are cancelled analytically.
    total = (
        (z - 0.5) * (det_log1p(-u) if u < 0.5 else det_log(z / zx * ((zx + d) / zd)))
        + x * det_log1p(d / zx) + d * det_log1p(x / zd)
        + ((tail(zx + d) - tail(zx)) - (tail(zd) - tail(z)))
    )
    if rest > 0.0:
        total -= det_log1p(-rest) if rest < 0.5 else det_log(product)
    return total


cdef inline double gain(double u, double u0, double x, double p, double q) noexcept nogil:
    """[log G(u+p) - log G(u+q)] - [log G(u0+p) - log G(u0+q)], all four arguments above 0.

    x is |u - u0|, which the caller may have computed more precisely than the difference of u and u0.
    """
    cdef double least = u if u < u0 else u0
    cdef double value = mixed(least + q, x, p - q) if p >= q else -mixed(least + p, x, q - p)
    return value if u > u0 else -value


cdef inline double log_choices_gain(double y, double rest, double y0, double rest0) noexcept nogil:
    """log C(n, y) / C(n, y0), where n = y + rest = y0 + rest0."""
    cdef double least = y if y < rest else rest
    cdef double least0 = y0 if y0 < rest0 else rest0
    if least0 <= least:
        return mixed(least0 + 1.0, y - least0, rest - least0)
    return -mixed(least + 1.0, y0 - least, rest0 - least)


cdef inline double deviance(double y, double mean) noexcept nogil:
    """y log(y / mean) - y + mean for y > 0, mean > 0: not negative, without cancellation (Loader 2000)."""
    cdef double x = y - mean, f = x / (y + mean)
    if f > 0.1 or f < -0.1:
        return y * det_log(y / mean) - x
    return x * f + 2.0 * y * f * artanh_series(f * f)


cdef inline double log_binomial(double n, double y, double log_pi, double log_rest, double pi, double rest) noexcept nogil:
    """log C(n, y) pi**y (1 - pi)**(n - y), with pi and 1 - pi also passed as logs."""
    if y < 32.0 or n - y < 32.0 or pi < 1e-300 or rest < 1e-300:
        return mixed(1.0, y, n - y) + y * log_pi + (n - y) * log_rest
    return (
        stirling_tail(n) - stirling_tail(y) - stirling_tail(n - y) - deviance(y, n * pi) - deviance(n - y, n * rest)
        - 0.5 * det_log(6.28318530717958647693 * y * ((n - y) / n))
    )


cdef inline double log_beta_function(double r, double s) noexcept nogil:
    """log G(r) G(s) / G(r + s)."""
    return det_log(1.0 / r + 1.0 / s) - mixed(1.0, r, s)


# ------------------------------------------------------------------------------------------------ the law

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


# ------------------------------------------------------------------------------------------------ nodes

cdef enum:
    MOST_ROWS = 16             # most numbers of distinct terms with a common set of nodes
    MOST_COLUMNS = 32          # most numbers of customers


cdef cppclass Span:
    int64_t first, last        # range of pieces of the partition; within one piece first == last - 1
    int64_t begin, end         # y from begin to end - 1
    double concave[3]          # parts of the log weight at begin, in the middle and at the end
    double convex[3]
    int64_t at[3]              # positions of these three
    double bound               # upper bound of the log weights
    int64_t n_nodes            # number of nodes of an accepted span; nodes are in the order of spans
    double total


cdef cppclass SelectionNodes:
    vector[int64_t] pieces     # begin of each piece, and the end of the last
    vector[Span] pending, spans
    vector[double] y           # nodes
    vector[double] weight      # weight of the node times that of y, relative to that of y0
    vector[double] factor      # scratch of entries
    double y0                  # approximate position of the largest weight
    double total               # sum of the weights


cdef struct Coefficients:
    double inside       # f(v) = (n_v + lambda) * inside for a term that the dish has; 0 if it has none
    double outside      # f(v) = outside for a term that it doesn't have; 0 if it has all terms


cdef cppclass Entry:
    int64_t a, n               # smallest numbers of terms and customers
    int64_t rows, columns      # numbers of values of each
    Coefficients values[MOST_ROWS * MOST_COLUMNS]
    double log_shares[MOST_ROWS * MOST_COLUMNS]     # log of Z(a, n) G(lambda a + n) / G(lambda a)


cdef inline int64_t entry_length(int64_t n, int64_t most) noexcept nogil:
    """How many values from n on are computed together: a power of two up to sqrt(n), so that nodes are accurate."""
    cdef int64_t length = 1
    if n >= most * most:
        return most
    while length < most and 4 * length * length <= n:
        length *= 2
    return length


cdef int gather(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                int64_t length) noexcept nogil
cdef double span_total(const SelectionLaw *law, int64_t a, int64_t n, int64_t begin, int64_t length,
                       double y0) noexcept nogil
cdef int gather_bell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                     int64_t length) noexcept nogil
cdef int fill_entry(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Entry *entry) noexcept nogil
