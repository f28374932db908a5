# distutils: language = c++
"""`ChoiceSource`, from which moves draw.

A move draws every discrete quantity, and every beta, gamma, normal or uniform one, through a `ChoiceSource`.
The source of runs is `RandomStream`, a counter-based generator that is keyed rather than consumed. A
`ScriptedSource` takes given branches and records the probability of each, so that a test can run all branches
of the production code.
"""

import numpy as np

from libc.float cimport DBL_MAX
from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t

from hdpkit.checks import as_float, broadcast, number_array, numbers_between, whole_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.numerics cimport det_exp
from hdpkit.numerics import exp_each
from hdpkit.random.sources cimport is_binomial, is_shape, not_a_number

cdef double SMALLEST = 5e-324, BELOW_ONE = 0.9999999999999999
METHODS = (
    "choose", "bernoulli", "index", "uniform", "normal", "log_gamma", "log_beta", "log_dirichlet", "binomial",
)
"""The methods that compiled code calls and a Python subclass may override."""


cdef _bad_weights(object weights):
    return ParameterError(
        "weights", weights.tolist() if isinstance(weights, np.ndarray) else weights, "finite, not negative, at least one positive",
        "A NaN or an overflow in a predictive probability is the usual cause.",
    )


# ------------------------------------------------------------------------------------ methods of a subclass
# Each calls the method of a Python subclass, checks its result, and keeps an exception until the end of the step.

cdef object listed(const double *numbers, int64_t n):
    return np.array(<const double[:n]>numbers) if n > 0 else np.empty(0)


cdef int64_t asked_index_of(ChoiceSource source, str name, tuple given, int64_t n) noexcept:
    """One of 0 .. n - 1."""
    try:
        return source.taken(getattr(source, name)(*given), n)
    except BaseException as error:
        source.failure = error
        return -1


cdef double asked_number(ChoiceSource source, str name, tuple given, double low, double high) noexcept:
    """A number in this range."""
    try:
        return source.answered(getattr(source, name)(*given), (), low, high)
    except BaseException as error:
        source.failure = error
        return not_a_number()


cdef int64_t asked_logs(ChoiceSource source, str name, tuple given, double *logs, int64_t n) noexcept:
    """Logarithms of n numbers up to 1."""
    cdef const double[::1] values
    cdef int64_t i
    try:
        values = source.answered(getattr(source, name)(*given), (n,), -DBL_MAX, 0.0)
        for i in range(n):
            logs[i] = values[i]
        return 0
    except BaseException as error:
        source.failure = error
        return -1


cdef int64_t asked_choose(void *state, const double *weights, int64_t n) noexcept with gil:
    return asked_index_of(<ChoiceSource>state, "choose", (listed(weights, n),), n)


cdef int64_t asked_bernoulli(void *state, double p) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return 1 if source.bernoulli(p) else 0
    except BaseException as error:
        source.failure = error
        return -1


cdef int64_t asked_index(void *state, int64_t n) noexcept with gil:
    return asked_index_of(<ChoiceSource>state, "index", (n,), n)


cdef double asked_uniform(void *state) noexcept with gil:
    return asked_number(<ChoiceSource>state, "uniform", (), SMALLEST, BELOW_ONE)


cdef double asked_normal(void *state) noexcept with gil:
    return asked_number(<ChoiceSource>state, "normal", (), -DBL_MAX, DBL_MAX)


cdef double asked_log_gamma(void *state, double shape) noexcept with gil:
    return asked_number(<ChoiceSource>state, "log_gamma", (shape,), -DBL_MAX, DBL_MAX)


cdef double asked_log_beta(void *state, double a, double b, double *log_rest) noexcept with gil:
    cdef double both[2]
    both[0] = both[1] = not_a_number()
    asked_logs(<ChoiceSource>state, "log_beta", (a, b), both, 2)
    log_rest[0] = both[1]
    return both[0]


cdef int64_t asked_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept with gil:
    return asked_logs(<ChoiceSource>state, "log_dirichlet", (listed(shapes, n),), logs, n)


cdef int64_t asked_binomial(void *state, int64_t n, double p) noexcept with gil:
    return asked_index_of(<ChoiceSource>state, "binomial", (n, p), n + 1)


# ---------------------------------------------------------------------------------------------- the class

cdef bint overrides(object kind) except -1:
    """Whether a Python subclass overrides a method that compiled code calls."""
    for name in METHODS:
        for parent in kind.__mro__:
            if name in parent.__dict__:
                if parent is not ChoiceSource:
                    return True
                break
    return False


cdef _shapes(str name, object values):
    return numbers_between(name, values, 1e-300, DBL_MAX, remedy="Check what it was computed from.")


cdef bint plain(object value) noexcept:
    """Whether a value is a single number of a type that needs no conversion."""
    return type(value) is float or (type(value) is int and -1 < value < 1000000000)


cdef int64_t number_of(object n, int64_t least, int64_t most) except -1:
    """A number of options, checked."""
    if type(n) is int and least <= n < 1000000000:
        return n
    return whole_number("n", n, least, most, remedy="Give the number of options.")


cdef bint rows(object n, object p) except -1:
    """Whether both are arrays of one length that need no conversion."""
    if type(n) is not np.ndarray or type(p) is not np.ndarray or n.shape != p.shape or n.ndim != 1:
        return False
    return n.dtype == np.int64 and p.dtype == np.float64 and n.flags.c_contiguous and p.flags.c_contiguous


cdef bint good(const int64_t[::1] n, const double[::1] p) noexcept:
    cdef Py_ssize_t i
    for i in range(n.shape[0]):
        if not is_binomial(n[i], p[i]):
            return False
    return True


cdef laid(object row, tuple shape):
    """A row of draws in the requested shape; a Python number if that is ()."""
    return row.reshape(shape) if shape else row[0].item()


cdef exponentials(object logs):
    return det_exp(logs) if type(logs) is float else exp_each(logs)


cdef int can_draw(ChoiceSource source, str name) except -1:
    """Raise an error for a method that a class without draws of its own doesn't define."""
    if source.own.state == NULL:
        raise StateError(type(source).__name__, f"without {name}()", "a source that defines its draws",
                         "Derive it from RandomStream.")
    return 0


cdef class ChoiceSource:
    """A source of draws for moves. Use a `RandomStream` or a `ScriptedSource`.

    A Python subclass of these may override `choose`, `bernoulli`, `index`, `uniform`, `normal`, `log_gamma`,
    `log_beta`, `log_dirichlet` and `binomial`: compiled code then calls these methods for every draw, without
    a ``size``.
    """

    def __cinit__(self):
        self.overridden = type(self) is not Asked and overrides(type(self))
        self.published()

    cdef int published(self) except -1:
        """Compiled code draws from `own`, or from the methods that a subclass overrides."""
        self.c = self.own
        if self.overridden or self.own.state == NULL:
            self.c.state = <void *>self
            self.c.choose = asked_choose
            self.c.bernoulli = asked_bernoulli
            self.c.index = asked_index
            self.c.uniform = asked_uniform
            self.c.normal = asked_normal
            self.c.log_gamma = asked_log_gamma
            self.c.log_beta = asked_log_beta
            self.c.log_dirichlet = asked_log_dirichlet
            self.c.binomial = asked_binomial
        return 0

    cdef int64_t taken(self, object answer, int64_t n) except -1:
        """The index that a Python method returned, if it is one of 0 .. n - 1."""
        if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool) and 0 <= answer < n:
            return answer
        raise StateError(
            type(self).__name__, answer, f"a source that returns a whole number from 0 to {n - 1}",
            "Return the index of one of the options.",
        )

    cdef object answered(self, object answer, tuple shape, double low, double high):
        """The numbers that a Python method returned, if they have this shape and are in this range."""
        numbers = number_array(answer)
        if numbers is not None and numbers.shape == shape and np.all((low <= numbers) & (numbers <= high)):
            return numbers if shape else float(numbers)
        what = "a number" if shape == () else f"{shape[0]} numbers"
        raise StateError(
            type(self).__name__, answer, f"a source that returns {what} from {low:.17g} to {high:.17g}",
            "Return what the method of the base class returns.",
        )

    cdef object refusal(self, str name, object value):
        """The error to raise if a draw with a valid parameter failed."""
        return self._failure() or StateError(name, value, "a value that the source can draw", "A source that can't draw sets an exception that says why.")

    def __init__(self):
        if self.own.state == NULL:
            raise TypeError("ChoiceSource is abstract; use RandomStream or ScriptedSource")

    def choose(self, weights):
        """Draw an index with probability proportional to ``weights``, shape (n,), not normalised."""
        cdef const double[::1] w
        cdef int64_t chosen
        cdef Py_ssize_t i
        can_draw(self, "choose")
        try:
            w = np.ascontiguousarray(weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):      # no numbers, or not in a row
            raise _bad_weights(weights) from None
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
        logs = number_array(log_weights)
        top = logs.max() if logs is not None and logs.size else np.nan
        if not np.isfinite(top):
            raise _bad_weights(log_weights)
        return self.choose(exp_each(logs - top))

    def bernoulli(self, p):
        """True with probability min(``p``, 1)."""
        can_draw(self, "bernoulli")
        cdef double odds = p if type(p) is float else as_float(p)
        if not odds >= 0.0:
            raise ParameterError("p", p, "a probability", "Check the ratio that it was computed from.")
        cdef int64_t chosen = self.own.bernoulli(self.own.state, 1.0 if odds > 1.0 else odds)
        if chosen < 0:
            raise self.refusal("p", p)
        return chosen == 1

    def index(self, n):
        """Draw one of ``0 .. n-1``, each with the same probability."""
        can_draw(self, "index")
        cdef int64_t options = number_of(n, 1, 2**63 - 1)
        cdef int64_t chosen = self.own.index(self.own.state, options)
        if chosen < 0:
            raise self.refusal("n", n)
        return chosen

    def permutation(self, n):
        """Draw a uniform permutation of ``0 .. n-1``: int64, shape (n,)."""
        from_zero = np.arange(number_of(n, 0, 1 << 40), dtype=np.int64)
        cdef int64_t[::1] items = from_zero
        if items.shape[0] > 1 and shuffle(&self.c, &items[0], items.shape[0]) < 0:
            raise self.refusal("n", n)
        return from_zero

    def uniform(self, size=None):
        """Draw between 0 and 1, neither included: a float, or an array of shape ``size``."""
        return self._alike("uniform", self.own.uniform, size)

    def normal(self, size=None):
        """Draw from the standard normal distribution: a float, or an array of shape ``size``."""
        return self._alike("normal", self.own.normal, size)

    cdef object _alike(self, str name, draw_t draw, object size):
        """Draws from a distribution without parameters."""
        cdef double[::1] row
        cdef double drawn
        cdef Py_ssize_t i
        can_draw(self, name)
        if size is None:
            drawn = draw(self.own.state)
            if isnan(drawn):
                raise self.refusal(name, size)
            return drawn
        where, (given,) = broadcast(size, **{name: np.zeros(())})
        row = given = given.copy()
        for i in range(row.shape[0]):
            row[i] = draw(self.own.state)
            if isnan(row[i]):
                raise self.refusal(name, size)
        return laid(given, where)

    def log_gamma(self, shape, size=None):
        """Draw the natural logarithm of a gamma variate of rate 1, which doesn't underflow.

        Parameters
        ----------
        shape : float or array
            Finite, from 1e-300.
        size : int or tuple of int, optional
            Shape of the result, which ``shape`` is broadcast to.

        Returns
        -------
        float or array of float64

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        cdef const double[::1] a
        cdef double[::1] row
        cdef double drawn
        cdef Py_ssize_t i
        can_draw(self, "log_gamma")
        if size is None and plain(shape) and is_shape(shape):
            drawn = self.own.log_gamma(self.own.state, shape)
            if isnan(drawn):
                raise self.refusal("shape", shape)
            return drawn
        where, (shapes,) = broadcast(size, shape=_shapes("shape", shape))
        logs = np.empty(len(shapes))
        a, row = shapes, logs
        for i in range(row.shape[0]):
            row[i] = self.own.log_gamma(self.own.state, a[i])
            if isnan(row[i]):
                raise self.refusal("shape", a[i])
        return laid(logs, where)

    def gamma(self, shape, size=None):
        """Draw a gamma variate of rate 1 as `log_gamma` does; 0 if it is below the smallest float."""
        return exponentials(self.log_gamma(shape, size))

    def log_beta(self, a, b, size=None):
        """Draw the natural logarithms of a beta variate x and of 1 - x, neither of which underflows.

        Parameters
        ----------
        a, b : float or array
            Parameters of the distribution, finite, from 1e-300.
        size : int or tuple of int, optional
            Shape of each result, which ``a`` and ``b`` are broadcast to.

        Returns
        -------
        log x, log(1 - x) : float or array of float64

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        cdef const double[::1] x, y
        cdef double[::1] log_x, log_rest
        cdef double drawn, rest
        cdef Py_ssize_t i
        can_draw(self, "log_beta")
        if size is None and plain(a) and plain(b) and is_shape(a) and is_shape(b):
            drawn = self.own.log_beta(self.own.state, a, b, &rest)
            if isnan(drawn):
                raise self.refusal("a, b", (a, b))
            return drawn, rest
        where, (first, second) = broadcast(size, a=_shapes("a", a), b=_shapes("b", b))
        logs, rests = np.empty(len(first)), np.empty(len(first))
        x, y, log_x, log_rest = first, second, logs, rests
        for i in range(log_x.shape[0]):
            log_x[i] = self.own.log_beta(self.own.state, x[i], y[i], &log_rest[i])
            if isnan(log_x[i]):
                raise self.refusal("a, b", (x[i], y[i]))
        return laid(logs, where), laid(rests, where)

    def beta(self, a, b, size=None):
        """Draw a beta variate as `log_beta` does; 0 or 1 if it rounds to them."""
        return exponentials(self.log_beta(a, b, size)[0])

    def log_dirichlet(self, shapes):
        """Draw the natural logarithms of a Dirichlet variate, none of which underflows.

        Parameters
        ----------
        shapes : array of float, shape (n,)
            Parameters of the distribution, finite, from 1e-300.

        Returns
        -------
        array of float64, shape (n,)

        Raises
        ------
        ParameterError
            If a parameter is out of range, or ``shapes`` is empty.
        """
        can_draw(self, "log_dirichlet")
        given = _shapes("shapes", shapes)
        if given.ndim != 1 or given.size == 0:
            raise ParameterError("shapes", shapes, "one or more numbers in a row", "Give an array of shape (n,).")
        logs = np.empty(len(given))
        cdef const double[::1] a = given
        cdef double[::1] row = logs
        if self.own.log_dirichlet(self.own.state, &a[0], a.shape[0], &row[0]) < 0:
            raise self.refusal("shapes", shapes)
        return logs

    def dirichlet(self, shapes):
        """Draw a Dirichlet variate as `log_dirichlet` does: float64, shape (n,)."""
        return exponentials(self.log_dirichlet(shapes))

    def binomial(self, n, p, size=None):
        """Draw the number of successes in ``n`` trials of probability ``p``.

        Parameters
        ----------
        n : int or array of int
            From 0 to 2**53.
        p : float or array
            From 0 to 1.
        size : int or tuple of int, optional
            Shape of the result, which ``n`` and ``p`` are broadcast to.

        Returns
        -------
        int or array of int64

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        cdef const int64_t[::1] most
        cdef const double[::1] odds
        cdef int64_t[::1] row
        cdef int64_t count
        cdef Py_ssize_t i
        can_draw(self, "binomial")
        if size is None and plain(n) and type(n) is int and plain(p) and is_binomial(n, p):
            count = self.own.binomial(self.own.state, n, p)
            if count < 0:
                raise self.refusal("n, p", (n, p))
            return count
        if size is None and rows(n, p) and good(n, p):
            where, trials, chances = n.shape, n, p
        else:
            trials = numbers_between("n", n, 0, 9007199254740992, whole=True, remedy="Give a number of trials.")
            chances = numbers_between("p", p, 0.0, 1.0, remedy="Give a probability.")
            where, (trials, chances) = broadcast(size, n=trials, p=chances)
        counts = np.empty(len(trials), dtype=np.int64)
        most, odds, row = trials, chances, counts
        for i in range(row.shape[0]):
            row[i] = self.own.binomial(self.own.state, most[i], odds[i])
            if row[i] < 0:
                raise self.refusal("n, p", (most[i], odds[i]))
        return laid(counts, where)

    @property
    def generator(self):
        """A `numpy.random.Generator` on the same stream, for user code that takes one."""
        raise StateError(
            "generator", type(self).__name__, "a source that can draw continuous values",
            "A move with a continuous part is tested by Geweke's test, not by enumeration.",
        )

    def _failure(self):
        """The exception that made the last draw of compiled code fail, or None."""
        failure, self.failure = self.failure, None
        return failure


cdef class Asked(ChoiceSource):
    """A source whose results are checked: for Python code, which would call a subclass without checks."""

    cdef ChoiceSource given

    def __cinit__(self, ChoiceSource given not None):
        self.given = given
        self.own = given.c
        self.published()

    def __init__(self, given):
        pass

    @property
    def generator(self):
        """Draw the number of successes in ``n`` trials of probability ``p``: an int, or an array of int64.

        ``n`` is from 0 to 2**53; both are broadcast to ``size`` (an int or a tuple), if that is given. Raises a
        ParameterError for others.
        """
        return self.given.generator

    def _failure(self):
        return self.given._failure()
