# distutils: language = c++
"""A source for tests: it takes scripted branches and values, and records their probabilities and densities."""

import numpy as np

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int64_t

from hdpkit.checks import number_array
from hdpkit.errors import ParameterError, StateError
from hdpkit.numerics cimport det_lgamma, det_log, det_log1p, log_gamma_ratio
from hdpkit.random._source cimport ChoiceSource
from hdpkit.random.draws cimport is_binomial, is_shape, not_a_number
from hdpkit.vectors cimport has_place, has_room, no_memory, vector

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
