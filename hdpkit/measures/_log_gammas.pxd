"""Differences of log-gamma functions without loss of digits for large values.

Weights of the number of selected terms are ratios of gamma functions of numbers up to millions. Each
logarithm has a relative error of 1e-16, and the required difference may be far smaller than the logarithms.
"""

from hdpkit.numerics cimport artanh_series, det_log, det_log1p, stirling_tail


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
