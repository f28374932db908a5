"""What examples add to the package leaves the posterior alone."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from exact_points import one_step_of_points
from exact_selection import SELECTION_P_VALUES, ExactSelectionModel

import hdpkit as hk
from hdpkit.moves import TableGibbs
from hdpkit.testing import check_base_measure, check_part, tiny_franchise
from hdpkit.testing.geweke import check_together
from hdpkit.testing.pvalues import SampledTestFailure, SampledTests

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_weights_of_dishes_pass_the_harness_over_every_cell():
    example = runpy.run_path(str(EXAMPLES / "dish_weights.py"))
    part, move = example["DishWeights"], example["UpdateWeights"]
    report = check_part(part, move(), name="weights", shapes=["2+1"], replicas=40, rounds=2)
    for store in hk.stores:
        for root in ("restaurant", "weights"):
            assert any(f", {store}/" in line and f"root {root!r}" in line for line in report)


def test_selectors_of_ones_own_leave_the_posterior_alone():
    kind = runpy.run_path(str(EXAMPLES / "sparse_selectors.py"))["KeptSelectors"]
    measure = hk.SparseDirichletMultinomial(0.5, hk.Beta(1.3, 0.8), "stored", n_terms=3)
    family, cases = SampledTests(), {}
    for store, shape in (("explicit", "2+1"), ("histogram", "2+2")):
        cases[store] = ExactSelectionModel(tiny_franchise(shape, measure, store=store))
        family.register(store, SELECTION_P_VALUES)
    for store, model in cases.items():
        schedule = [TableGibbs(), kind()]
        family.check(
            store,
            lambda more, seed, model=model, schedule=schedule: one_step_of_points(
                model, schedule, 500 * more, seed
            ),
        )


@pytest.fixture(scope="module")
def regression():
    return runpy.run_path(str(EXAMPLES / "regression_states.py"))


def test_regressions_and_their_noise_have_their_law(regression):
    """The measure, its statistics and x are kept; lines and precision have the law of the model."""

    class Tried(regression["Lines"]):
        def example_values(self):
            return np.array([[0.5, 0.3], [1.0, -0.7], [-2.0, 1.5], [0.1, 0.2]])

    check_base_measure(Tried(), values=Tried().example_values(), shapes=["2+1"])
    franchise = tiny_franchise("2+1", Tried(), store="explicit")
    assert np.array_equal(franchise.simulate(1).data.values[:, 0], franchise.data.values[:, 0])
    check_together({"lines": franchise}, [TableGibbs(), regression["DrawPrecision"]()], 100, 3, 0)


def test_the_harness_catches_weights_of_another_law():
    example = runpy.run_path(str(EXAMPLES / "dish_weights.py"))

    class Larger(example["DishWeights"]):
        """Births draw from Gamma(2, 1/10)."""

        def born(self, slot, source, customers):
            self.of[slot] = 10.0 * source.gamma(2.0)

        def simulate(self, state, source):
            self.started(state, source)

    with pytest.raises(SampledTestFailure, match="mean"):
        check_part(Larger, example["UpdateWeights"](), name="weights")


def test_complexity_is_topics_and_their_terms():
    example = runpy.run_path(str(EXAMPLES / "sparse_study.py"))
    assert example["complexity"](np.array([[3, 0, 1], [0, 2, 0]])) == 2 + 3


def test_topics_are_those_of_figure_3():
    example = runpy.run_path(str(EXAMPLES / "split_merge_study.py"))
    for setting in (example["Setting"](), *example["GRID"].values()):
        topics = example["true_topics"](setting)
        assert topics.shape == (5, 12)
        assert np.allclose(topics.sum(axis=1), 1.0)
        assert np.array_equal(topics[0, 2:], topics[1, 2:])
        assert np.array_equal(topics[0, :2], topics[1, 1::-1])
        assert not topics[2:, :2].any()
        if setting.high is None:  # terms 3 to 9 have the same highest probability
            assert np.allclose(topics[:2, 2:9], topics[:2].max())
