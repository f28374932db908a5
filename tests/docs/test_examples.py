"""The examples find the known structure, and draw it.

Chains have fixed seeds. Every figure is compared with a bound; a comment gives the measured figure and, if
the bound shows that the chain has mixed, the figure after two sweeps. Agreement by chance is 0.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest
from exact_points import one_step_of_points
from exact_selection import SELECTION_P_VALUES, ExactSelectionModel
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.moves import TableGibbs
from hdpkit.testing import check_base_measure, check_part, tiny_franchise
from hdpkit.testing.geweke import check_together
from hdpkit.testing.pvalues import SampledTestFailure, SampledTests

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def recovery():
    return runpy.run_path(str(EXAMPLES / "recovery.py"))


@pytest.fixture(scope="module")
def mixtures():
    return runpy.run_path(str(EXAMPLES / "gaussian_mixtures.py"))


@pytest.fixture(scope="module")
def counts():
    return runpy.run_path(str(EXAMPLES / "counts.py"))


def is_small_png(path):
    content = path.read_bytes()
    return content.startswith(b"\x89PNG\r\n\x1a\n") and 3_000 < len(content) < 150_000


def agreement(truth, fits):
    return {model: adjusted_rand_score(truth, found.best) for model, found in fits.items()}


def test_three_levels_recover_planted_topics_better_than_two(recovery):
    scores = [agreement(*recovery["study_corpus"](seed=seed, sweeps=80)) for seed in range(4)]
    three, two = (np.array([score[f"{levels} levels"] for score in scores]) for levels in ("three", "two"))
    assert three.mean() > 0.47  # 0.54; 0.25 after two sweeps
    assert two.mean() > 0.35  # 0.48; 0.17 after two sweeps
    assert (three > two).all()
    assert (three - two).mean() > 0.05  # 0.06, and 0.07 over eight corpora


def test_mixtures_find_the_cultivars_and_are_drawn(mixtures, tmp_path):
    X, cultivars = mixtures["read_wines"]()
    flat = mixtures["fit"](mixtures["declare"](X), sweeps=200, seed=0)
    shipment = mixtures["ship"](cultivars, seed=0)
    grouped = mixtures["fit"](mixtures["declare"](X, shipment), sweeps=200, seed=0)
    assert adjusted_rand_score(cultivars, flat.dishes) > 0.7  # 0.82; 0.40 after two sweeps
    assert adjusted_rand_score(cultivars, grouped.dishes) > 0.75  # 0.92; 0.38 after two sweeps
    mixtures["draw_flat"](flat, cultivars, tmp_path / "flat.png")
    mixtures["draw_grouped"](grouped, cultivars, tmp_path / "grouped.png")
    assert is_small_png(tmp_path / "flat.png")
    assert is_small_png(tmp_path / "grouped.png")


def test_counts_and_bits_find_kinds_of_digits_and_are_drawn(counts, tmp_path):
    pixels, digits = counts["read_digits"](400)
    fits = {kind: counts["fit"](counts["declare"](pixels, kind), 40, 0) for kind in ("counts", "bits")}
    of_counts, of_bits = (counts["scores"](franchise.dishes, digits) for franchise in fits.values())
    assert of_counts[1] > 0.45  # adjusted Rand index 0.58
    assert of_counts[2] > 0.92  # 0.95 of the images with their kind; 0.89 after two sweeps
    assert of_bits[1] > 0.5  # 0.66; 0.08 after two sweeps
    counts["draw"](fits, digits, tmp_path / "counts.png")
    assert is_small_png(tmp_path / "counts.png")


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


def test_the_sparse_model_recovers_the_planted_terms():
    # A fixed seed; the figures measured are 0.99 and 0.97 of the sparse model, sparsity 0.76 (0.75 planted).
    example = runpy.run_path(str(EXAMPLES / "sparse_topics.py"))
    found = example["compare"](example["plant"](0), 60, 0)
    precision, recall, fit = found["sparse"]
    assert precision > 0.95
    assert recall > 0.9
    assert abs(fit.sparsity - 0.75) < 0.05
    assert 5 <= fit.n_topics <= 8
    assert 0.5 < fit.parameter < 3.0  # smoothing 1 was planted; the eta of the plain model is far below
    assert found["plain"][2].parameter < 0.2
    assert np.isnan(found["plain"][2].sparsity)


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
