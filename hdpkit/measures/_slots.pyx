# distutils: language = c++
"""Dish slots: the numbers of dishes. Births and deaths of dishes are reported from here."""

import inspect

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit._arguments cimport refuse
from hdpkit.errors import ReturnValueError, StateError

cdef enum:
    FREE = 0
    OCCUPIED = 1
    HELD = 2       # empty, but held by a part
    SCRATCH = 3    # has the statistics of a proposal, no dish


cdef bint takes_slot_alone(object born) except -1:
    """Whether the only argument of a method ``born`` is the slot."""
    try:
        parameters = inspect.signature(born).parameters.values()
    except (TypeError, ValueError):
        return False
    return len(parameters) == 1 and next(iter(parameters)).kind != inspect.Parameter.VAR_POSITIONAL


cdef extern from "Python.h":
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **trace)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *trace)


cdef int tell_aside(DishSlots slots, int32_t slot, const int32_t *customers, int64_t n) except -1:
    """Notify parts of a birth. An exception set by the bank is put aside, because Python can't run with it."""
    cdef PyObject *kind = NULL
    cdef PyObject *value = NULL
    cdef PyObject *trace = NULL
    PyErr_Fetch(&kind, &value, &trace)
    try:
        slots.tell_born(slot, customers, n)
    finally:
        PyErr_Restore(kind, value, trace)
    return 0


cdef class DishSlots:
    """The slots of a franchise; all births and deaths of dishes take place here.

    A dish is born in the smallest free slot, so the slot depends only on the set of live ones. Within the
    step that causes the change, the bank is notified first, then the parts in the order of their
    registration.

    An exception from a part must not stop a step half way: the first error is kept with its part in
    ``trouble``, and the code that runs the step raises it when the step is done (`Steps._run_kernel`).

    A slot is reused after its dish has died. A dish's *id* is unique within the chain: its number in the
    order of births.

    ``parts`` are pairs of an object and whether its ``born`` takes only the slot. The object has ``born(slot,
    source, customers)``, or ``born(slot)``, ``died(slot)``, ``holds(slot)`` and ``relabelled(mapping)``.
    """

    def __cinit__(self):
        self.parts = []
        self.trouble = None
        self.bank = None
        self.measure = NULL
        self.source = None
        self.births = 0
        DishSlots.reset(self, [])

    def attach(self, bank):
        """Notify this bank of statistics from now on, instead of the previous one; None: no bank."""
        for method in ("born", "died"):
            if bank is not None and (not callable(getattr(bank, method, None)) or isinstance(bank, type)):
                refuse("bank", bank, "a bank of statistics, with born and died, or None", "See measure.bank(data).")
        self.bank = bank
        self.measure = NULL
        if hasattr(bank, "attach"):      # a compiled bank, called without the interpreter
            bank.attach(self)

    cdef int attach_compiled(self, object bank, measure_t *measure) except -1:
        self.bank = bank
        self.measure = measure
        return 0

    def reset(self, occupied, held=(), ids=None, births=0):
        """Occupy exactly these slots, without notifications: the seating was replaced.

        ``ids`` are the ids of the dishes in ascending order of slots, below ``births``. Without them, dishes
        of slots that are already occupied keep their ids, and the others get new ones.
        """
        cdef int32_t slot
        cdef int32_t size = 0
        cdef int64_t number, following
        cdef vector[int64_t] kept
        occupied = sorted(np.asarray(occupied).tolist())
        held = np.asarray(held).tolist()
        for slot in occupied + held:
            size = max(size, slot + 1)
        following = self.births if ids is None else births
        kept.assign(size, -1)
        if ids is not None:
            for slot, number in zip(occupied, ids):
                kept[slot] = number
        else:
            for slot in occupied:
                if self.occupied(slot):
                    kept[slot] = self.id[slot]
                else:
                    kept[slot] = following
                    following += 1
        self.reserve_room(size)
        kept.reserve(self.id.capacity())      # nothing below can fail
        self.births = following
        self.id.swap(kept)
        self.live.clear()
        self.position.assign(size, -1)
        self.status.assign(size, FREE)
        for slot in held:
            self.status[slot] = HELD
        for slot in occupied:
            self.status[slot] = OCCUPIED
            self.position[slot] = <int32_t>self.live.size()
            self.live.push_back(slot)
        self.lowest = 0
        self.telling = len(self.parts) > 0

    def add_part(self, part not None):
        """Notify this part from now on."""
        self.parts.append((part, takes_slot_alone(part.born)))
        self.telling = True

    cdef int reserve_room(self, size_t n) except -1 nogil:
        self.status.reserve(n)
        self.id.reserve(n)
        self.position.reserve(n)
        self.live.reserve(n)
        return 0

    cdef int32_t take(self, int8_t status) except -1 nogil:
        cdef int32_t slot = self.next_free()
        self.ready()
        if slot == <int32_t>self.status.size():
            self.status.push_back(status)
            self.position.push_back(-1)
            self.id.push_back(-1)
        else:
            self.status[slot] = status
        self.lowest = slot + 1
        return slot

    cdef int32_t next_free(self) noexcept nogil:
        """The slot of the next dish."""
        cdef int32_t slot = self.lowest
        while slot < <int32_t>self.status.size() and self.status[slot] != FREE:
            slot += 1
        return slot

    cdef int birth(self, int32_t *slot, const int32_t *customers, int64_t n) except -1 nogil:
        """Open a dish in the smallest free slot, for these customers; returns 1 if the bank failed in C.

        The slot is occupied even then, so that the step can be completed.
        """
        cdef int failed = 0
        slot[0] = self.take(OCCUPIED)
        self.enter_live(slot[0])
        if self.measure != NULL:
            failed = self.measure.born(self.measure.self, slot[0]) < 0
        elif self.bank is not None:
            with gil:
                self.begin_statistics(slot[0])
        if self.telling:
            with gil:
                tell_aside(self, slot[0], customers, n)
        return failed

    cdef int begin_statistics(self, int32_t slot) except -1:
        """Begin the bank's statistics of a slot that was just taken; if this fails, the slot is freed."""
        try:
            if self.bank is not None:
                self.bank.born(slot)
        except BaseException:
            if self.status[slot] == OCCUPIED:
                self.leave_live(slot)
            self.give(slot, FREE)
            raise
        return 0

    cdef int tell_born(self, int32_t slot, const int32_t *customers, int64_t n) except -1:
        cdef int64_t i
        cdef int32_t[::1] view
        who = np.empty(n, dtype=np.int32)
        view = who
        for i in range(n):
            view[i] = customers[i]
        for part, alone in self.parts:
            try:
                if alone:
                    part.born(slot)
                else:
                    part.born(slot, self.source, who)
            except BaseException as error:
                self.keep(part, error)
        return 0

    cdef int enter_live(self, int32_t slot) except -1 nogil:
        """Add an occupied slot to the live ones, with a new id."""
        cdef size_t place = self.live.size()
        self.id[slot] = self.births
        self.births += 1
        self.live.push_back(slot)
        while place > 0 and self.live[place - 1] > slot:
            self.live[place] = self.live[place - 1]
            self.position[self.live[place]] = <int32_t>place
            place -= 1
        self.live[place] = slot
        self.position[slot] = <int32_t>place
        return 0

    cdef int leave_live(self, int32_t slot) noexcept nogil:
        cdef size_t place = self.position[slot]
        while place + 1 < self.live.size():
            self.live[place] = self.live[place + 1]
            self.position[self.live[place]] = <int32_t>place
            place += 1
        self.live.pop_back()
        self.position[slot] = -1
        return 0

    cdef int give(self, int32_t slot, int8_t status) noexcept nogil:
        """Set the status of a slot that no longer has a dish."""
        self.status[slot] = status
        if status == FREE and slot < self.lowest:
            self.lowest = slot
        return 0

    cdef int death(self, int32_t slot) except -1 nogil:
        """Close the dish of this slot, which has lost its last customer."""
        self.leave_live(slot)
        self.give(slot, FREE)
        if self.measure != NULL:
            self.measure.died(self.measure.self, slot)
        elif self.bank is not None:
            with gil:
                self.bank.died(slot)
        return self.tell_died(slot)

    cdef int tell_died(self, int32_t slot) except -1 nogil:
        cdef bint held = False
        if self.telling:
            with gil:
                for part, _ in self.parts:
                    try:
                        part.died(slot)
                        held = self.answer(part, slot) or held
                    except BaseException as error:
                        self.keep(part, error)
        if held:
            self.status[slot] = HELD
        return 0

    cdef keep(self, part, error):
        """Keep the first error since the last one was raised."""
        if self.trouble is None:
            self.trouble = (part, error)

    cdef bint answer(self, part, int32_t slot) except -1:
        """Whether a part holds a slot; checks the type of its answer."""
        held = part.holds(slot)
        if not isinstance(held, (bool, np.bool_)):
            raise ReturnValueError(f"{type(part).__name__}.holds()", held, "True or False", "Return a bool.")
        return bool(held)

    cdef bint occupied(self, int32_t slot) noexcept nogil:
        return 0 <= slot < <int32_t>self.status.size() and self.status[slot] == OCCUPIED

    cdef bint in_use(self, int32_t slot) noexcept nogil:
        """Whether a slot has statistics, of a dish or of a proposal."""
        return 0 <= slot < <int32_t>self.status.size() and self.status[slot] in (OCCUPIED, SCRATCH)

    # ------------------------------------------------------------------ for Python

    def open(self, customers=()):
        """Open a dish, for these data customers if they are known; returns its slot."""
        cdef int32_t slot
        who = np.array(customers, dtype=np.int32)
        slot = self.take(OCCUPIED)
        self.enter_live(slot)
        self.opened(slot, who)
        return slot

    def open_in(self, int32_t slot):
        """Open a dish in this slot, which is free."""
        if slot >= <int32_t>self.status.size():
            self.reserve_room(slot + 1)
        self.ready()
        while <int32_t>self.status.size() <= slot:
            self.status.push_back(FREE)
            self.position.push_back(-1)
            self.id.push_back(-1)
        self.status[slot] = OCCUPIED
        self.enter_live(slot)
        self.opened(slot, np.empty(0, dtype=np.int32))

    cdef int opened(self, int32_t slot, object customers) except -1:
        cdef const int32_t[::1] who = customers
        self.begin_statistics(slot)
        if self.telling:
            self.tell_born(slot, &who[0] if who.shape[0] else NULL, who.shape[0])
        return 0

    def close(self, int32_t slot):
        """Close the dish of this slot, which has lost its last customer."""
        if not self.occupied(slot):      # a store in Python said so
            raise StateError("slot", slot, "occupied", "See occupied_slots().")
        self.leave_live(slot)
        self.give(slot, FREE)
        try:
            if self.bank is not None:
                self.bank.died(slot)
        finally:
            self.tell_died(slot)

    def forget(self, int32_t slot):
        """Undo `open` of the dish that was born last; parts are not notified."""
        self.leave_live(slot)
        self.give(slot, FREE)
        self.births -= 1
        if self.bank is not None:
            self.bank.died(slot)

    def revive(self, int32_t slot, int64_t number):
        """Undo `close` of the dish with this id: its statistics are empty, and parts are not notified."""
        cdef int64_t following = self.births
        self.ready()
        self.status[slot] = OCCUPIED
        self.enter_live(slot)
        self.id[slot] = number
        self.births = following
        self.begin_statistics(slot)

    def id_of(self, int32_t slot):
        """Id of the dish in an occupied slot."""
        return self.id[slot]

    def vacant(self):
        """The slot of the next dish."""
        return self.next_free()

    def reserve(self):
        """Reserve a free slot for the statistics of a proposal. It has no dish, and parts are not notified."""
        cdef int32_t slot = self.take(SCRATCH)
        self.begin_statistics(slot)
        return slot

    def release(self, int32_t slot):
        """Free a reserved or held slot."""
        counted = self.status[slot] == SCRATCH
        self.give(slot, FREE)
        if counted and self.bank is not None:
            self.bank.died(slot)

    def occupied_slots(self):
        """The occupied slots, ascending: int32, shape (K,)."""
        cdef int32_t[::1] view
        cdef size_t i
        slots = np.empty(self.live.size(), dtype=np.int32)
        view = slots
        for i in range(self.live.size()):
            view[i] = self.live[i]
        return slots

    def ids(self):
        """Ids of the dishes in the occupied slots, in ascending order of slots: int64, shape (K,)."""
        cdef int64_t[::1] view
        cdef size_t i
        ids = np.empty(self.live.size(), dtype=np.int64)
        view = ids
        for i in range(self.live.size()):
            view[i] = self.id[self.live[i]]
        return ids

    def n_births(self):
        """Number of births since the start of the chain, which is the next id."""
        return self.births

    def held_slots(self):
        """Slots that are empty but held by a part."""
        return [slot for slot in range(<int>self.status.size()) if self.status[slot] == HELD]

    def reserved_slots(self):
        """Slots for the statistics of proposals."""
        return [slot for slot in range(<int>self.status.size()) if self.status[slot] == SCRATCH]

    def is_occupied(self, int32_t slot):
        """Whether this slot has a dish."""
        return bool(self.occupied(slot))

    def is_reserved(self, int32_t slot):
        """Whether this slot holds the statistics of a proposal."""
        return bool(self.in_use(slot) and not self.occupied(slot))

    def place(self, int32_t slot):
        """Position of an occupied slot among the occupied ones, -1 for any other."""
        return self.position[slot] if 0 <= slot < <int32_t>self.position.size() else -1

    def __len__(self):
        return self.live.size()

    def compaction(self):
        """New number of each slot after compaction: int32, -1 for free slots; None if there are no gaps."""
        cdef int32_t slot, fresh = 0
        cdef bint gap = False, gaps = False
        for slot in range(<int32_t>self.status.size()):
            if self.status[slot] == SCRATCH:
                raise StateError("slots", "reserved", "free, or those of dishes", "Finish the proposal first.")
            gaps = gaps or (gap and self.status[slot] != FREE)
            gap = gap or self.status[slot] == FREE
        if not gaps:
            return None
        mapping = np.full(self.status.size(), -1, dtype=np.int32)
        for slot in range(<int32_t>self.status.size()):
            if self.status[slot] != FREE:
                mapping[slot] = fresh
                fresh += 1
        return mapping

    def relabel(self, mapping):
        """Carry out a compaction and notify the parts."""
        held = [mapping[slot] for slot in self.held_slots()]
        occupied = np.array([mapping[slot] for slot in self.occupied_slots()], dtype=np.int32)
        order = np.argsort(occupied, kind="stable")
        self.reset(occupied[order], held, self.ids()[order], self.births)
        for part, _ in self.parts:
            try:
                part.relabelled(mapping)
            except BaseException as error:
                self.keep(part, error)
