# distutils: language = c++
"""What compiled banks of statistics have in common, and those that are small."""

import numpy as np

from cpython.exc cimport PyErr_Fetch, PyErr_NormalizeException, PyErr_SetObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int32_t, int64_t

from hdpkit._arguments cimport check_length, whole
from hdpkit.errors import ExtensionError, StateError
from hdpkit.numerics cimport det_log
from hdpkit.numerics import exp_each, log_each
from hdpkit.vectors cimport bytes_of, no_memory

cdef int64_t LARGEST = 2**31 - 2


cdef object pending_exception():
    """Clear and return the pending Python exception; None if there is none."""
    cdef PyObject *kind = NULL
    cdef PyObject *value = NULL
    cdef PyObject *trace = NULL
    PyErr_Fetch(&kind, &value, &trace)
    if kind == NULL:
        return None
    try:
        PyErr_NormalizeException(&kind, &value, &trace)
        error = <object>value
        if trace != NULL:
            error = error.with_traceback(<object>trace)
    finally:
        Py_XDECREF(kind)
        Py_XDECREF(value)
        Py_XDECREF(trace)
    return error


cdef int measure_block(measure_t *measure, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                       int64_t n, double *out) noexcept nogil:
    """Probabilities of a block up to a common factor, also for a measure with only `log_block`."""
    cdef int status
    if measure.block != NULL:
        return measure.block(measure.self, customers, n_customers, slots, n, out)
    status = measure.log_block(measure.self, customers, n_customers, slots, n, out)
    return status if status < 0 else as_weights(out, n)


cdef class CompiledBank:
    """Statistics of all dishes, by slot, accessed by a C struct, which a subclass fills."""

    cdef int complete(self, int64_t n_customers) except -1:
        """Set version and size, after the functions are set."""
        self.c.version = MEASURE_VERSION
        self.c.size = sizeof(measure_t)
        self.n_customers = n_customers
        return 0

    def attach(self, DishSlots slots not None):
        """Attach the bank to the slots of a franchise, which report births and deaths."""
        self.slots = slots
        slots.attach_compiled(self, &self.c)

    cdef int64_t room(self) except -1:
        """Number of slots that have statistics."""
        return LARGEST + 1

    cdef int32_t slot_number(self, object slot) except -1:
        """A slot that a store in Python or a move may have given; raises an error unless it is in use."""
        cdef int32_t k = <int32_t>whole("slot", slot, 0, self.room() - 1)
        if self.slots is not None and not self.slots.in_use(k):
            raise StateError("slot", slot, "that of a dish, or reserved", "See open_dish() and reserved().")
        return k

    # ------------------------------------------------------------------ methods of every bank for Python

    def born(self, int32_t slot):
        self.check(self.c.born(self.c.self, slot))

    def died(self, int32_t slot):
        self.check(self.c.died(self.c.self, slot))

    def add(self, slot, customers):
        cdef int32_t k = self.slot_number(slot)
        cdef const int32_t[::1] who = as_int32(customers)
        if who.shape[0]:
            self.check(self.c.add(self.c.self, k, &who[0], who.shape[0]))

    def remove(self, slot, customers):
        cdef int32_t k = self.slot_number(slot)
        cdef const int32_t[::1] who = as_int32(customers)
        if who.shape[0]:
            self.check(self.c.remove(self.c.self, k, &who[0], who.shape[0]))

    def log_predictive(self, int32_t customer, slots):
        """Log predictive of one customer's value under each slot and, last, a new dish: shape (n + 1,).

        In nats; a measure may add a common constant.
        """
        cdef const int32_t[::1] s = as_int32(slots)
        out = np.empty(s.shape[0] + 1)
        cdef double[::1] o = out
        self.check(self.c.predictive(self.c.self, customer, &s[0] if s.shape[0] else NULL, s.shape[0], &o[0]))
        return log_each(out)

    def predictives(self, customers, slots):
        """Predictive of the values of these customers under each slot and, last, a new dish.

        Shape (number of customers, n + 1); a measure may multiply each row by a factor.
        """
        return self._of_each(customers, slots, False)

    def log_predictives(self, customers, slots):
        """Log predictive densities of the values of these customers under each slot and, last, a new dish, in nats.

        Shape (number of customers, n + 1); no factor is omitted.
        """
        return self._of_each(customers, slots, True)

    def _of_each(self, customers, slots, bint logs):
        cdef const int32_t[::1] who = as_int32(customers)
        cdef const int32_t[::1] s = as_int32(slots)
        cdef const int32_t *these = &s[0] if s.shape[0] else NULL
        cdef int64_t i
        out = np.empty((who.shape[0], s.shape[0] + 1))
        cdef double[:, ::1] o = out
        for i in range(who.shape[0]):
            if logs:
                self.check(self.c.log_block(self.c.self, &who[i], 1, these, s.shape[0], &o[i, 0]))
            else:
                self.check(self.c.predictive(self.c.self, who[i], these, s.shape[0], &o[i, 0]))
        return out

    def block(self, customers, slots):
        """Probability of a block under each slot and, last, a new dish, up to a common factor: shape (n + 1,)."""
        return self._of_block(customers, slots, False)

    def log_block(self, customers, slots):
        """Log probability of a block under each slot and, last, a new dish: shape (n + 1,), nats."""
        for slot in slots:      # users' moves call this method
            self.slot_number(slot)
        for customer in np.asarray(customers).tolist():
            whole("customers", customer, 0, self.n_customers - 1)
        return self._of_block(customers, slots, True)

    def _of_block(self, customers, slots, bint logs):
        cdef const int32_t[::1] who = as_int32(customers)
        cdef const int32_t[::1] s = as_int32(slots)
        cdef const int32_t *first = &s[0] if s.shape[0] else NULL
        out = np.full(s.shape[0] + 1, 0.0 if logs else 1.0)
        cdef double[::1] o = out
        if who.shape[0] and logs:
            self.check(self.c.log_block(self.c.self, &who[0], who.shape[0], first, s.shape[0], &o[0]))
        elif who.shape[0]:
            self.check(measure_block(&self.c, &who[0], who.shape[0], first, s.shape[0], &o[0]))
        return out

    def freeze(self):
        """Nothing: the statistics can be computed from the data and their dishes."""
        return None

    def thaw(self, frozen):
        """See `freeze`."""

    def prepare(self, source):
        """Does nothing: a compiled measure draws nothing."""

    cdef int check(self, int status) except -1:
        """Raise the exception set by a C function. In C, because no Python code may run before that."""
        if status >= 0:
            return 0
        error = pending_exception()
        if error is not None:
            raise error
        raise FloatingPointError(
            f"a function of {type(self).__name__} returned {status} without an exception; set one that says why")


cdef object as_int32(object numbers):
    """Numbers of slots or customers as a contiguous array."""
    return np.ascontiguousarray(numbers, dtype=np.int32)


cdef class CapsuleBank(CompiledBank):
    """A bank whose functions another package provides in a PyCapsule, by the method `compiled` of its measure."""

    COMPILED = True

    cdef object measure
    cdef object data
    cdef object capsule        # owns the memory that the struct points to

    def __cinit__(self, measure, data):
        self.data = data
        self.adopt(measure)

    def adopt(self, measure):
        """Replace the parameter values, with a new capsule. False: a recount is needed."""
        cdef measure_t *given
        capsule = measure.compiled(self.data)
        if not PyCapsule_IsValid(capsule, MEASURE_CAPSULE):
            raise ExtensionError(
                "compiled", capsule, f"a PyCapsule named {MEASURE_CAPSULE.decode()!r}",
                "Return PyCapsule_New(struct, HDPKIT_MEASURE_CAPSULE, destructor).",
            )
        given = <measure_t *>PyCapsule_GetPointer(capsule, MEASURE_CAPSULE)
        if given.version != MEASURE_VERSION or given.size != sizeof(measure_t):
            raise ExtensionError(
                "hdpkit_measure", f"version {given.version}, {given.size} bytes",
                f"version {<int>MEASURE_VERSION}, {sizeof(measure_t)} bytes",
                "Compile the extension again, with the headers of the installed hdpkit (hdpkit.get_include()).",
            )
        missing = [name for name, absent in (
            ("born", given.born == NULL), ("died", given.died == NULL), ("add", given.add == NULL),
            ("remove", given.remove == NULL), ("move", given.move == NULL),
            ("predictive", given.predictive == NULL), ("log_block", given.log_block == NULL),
        ) if absent]
        if missing:
            raise ExtensionError(
                "hdpkit_measure", f"without {', '.join(missing)}", "complete",
                "Only block and marginal may be NULL.",
            )
        self.measure = measure
        self.capsule = capsule
        self.c = given[0]
        self.n_customers = len(self.data)
        return False

    def rebuild(self, dishes, slots):
        if len(dishes) > self.n_customers:
            check_length("dishes", len(dishes), self.n_customers)
        order = np.argsort(dishes, kind="stable").astype(np.int32)
        ranked = np.asarray(dishes)[order]
        for slot in slots:
            begin, end = np.searchsorted(ranked, slot, side="left"), np.searchsorted(ranked, slot, side="right")
            self.born(slot)
            self.add(slot, order[begin:end])

    def relabelled(self, mapping):
        for slot, to in enumerate(mapping):
            if to >= 0 and to != slot:
                self.check(self.c.move(self.c.self, slot, to))

    def log_marginals(self, slots, dishes):
        cdef double value = 0.0
        out = np.empty(len(slots))
        for place, slot in enumerate(slots):
            if self.c.marginal != NULL:
                self.check(self.c.marginal(self.c.self, slot, &value))
                out[place] = value
            else:
                out[place] = self.log_block(np.flatnonzero(dishes == slot), ())[0]
        return out

    def statistics(self, slots, dishes):
        """Statistics of these slots, computed by the measure's Python methods."""
        made = []
        for slot in slots:
            one = self.measure.make()
            for customer in np.flatnonzero(dishes == slot):
                self.measure.add(one, self.data.values[customer])
            made.append(one)
        return made

    def memory_bytes(self):
        """0: the memory of the extension is not known."""
        return 0


# ------------------------------------------------------------------------------------- banks written in Python

cdef list numbers_at(const int32_t *numbers, int64_t n):
    return [numbers[i] for i in range(n)]


cdef int leave(object error) noexcept:
    """Leave an exception for the caller of the sweep, which raises it."""
    PyErr_SetObject(type(error), error)
    return -1


cdef int add_in_python(void *bank, int32_t slot, const int32_t *customers, int64_t n) noexcept with gil:
    try:
        (<object>bank).add(slot, numbers_at(customers, n))
        return 0
    except BaseException as error:
        return leave(error)


cdef int remove_in_python(void *bank, int32_t slot, const int32_t *customers, int64_t n) noexcept with gil:
    try:
        (<object>bank).remove(slot, numbers_at(customers, n))
        return 0
    except BaseException as error:
        return leave(error)


cdef int log_block_in_python(void *bank, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                             int64_t n, double *out) noexcept with gil:
    cdef const double[::1] logs
    cdef int64_t i
    try:
        if n_customers == 1:
            found = (<object>bank).log_predictive(customers[0], numbers_at(slots, n))
        else:
            found = (<object>bank).log_block(numbers_at(customers, n_customers), numbers_at(slots, n))
        logs = np.ascontiguousarray(found, dtype=np.float64)
        if logs.shape[0] != n + 1:
            raise StateError("log_block", f"{logs.shape[0]} log densities", f"{n + 1}, the last under a new dish",
                             "Return one for each slot, and one more.")
        for i in range(n + 1):
            out[i] = logs[i]
        return 0
    except BaseException as error:
        return leave(error)


cdef int predictive_in_python(void *bank, int32_t customer, const int32_t *slots, int64_t n,
                              double *out) noexcept nogil:
    cdef int status = log_block_in_python(bank, &customer, 1, slots, n, out)
    return status if status < 0 else as_weights(out, n)


# ------------------------------------------------------------------------------------- a power of probabilities

cdef struct Powered:
    measure_t *of
    double power


cdef int powered_add(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef measure_t *of = (<Powered *>self).of
    return of.add(of.self, slot, customers, n)


cdef int powered_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef measure_t *of = (<Powered *>self).of
    return of.remove(of.self, slot, customers, n)


cdef int powered_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                            double *out) noexcept nogil:
    cdef Powered *b = <Powered *>self
    cdef int64_t i
    cdef int status = b.of.predictive(b.of.self, customer, slots, n, out)
    if status >= 0:
        for i in range(n + 1):
            out[i] = det_exp(b.power * det_log(out[i]))
    return status


cdef int powered_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                           int64_t n, double *out) noexcept nogil:
    cdef Powered *b = <Powered *>self
    cdef int64_t i
    cdef int status = b.of.log_block(b.of.self, customers, n_customers, slots, n, out)
    if status >= 0:
        for i in range(n + 1):
            out[i] *= b.power
    return status


cdef class AdaptedBank(CompiledBank):
    """A bank written in Python, or a `PoweredBank`, as compiled sweeps call it.

    Births and deaths reach the statistics from the slots.
    """

    cdef object bank
    cdef CompiledBank inner
    cdef Powered b

    def __cinit__(self, bank):
        self.bank = bank
        inner = getattr(bank, "of", None)
        if isinstance(inner, CompiledBank) or isinstance(getattr(inner, "of", None), CompiledBank):
            self.inner = inner if isinstance(inner, CompiledBank) else AdaptedBank(inner)
            self.b.of, self.b.power = &self.inner.c, bank.own
            self.c.self = &self.b
            self.c.add, self.c.remove = powered_add, powered_remove
            self.c.predictive, self.c.log_block = powered_predictive, powered_log_block
        else:
            self.c.self = <void *>bank
            self.c.add, self.c.remove = add_in_python, remove_in_python
            self.c.predictive, self.c.log_block = predictive_in_python, log_block_in_python
        self.complete(LARGEST)


# ------------------------------------------------------------------------------------------------------ atoms
# A slot is an atom. Sweeps over observed dishes don't call this bank; its functions are those of a likelihood that is 1
# at the customer's own value and 0 elsewhere.

SMALLEST = 1e-300


cdef int atoms_nothing(void *self, int32_t slot) noexcept nogil:
    return 0


cdef int atoms_change(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    return 0


cdef int atoms_move(void *self, int32_t source, int32_t to) noexcept nogil:
    return 0


cdef int atoms_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n,
                          double *out) noexcept nogil:
    cdef const int32_t *values = <const int32_t *>self
    cdef int64_t i
    for i in range(n):
        out[i] = slots[i] == values[customer]
    out[n] = 0.0
    return 0


cdef int atoms_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots,
                         int64_t n, double *out) noexcept nogil:
    cdef const int32_t *values = <const int32_t *>self
    cdef int64_t i, j
    cdef bint alike = True
    for j in range(1, n_customers):
        alike = alike and values[customers[j]] == values[customers[0]]
    for i in range(n):
        out[i] = 0.0 if alike and slots[i] == values[customers[0]] else -1.0 / 0.0
    out[n] = -1.0 / 0.0
    return 0


cdef class AtomicBank(CompiledBank):
    """Values (n_customers,) and probabilities of atoms.

    ``base``, shape (V + 1,), is H of each atom (at least 1e-300 if it isn't 0) and, last, of all other values;
    ``log_base`` has shape (V,).
    """

    COMPILED = True

    cdef readonly object values
    cdef readonly object base
    cdef readonly object log_base

    def __cinit__(self, values, measure):
        cdef const int32_t[::1] view
        self.values = np.ascontiguousarray(values, dtype=np.int32)
        view = self.values
        self.c.self = <void *>&view[0] if view.shape[0] else NULL
        self.adopt(measure)
        self.c.born = atoms_nothing
        self.c.died = atoms_nothing
        self.c.add = atoms_change
        self.c.remove = atoms_change
        self.c.move = atoms_move
        self.c.predictive = atoms_predictive
        self.c.log_block = atoms_log_block
        self.complete(view.shape[0])

    def adopt(self, measure):
        """Replace the probabilities, in place, because walks have references to the array."""
        self.log_base = np.ascontiguousarray(measure.log_probabilities(), dtype=np.float64)
        atoms = exp_each(self.log_base)
        # A possible value has a positive weight even if its probability underflows (a word of 1,000
        # characters).
        atoms[(atoms < SMALLEST) & (self.log_base > -np.inf)] = SMALLEST
        fresh = np.append(atoms, measure.remainder)
        if self.base is not None and len(self.base) == len(fresh):
            self.base[:] = fresh
        else:
            self.base = fresh
        return True

    def rebuild(self, dishes, slots):
        """Does nothing: there are no counts."""

    def relabelled(self, mapping):
        """Atoms keep their numbers."""

    def log_marginals(self, slots, dishes):
        """Zero for every slot: given its dish, a value is certain. Root tables are scored separately."""
        return np.zeros(len(slots))

    def statistics(self, slots, dishes):
        """The atoms."""
        return [int(slot) for slot in slots]

    def memory_bytes(self):
        """Bytes of the probabilities; the values belong to the data and are not counted."""
        return self.base.nbytes + self.log_base.nbytes


# --------------------------------------------------------------------------------------------- one value a dish
# Functions between the sweeps and a compiled bank whose dishes each have a number. The numbers are drawn and stored in
# Python (`OwnNumbers`); the bank has a copy by slot. The interpreter lock is taken when a dish is born or dies, for a
# block of several customers, and when customers are seated while a number is recorded for one who is unseated.

# Exceptions are left set for the caller, which sees a negative result.
ctypedef int (*of_slot_t)(void *self, int32_t slot) noexcept nogil
ctypedef int (*of_customers_t)(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil
ctypedef int (*of_block_t)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                           double *out) noexcept nogil


cdef list listed(const vector[double] *numbers):
    cdef int64_t i
    return [numbers.data()[i] for i in range(<int64_t>numbers.size())]


cdef int own_born(void *self, int32_t slot) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    if values.bank.born(values.bank.self, slot) < 0:
        return -1
    if <int64_t>values.of_slot.size() <= slot:
        values.of_slot.resize(slot + 1, 1.0)
    with gil:
        if values.offered.size() > 0:
            (<object>values.kept).weighed(listed(&values.offered), np.array(listed(&values.logs)))
        (<object>values.kept).born(slot)
        values.of_slot[slot] = (<object>values.kept).parameter(slot)
    values.offered.clear()
    return 0


cdef int own_died(void *self, int32_t slot) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    with gil:
        try:
            if values.leaving_slot == slot:
                (<object>values.kept).left(slot, values.leaving_customer)
            (<object>values.kept).died(slot)
            values.n_lent = (<object>values.kept).n_lent
            values.leaving_slot = -1
        except MemoryError:
            values.failed = True
    return values.bank.died(values.bank.self, slot)


cdef int own_add(void *self, int32_t slot, const int32_t *customers, int64_t n) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    cdef int64_t i
    values.leaving_slot = -1
    values.offered.clear()
    if values.failed:   # a death can't fail: its failure is reported here, and all statistics are then recomputed
        values.failed = False
        return no_memory()
    if values.n_lent > 0:
        with gil:
            (<object>values.kept).seated([customers[i] for i in range(n)])
            values.n_lent = (<object>values.kept).n_lent
    return values.bank.add(values.bank.self, slot, customers, n)


cdef int own_remove(void *self, int32_t slot, const int32_t *customers, int64_t n) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    values.leaving_slot = slot
    values.leaving_customer = customers[0]
    values.offered.clear()
    return values.bank.remove(values.bank.self, slot, customers, n)


cdef int own_predictive(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out) noexcept nogil:
    cdef DishValues *values = <DishValues *>self
    return values.bank.predictive(values.bank.self, customer, slots, n, out)


cdef int offer(DishValues *values, const int32_t *customers, int64_t n) except -1 nogil:
    """Draw the numbers of auxiliary dishes for a block. For one customer they don't matter, so none are drawn."""
    values.offered.clear()
    if n <= 1:
        return 0
    with gil:
        for number in (<object>values.kept).offered((customers[0],)):
            values.offered.push_back(number)
    values.logs.assign(values.offered.size(), 0.0)
    values.fresh = values.offered[0]
    return 0


cdef int own_log_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                       double *out) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    offer(values, customers, n_customers)
    return values.bank.log_block(values.bank.self, customers, n_customers, slots, n, out)


cdef int own_block(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                   double *out) except -1 nogil:
    cdef DishValues *values = <DishValues *>self
    offer(values, customers, n_customers)
    return values.bank.block(values.bank.self, customers, n_customers, slots, n, out)


cdef int hold_numbers(DishValues *values, measure_t *c, object kept) except -1:
    """Put the functions of this file before those of a bank, which owns ``values`` and ``kept``."""
    values.bank = c[0]
    values.kept = <void *>kept
    values.fresh = 1.0
    c.self = values
    c.born = <of_slot_t>own_born
    c.died = own_died
    c.add = <of_customers_t>own_add
    c.remove = own_remove
    c.predictive = own_predictive
    c.log_block = <of_block_t>own_log_block
    if c.block != NULL:
        c.block = <of_block_t>own_block
    return copy_numbers(values)


cdef int copy_numbers(DishValues *values) except -1:
    """Copy all numbers, which have changed between steps."""
    numbers = (<object>values.kept).of_slots
    values.of_slot.assign(max(numbers, default=-1) + 1, 1.0)
    for slot, number in numbers.items():
        values.of_slot[<int32_t>slot] = number
    values.offered.clear()
    values.n_lent = (<object>values.kept).n_lent
    values.failed = False
    values.leaving_slot = -1
    return 0


cdef int prepare_numbers(DishValues *values, object source) except -1:
    """Use this source for draws until the end of a step."""
    (<object>values.kept).prepare(source)
    values.offered.clear()
    return 0


cdef int set_number(DishValues *values, int32_t slot, object number) except -1:
    """Change the number of a dish."""
    (<object>values.kept).set_parameter(slot, number)
    values.of_slot[slot] = (<object>values.kept).parameter(slot)
    return 0


cdef object number_bytes(const DishValues *values):
    """Bytes of the numbers."""
    return (<object>values.kept).memory_bytes() + bytes_of(values.of_slot, values.offered, values.logs)


class HasNumbers:
    """The methods of a bank with `OwnNumbers` that are the same in Python and compiled."""

    __slots__ = ()

    def bring_back(self, customer):
        """Give the next new dish the number recorded for this customer, if there is one; after `prepare`."""
        self.kept.bring_back(customer)

    def parameter(self, slot):
        return float(self.kept.parameter(slot))

    def has_parameter(self, slot):
        return self.kept.has_parameter(slot)

    def check_frozen(self, frozen, slots):
        self.kept.check_frozen(frozen, slots)
