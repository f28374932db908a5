# distutils: language = c++
"""Sums with few nodes for a unimodal distribution of the number of selected terms, away from both ends.

A sum over integers of a bell-shaped function with standard deviation sigma equals its integral up to a
relative error of exp(-2 pi**2 sigma**2), and the trapezoidal rule for the integral has a relative error of
exp(-2 pi**2 (sigma / step)**2). The variable is t = log(y / (V - a - y)), in which distributions that are
skew in y are also nearly bell-shaped. Three conditions are checked: the bell is wide enough, the weights
outside it are negligible (by the bounds of `selection_nodes`), and every second node gives nearly the same
sum: for a smooth function the error with all nodes is at most the square of that difference. If a condition
fails, spans are used.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from hdpkit.vectors cimport has_room

from hdpkit._compiled.measures.selection_law cimport SelectionLaw, log_weight_gain
from hdpkit._compiled.measures.selection_nodes cimport (
    Peak, SelectionNodes, Span, depth_of, look, share, span_bound, start_peak,
)
from hdpkit.numerics cimport det_exp, det_log

cdef enum:
    SIDE = 64            # most nodes on one side of the mode
    EDGE = 8             # smallest distance of a bell from the ends
    FEWEST = 128         # fewest numbers for which this is used
    LOOKS = 48           # most spans outside the bell that are checked

cdef double STEP = 0.5             # step of the rule, in standard deviations
cdef double NARROWEST = 2.5        # smallest standard deviation of y
cdef double DEEP = 38.0            # nats below the mode at which nodes end
cdef double BEYOND = 32.0          # smallest distance of weights outside from the mode, in nats
cdef double AGREE = 1e-7           # largest relative difference of the two half sums


cdef inline double digamma_gain(double p, double q) noexcept nogil:
    """Difference of two digamma functions, to 0.02."""
    return det_log((p + 0.5) / (q + 0.5)) - (1.0 / p - 1.0 / q)


cdef double slope(const SelectionLaw *law, int64_t a, int64_t n, double t) noexcept nogil:
    """Approximate derivative of the log density of t."""
    cdef double left = <double>(law.n_terms - a), e = det_exp(-t), y = left / (1.0 + e), u = y * e, value, size
    if law.given:
        value = law.log_pi - law.log_rest - digamma_gain(y + 1.0, u + 1.0)
    else:
        value = digamma_gain(law.r + a + y, y + 1.0) - digamma_gain(law.s + u, u + 1.0)
    if n > 0:
        size = law.smoothing * (a + y)
        value += law.smoothing * digamma_gain(size, size + n)
    return value * y * (u / left) + (u - y) / left


cdef double find_mode(const SelectionLaw *law, int64_t a, int64_t n, double *sigma) noexcept nogil:
    """An approximate mode of t, and its standard deviation (0 if there is no mode), by the Illinois method."""
    cdef double high = det_log((<double>(law.n_terms - a) - EDGE) / EDGE), low = -high, middle = 0.0, h
    cdef double at_low = slope(law, a, n, low), at_high = slope(law, a, n, high), here, curvature = 0.0
    cdef int i, side = 0
    sigma[0] = 0.0
    if not (at_low > 0.0 and at_high < 0.0):
        return 0.0
    for i in range(40):
        # Slopes grow exponentially: occasional bisection avoids slow convergence of the secants.
        middle = 0.5 * (low + high) if i % 4 == 3 else low + (high - low) * (at_low / (at_low - at_high))
        here = slope(law, a, n, middle)
        h = 1e-3 * (high - low)
        curvature = (slope(law, a, n, middle - h) - here) / h if i > 2 else 0.0
        if curvature > 0.0 and here * here < 0.01 * curvature:     # a tenth of a standard deviation
            sigma[0] = 1.0 / sqrt(curvature)
            return middle
        if here > 0.0:
            low, at_low = middle, here
            at_high = 0.5 * at_high if side == 1 else at_high
            side = 1
        else:
            high, at_high = middle, here
            at_low = 0.5 * at_low if side == -1 else at_low
            side = -1
    return 0.0


cdef bint nothing_beyond(SelectionNodes *nodes, Peak *peak, int64_t first, int64_t mode, int64_t last) noexcept nogil:
    """Whether the weights of y <= first and of y >= last are negligible together."""
    cdef Span span, part
    cdef int64_t i, looks = 0
    nodes.pending.clear()
    if not has_room(nodes.pending, 2 * LOOKS + 4):
        return False
    span.first = span.last = span.n_nodes = 0
    span.total = 0.0
    span.at[1] = mode
    look(peak, &span, 1)
    for i in range(2):
        span.begin = span.at[0] = 0 if i == 0 else last
        span.at[2] = first if i == 0 else peak.law.n_terms - peak.a
        span.end = span.at[2]
        span.at[1] = first // 2 if i == 0 else last + (span.end - last) // 4
        look(peak, &span, 0)
        look(peak, &span, 1)
        look(peak, &span, 2)
        span.bound = span_bound(&span)
        nodes.pending.push_back(span)
    while nodes.pending.size() > 0:
        span = nodes.pending.back()
        nodes.pending.pop_back()
        if depth_of(peak, &span) - det_log(<double>(span.end - span.begin + 1)) > BEYOND:
            continue
        looks += 2
        if looks > LOOKS or span.end - span.begin < EDGE:
            return False
        for i in range(2):
            part = span
            share(&span, 0 if i == 0 else 1, &part, 0)
            share(&span, 1 if i == 0 else 2, &part, 2)
            part.begin = part.at[0]
            part.end = part.at[2]
            part.at[1] = part.begin + (part.end - part.begin) // 2
            look(peak, &part, 1)
            part.bound = span_bound(&part)
            nodes.pending.push_back(part)
    return True


cdef int gather_bell(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                     int64_t length) noexcept nogil:
    """Nodes and weights as those of `gather`, but few; 1 if the conditions are not met, -1 if out of memory."""
    cdef Peak peak
    cdef double left = <double>(law.n_terms - a), sigma, mode, e, y, u, y0, depth, weight, size0, common
    cdef double sums[2]
    cdef double end[2]
    cdef int64_t k, side
    if law.n_terms - a < FEWEST:
        return 1
    mode = find_mode(law, a, n, &sigma)
    if not sigma > 0.0:
        return 1
    e = det_exp(-mode)
    y0 = left / (1.0 + e)
    common = STEP * sigma / left
    weight = common * y0 * (left - y0)          # weight of the node at the mode
    if weight < STEP * NARROWEST:
        return 1
    nodes.y.clear()
    nodes.weight.clear()
    if not has_room(nodes.y, 2 * SIDE + 1) or not has_room(nodes.weight, 2 * SIDE + 1):
        return -1
    nodes.y.push_back(y0)
    nodes.weight.push_back(weight)
    size0 = law.smoothing * (a + y0) + n
    sums[0], sums[1] = weight, 0.0
    for side in range(2):
        for k in range(1, SIDE + 1):
            e = det_exp(-mode - (k if side == 1 else -k) * STEP * sigma)
            y = left / (1.0 + e)
            u = left - y
            if y < EDGE or u < EDGE:
                return 1
            weight = common * y * u * det_exp(log_weight_gain(law, a, n, y, y0))
            nodes.y.push_back(y)
            nodes.weight.push_back(weight)
            sums[k & 1] += weight
            depth = det_log(nodes.weight[0] / weight) if weight > 0.0 else 1000.0
            if depth > DEEP:
                # Further terms and customers tilt the weights.
                if side == 1:
                    depth -= rows * det_log(y / y0)
                elif length > 1:
                    depth -= length * det_log(size0 / (law.smoothing * (a + y) + n))
                if depth > DEEP:
                    break
        else:
            return 1
        end[side] = y
    nodes.total = sums[0] + sums[1]
    if not -AGREE * nodes.total < sums[0] - sums[1] < AGREE * nodes.total:
        return 1
    start_peak(&peak, law, a, n, rows, length)
    nodes.y0 = y0
    return 0 if nothing_beyond(nodes, &peak, <int64_t>end[0], <int64_t>y0, <int64_t>end[1] + 1) else 1
