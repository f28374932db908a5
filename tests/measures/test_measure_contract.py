"""`check_base_measure` over measures of all kinds: correct ones pass, and errors name the problem."""

import numpy as np
import pytest
from scipy.special import gammaln

import hdpkit as hk
from hdpkit.base_measures import (
    BetaBernoulliReference,
    GammaPoissonReference,
    NormalGammaReference,
    NormalInverseWishartReference,
)
from hdpkit.testing import check_base_measure
from hdpkit.testing.cases import example_measures
from hdpkit.testing.measure_contract import MeasureFailure, _check_normalised, check_contract


class Names(hk.BaseMeasure):
    """Strings from a list that nobody wrote down: a Polya urn with new colours left out."""

    words = ("ham", "eggs", "spam")

    def make(self):
        return {}

    def add(self, statistics, value):
        statistics[value] = statistics.get(value, 0) + 1

    def remove(self, statistics, value):
        statistics[value] -= 1

    def log_predictive(self, value, many):
        return [np.log((s.get(value, 0) + 0.5) / (sum(s.values()) + 1.5)) for s in many]


class Waiting(hk.BaseMeasure):
    """Positive numbers: exponential with a Gamma(2, 1) rate. Its formula goes on below zero."""

    support = "positive numbers"
    factor = 1.0

    def make(self):
        return np.array([2.0, 1.0])

    def add(self, statistics, value):
        statistics += 1.0, value

    def remove(self, statistics, value):
        statistics -= 1.0, value

    def log_predictive(self, value, many):
        shape, rate = np.array(many).T
        return np.log(self.factor * shape) + shape * np.log(rate) - (shape + 1) * np.log(rate + value)


class HeavyTail(hk.BaseMeasure):
    """Counts: geometric with a Beta(1.5, 1) probability; the predictive falls as a power."""

    support = "whole numbers"

    def make(self):
        return np.array([1.5, 1.0])

    def add(self, statistics, value):
        statistics += 1.0, value

    def remove(self, statistics, value):
        statistics -= 1.0, value

    def log_predictive(self, value, many):
        a, b = np.array(many).T
        top = gammaln(a + 1) + gammaln(b + value) + gammaln(a + b)
        return top - gammaln(a) - gammaln(b) - gammaln(a + b + value + 1)


class Tallies(hk.BaseMeasure):
    """Vectors of counts given their sum: Dirichlet-multinomial."""

    def make(self):
        return np.array([0.5, 1.0, 0.7])

    def add(self, statistics, value):
        statistics += value

    def remove(self, statistics, value):
        statistics -= value

    def log_predictive(self, value, many):
        a, n = np.array(many), value.sum()
        inside = gammaln(a + value) - gammaln(a) - gammaln(value + 1)
        return inside.sum(axis=1) + gammaln(a.sum(1)) + gammaln(n + 1) - gammaln(a.sum(1) + n)


class Zipf(hk.AtomicMeasure):
    """H(w) proportional to (w + 1) ** -s, over V values that are known and some that are not."""

    def __init__(self, n_terms, exponent=1.1, remainder=0.0):
        self._n_terms, self.exponent, self._remainder = n_terms, exponent, remainder

    @property
    def n_terms(self):
        return self._n_terms

    @property
    def remainder(self):
        return self._remainder

    def log_probabilities(self):
        weights = np.arange(1.0, self.n_terms + 1) ** -self.exponent
        return np.log((1.0 - self.remainder) * weights / weights.sum())


# What compiled measures have of their own; all else that a contract calls is that of their readable base.
OF_COMPILED = {"bank", "bank_of_cells", "posterior_means", "term_means", "draw_many", "_abc_impl"}


def draws_as_its_base(measure):
    """Whether a measure differs from the readable one, which is registered too, in nothing that draws."""
    own = {name for name in vars(type(measure)) if not name.startswith("__")}
    readable = type(measure).__mro__[1].__name__ == f"{type(measure).__name__}Reference"
    return readable and own <= OF_COMPILED


# Where dishes keep parameters nothing is integrated out: tests/measures/test_non_conjugate.py.
QUICK = ("BetaBernoulli", "DirichletMultinomialReference", "NormalGamma")  # kinds of values
MEASURES = [one for one in example_measures() if one.conjugate]


def marks_of(number):
    """One example of each class runs without -m long."""
    kind = type(MEASURES[number])
    if kind in map(type, MEASURES[:number]):
        return pytest.mark.long
    return pytest.mark.quick if kind.__name__ in QUICK else ()


@pytest.mark.parametrize(
    "measure",
    [pytest.param(one, marks=marks_of(number)) for number, one in enumerate(MEASURES)],
    ids=repr,
)
def test_every_registered_measure(measure):
    # tests/exact/test_exact_kernels.py does the rest.
    report = check_contract(measure, draws=not draws_as_its_base(measure))
    assert not any("not checked" in line for line in report)


@pytest.mark.parametrize(
    ("measure", "values", "said"),
    [
        (Names(), ["ham", "eggs", "ham", "spam"], "not checked"),
        (Waiting(), [0.3, 2.0, 0.7, 1.1], "over positive numbers"),
        (HeavyTail(), [0, 3, 1, 12], "over whole numbers"),
        (Tallies(), [[1, 0, 2], [0, 3, 0], [2, 1, 0]], "not checked"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_kind_of_values(measure, values, said):
    assert said in check_base_measure(measure, values=values, shapes=["2+1"])[5]


def scaled(measure, factor):
    """The measure with predictives that don't add up to one, in every kernel that Python code runs."""
    kind = type(measure)

    class Scaled(kind):
        def log_predictive(self, value, many):
            return np.asarray(kind.log_predictive(self, value, many)) + np.log(factor)

    return Scaled(**measure.parameters, n_dims=measure.n_dims)


@pytest.mark.parametrize("factor", [1.01, 0.99])
@pytest.mark.parametrize(
    "measure",
    [
        NormalGammaReference(0.2, 0.5, 1.5, 0.8),
        NormalGammaReference([0.2, 0.1], 0.5, 1.5, 0.8),
        NormalInverseWishartReference([0.2, -0.4], 0.7, 3.5, [[1.2, 0.4], [0.4, 0.9]]),
        GammaPoissonReference(1.5, 0.8),
        GammaPoissonReference([1.5, 0.6], 0.8),
        BetaBernoulliReference(0.7, 1.2),
        BetaBernoulliReference(0.7, [1.2, 0.4]),
    ],
    ids=repr,
)
def test_a_predictive_that_does_not_add_up_to_one(measure, factor):
    wrong, values = scaled(measure, factor), list(measure.example_values())
    with pytest.raises(MeasureFailure, match="add up"):
        _check_normalised(wrong, values, values)


@pytest.mark.parametrize(("measure", "values"), [(Zipf(5), None), (Zipf(4, remainder=0.2), [0, 3, 0, 0, 3])])
def test_atoms_of_ones_own(measure, values):
    report = check_base_measure(measure, values)
    assert "log_probabilities and remainder add up to one" in report
    for move in ("TableGibbs()", "DishGibbs()"):
        for store in ("explicit/generic", "histogram/generic", "explicit-reference/reference"):
            assert f"{move} on 'three levels', {store}: exact" in report
    assert any(line.startswith("simulate") for line in report)


def thirds():
    return np.full(3, -np.log(3.0))


class Unchecked(Zipf):
    """Atoms that look at no data."""

    def for_data(self, data):
        return self


def changed(method, change):
    """A measure whose answer from one method is changed."""
    original = getattr(Zipf, method)
    return type("Wrong", (Zipf,), {method: lambda self, *given: change(original(self, *given), *given)})


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Unchecked, "for_data"),
        (type("Wrong", (Unchecked,), {"log_probabilities": lambda self: np.full(3, -1.0)}), "sum of H"),
        (
            type("Wrong", (Unchecked,), {"remainder": 0.2, "log_probabilities": lambda self: thirds()}),
            "sum of H",
        ),
        (type("Wrong", (Unchecked,), {"remainder": -0.2}), "remainder"),
        (changed("log_predictive", lambda found, value, many: found - 0.1), "log_predictive of 0"),
        (
            changed("log_predictive", lambda found, value, many: np.maximum(found, -9.0)),
            "log_predictive of 0",
        ),
        (changed("log_block", lambda found, values, many: found * len(values)), "log_block of"),
        (changed("copy", lambda found, original: original), "a copy"),
        (changed("remove", lambda found, atom, value: setattr(atom, "n", atom.n - 1)), "after a removal"),
        (changed("remove", lambda found, atom, value: setattr(atom, "n", atom.n + 1)), "after a removal"),
        (changed("simulate", lambda found, atom, generator: 0), "simulate"),
        (changed("simulate", lambda found, atom, generator: generator.integers(3)), "simulate"),
        (changed("bank", lambda bank, data: type(bank)(bank.values, Zipf(3, 2.0))), "the bank's log H"),
        (changed("bank", lambda bank, data: type(bank)(1 - bank.values, Zipf(3))), "the bank's values"),
    ],
)
def test_mistakes_of_atoms_are_named(kind, what):
    with pytest.raises(MeasureFailure, match=what):
        check_base_measure(kind(3), [0, 0, 1, 0])


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        ("remove", "after a removal"),
        ("predictive", "another order"),
        ("copy", "copy changed"),
        ("block", "log_block"),
        ("marginal", "log_marginal"),
    ],
)
def test_mistakes_are_named(mistake, what):
    class Wrong(GammaPoissonReference):
        def remove(self, statistics, value):
            super().remove(statistics, value)
            if mistake == "remove":
                statistics.n += 1

        def log_predictive(self, value, many):
            wrong = np.array([mistake == "predictive" and s.n == 2 for s in many])
            return super().log_predictive(value, many) - 0.1 * value * wrong

        def copy(self, statistics):
            return statistics if mistake == "copy" else super().copy(statistics)

        def log_block(self, values, many):
            return super().log_block(values, many) + 0.1 * (mistake == "block")

        def log_marginal(self, statistics):
            return super().log_marginal(statistics) + 0.1 * (mistake == "marginal")

    with pytest.raises(MeasureFailure, match=what):
        check_base_measure(Wrong(1.5, 0.8))
