"""Elementary functions in plain double arithmetic.

The C library picks its own by processor (with or without fused multiply-add), so that the last bit, and
then the chain, would depend on the machine. These don't. Errors are a few units in the last place.
"""

from libc.math cimport floor, frexp, ldexp
from libc.stdint cimport int64_t


cdef inline double artanh_series(double s) noexcept nogil:
    """artanh(f) / f - 1 where s = f**2 < 0.03."""
    return s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * (
        1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0 + s * (1.0 / 21.0))))))))))


cdef inline double det_log(double x) noexcept nogil:
    """Natural logarithm of a positive finite number; -inf at 0."""
    cdef int e = 0
    cdef double m, f
    if x <= 0.0:
        return -1.0 / 0.0 if x == 0.0 else 0.0 / 0.0
    m = frexp(x, &e)
    if m < 0.70710678118654752440:
        m *= 2.0
        e -= 1
    # log m = 2 artanh f, |f| < 0.1716
    f = (m - 1.0) / (m + 1.0)
    return e * 6.93147180369123816490e-01 + (
        2.0 * f + (2.0 * f * artanh_series(f * f) + e * 1.90821492927058770002e-10)
    )


cdef inline double det_log1p(double x) noexcept nogil:
    """log(1 + x) for finite x > -1, to full relative precision near 0."""
    cdef double f
    if x > 0.4 or x < -0.28:
        return det_log(1.0 + x)
    f = x / (2.0 + x)    # log(1 + x) = 2 artanh f
    return 2.0 * f + 2.0 * f * artanh_series(f * f)


cdef inline double det_exp(double x) noexcept nogil:
    """Exponential; 0 below the smallest number, inf above the largest."""
    cdef double n, r, p
    if x < -745.2:
        return 0.0
    if x > 709.79:
        return 1.0 / 0.0
    if x != x:
        return x
    n = floor(x * 1.44269504088896338700 + 0.5)
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    p = 1.0 + r * (1.0 + r / 2.0 * (1.0 + r / 3.0 * (1.0 + r / 4.0 * (1.0 + r / 5.0 * (1.0 + r / 6.0 * (
        1.0 + r / 7.0 * (1.0 + r / 8.0 * (1.0 + r / 9.0 * (1.0 + r / 10.0 * (1.0 + r / 11.0 * (
            1.0 + r / 12.0 * (1.0 + r / 13.0))))))))))))
    return ldexp(p, <int>n)


cdef inline double stirling_tail(double y) noexcept nogil:
    """What Stirling's series adds to (y - 1/2) log y - y + log sqrt(2 pi), for y >= 10."""
    cdef double z = 1.0 / (y * y)
    return (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (
        1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0))))))) / y


cdef inline double det_lgamma(double x) noexcept nogil:
    """Logarithm of the gamma function for x > 0 (Stirling's series after a shift to x >= 10)."""
    cdef double shift = 1.0, y = x
    while y < 10.0:
        shift *= y
        y += 1.0
    return (
        (y - 0.5) * det_log(y) - y + 0.91893853320467274178 - (det_log(shift) if shift != 1.0 else 0.0)
        + stirling_tail(y)
    )


cdef inline double log_gamma_ratio(double a, double x) noexcept nogil:
    """log G(a + x) / G(a) for a > 0, x >= 0, also where both log-gammas are huge and nearly equal."""
    cdef double above = 1.0, below = 1.0, b, total
    while a < 10.0:
        above *= a + x
        below *= a
        a += 1.0
        if above > 1e200:
            break
    if a < 10.0:         # x beyond 1e20: the difference loses nothing
        return det_lgamma(a + x) - det_lgamma(a) + det_log(below) - det_log(above)
    b = a + x
    # The difference of two Stirling series, the large terms cancelled by hand.
    total = (a - 0.5) * det_log1p(x / a) + x * (det_log(b) - 1.0) + (stirling_tail(b) - stirling_tail(a))
    return total - (det_log(above / below) if above != below else 0.0)


cdef inline double log_rising_by(double a, double step, int64_t n) noexcept nogil:
    """log of a (a+step) ... (a+(n-1)step) for a > 0, step >= 0; 0 for n <= 0."""
    cdef double product = 1.0, total = 0.0
    cdef int64_t j
    if n <= 0:
        return 0.0
    if step == 0.0:
        return n * det_log(a)
    for j in range(n):
        product *= a + j * step
        if product > 1e200 or product < 1e-200:
            total += det_log(product)
            product = 1.0
    return total + det_log(product)


cdef inline double log_rising(double a, int64_t n) noexcept nogil:
    """log of a (a+1) ... (a+n-1) for a > 0; 0 for n <= 0."""
    return log_gamma_ratio(a, n) if n > 256 else log_rising_by(a, 1.0, n)


cdef inline double log_rising_steps(double a, double step, int64_t n) noexcept nogil:
    """`log_rising_by` in a time that doesn't grow with n, unless a is so large that digits would be lost."""
    if n > 256 and step > 0.0 and a < 1e9 * step:
        return n * det_log(step) + log_gamma_ratio(a / step, n)
    return log_rising_by(a, step, n)
