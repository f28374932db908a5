# distutils: language = c++
"""Sums over all numbers of selected terms as sums over a few dozen nodes, and the coefficients made of them.

Nodes are found by spans or, with less work, where the distribution is a bell. An entry has the coefficients for
neighbouring numbers of terms and customers.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from hdpkit.numerics cimport det_exp, det_log, det_log1p
from hdpkit.vectors cimport has_place, has_room, vector

# ------------------------------------------------------------------------------------------------ spans
# Sums over all numbers of selected terms by spans: exact for short spans, by a quadrature for long ones.
#
# The log weight of y = R - a is smooth but not always unimodal: the binomial coefficient is log-concave,
# the gamma ratios of the seating are log-convex, and there may be separate peaks at both ends. The range is
# cut into pieces that are no longer than their distance from either end (the poles of the gamma functions
# are beyond the ends). Spans of pieces are processed in the order of an upper bound of their weights: a
# concave function lies below the extension of its secants, a convex one below its chords. A span with
# negligible weights is dropped. A single piece is halved until its log weights are nearly a parabola with
# moderate coefficients, or it has few numbers.
#
# The sum of f(y) over the L integers of a piece is that of w_i f(y_i) over the POINTS nodes of the Gauss
# quadrature of the uniform measure on L points (discrete Chebyshev polynomials): exact for polynomials of
# degree 2 POINTS - 1.

cdef enum:
    POINTS = 16              # nodes of a quadrature
    HALF = 8                 # nodes on either side
    SHORTEST = 5             # log2 of the fewest numbers that a quadrature replaces
    SIZES = 32               # log2 of the most, plus one
    ENDS = 32                # smallest numbers, summed one by one in pieces of 8, 8 and 16

cdef double NEGLIGIBLE = 40.0      # smallest distance of a dropped span's sum from the largest weight, in nats
cdef double EXACT = -31.0          # log of the error of a quadrature relative to its largest weight

cdef double POSITION[SIZES][POINTS]    # nodes for 2**k numbers, from -1 to 1
cdef double SHARE[SIZES][POINTS]       # weights of the quadrature, with sum 2**k


cdef cppclass Peak:
    const SelectionLaw *law
    int64_t a, n
    int64_t rows, length       # nodes must be accurate for a .. a + rows - 1 terms and n .. n + length - 1 customers
    int64_t top                # the y with the largest log weight so far
    double largest[MOST_ROWS + 1]      # largest log weight + i log y
    double log_size[MOST_ROWS + 1]     # log of lambda R + n there


cdef inline void share(const Span *span, int of, Span *part, int to) noexcept nogil:
    part.at[to] = span.at[of]
    part.concave[to] = span.concave[of]
    part.convex[to] = span.convex[of]


cdef inline double coupling(int64_t j, double inverse) noexcept nogil:
    """Off-diagonal element of the Jacobi matrix of 1 / inverse equidistant points, j = 1 .."""
    cdef double x = j * inverse
    return sqrt(<double>(j * j) * (1.0 - x * x) / (4.0 * j * j - 1.0))


cdef int fill_rules() noexcept nogil:
    """Compute nodes and weights for all sizes, from the largest, whose nodes are nearly Gauss-Legendre nodes."""
    cdef int64_t k, i, j, step
    cdef double x, inverse, before, now, after, slope_before, slope, slope_after, b, b_next, norm
    cdef double guess[HALF]
    guess[0], guess[1], guess[2], guess[3] = 0.095, 0.28, 0.46, 0.62
    guess[4], guess[5], guess[6], guess[7] = 0.755, 0.866, 0.945, 0.989
    for k in range(SIZES - 1, SHORTEST - 1, -1):
        inverse = 1.0 / (<int64_t>1 << k)
        for i in range(HALF):
            x = guess[i]
            for step in range(12):           # Newton's method
                before, now, slope_before, slope = 0.0, 1.0, 0.0, 0.0
                b, norm = 0.0, 0.0
                for j in range(POINTS):      # orthonormal polynomials and their derivatives
                    norm += now * now
                    b_next = coupling(j + 1, inverse)
                    after = (x * now - b * before) / b_next
                    slope_after = (now + x * slope - b * slope_before) / b_next
                    before, now = now, after
                    slope_before, slope = slope, slope_after
                    b = b_next
                if step < 11:
                    x -= now / slope
            guess[i] = x
            POSITION[k][HALF + i] = x
            POSITION[k][HALF - 1 - i] = -x
            SHARE[k][HALF + i] = 1.0 / (norm * inverse)
            SHARE[k][HALF - 1 - i] = 1.0 / (norm * inverse)
    return 0


fill_rules()


cdef inline int64_t largest_power(int64_t x) noexcept nogil:
    """The largest power of two that is at most x, for x >= 1."""
    cdef int64_t power = 1
    while power * 2 <= x:
        power *= 2
    return power


cdef int cut(SelectionNodes *nodes, int64_t n_numbers) noexcept nogil:
    """Cut 0 .. n_numbers - 1 into pieces: powers of two from 32 on, and fewer than 32 numbers at the end."""
    cdef int64_t begin = 0, left, length
    nodes.pieces.clear()
    if not has_room(nodes.pieces, 256):
        return -1
    while begin < n_numbers:
        nodes.pieces.push_back(begin)
        left = n_numbers - begin
        if begin < ENDS:
            length = 8 if begin < 16 else 16
        elif left < ENDS:
            length = left
        else:
            length = largest_power(min(begin, left // 2))
        begin += min(length, left)
    nodes.pieces.push_back(n_numbers)
    return 0


cdef double span_bound(const Span *span) noexcept nogil:
    """An upper bound of the log weights of a span."""
    cdef double middle = span.concave[1] + span.convex[1], bound = middle, end
    if span.at[1] > span.at[0]:
        end = span.concave[1] + (span.concave[1] - span.concave[0]) * (
            <double>(span.at[2] - span.at[1]) / (span.at[1] - span.at[0])) + span.convex[2]
        bound = end if end > bound else bound
    if span.at[2] > span.at[1]:
        end = span.concave[1] + (span.concave[1] - span.concave[2]) * (
            <double>(span.at[1] - span.at[0]) / (span.at[2] - span.at[1])) + span.convex[0]
        bound = end if end > bound else bound
    if span.at[1] == span.at[0] or span.at[1] == span.at[2]:     # one or two numbers: no secant
        end = span.concave[0] + span.convex[0]
        bound = end if end > bound else bound
        end = span.concave[2] + span.convex[2]
        bound = end if end > bound else bound
    return bound


cdef void start_peak(Peak *peak, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows, int64_t length) noexcept nogil:
    """Start the search for the largest weights."""
    cdef int64_t i
    peak.law, peak.a, peak.n = law, a, n
    peak.rows, peak.length = rows, length
    peak.top = 0
    for i in range(rows + 1):
        peak.largest[i] = -1.0 / 0.0
        peak.log_size[i] = 0.0


cdef void look(Peak *peak, Span *span, int which) noexcept nogil:
    """Evaluate a span's log weight at one of its three places."""
    cdef double value, log_y, log_size = 0.0
    cdef int64_t y = span.at[which], i
    span.concave[which] = rough_weight(peak.law, peak.a, peak.n, <double>y, &span.convex[which])
    value = span.concave[which] + span.convex[which]
    if peak.length > 1:
        log_size = det_log(peak.law.smoothing * (peak.a + y) + peak.n)
    if value > peak.largest[0]:
        peak.largest[0] = value
        peak.log_size[0] = log_size
        peak.top = y
    if y >= peak.rows:           # y (y-1) .. (y-i+1) is at least the ith power of this
        log_y = det_log(<double>(y - peak.rows + 1))
        for i in range(1, peak.rows + 1):
            value += log_y
            if value > peak.largest[i]:
                peak.largest[i] = value
                peak.log_size[i] = log_size


cdef double depth_of(const Peak *peak, const Span *span) noexcept nogil:
    """A lower bound of the distance in nats of a span's weights from the largest, for all rows and customers.

    i more terms multiply the weight of y by y (y-1) .. (y-i+1), j more customers divide it by lambda R + n and so on.
    """
    cdef double bound = span.bound, log_y = det_log(<double>span.at[2] + 1e-300), below = 0.0, depth, least = 1.0 / 0.0
    cdef int64_t i
    if peak.length > 1:
        below = det_log(peak.law.smoothing * (peak.a + span.begin) + peak.n)
    for i in range(peak.rows + 1):
        depth = peak.largest[i] - bound
        if peak.length > 1 and peak.log_size[i] > below:
            depth -= peak.length * (peak.log_size[i] - below)
        least = depth if depth < least else least
        bound += log_y
    return least


cdef int accept(SelectionNodes *nodes, const Span *span) noexcept nogil:
    """Add a span's nodes; weights are computed later, when y0 is known."""
    cdef int64_t length = span.end - span.begin, k, i
    cdef double centre
    if not has_place(nodes.spans) or not has_room(nodes.y, nodes.y.size() + ENDS) or not has_room(
            nodes.weight, nodes.y.size() + ENDS):
        return -1
    nodes.spans.push_back(span[0])
    if length < ENDS:
        nodes.spans.back().n_nodes = length
        for i in range(length):
            nodes.y.push_back(<double>(span.begin + i))
            nodes.weight.push_back(1.0)
        return 0
    nodes.spans.back().n_nodes = POINTS
    k = log_of(length)
    centre = span.begin + 0.5 * (length - 1)
    for i in range(POINTS):
        nodes.y.push_back(centre + 0.5 * length * POSITION[k][i])
        nodes.weight.push_back(SHARE[k][i])
    return 0


cdef inline int64_t log_of(int64_t power) noexcept nogil:
    cdef int64_t k = 0
    while power > 1:
        power >>= 1
        k += 1
    return k


cdef inline double square(double x) noexcept nogil:
    return x * x


cdef bint smooth(const Peak *peak, const Span *span, double depth) noexcept nogil:
    """Whether the quadrature of a span is accurate enough if its weights are at most exp(-depth) of the largest.

    On -1 .. 1 the weight is about exp(alpha t - beta t**2). The error of Gauss's rule with m points is about
    the coefficients from degree 2m on: (alpha / 2)**2m / (2m)! and (beta / 2)**m / m!.
    """
    cdef double begin = span.concave[0] + span.convex[0]
    cdef double middle = span.concave[1] + span.convex[1]
    cdef double end = span.concave[2] + span.convex[2]
    cdef double alpha = 0.5 * (end - begin), beta = 0.5 * ((end - middle) + (begin - middle))
    cdef double allowed = EXACT + depth, half
    alpha = alpha if alpha >= 0.0 else -alpha
    beta = beta if beta >= 0.0 else -beta
    # Further terms and customers change the slope and curvature of the log weights.
    alpha += 0.5 * peak.rows * det_log(<double>span.at[2] / span.begin)
    half = 0.5 * (span.end - span.begin)
    beta += 0.5 * peak.rows * square(half / span.at[1])
    if peak.length > 1:
        alpha += 0.5 * peak.length * det_log(
            (peak.law.smoothing * (peak.a + span.at[2]) + peak.n) / (peak.law.smoothing * (peak.a + span.begin) + peak.n))
        beta += 0.5 * peak.length * square(
            half * peak.law.smoothing / (peak.law.smoothing * (peak.a + span.at[1]) + peak.n))
    if not (alpha < 1e6 and beta < 1e6):
        return False
    return (
        32.0 * det_log(0.5 * alpha + 1e-9) - 81.557959456115037 < allowed      # log 32!
        and 16.0 * det_log(0.5 * beta + 1e-9) - 30.671860106080672 < allowed   # log 16!
    )


cdef int gather(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, int64_t rows,
                int64_t length) noexcept nogil:
    """Nodes and weights of all y for a dish with a terms and n customers; -1 if out of memory.

    With other weights the nodes can be used for up to rows - 1 more terms and length - 1 more customers.
    """
    cdef Peak peak
    cdef Span span, part
    cdef int64_t i, best, begin, middle
    cdef double depth
    start_peak(&peak, law, a, n, rows, length)
    nodes.pending.clear()
    nodes.spans.clear()
    nodes.y.clear()
    nodes.weight.clear()
    if cut(nodes, law.n_terms - a + 1) < 0 or not has_room(nodes.pending, 64):
        return -1
    span.first, span.last = 0, <int64_t>nodes.pieces.size() - 1
    span.begin, span.end = 0, law.n_terms - a + 1
    span.n_nodes, span.total = 0, 0.0
    span.at[0], span.at[2] = 0, law.n_terms - a
    span.at[1] = middle_of(nodes, &span)
    for i in range(3):
        look(&peak, &span, <int>i)
    span.bound = span_bound(&span)
    nodes.pending.push_back(span)
    while nodes.pending.size() > 0:
        best = 0
        for i in range(1, <int64_t>nodes.pending.size()):
            if nodes.pending[i].bound > nodes.pending[best].bound:
                best = i
        span = nodes.pending[best]
        nodes.pending[best] = nodes.pending.back()
        nodes.pending.pop_back()
        depth = depth_of(&peak, &span)
        if depth - det_log(<double>(span.end - span.begin)) > NEGLIGIBLE:
            continue
        if span.last - span.first == 1 and (
                span.end - span.begin < ENDS or smooth(&peak, &span, depth if depth > 0.0 else 0.0)):
            if accept(nodes, &span) < 0:
                return -1
            continue
        if not has_room(nodes.pending, nodes.pending.size() + 2):
            return -1
        for i in range(2):
            part.n_nodes, part.total = 0, 0.0
            if span.last - span.first == 1:
                middle = span.begin + (span.end - span.begin) // 2
                part.first, part.last = span.first, span.last
            else:
                begin = (span.first + span.last) // 2
                middle = nodes.pieces[begin]
                part.first = span.first if i == 0 else begin
                part.last = begin if i == 0 else span.last
            part.begin = span.begin if i == 0 else middle
            part.end = middle if i == 0 else span.end
            share(&span, 0 if i == 0 else 1, &part, 0)
            share(&span, 1 if i == 0 else 2, &part, 2)
            part.at[1] = middle_of(nodes, &part)
            look(&peak, &part, 1)
            part.bound = span_bound(&part)
            nodes.pending.push_back(part)
    nodes.y0 = <double>peak.top
    weigh(nodes, law, a, n)
    return 0


cdef inline int64_t middle_of(SelectionNodes *nodes, const Span *span) noexcept nogil:
    """The position at which a span is halved."""
    if span.last - span.first == 1:
        return min(span.begin + (span.end - span.begin) // 2, span.at[2])
    return nodes.pieces[(span.first + span.last) // 2]


cdef void weigh(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n) noexcept nogil:
    cdef int64_t i, j, place = 0
    cdef double total
    nodes.total = 0.0
    for i in range(<int64_t>nodes.spans.size()):
        total = 0.0
        for j in range(nodes.spans[i].n_nodes):
            nodes.weight[place] *= det_exp(log_weight_gain(law, a, n, nodes.y[place], nodes.y0))
            total += nodes.weight[place]
            place += 1
        nodes.spans[i].total = total
        nodes.total += total


cdef double span_total(const SelectionLaw *law, int64_t a, int64_t n, int64_t begin, int64_t length,
                       double y0) noexcept nogil:
    """Sum of the weights of y = begin .. begin + length - 1 (a power of two, or few) relative to that of y0."""
    cdef int64_t k, i
    cdef double total = 0.0, centre = begin + 0.5 * (length - 1)
    if length < ENDS:
        for i in range(length):
            total += det_exp(log_weight_gain(law, a, n, <double>(begin + i), y0))
        return total
    k = log_of(length)
    for i in range(POINTS):
        total += SHARE[k][i] * det_exp(
            log_weight_gain(law, a, n, centre + 0.5 * length * POSITION[k][i], y0))
    return total


# ------------------------------------------------------------------------------------------------ bells
# Sums with few nodes for a unimodal distribution of the number of selected terms, away from both ends.
#
# A sum over integers of a bell-shaped function with standard deviation sigma equals its integral up to a
# relative error of exp(-2 pi**2 sigma**2), and the trapezoidal rule for the integral has a relative error
# of exp(-2 pi**2 (sigma / step)**2). The variable is t = log(y / (V - a - y)), in which distributions that
# are skew in y are also nearly bell-shaped. Three conditions are checked: the bell is wide enough, the
# weights outside it are negligible (by the bounds of `span_bound`), and every second node gives nearly the
# same sum: for a smooth function the error with all nodes is at most the square of that difference. If a
# condition fails, spans are used.

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


# ------------------------------------------------------------------------------------------------ entries
# Coefficients of a sparse topic's predictive for neighbouring numbers of terms and customers at once.
#
# For a dish with one more term the weights of R are multiplied by R - a, with one more customer they are
# divided by lambda R + n. So the nodes for one (a, n) can be used for its neighbours, and all sums are
# products of two matrices: weights of nodes by customers, and falling factorials by terms. The first (a, n)
# of an entry depends only on a and n, so values don't depend on earlier calls.

cdef enum:
    LANES = 8        # nodes that are summed in parallel, in the same order everywhere

cdef double LEAST = 1e-100     # smaller sums are computed with separate nodes


cdef inline double one_less_exp(double x) noexcept nogil:
    """1 - exp(-x) for x >= 0, to full relative precision."""
    cdef double term, total
    cdef int j
    if x > 0.5:
        return 1.0 - det_exp(-x)
    term = total = x
    for j in range(2, 18):
        term *= -x / j
        total += term
    return total


cdef void without_customers(const SelectionLaw *law, Entry *entry) noexcept nogil:
    """Values of a new dish: 1 / V times the probability that any term is selected; the rest is the dummy's."""
    cdef double V = <double>law.n_terms
    entry.values[0].inside = 0.0
    entry.values[0].outside = one_less_exp(-V * law.log_rest if law.given else mixed(law.s, law.r, V)) / V
    entry.log_shares[0] = 0.0


cdef inline double dot(const double *a, const double *b, int64_t n) noexcept nogil:
    """Sum of the products of n numbers, a multiple of LANES."""
    cdef double lane[LANES]
    cdef int64_t i = 0, l
    for l in range(LANES):
        lane[l] = 0.0
    while i < n:
        for l in range(LANES):
            lane[l] += a[i + l] * b[i + l]
        i += LANES
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))


cdef int fill_entry(SelectionNodes *nodes, const SelectionLaw *law, int64_t a, int64_t n, Entry *entry) noexcept nogil:
    """Compute the values of the entry with (a, n); -1 if out of memory."""
    cdef int status
    entry.columns = entry_length(n, MOST_COLUMNS)
    entry.n = n & -entry.columns
    entry.rows = entry_length(a, MOST_ROWS)
    entry.a = a & -entry.rows
    if a == 0:
        without_customers(law, entry)
        return 0
    if entry.rows > 1 and entry.a + entry.rows <= law.n_terms:
        status = fill_values(nodes, law, entry)
        if status <= 0:
            return status
    entry.rows = 1
    entry.a = a
    return fill_values(nodes, law, entry)


cdef int fill_values(SelectionNodes *nodes, const SelectionLaw *law, Entry *entry) noexcept nogil:
    """Compute the values of an entry; 1 if its rows are too different for one set of nodes."""
    cdef int64_t n_nodes, padded, i, j, k
    cdef int64_t rows = entry.rows
    cdef int status
    cdef double common, inverse, scale, n, portion, y0, log_share
    cdef double *y
    cdef double *w
    cdef double *size
    cdef double *factor
    cdef double scales[MOST_ROWS]            # divisor of row i + 1
    cdef double before[MOST_ROWS + 1]        # sums for one number of customers, by row
    cdef double after[MOST_ROWS + 1]         # the same for one more customer
    cdef Coefficients *out
    cdef double *share
    status = gather_bell(nodes, law, entry.a, entry.n, rows, entry.columns)
    if status == 1:
        status = gather(nodes, law, entry.a, entry.n, rows, entry.columns)
    if status < 0:
        return -1
    n_nodes = <int64_t>nodes.y.size()
    padded = (n_nodes + LANES - 1) // LANES * LANES
    if not has_room(nodes.y, padded) or not has_room(nodes.weight, padded) or not has_room(
            nodes.factor, (rows + 2) * padded):
        return -1
    while <int64_t>nodes.y.size() < padded:
        nodes.y.push_back(0.0)
        nodes.weight.push_back(0.0)
    while <int64_t>nodes.factor.size() < (rows + 2) * padded:
        nodes.factor.push_back(0.0)
    y = nodes.y.data()
    w = nodes.weight.data()
    size = nodes.factor.data()               # lambda R
    factor = size + padded                   # rows of y (y-1) .. (y-k+1), scaled
    y0 = nodes.y0
    for i in range(padded):
        size[i] = law.smoothing * (entry.a + y[i])
        factor[i] = 1.0
    for k in range(rows):
        scales[k] = y0 - k if y0 - k > 1.0 else 1.0
        inverse = 1.0 / scales[k]
        for i in range(padded):
            factor[(k + 1) * padded + i] = factor[k * padded + i] * ((y[i] - k) * inverse)
    for k in range(rows + 1):
        before[k] = dot(w, factor + k * padded, padded)
        if rows > 1 and not before[k] > LEAST:
            return 1
    log_share = log_share_of(law, entry.a, entry.n, y0)
    for k in range(rows):
        entry.log_shares[k * entry.columns] = (
            log_share + mixed(law.smoothing * entry.a, law.smoothing * k, <double>entry.n) + det_log(before[k]))
        log_share += det_log(scales[k] / (law.n_terms - entry.a - k)) if entry.a + k < law.n_terms else 0.0
    for j in range(entry.columns):
        n = <double>(entry.n + j)
        common = law.smoothing * (entry.a + y0) + n       # keeps the size of the weights constant
        for i in range(padded):
            w[i] *= common / (size[i] + n)
        for k in range(rows + 1):
            after[k] = dot(w, factor + k * padded, padded)
        for k in range(rows):
            out = &entry.values[k * entry.columns + j]
            inverse = 1.0 / (before[k] * common)
            out.inside = after[k] * inverse
            portion = law.smoothing * scales[k] * after[k + 1] * inverse     # of terms that the dish doesn't have
            out.outside = portion / (law.n_terms - entry.a - k) if entry.a + k < law.n_terms else 0.0
            if j + 1 < entry.columns:
                scale = out.inside * (n + law.smoothing * (entry.a + k))
                share = &entry.log_shares[k * entry.columns + j]
                share[1] = share[0] + (det_log1p(-portion) if portion < 0.5 else det_log(scale))
            before[k] = after[k]
        before[rows] = after[rows]
    return 0
