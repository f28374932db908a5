# distutils: language = c++
"""Dish slots: which numbers stand for dishes, and who is told when one is born or dies."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t

from hdpkit._compiled.support.turn cimport Held, in_turn
from hdpkit._compiled.support.arguments cimport numbers32, refuse, whole, whole32
from hdpkit.errors import ReturnValueError, StateError

cdef enum:
    FREE = 0
    OCCUPIED = 1
    HELD = 2       # empty, but a component keeps it
    SCRATCH = 3    # statistics of a proposal; not a dish
    AHEAD = 1024   # how far beyond the last slot one may be opened by number
    LARGEST = 1 << 30


cdef class DishSlots:
    """The slots of a franchise. A dish is born in the smallest free slot, so the live set determines all.

    What an observer raises must not stop a step half way: the first error is kept with its observer in
    ``trouble``, and whoever runs the verb raises it when the step is done (`FranchiseCore.surface`).

    ``observers`` are objects with ``born(slot)``, ``died(slot)`` and ``holds(slot)``; they are told inside the
    step that causes it.
    """

    def __init__(self):
        self.observers = []
        self.trouble = None
        self.reset([])

    def reset(self, occupied, held=()):
        """Occupy exactly these slots, telling nobody."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t slot
        cdef int32_t size = 0
        occupied = sorted(numbers32("occupied", occupied, 0, LARGEST).tolist())
        held = numbers32("held", held, 0, LARGEST).tolist()
        if len({*occupied, *held}) < len(occupied) + len(held):
            raise StateError("occupied", occupied, "each slot once, and none of those held", "A slot is one dish.")
        for slot in occupied + held:
            size = max(size, slot + 1)
        self.reserve_room(size)      # from here on nothing can fail
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
        self.observed = len(self.observers) > 0

    def observe(self, observer):
        """Tell this observer from now on."""
        cdef Held hold = in_turn(self.turn)
        for method in ("born", "died", "holds"):
            if not callable(getattr(observer, method, None)) or isinstance(observer, type):
                refuse("observer", observer, "an object with born, died and holds", "Derive it from hk.Component.")
        self.observers.append(observer)
        self.observed = True

    cdef int reserve_room(self, size_t n) except -1 nogil:
        self.status.reserve(n)
        self.position.reserve(n)
        self.live.reserve(n)
        return 0

    cdef int32_t take(self, int8_t status) except -1 nogil:
        cdef int32_t slot = self.next_free()
        self.ready()
        if slot == <int32_t>self.status.size():
            self.status.push_back(status)
            self.position.push_back(-1)
        else:
            self.status[slot] = status
        self.lowest = slot + 1
        return slot

    cdef int32_t next_free(self) noexcept nogil:
        """Where the next dish will be born."""
        cdef int32_t slot = self.lowest
        while slot < <int32_t>self.status.size() and self.status[slot] != FREE:
            slot += 1
        return slot

    cdef int32_t birth(self) except -1 nogil:
        return self.settle(self.take(OCCUPIED))

    cdef int32_t birth_in(self, int32_t slot) except -1 nogil:
        """A dish is born in this very slot, which must be free."""
        if slot >= <int32_t>self.status.size():
            self.reserve_room(slot + 1)
        self.ready()
        while <int32_t>self.status.size() <= slot:
            self.status.push_back(FREE)
            self.position.push_back(-1)
        if slot < 0 or self.status[slot] != FREE:
            with gil:
                raise StateError("slot", slot, "free", "See vacant().")
        self.status[slot] = OCCUPIED
        return self.settle(slot)

    cdef int32_t settle(self, int32_t slot) except -1 nogil:
        """Enter an occupied slot among the live ones and tell the observers."""
        cdef size_t place = self.live.size()
        self.live.push_back(slot)
        while place > 0 and self.live[place - 1] > slot:
            self.live[place] = self.live[place - 1]
            self.position[self.live[place]] = <int32_t>place
            place -= 1
        self.live[place] = slot
        self.position[slot] = <int32_t>place
        if self.observed:
            with gil:
                for observer in self.observers:
                    try:
                        observer.born(slot)
                    except BaseException as error:
                        self.keep(observer, error)
        return slot

    cdef int death(self, int32_t slot) except -1 nogil:
        cdef size_t place = self.position[slot]
        cdef bint held = False
        while place + 1 < self.live.size():
            self.live[place] = self.live[place + 1]
            self.position[self.live[place]] = <int32_t>place
            place += 1
        self.live.pop_back()
        self.position[slot] = -1
        if self.observed:
            with gil:
                for observer in self.observers:
                    try:
                        observer.died(slot)
                        held = self.answer(observer, slot) or held
                    except BaseException as error:
                        self.keep(observer, error)
        self.status[slot] = HELD if held else FREE
        if not held and slot < self.lowest:
            self.lowest = slot
        return 0

    cdef keep(self, observer, error):
        """Remember the first error since the last one surfaced."""
        if self.trouble is None:
            self.trouble = (observer, error)

    cdef bint answer(self, observer, int32_t slot) except -1:
        """Whether an observer holds a slot."""
        held = observer.holds(slot)
        if not isinstance(held, (bool, np.bool_)):
            raise ReturnValueError(f"{type(observer).__name__}.holds()", held, "True or False", "Return a bool.")
        return bool(held)

    cdef bint occupied(self, int32_t slot) noexcept nogil:
        return 0 <= slot < <int32_t>self.status.size() and self.status[slot] == OCCUPIED

    cdef bint in_use(self, int32_t slot) noexcept nogil:
        """Whether somebody keeps statistics in a slot: a dish, or a proposal."""
        return 0 <= slot < <int32_t>self.status.size() and self.status[slot] in (OCCUPIED, SCRATCH)

    # ------------------------------------------------------------------ for Python

    def make_room(self):
        """See to it that a dish can be born without asking for memory."""
        cdef Held hold = in_turn(self.turn)
        self.ready()

    def open(self):
        """A dish is born; returns its slot."""
        cdef Held hold = in_turn(self.turn)
        return self.birth()

    def open_in(self, slot):
        """A dish is born in this very slot, which must be free."""
        cdef Held hold = in_turn(self.turn)
        self.birth_in(whole32("slot", slot, 0, <int64_t>self.status.size() + AHEAD))

    def close(self, slot):
        """The dish of this slot has lost its last customer."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t k = whole32("slot", slot, 0, LARGEST)
        if not self.occupied(k):
            raise StateError("slot", slot, "occupied", "See occupied_slots().")
        self.death(k)

    def vacant(self):
        """The slot in which the next dish will be born."""
        cdef Held hold = in_turn(self.turn)
        return self.next_free()

    def reserve(self):
        """A free slot for the statistics of a proposal; observers are not told."""
        cdef Held hold = in_turn(self.turn)
        return self.take(SCRATCH)

    def release(self, slot):
        """Give a reserved or held slot back."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t k = whole32("slot", slot, 0, LARGEST)
        if k >= <int32_t>self.status.size() or self.status[k] not in (SCRATCH, HELD):
            raise StateError("slot", slot, "reserved or held", "Only `reserve` and a component make it so.")
        self.status[k] = FREE
        if k < self.lowest:
            self.lowest = k

    def occupied_slots(self):
        """The occupied slots, ascending: int32, shape (K,)."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t[::1] view
        cdef size_t i
        slots = np.empty(self.live.size(), dtype=np.int32)
        view = slots
        for i in range(self.live.size()):
            view[i] = self.live[i]
        return slots

    def held_slots(self):
        """Slots that are empty but kept by a component."""
        cdef Held hold = in_turn(self.turn)
        return [slot for slot in range(<int>self.status.size()) if self.status[slot] == HELD]

    def reserved_slots(self):
        """Slots for the statistics of proposals."""
        cdef Held hold = in_turn(self.turn)
        return [slot for slot in range(<int>self.status.size()) if self.status[slot] == SCRATCH]

    def is_occupied(self, slot):
        """Whether a dish lives in this slot."""
        cdef Held hold = in_turn(self.turn)
        return bool(self.occupied(whole32("slot", slot, -LARGEST, 2**31 - 1)))

    def is_reserved(self, slot):
        """Whether this slot holds the statistics of a proposal."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t k = whole32("slot", slot, -LARGEST, 2**31 - 1)
        return bool(self.in_use(k) and not self.occupied(k))

    def place(self, slot):
        """Position of an occupied slot among the occupied ones, -1 for any other."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t k = whole32("slot", slot, -LARGEST, 2**31 - 1)
        return self.position[k] if 0 <= k < <int32_t>self.position.size() else -1

    def __len__(self):
        cdef Held hold = in_turn(self.turn)
        return self.live.size()

    def compaction(self):
        """Where each slot goes when the free ones are squeezed out: int32 (-1 for free ones), or None."""
        cdef Held hold = in_turn(self.turn)
        cdef int32_t slot, fresh = 0
        mapping = np.full(self.status.size(), -1, dtype=np.int32)
        for slot in range(<int32_t>self.status.size()):
            if self.status[slot] == SCRATCH:
                raise StateError("slots", "reserved", "free, or those of dishes", "A proposal is under way.")
            if self.status[slot] != FREE:
                mapping[slot] = fresh
                fresh += 1
        return None if (fresh == 0 or mapping[fresh - 1] == fresh - 1) else mapping

    def relabel(self, mapping):
        """Carry out a compaction and tell the observers."""
        cdef Held hold = in_turn(self.turn)
        mapping = numbers32("mapping", mapping, -1, LARGEST)
        if len(mapping) < <int64_t>self.status.size():
            whole("length of mapping", len(mapping), <int64_t>self.status.size(), LARGEST)
        held = [mapping[slot] for slot in self.held_slots()]
        occupied = [mapping[slot] for slot in self.occupied_slots()]
        self.reset(occupied, held)
        for observer in self.observers:
            try:
                observer.relabelled(mapping)
            except BaseException as error:
                self.keep(observer, error)
