"""Functions of a `ChoiceSource`'s C struct for which there is no compiled draw: part of `_source.pyx`.

``refused_*`` belongs to the abstract class. ``asked_*`` calls the method of a Python subclass, checks its
result, and keeps an exception until the end of the step that called it.
"""

cdef int64_t refused_choose(void *state, const double *weights, int64_t n) noexcept nogil:
    return -1


cdef int64_t refused_bernoulli(void *state, double p) noexcept nogil:
    return -1


cdef int64_t refused_index(void *state, int64_t n) noexcept nogil:
    return -1


cdef double refused_draw(void *state) noexcept nogil:
    return not_a_number()


cdef double refused_log_gamma(void *state, double shape) noexcept nogil:
    return not_a_number()


cdef double refused_log_beta(void *state, double a, double b, double *log_rest) noexcept nogil:
    log_rest[0] = not_a_number()
    return log_rest[0]


cdef int64_t refused_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept nogil:
    return -1


cdef int64_t refused_binomial(void *state, int64_t n, double p) noexcept nogil:
    return -1


cdef int64_t asked_choose(void *state, const double *weights, int64_t n) noexcept with gil:
    """Call the method of a Python subclass."""
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


cdef double asked_uniform(void *state) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return source.answered(source.uniform(), (), SMALLEST, BELOW_ONE)
    except BaseException as error:
        source.failure = error
        return not_a_number()


cdef double asked_normal(void *state) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return source.answered(source.normal(), (), -DBL_MAX, DBL_MAX)
    except BaseException as error:
        source.failure = error
        return not_a_number()


cdef double asked_log_gamma(void *state, double shape) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return source.answered(source.log_gamma(shape), (), -DBL_MAX, DBL_MAX)
    except BaseException as error:
        source.failure = error
        return not_a_number()


cdef double asked_log_beta(void *state, double a, double b, double *log_rest) noexcept with gil:
    source = <ChoiceSource>state
    log_rest[0] = not_a_number()
    try:
        both = source.answered(source.log_beta(a, b), (2,), -DBL_MAX, 0.0)
        log_rest[0] = both[1]
        return both[0]
    except BaseException as error:
        source.failure = error
        return not_a_number()


cdef int64_t asked_log_dirichlet(void *state, const double *shapes, int64_t n, double *logs) noexcept with gil:
    source = <ChoiceSource>state
    cdef int64_t i
    cdef double[::1] values
    try:
        values = np.empty(n)
        for i in range(n):
            values[i] = shapes[i]
        values = source.answered(source.log_dirichlet(np.asarray(values)), (n,), -DBL_MAX, 0.0)
        for i in range(n):
            logs[i] = values[i]
        return 0
    except BaseException as error:
        source.failure = error
        return -1


cdef int64_t asked_binomial(void *state, int64_t n, double p) noexcept with gil:
    source = <ChoiceSource>state
    try:
        return source.taken(source.binomial(n, p), n + 1)
    except BaseException as error:
        source.failure = error
        return -1
