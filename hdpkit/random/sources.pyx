# distutils: language = c++
"""Choice sources: keyed streams of a generator, from which runs draw, and scripts, by which tests visit every branch."""

import numpy as np

from libc.math cimport INFINITY, isfinite, sqrt
from libc.stdint cimport int64_t, uint32_t, uint64_t
from numpy.random cimport BitGenerator

from hdpkit.checks import items, number_array, whole_number
from hdpkit.errors import MissingMethodError, ParameterError, StateError
from hdpkit.numerics cimport det_exp, det_lgamma, det_log, det_log1p, log_gamma_ratio
from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.philox cimport (
    philox, philox_below, philox_next_double, philox_next_uint32, philox_next_uint64, philox_rekey,
)
from hdpkit.vectors cimport has_place, has_room, no_memory, vector

# ------------------------------------------------------------------------------------------------ draws
# Draws from the words of a Philox generator; ``state`` is a pointer to it.
#
# They use only arithmetic, square roots and the functions of `hdpkit.numerics`, so they are the same on
# every processor. If a parameter is out of range, a draw of an integer returns -1 and one of a real number
# NaN. Gamma, beta and Dirichlet draws are logarithms, which don't underflow for tiny shapes.

# --------------------------------------------------------------------------------- draws: whole numbers

cdef int64_t draw_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    """An index with probability proportional to its weight."""
    cdef double total = 0.0, threshold, running = 0.0
    cdef int64_t i, last = -1
    for i in range(n):
        total += weights[i]
    if not (total > 0.0 and isfinite(total)):
        return -1
    threshold = philox_next_double(<philox *>state) * total
    for i in range(n):
        running += weights[i]
        if running > threshold:
            return i
    # By rounding, the threshold may equal the total: then the last positive weight is chosen.
    for i in range(n):
        if weights[i] > 0.0:
            last = i
    return last


cdef int64_t draw_bernoulli(void *state, double p) noexcept nogil:
    """1 with probability p."""
    if not (p >= 0.0):
        return -1
    return philox_next_double(<philox *>state) < p


cdef int64_t draw_index(void *state, int64_t n) noexcept nogil:
    """One of 0 .. n - 1."""
    if n <= 0:
        return -1
    return <int64_t>philox_below(<philox *>state, <uint64_t>n)


# ------------------------------------------------------------------------ draws: uniform, normal, gamma

cdef double draw_uniform(void *state) noexcept nogil:
    """Uniform between 0 and 1, never 0 or 1: an odd multiple of 2**-53."""
    return (<double>(philox_next_uint64(<philox *>state) >> 12) + 0.5) * (1.0 / 4503599627370496.0)


cdef double draw_normal(void *state) noexcept nogil:
    """Standard normal, by Marsaglia's polar method; the second number of the pair is discarded."""
    cdef double x, y, square
    while True:
        x = 2.0 * draw_uniform(state) - 1.0
        y = 2.0 * draw_uniform(state) - 1.0
        square = x * x + y * y
        if square < 1.0:
            return x * sqrt(-2.0 * det_log(square) / square)


cdef double log1p_beyond_cubes(double t) noexcept nogil:
    """log(1 + t) - t + t**2 / 2 - t**3 / 3 for t > -1, to nearly full relative precision near 0."""
    if -0.1 < t < 0.1:
        return -(t * t) * (t * t) * (
            1.0 / 4.0 - t * (1.0 / 5.0 - t * (1.0 / 6.0 - t * (1.0 / 7.0 - t * (1.0 / 8.0 - t * (
                1.0 / 9.0 - t * (1.0 / 10.0 - t * (1.0 / 11.0 - t * (1.0 / 12.0 - t * (1.0 / 13.0 - t * (
                    1.0 / 14.0 - t * (1.0 / 15.0 - t * (1.0 / 16.0 - t * (1.0 / 17.0))))))))))))))
    return det_log1p(t) - t * (1.0 - t * (0.5 - t * (1.0 / 3.0)))


def beyond_cubes(double t):
    """log(1 + t) - t + t**2 / 2 - t**3 / 3 for t > -1, for tests."""
    return log1p_beyond_cubes(t)


cdef double squeezed(void *state, double d) noexcept nogil:
    """t such that d (1 + t)**3 is a gamma draw of shape d + 1/3 >= 1 (Marsaglia and Tsang 2000)."""
    cdef double c = 1.0 / (3.0 * sqrt(d)), x, t, u
    while True:
        x = draw_normal(state)
        t = c * x
        if t <= -1.0:
            continue
        u = draw_uniform(state)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return t
        # The log acceptance probability is x**2 / 2 + d (1 - v + log v) with v = (1 + t)**3, which equals 3 d
        # (log(1 + t) - t + t**2 / 2 - t**3 / 3). If d is large, t is small.
        if det_log(u) < 3.0 * (d * log1p_beyond_cubes(t)):
            return t


cdef double large_gamma(void *state, double shape) noexcept nogil:
    """A gamma draw of shape >= 1."""
    cdef double d = shape - 1.0 / 3.0
    cdef double root = 1.0 + squeezed(state, d)
    return d * (root * root * root)


cdef double draw_log_gamma(void *state, double shape) noexcept nogil:
    """Logarithm of a gamma draw of this shape and rate 1."""
    cdef double d, log_draw
    if not is_shape(shape):
        return not_a_number()
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    log_draw = det_log(d) + 3.0 * det_log1p(squeezed(state, d))
    if shape < 1.0:      # a draw of shape + 1, times U**(1 / shape)
        log_draw += det_log(draw_uniform(state)) / shape
    return log_draw


cdef double draw_log_beta(void *state, double a, double b, double *log_rest) noexcept nogil:
    """Logarithm of a Beta(a, b) draw x; that of 1 - x is written to ``log_rest``."""
    cdef double first, second, smaller
    log_rest[0] = not_a_number()
    if not (is_shape(a) and is_shape(b)):
        return log_rest[0]
    first = draw_log_gamma(state, a)
    second = draw_log_gamma(state, b)
    if first < second:
        smaller = first - second
        log_rest[0] = 0.0 - det_log1p(det_exp(smaller))
        return smaller + log_rest[0]
    smaller = second - first
    first = 0.0 - det_log1p(det_exp(smaller))
    log_rest[0] = smaller + first
    return first


cdef int64_t draw_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil:
    """Write the n logarithms of a Dirichlet draw to ``logs``; returns 0."""
    cdef double top, others = 0.0
    cdef int64_t i, largest = 0
    if n < 1:
        return -1
    for i in range(n):
        if not is_shape(shapes[i]):
            return -1
    for i in range(n):
        logs[i] = draw_log_gamma(state, shapes[i])
        if logs[i] > logs[largest]:
            largest = i
    top = logs[largest]
    for i in range(n):
        logs[i] -= top
        if i != largest:
            others += det_exp(logs[i])
    others = det_log1p(others)
    for i in range(n):
        logs[i] -= others
    return 0


# -------------------------------------------------------------------------------------- draws: binomial

cdef int64_t inverted_binomial(void *state, int64_t n, double p) noexcept nogil:
    """Binomial by inversion from 0 upwards, for n p < 10 and p <= 1/2."""
    cdef double none = det_exp(n * det_log1p(-p)), odds = p / (1.0 - p), here, u
    cdef int64_t k
    while True:
        u = draw_uniform(state)
        here = none
        for k in range(n + 1):
            if u <= here:
                return k
            if k == 110:
                break        # such a count has probability 1e-70: it is reached only by rounding
            u -= here
            here *= odds * <double>(n - k) / <double>(k + 1)


cdef int64_t draw_binomial(void *state, int64_t n, double p) noexcept nogil:
    """Number of successes in n trials of probability p.

    Uniform order statistics are drawn from the middle outwards (Devroye 1986, X.4.3): the one of rank i, i
    near n p, has a beta distribution, and only the uniforms between it and p, about sqrt(n) of them, remain
    to be counted. No logarithm of a factorial is needed, so n may be as large as 2**53.
    """
    cdef int64_t count = 0, sign = 1, rank
    cdef double y, below, above
    if not is_binomial(n, p):
        return -1
    while n > 0 and p > 0.0:
        if p > 0.5:              # n minus the number of failures
            count += sign * n
            sign = -sign
            p = 1.0 - p
            continue
        if n * p < 10.0:
            return count + sign * inverted_binomial(state, n, p)
        rank = <int64_t>((<double>n + 1.0) * p)
        below = large_gamma(state, <double>rank)
        above = large_gamma(state, <double>(n + 1 - rank))
        y = below / (below + above)
        if y <= p:               # `rank` successes, plus those of the n - rank above y that are below p
            count += sign * rank
            n -= rank
            p = (p - y) / (1.0 - y)
        else:                    # rank - 1 uniforms below y, minus those between p and y
            count += sign * (rank - 1)
            sign = -sign
            n = rank - 1
            p = (y - p) / y
    return count


# ---------------------------------------------------------------------------------------------- streams
# Of the generator Philox 4x64-10 (Salmon et al. 2011).

cdef tuple NAMES = ("key0", "key1", "word1", "word2", "word3")
cdef object LARGEST = 2**64 - 1


cdef tuple several(str name, object value, int n):
    """This many words, as given."""
    found = items(name, value, f"{n} whole numbers from 0 to {LARGEST}", remedy="Give a tuple of them.")
    if len(found) != n:
        raise ParameterError(name, value, f"{n} whole numbers from 0 to {LARGEST}", "Give a tuple of them.")
    return found


cdef uint64_t philox_uint64(void *state) noexcept nogil:
    return philox_next_uint64(<philox *>state)


cdef uint32_t philox_uint32(void *state) noexcept nogil:
    return philox_next_uint32(<philox *>state)


cdef double philox_double(void *state) noexcept nogil:
    return philox_next_double(<philox *>state)


cdef class Philox(BitGenerator):
    """Philox 4x64-10 as a NumPy bit generator that can be rekeyed in place.

    It generates the same words as ``numpy.random.Philox(key=key, counter=counter)``.
    """

    cdef philox s

    def __init__(self):
        BitGenerator.__init__(self, 0)
        self._bitgen.state = &self.s
        self._bitgen.next_uint64 = &philox_uint64
        self._bitgen.next_uint32 = &philox_uint32
        self._bitgen.next_double = &philox_double
        self._bitgen.next_raw = &philox_uint64
        self.move(0, 0, 0, 0, 0)

    cdef int move(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3) except -1:
        """Move to the start of the stream with this key and these upper three words of the counter."""
        philox_rekey(&self.s, key0, key1, word1, word2, word3)
        return 0

    @property
    def state(self):
        """Raises a MissingMethodError: a stream is identified by its key."""
        raise MissingMethodError(
            "bit generator", type(self).__name__, "one whose state can be saved",
            "Keep the key and the words of the stream; RandomStream.rekey goes back to its start.",
        )

    def __reduce__(self):
        self.state


cdef class RandomStream(ChoiceSource):
    """The production source: one keyed stream of a Philox generator.

    ``rekey`` moves it to the start of another stream, independent of how much of the last one was used. The state
    of its C struct is a `philox`, from which sweeps with an inlined generator draw.
    """

    cdef readonly Philox bit_generator
    cdef object _generator

    def __cinit__(self):
        self.bit_generator = Philox()
        self.own.state = &self.bit_generator.s
        self.own.choose = draw_choose
        self.own.bernoulli = draw_bernoulli
        self.own.index = draw_index
        self.own.uniform = draw_uniform
        self.own.normal = draw_normal
        self.own.log_gamma = draw_log_gamma
        self.own.log_beta = draw_log_beta
        self.own.log_dirichlet = draw_log_dirichlet
        self.own.binomial = draw_binomial
        self.published()

    def __init__(self, key=(0, 0), words=(0, 0, 0)):
        key0, key1 = several("key", key, 2)
        word1, word2, word3 = several("words", words, 3)
        self.rekey(key0, key1, word1, word2, word3)

    def rekey(self, key0, key1, word1, word2, word3):
        """Move to the start of the stream with this key and these upper words of the counter.

        Parameters
        ----------
        key0, key1, word1, word2, word3 : int
            From 0 to 2**64 - 1.
        """
        try:
            self.bit_generator.move(key0, key1, word1, word2, word3)
        except (OverflowError, TypeError, ValueError):
            for name, value in zip(NAMES, (key0, key1, word1, word2, word3)):
                whole_number(name, value, 0, LARGEST, remedy="A word has 64 bits.")
            raise

    @property
    def generator(self):
        """A `numpy.random.Generator` on the same stream."""
        if self._generator is None:
            self._generator = np.random.Generator(self.bit_generator)
        return self._generator


# ---------------------------------------------------------------------------------------------- scripts
# They take branches and values as given, and record their probabilities and densities.

cdef enum:
    MOST_BRANCHES = 1000000        # limit for a scripted binomial draw


cdef cppclass script_state:
    vector[int64_t] script       # the branches to take first
    vector[int64_t] chosen       # the branch taken at each choice
    vector[int64_t] following    # the next branch with positive probability, -1 if there is none
    vector[double] probability   # probability of the branch taken
    int overrun                  # a scripted branch doesn't exist or has probability zero
    vector[double] given         # values of continuous draws
    size_t drawn                 # the number of values taken
    int misfit                   # a value is missing or outside the support
    double log_density           # sum over the values taken


cdef int64_t scripted_take(script_state *s, const double *weights, int64_t n, double equal) noexcept nogil:
    """Take one of n branches; if ``weights`` is NULL, each has weight ``equal``."""
    cdef size_t place = s.chosen.size()
    cdef int64_t i, branch = -1, after = -1
    cdef double total = 0.0
    if weights == NULL:
        total = n * equal
    else:
        for i in range(n):
            if not (weights[i] >= 0.0):
                return -1
            total += weights[i]
    if not (total > 0.0 and isfinite(total)):
        return -1
    if place < s.script.size():
        branch = s.script[place]
        if branch < 0 or branch >= n or (weights != NULL and weights[branch] <= 0.0):
            s.overrun = 1
            return -1
    for i in range(n):
        if weights != NULL and weights[i] <= 0.0:
            continue
        if branch < 0:
            branch = i
        elif i > branch:
            after = i
            break
    if not (has_place(s.chosen) and has_place(s.following) and has_place(s.probability)):
        return no_memory()
    s.chosen.push_back(branch)
    s.following.push_back(after)
    s.probability.push_back((equal if weights == NULL else weights[branch]) / total)
    return branch


cdef int64_t scripted_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    return scripted_take(<script_state *>state, weights, n, 0.0)


cdef int64_t scripted_bernoulli(void *state, double p) noexcept nogil:
    cdef double weights[2]
    weights[0] = 1.0 - p
    weights[1] = p
    return scripted_take(<script_state *>state, weights, 2, 0.0)


cdef int64_t scripted_index(void *state, int64_t n) noexcept nogil:
    if n <= 0:
        return -1
    return scripted_take(<script_state *>state, NULL, n, 1.0)


cdef int64_t scripted_binomial(void *state, int64_t n, double p) noexcept nogil:
    """A choice of n + 1 branches."""
    cdef vector[double] weights
    cdef int64_t k, mode
    if not (is_binomial(n, p) and n < MOST_BRANCHES):
        return -1
    if not has_room(weights, <size_t>(n + 1)):
        return no_memory()
    weights.resize(<size_t>(n + 1))
    # From the largest outwards, each computed from its neighbour; branches that underflow are left out.
    mode = <int64_t>((<double>n + 1.0) * p)
    if mode > n:
        mode = n
    weights[mode] = 1.0
    for k in range(mode, n):
        weights[k + 1] = weights[k] * (<double>(n - k) * p) / (<double>(k + 1) * (1.0 - p))
    for k in range(mode, 0, -1):
        weights[k - 1] = weights[k] * (<double>k * (1.0 - p)) / (<double>(n - k + 1) * p)
    return scripted_take(<script_state *>state, weights.data(), n + 1, 0.0)


cdef bint fits(script_state *s, double low, double high) noexcept nogil:
    """Whether there is a next value, and it is strictly between the bounds."""
    if s.drawn < s.given.size() and low < s.given[s.drawn] < high:
        return True
    s.misfit = 1
    return False


cdef double scripted_uniform(void *state) noexcept nogil:
    cdef script_state *s = <script_state *>state
    if not fits(s, 0.0, 1.0):
        return not_a_number()
    s.drawn += 1
    return s.given[s.drawn - 1]


cdef double scripted_normal(void *state) noexcept nogil:
    cdef script_state *s = <script_state *>state
    cdef double x
    if not fits(s, -INFINITY, INFINITY):
        return not_a_number()
    x = s.given[s.drawn]
    s.drawn += 1
    s.log_density -= 0.5 * x * x + 0.91893853320467274178
    return x


cdef double scripted_log_gamma(void *state, double shape) noexcept nogil:
    cdef script_state *s = <script_state *>state
    cdef double x
    if not (is_shape(shape) and fits(s, 0.0, INFINITY)):
        return not_a_number()
    x = s.given[s.drawn]
    s.drawn += 1
    s.log_density += (shape - 1.0) * det_log(x) - x - det_lgamma(shape)
    return det_log(x)


cdef double scripted_log_beta(void *state, double a, double b, double *log_rest) noexcept nogil:
    cdef script_state *s = <script_state *>state
    cdef double log_x
    log_rest[0] = not_a_number()
    if not (is_shape(a) and is_shape(b) and fits(s, 0.0, 1.0)):
        return log_rest[0]
    log_x = det_log(s.given[s.drawn])
    log_rest[0] = det_log1p(-s.given[s.drawn])
    s.drawn += 1
    s.log_density += (a - 1.0) * log_x + (b - 1.0) * log_rest[0] + log_gamma_ratio(a, b) - det_lgamma(b)
    return log_x


cdef int64_t scripted_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil:
    """The next n values, which sum to 1; their density is that of the first n - 1."""
    cdef script_state *s = <script_state *>state
    cdef size_t first = s.drawn
    cdef double total = 0.0, concentration = 0.0, log_density = 0.0
    cdef int64_t i
    for i in range(n):
        if not is_shape(shapes[i]) or not fits(s, 0.0, INFINITY):
            s.drawn = first
            return -1
        logs[i] = det_log(s.given[s.drawn])
        total += s.given[s.drawn]
        log_density += (shapes[i] - 1.0) * logs[i] - det_lgamma(shapes[i])
        concentration += shapes[i]
        s.drawn += 1
    if n < 1 or not (-1e-9 < total - 1.0 < 1e-9):
        s.drawn = first
        s.misfit = 1
        return -1
    s.log_density += log_density + det_lgamma(concentration)
    return 0


cdef class ScriptedSource(ChoiceSource):
    """A source that takes scripted branches and values, and records their probabilities and densities.

    After a run, `probability` is the probability of the path, and `advance` prepares the next path in
    lexicographic order. After the end of the script the first branch with positive probability is taken, so a
    loop of ``run; advance`` visits every path once. A binomial draw is a choice of n + 1 branches.

    Values of uniform, normal, gamma, beta and Dirichlet draws are given and the same on every path; after a
    run, `log_density` is the log density of the values taken.

    Parameters
    ----------
    script : sequence of int
        The branches to take first.
    continuous : sequence of float
        The values of continuous draws in the order of the draws; a Dirichlet draw with n shapes takes n.
    """

    cdef script_state s

    def __cinit__(self):
        self.own.state = &self.s
        self.own.choose = scripted_choose
        self.own.bernoulli = scripted_bernoulli
        self.own.index = scripted_index
        self.own.uniform = scripted_uniform
        self.own.normal = scripted_normal
        self.own.log_gamma = scripted_log_gamma
        self.own.log_beta = scripted_log_beta
        self.own.log_dirichlet = scripted_log_dirichlet
        self.own.binomial = scripted_binomial
        self.published()

    def __init__(self, script=(), continuous=()):
        self.s.script.clear()
        for branch in script:
            self.s.script.push_back(<int64_t>int(branch))
        values = number_array(continuous)
        if values is None or values.ndim != 1 or not np.isfinite(values).all():
            raise ParameterError("continuous", continuous, "finite numbers in a row", "Give one for each draw.")
        self.s.given.clear()
        for value in values.tolist():
            self.s.given.push_back(<double>value)
        self.rewind()

    cpdef rewind(self):
        """Clear the record and start the same script again."""
        self.s.chosen.clear()
        self.s.following.clear()
        self.s.probability.clear()
        self.s.overrun = 0
        self.s.drawn = 0
        self.s.misfit = 0
        self.s.log_density = 0.0

    cpdef bint advance(self):
        """Set the script of the next path; False after the last path."""
        cdef int64_t place = <int64_t>self.s.chosen.size() - 1
        cdef int64_t i
        while place >= 0 and self.s.following[place] < 0:
            place -= 1
        if place < 0:
            return False
        self.s.script.clear()
        for i in range(place):
            self.s.script.push_back(self.s.chosen[i])
        self.s.script.push_back(self.s.following[place])
        self.rewind()
        return True

    @property
    def probability(self):
        """Probability of the path that was taken."""
        cdef double product = 1.0
        cdef size_t i
        for i in range(self.s.probability.size()):
            product *= self.s.probability[i]
        return product

    @property
    def path(self):
        """The branches that were taken, as a tuple."""
        return tuple(self.s.chosen)

    @property
    def log_density(self):
        """Sum of the log densities of the continuous values that were taken, in nats.

        Each is the density of the value itself, not of the logarithm that compiled code receives; for a
        Dirichlet draw it is the density of all values except the last.
        """
        return self.s.log_density

    @property
    def values(self):
        """The continuous values that were taken, as a tuple."""
        return tuple(self.s.given)[: self.s.drawn]

    def _failure(self):
        failure = ChoiceSource._failure(self)
        if failure is not None:
            return failure
        if self.s.overrun:
            return StateError("script", tuple(self.s.script), "a path that exists",
                              "Scripts come from `advance` or from `path` of an earlier run.")
        if self.s.misfit:
            return StateError("continuous", tuple(self.s.given), f"a value that fits draw {self.s.drawn + 1}",
                              "Give a value within its range for each continuous draw; Dirichlet values sum to 1.")
        return None
