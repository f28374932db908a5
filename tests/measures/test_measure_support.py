"""Measures that declare their support: correct ones pass, wrong ones are detected."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, ive

import hdpkit as hk
from hdpkit.testing.measure_contract import MeasureFailure, check_contract


class Counted(hk.BaseMeasure):
    """Base of measures whose predictive is a density that doesn't learn."""

    off = 0.0  # what is added to every log density: other than 0 it is no density
    exact_statistics = True

    def make(self):
        return [0]

    def add(self, statistics, value):
        statistics[0] += 1

    def remove(self, statistics, value):
        statistics[0] -= 1

    def log_predictive(self, value, many):
        return np.full(len(many), self.log_density(value) + self.off)


class Line(Counted):
    support = "real numbers"

    def log_density(self, x):
        return -0.5 * x * x - 0.5 * math.log(2 * math.pi)


class HalfLine(Counted):
    support = "positive numbers"

    def log_density(self, x):
        return -x


class Interval(Counted):
    support = "numbers from 0 to 1"

    def log_density(self, x):
        return math.log(2.0 * x)


class Angle(Counted):
    support = "angles"

    def log_density(self, a):
        return math.cos(a) - math.log(2 * math.pi * ive(0, 1.0)) - 1.0


class Bit(Counted):
    support = "bits"

    def log_density(self, x):
        return math.log(0.3 if x else 0.7)


class Count(Counted):
    support = "whole numbers"

    def log_density(self, x):
        return x * math.log(2.0) - 2.0 - gammaln(x + 1)


class Vector(Counted):
    support = "vectors"

    def log_density(self, x):
        return -0.5 * float(x @ x) - 0.5 * len(x) * math.log(2 * math.pi)


class VonMises(Counted):
    """On the circle, the sphere, the sphere of four dimensions."""

    support = "sphere"

    def log_density(self, x):
        D, kappa = len(x), 1.5
        log_c = (D / 2 - 1) * math.log(kappa) - D / 2 * math.log(2 * math.pi)
        return kappa * x[0] + log_c - math.log(ive(D / 2 - 1, kappa)) - kappa


class Regression(Counted):
    """y given x."""

    def log_density(self, value):
        x, y = value
        return -0.5 * (y - 2.0 * x) ** 2 - 0.5 * math.log(2 * math.pi)

    def support(self, value):
        return "real numbers", value[1], lambda y: np.array([value[0], y])


class Classification(Counted):
    """A bit given another bit."""

    def log_density(self, value):
        right = 0.8 if value[0] else 0.6
        return math.log(right if value[1] == value[0] else 1.0 - right)

    def support(self, value):
        return "bits", value[1], lambda y: np.array([value[0], y])


def unit(D):
    points = np.random.default_rng(D).normal(size=(5, D))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


CASES = {
    "real numbers": (Line, [0.3, -1.0, 0.4]),
    "positive numbers": (HalfLine, [0.3, 1.0, 2.4]),
    "numbers from 0 to 1": (Interval, [0.3, 0.9, 0.5]),
    "angles": (Angle, [0.3, 4.9, 2.5]),
    "bits": (Bit, [0, 1, 1]),
    "whole numbers": (Count, [0, 3, 1, 5]),
    "vectors of 1": (Vector, [[0.3], [1.0], [-0.4]]),
    "vectors of 2": (Vector, [[0.3, 0.1], [1.0, -2.0], [-0.4, 0.3]]),
    "vectors of 3": (Vector, [[0.3, 0.1, 0.0], [1.0, -2.0, 0.7], [-0.4, 0.3, -1.0]]),
    "circle": (VonMises, unit(2)),
    "sphere": (VonMises, unit(3)),
    "sphere of 4": (VonMises, unit(4)),
    "a bit given a part": (Classification, [[0, 1], [1, 0], [1, 1]]),
    "given a part": (Regression, [[0.5, 0.3], [1.0, -0.7], [-2.0, 1.5]]),
}


@pytest.mark.parametrize("case", list(CASES))
def test_a_right_measure_passes_and_a_wrong_one_is_found(case):
    kind, values = CASES[case]
    assert any("add up to one over" in line for line in check_contract(kind(), values))
    for off in (0.15, -0.15):
        with pytest.raises(MeasureFailure, match="declared support"):
            check_contract(type("Wrong", (kind,), {"off": off})(), values)


def test_what_is_not_declared_is_told_how():
    undeclared = type("VonMises", (VonMises,), {"support": None})
    assert any("declare" in line for line in check_contract(undeclared(), unit(2)))
