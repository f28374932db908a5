# distutils: language = c++
"""Elementary functions that are the same on every processor, for Python (see `numerics.pxd`)."""


def log(double x):
    """Natural logarithm; -inf at 0."""
    return det_log(x)


def log1p(double x):
    """log(1 + x) for x > -1."""
    return det_log1p(x)


def exp(double x):
    """Exponential."""
    return det_exp(x)


def lgamma(double x):
    """Logarithm of the gamma function for x > 0."""
    return det_lgamma(x)


def gamma_ratio(double a, double x):
    """log G(a + x) / G(a) for a > 0, x >= 0."""
    return log_gamma_ratio(a, x)


def rising(double a, double step, long n):
    """log of a (a+step) ... (a+(n-1)step) for a > 0, step >= 0."""
    return log_rising(a, n) if step == 1.0 else log_rising_by(a, step, n)
