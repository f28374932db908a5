"""A measure with a shared value, every state of it with its probability, and the checks for planted bugs."""

import math

import attrs
import numpy as np
from marginals import normal_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError
from hdpkit.moves.slice import slice_sample
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact
from hdpkit.testing.exact_models import blocks_of

GRID = (-1.0, 0.5, 2.0)
PRIOR = hk.Normal(0.0, 1.0)
NOISE = 0.7
VALUES = [0.3, 1.4, -0.2, 0.9, 2.2, 0.1]


@attrs.frozen(eq=False)
class Shifted(hk.BaseMeasure):
    """y = shift + mean of the dish + noise; means are normal(0, 1), and the shift is shared by all dishes.

    Statistics are the sum of y - shift, and the number of observations: they depend on the shift.
    """

    start: float = 0.0
    noise: float = NOISE
    prior: object = PRIOR
    shift: float = 0.0

    def parts(self, state):
        return {"shift": hk.SharedValue(self.start, self.prior)}

    def given(self, parts):
        if abs(parts["shift"].value) > 100.0:
            raise ParameterError("shift", parts["shift"].value, "from -100 to 100", "Correct it.")
        return attrs.evolve(self, shift=parts["shift"].value)

    def make(self):
        return np.zeros(2)

    def add(self, statistics, value):
        statistics += float(value) - self.shift, 1.0

    def remove(self, statistics, value):
        statistics -= float(value) - self.shift, 1.0

    def _moments(self, many):
        total, n = np.array(many).T
        variance = 1.0 / (1.0 + n / self.noise)
        return variance * total / self.noise, variance + self.noise

    def log_predictive(self, value, many):
        mean, variance = self._moments(many)
        away = float(value) - self.shift - mean
        return -0.5 * (np.log(2.0 * math.pi * variance) + away**2 / variance)

    def simulate(self, statistics, generator):
        mean, variance = self._moments([statistics])
        return self.shift + float(generator.normal(mean[0], math.sqrt(variance[0])))

    def example_values(self):
        return VALUES


@attrs.frozen
class DrawShift(moves.Move):
    """The shift from its conditional: on a grid, whose numbers have equal weights besides the density."""

    grid: tuple = GRID

    updates = ("shift",)

    def apply(self, state, rng, steps=None):
        logs = []
        for value in self.grid:
            state.set_shared_value("shift", value)
            logs.append(state.log_likelihood() + state.measure_parts["shift"].log_density(state))
        state.set_shared_value("shift", self.grid[rng.choose_log(np.array(logs))])
        return moves.MoveInfo(1, 1)


class DrawShiftOnTheLine(moves.Move):
    """The shift by slice sampling."""

    continuous = True
    updates = ("shift",)

    def apply(self, state, rng, steps=None):
        if steps != (0, 0):
            part = state.measure_parts["shift"]

            def log_density(x):
                state.set_shared_value(part, x)
                return state.log_likelihood() + part.log_density(state)

            state.set_shared_value(part, slice_sample(log_density, part.value, 1.0, rng))
        return moves.MoveInfo(1, 1)


class ShiftThenSeat(DrawShift):
    """The shift, and then the seat of the first customer given it."""

    def apply(self, state, rng, steps=None):
        super().apply(state, rng, steps)
        state.reseat(0, 1, rng)
        return moves.MoveInfo(1, 1)


class SharedModel(ExactModel):
    """Every seating with every shift of a grid: p(z) p(shift) prod_k m(x_k | shift) ** power."""

    def __init__(self, franchise, power=1.0):
        super().__init__(franchise, lambda values: 0.0)
        marginals = {x: normal_log_marginal(x, 1.0, NOISE) for x in GRID}

        def of_shifts(frozen):
            for x, marginal in marginals.items():
                blocks = [[self.values[i] for i in block] for block in blocks_of(frozen)]
                log = PRIOR.log_density(x) + power * sum(map(marginal, blocks))
                components = {**frozen["components"], "shift": {"value": np.array(x)}}
                yield x, math.exp(log), {"components": components}

        self._split(of_shifts)
        self.pi /= self.pi.sum()

    def _state(self):
        return self._seating()[0], self.franchise.measure_parts["shift"].value


def shifted(shape="2+1", **options):
    return tiny_franchise(shape, Shifted(), **options)


def check_shared_values():
    """Moves of the seating and of the shift, over states with every shift."""
    model = SharedModel(shifted(store="explicit"))
    for move in (moves.TableGibbs(), moves.DishGibbs(), DrawShift(), ShiftThenSeat()):
        check_exact(model, move)


def twins():
    """A franchise with another shift than it starts with, and one at the start."""
    franchise, twin = shifted("3+3"), shifted("3+3")
    franchise.set_shared_value("shift", 1.25)
    return franchise, twin


def check_thawed_values():
    """A thawed state and a copy have the shift, and the measure and statistics given it."""
    franchise, twin = twins()
    whole = franchise.log_joint()
    twin.thaw(franchise.freeze())
    for one in (twin, franchise.copy()):
        assert one.measure.shift == 1.25
        assert one.log_joint() == whole
        one.audit()


def check_values_at_starts():
    """A start begins with the starting value, whatever the franchise had before."""
    franchise, twin = twins()
    for one in (franchise, twin):
        hk.Scheduler([moves.TableGibbs()]).run(one, sweeps=2, rng=3)
    assert franchise.measure_parts["shift"].value == 0.0
    assert franchise.log_joint() == twin.log_joint()
    franchise.audit()


def check_refused_values():
    """A value that the part or the measure refuses changes nothing."""
    franchise, _ = twins()
    whole = franchise.log_joint()
    for bad in (500.0, math.nan, [1.0, 2.0], "1"):
        try:
            franchise.set_shared_value("shift", bad)
        except ParameterError:
            pass
        else:
            raise AssertionError(f"{bad} was taken")
    assert franchise.measure_parts["shift"].value == 1.25
    assert franchise.log_joint() == whole
    franchise.set_base_parameters()
    franchise.audit()
