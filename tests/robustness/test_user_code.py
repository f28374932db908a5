"""Values returned by user code are checked where they enter; its exceptions leave a consistent franchise."""

import numpy as np
import pytest
from user_code_trials import FAULT, ROWS, Tracker, Tripped, Weight, franchise_of, trials
from user_code_trials import _numbers as numbers
from user_code_trials import _terms as terms

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import Resampled


@pytest.fixture(autouse=True)
def fault():
    FAULT.off()
    yield FAULT
    FAULT.off()


def test_faults_at_any_call():
    found = trials(250, 11)
    assert found["wrong"] == []
    assert found["met"] > 60


@pytest.mark.long
def test_faults_at_any_call_at_length():
    found = trials(10_000, 12)
    assert found["wrong"] == []
    assert found["met"] > 3000


@pytest.mark.parametrize("answer", list(ROWS))
def test_a_row_of_the_wrong_kind_names_class_method_and_shape(answer, fault):
    franchise = franchise_of(*terms(), "histogram", "two")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    fault.set("log_predictive", 3, ROWS[answer])
    with pytest.raises(errors.ReturnValueError) as caught:
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=None)
    assert caught.value.parameter == "Injected.log_predictive()"
    assert "shape (" in str(caught.value)


@pytest.mark.parametrize(
    "returned",
    [None, 3, (1, 1), moves.MoveInfo(1, 2), moves.MoveInfo(-1, -2), moves.MoveInfo(float("nan"), 0),
     moves.MoveInfo(1.5, 1), moves.MoveInfo(True, True), moves.MoveInfo],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.repeat(2), lambda m: hk.Mixture([(m, 1.0)])])
def test_what_a_move_returns(returned, wrap):
    class Mine(moves.Move):
        def apply(self, state, rng, steps=None):
            return returned

    franchise = franchise_of(*numbers(), "explicit", "two")
    with pytest.raises(errors.ReturnValueError, match=r"Mine\.apply\(\)"):
        hk.Scheduler([moves.TableGibbs(), wrap(Mine())]).run(franchise, sweeps=2, rng=0)
    franchise.audit()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=None, audit_every=1)


@pytest.mark.parametrize("store", ["histogram", "explicit"])
@pytest.mark.parametrize("measure", [numbers, terms, lambda: (hk.NormalGamma(), numbers()[1])])
def test_a_move_that_fails_after_it_opened_a_dish(store, measure):
    class Mine(moves.Move):
        def apply(self, state, rng, steps=None):
            state.open_dish()
            raise Tripped

    franchise = franchise_of(*measure(), store, "two")
    tracker = Tracker()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    franchise.register("tracker", tracker)
    with pytest.raises(Tripped):
        hk.Scheduler([Mine()]).run(franchise, sweeps=1, init=None)
    franchise.audit()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=None, audit_every=1)


@pytest.mark.parametrize("part", ["mean", "support"])
@pytest.mark.parametrize("value", [float("nan"), None, "one", 1j, (1.0,)])
def test_what_a_prior_says_of_itself(part, value):
    prior = type("Mine", (Weight,), {part: value})()
    for declare in (
        lambda: hk.Restaurant(hk.NormalGamma(), concentration=prior),
        lambda: hk.NormalGamma(rate=prior),
        lambda: hk.Restaurant(hk.NormalGamma(), concentration=hk.Each(hk.Shifted(prior))),
    ):

        def use(declare=declare):
            restaurant = declare()
            if isinstance(restaurant, hk.BaseMeasure):
                restaurant = hk.Restaurant(restaurant)
            franchise = hk.Franchise(restaurant, hk.Groups.from_labels(numbers()[1], {}))
            hk.Scheduler([moves.BaseMeasureParameters()]).run(franchise, sweeps=1, rng=0)

        with pytest.raises(errors.HdpkitError) as caught:
            use()
        assert "Mine" in str(caught.value) or isinstance(caught.value, errors.ParameterError)


@pytest.mark.parametrize("method", ["for_data", "with_parameters"])
@pytest.mark.parametrize("returned", [None, 3, hk.NormalGamma])
def test_a_measure_that_returns_no_measure(method, returned):
    class Mine(hk.BaseMeasure):
        parameters = {"rate": Resampled(1.0, hk.Gamma(1.0, 1.0))}  # noqa: RUF012

        def make(self):
            return [0]

        add = remove = lambda self, statistics, value: None

        def log_predictive(self, value, many):
            return np.zeros(len(many))

    setattr(Mine, method, lambda self, *data, **values: returned)
    with pytest.raises(errors.ReturnValueError, match=rf"Mine\.{method}\(\)"):
        hk.Franchise(hk.Restaurant(Mine()), hk.Groups.from_labels([1, 2], {}))


def test_a_component_must_freeze_to_a_dict():
    franchise = franchise_of(*numbers(), "explicit", "two")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    franchise.register("mine", type("Mine", (Tracker,), {"freeze": lambda self: None})())
    with pytest.raises(errors.ReturnValueError, match=r"Mine\.freeze\(\)"):
        franchise.freeze()
