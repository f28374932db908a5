"""A part of tests: what belongs to a dish as long as it lives."""

import hdpkit as hk


class Remembered(hk.Part):
    """A number for each dish, which a birth draws and nothing else changes."""

    def __init__(self):
        self.of = {}

    def born(self, slot, source, customers):
        self.of[slot] = source.gamma(2.0)

    def died(self, slot):
        del self.of[slot]

    def relabelled(self, mapping):
        self.of = {int(mapping[slot]): value for slot, value in self.of.items()}

    def reset(self, slots):
        self.of = dict.fromkeys(slots.tolist(), 0.0)

    def freeze(self):
        return {str(slot): value for slot, value in self.of.items()}

    def thaw(self, frozen):
        self.of = {int(slot): value for slot, value in frozen.items()}

    def audit(self, slots):
        assert sorted(self.of) == slots.tolist()
        assert all(value > 0.0 for value in self.of.values())

    def log_density(self, state):
        return sum(3.0 * value for value in self.of.values())
