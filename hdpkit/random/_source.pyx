# distutils: language = c++
"""Choice sources: keyed random streams for production, scripts for the exact-kernel tests.

A move draws every discrete quantity through a `ChoiceSource`. The production source is `RandomStream`, a
counter-based generator (Philox 4x64-10; Salmon et al. 2011) that is keyed rather than consumed. A
`ScriptedSource` takes the branches that it is told to take and writes down the probability of each, so that
a test can walk through all branches of the very code that samples.
"""

import numpy as np

from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint32_t, uint64_t
from hdpkit.vectors cimport has_place, no_memory, vector
from numpy.random cimport BitGenerator

from hdpkit.errors import ParameterError, StateError

# ---------------------------------------------------------------------------------------------- Philox

cdef uint64_t philox_uint64(void *state) noexcept nogil:
    return philox_next_uint64(<philox *>state)


cdef uint32_t philox_uint32(void *state) noexcept nogil:
    return philox_next_uint32(<philox *>state)


cdef double philox_double(void *state) noexcept nogil:
    return philox_next_double(<philox *>state)


cdef int64_t production_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    cdef double total = 0.0, threshold, running = 0.0
    cdef int64_t i, last = -1
    for i in range(n):
        total += weights[i]
    if not (total > 0.0 and isfinite(total)):
        return -1
    threshold = philox_double(state) * total
    for i in range(n):
        running += weights[i]
        if running > threshold:
            return i
    # Rounding may leave the threshold at the total: the walk ends on the last POSITIVE weight.
    for i in range(n):
        if weights[i] > 0.0:
            last = i
    return last


cdef int64_t production_bernoulli(void *state, double p) noexcept nogil:
    if not (p >= 0.0):
        return -1
    return philox_double(state) < p


cdef int64_t production_index(void *state, int64_t n) noexcept nogil:
    if n <= 0:
        return -1
    return <int64_t>philox_below(<philox *>state, <uint64_t>n)


cdef class Philox(BitGenerator):
    """Philox 4x64-10 as a NumPy bit generator that can be rekeyed in place.

    Same words as ``numpy.random.Philox(key=key, counter=counter)``.
    """

    def __init__(self):
        BitGenerator.__init__(self, 0)
        self._bitgen.state = &self.s
        self._bitgen.next_uint64 = &philox_uint64
        self._bitgen.next_uint32 = &philox_uint32
        self._bitgen.next_double = &philox_double
        self._bitgen.next_raw = &philox_uint64
        self.rekey(0, 0, 0, 0, 0)

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3):
        """Start the stream of this key and these upper three words of the counter."""
        philox_rekey(&self.s, key0, key1, word1, word2, word3)


# ---------------------------------------------------------------------------------------- Python faces

cdef _bad_weights(object weights):
    return ParameterError(
        "weights", np.asarray(weights).tolist(), "finite, not negative, at least one positive",
        "A NaN or an overflow in a predictive probability is the usual cause.",
    )


cdef int64_t refused_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    return -1


cdef int64_t refused_bernoulli(void *state, double p) noexcept nogil:
    return -1


cdef int64_t refused_index(void *state, int64_t n) noexcept nogil:
    return -1


cdef int64_t asked_choose(void *state, const double *weights, int64_t n) noexcept with gil:
    """Ask the method of a Python subclass."""
    source = <ChoiceSource>state
    cdef int64_t i
    cdef double[::1] w
    try:
        given = np.empty(n)
        w = given
        for i in range(n):
            w[i] = weights[i]
        return source.taken(source.choose(given), n)
    except BaseException as error:
        source.failure = error
        return -1


cdef int64_t asked_bernoulli(void *state, double p) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return 1 if source.bernoulli(p) else 0
    except BaseException as error:
        source.failure = error
        return -1


cdef int64_t asked_index(void *state, int64_t n) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return source.taken(source.index(n), n)
    except BaseException as error:
        source.failure = error
        return -1


cdef bint overrides(object kind) except -1:
    """Whether a Python subclass has a method of its own for what compiled code draws."""
    for name in ("choose", "bernoulli", "index"):
        for parent in kind.__mro__:
            if name in parent.__dict__:
                if parent is not ChoiceSource:
                    return True
                break
    return False


cdef class ChoiceSource:
    """What a move draws from. Use a `RandomStream` or a `ScriptedSource`.

    A Python subclass of these may override `choose`, `bernoulli` and `index`: compiled code then asks these
    methods for every draw.
    """

    def __cinit__(self):
        self.own.choose = refused_choose
        self.own.bernoulli = refused_bernoulli
        self.own.index = refused_index
        self.overridden = type(self) not in (RandomStream, ScriptedSource, Asked) and overrides(type(self))
        self.published()

    cdef int published(self) except -1:
        """Compiled code draws from `own`, or from the methods that a subclass overrides."""
        self.c = self.own
        if self.overridden:
            self.c.state = <void *>self
            self.c.choose = asked_choose
            self.c.bernoulli = asked_bernoulli
            self.c.index = asked_index
        return 0

    cdef int64_t taken(self, object answer, int64_t n) except -1:
        """The index that a Python method answered, if it is one of 0 .. n - 1."""
        if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool) and 0 <= answer < n:
            return answer
        raise StateError(
            type(self).__name__, answer, f"a source that answers with a whole number from 0 to {n - 1}",
            "Return the index of one of the options.",
        )

    def __init__(self):
        if self.own.choose == refused_choose:
            raise TypeError("ChoiceSource is abstract; use RandomStream or ScriptedSource")

    def choose(self, weights):
        """Draw an index with probability proportional to ``weights``, shape (n,), not normalised."""
        cdef const double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        cdef int64_t chosen
        cdef Py_ssize_t i
        for i in range(w.shape[0]):
            if not (w[i] >= 0.0 and isfinite(w[i])):
                raise _bad_weights(weights)
        if w.shape[0] == 0:
            raise _bad_weights(weights)
        chosen = self.own.choose(self.own.state, &w[0], w.shape[0])
        if chosen < 0:
            raise self._failure() or _bad_weights(weights)
        return chosen

    def choose_log(self, log_weights):
        """Draw an index with probability proportional to ``exp(log_weights)``, shape (n,), in nats."""
        logs = np.asarray(log_weights, dtype=np.float64)
        top = logs.max() if logs.size else np.nan
        if not np.isfinite(top):
            raise _bad_weights(log_weights)
        return self.choose(np.exp(logs - top))

    def bernoulli(self, double p):
        """True with probability ``p`` (1 where ``p`` is larger)."""
        if not p >= 0.0:
            raise ParameterError("p", p, "a probability", "Check the ratio that it was computed from.")
        cdef int64_t chosen = self.own.bernoulli(self.own.state, 1.0 if p > 1.0 else p)
        if chosen < 0:
            raise self._failure() or StateError("p", p, "drawable", "The source refused.")
        return chosen == 1

    def index(self, int64_t n):
        """Draw one of ``0 .. n-1``, each with the same probability."""
        if n <= 0:
            raise ParameterError("n", n, "at least 1", "There is nothing to choose from.")
        cdef int64_t chosen = self.own.index(self.own.state, n)
        if chosen < 0:
            raise self._failure() or StateError("n", n, "drawable", "The source refused.")
        return chosen

    def permutation(self, int64_t n):
        """Draw a uniform permutation of ``0 .. n-1``: int64, shape (n,)."""
        from_zero = np.arange(n, dtype=np.int64)
        cdef int64_t[::1] items = from_zero
        if n > 1 and shuffle(&self.c, &items[0], n) < 0:
            raise self._failure() or StateError("n", n, "drawable", "The source refused.")
        return from_zero

    @property
    def generator(self):
        """A `numpy.random.Generator` on the same stream, for continuous draws."""
        raise StateError(
            "generator", type(self).__name__, "asked of a source that can draw continuous values",
            "A move with a continuous part is tested by Geweke's test, not by enumeration.",
        )

    def _failure(self):
        """What made the last draw of compiled code fail, or None."""
        failure, self.failure = self.failure, None
        return failure


cdef class Asked(ChoiceSource):
    """A source whose answers are checked: for code in Python, where a subclass would be asked as it is."""

    cdef ChoiceSource given

    def __cinit__(self, ChoiceSource given not None):
        self.given = given
        self.own = given.c
        self.published()

    def __init__(self, given):
        pass

    @property
    def generator(self):
        """That of the source."""
        return self.given.generator

    def _failure(self):
        return self.given._failure()


cdef class RandomStream(ChoiceSource):
    """The production source: one keyed stream of a Philox generator.

    ``rekey`` moves it to the start of another stream; nothing depends on how much of the last one was used.
    """

    def __cinit__(self):
        self.bit_generator = Philox()
        self.own.state = &self.bit_generator.s
        self.own.choose = production_choose
        self.own.bernoulli = production_bernoulli
        self.own.index = production_index
        self.published()

    def __init__(self, key=(0, 0), words=(0, 0, 0)):
        key0, key1 = key
        word1, word2, word3 = words
        self.rekey(key0, key1, word1, word2, word3)

    cpdef rekey(self, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2, uint64_t word3):
        """Start the stream of this key and these upper words of the counter."""
        self.bit_generator.rekey(key0, key1, word1, word2, word3)

    @property
    def generator(self):
        """A `numpy.random.Generator` on the same stream."""
        if self._generator is None:
            self._generator = np.random.Generator(self.bit_generator)
        return self._generator


# ---------------------------------------------------------------------------------------------- scripts

cdef cppclass script_state:
    vector[int64_t] script       # the branches to take first
    vector[int64_t] chosen       # the branch taken at each choice
    vector[int64_t] following    # the next branch of positive probability, -1 when there is none
    vector[double] probability   # of the branch taken
    int overrun                  # a scripted branch did not exist or has probability zero


cdef int64_t scripted_take(script_state *s, const double *weights, int64_t n, double equal) noexcept nogil:
    """Take a branch of n; ``weights`` may be NULL, then each has weight ``equal``."""
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


cdef class ScriptedSource(ChoiceSource):
    """A source that takes scripted branches and records their probabilities.

    After a run, `probability` is that of the whole path, and `advance` prepares the next path in
    lexicographic order. Beyond the end of the script the first branch of positive probability is taken, so
    that a loop of ``run; advance`` visits every path once.
    """

    cdef script_state s

    def __cinit__(self):
        self.own.state = &self.s
        self.own.choose = scripted_choose
        self.own.bernoulli = scripted_bernoulli
        self.own.index = scripted_index
        self.published()

    def __init__(self, script=()):
        self.s.script.clear()
        for branch in script:
            self.s.script.push_back(<int64_t>int(branch))
        self.rewind()

    cpdef rewind(self):
        """Forget what was recorded and take the same script again."""
        self.s.chosen.clear()
        self.s.following.clear()
        self.s.probability.clear()
        self.s.overrun = 0

    cpdef bint advance(self):
        """Make the script of the next path; False when the last one has been run."""
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

    def _failure(self):
        failure = ChoiceSource._failure(self)
        if failure is not None:
            return failure
        if self.s.overrun:
            return StateError("script", tuple(self.s.script), "a path that exists",
                              "Scripts come from `advance` or from `path` of an earlier run.")
        return None
