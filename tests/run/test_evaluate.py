"""`hk.evaluate`: posterior states of every kind, halves, arguments, and what it prints."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from evaluation_checks import three_levels, two_levels

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.evaluation import completion_perplexity, fit_proportions
from hdpkit.posterior.evaluation.completion import FixedTopics


def corpus(*documents, **options):
    return hk.Corpus.from_documents(list(documents), n_terms=3, **options)


NEW = corpus([0, 0, 2, 1], [1, 2], [2])


def scores(found):
    return found.group_log_probability.tolist()


@pytest.mark.quick
def test_states_of_every_kind(tmp_path):
    franchise = two_levels()
    scheduler = hk.Scheduler([moves.TableGibbs()])
    one = hk.evaluate(franchise, NEW)
    assert one.n_states == 1
    assert scores(hk.evaluate([franchise], NEW)) == pytest.approx(scores(one))
    assert scores(hk.evaluate(franchise.look(), NEW)) == pytest.approx(scores(one))

    copies = [draw.franchise.copy() for draw in scheduler.sample(two_levels(), 4, rng=1)]
    of_copies = hk.evaluate(copies, NEW)
    assert of_copies.n_states == 4
    of_draws = hk.evaluate(scheduler.sample(two_levels(), 4, rng=1), NEW)
    assert scores(of_draws) == pytest.approx(scores(of_copies), abs=1e-12)
    assert of_draws.standard_error == pytest.approx(of_copies.standard_error)

    trace = scheduler.run(two_levels(), sweeps=3, rng=0, chains=2, folder=tmp_path / "run")
    of_chains, of_run = hk.evaluate(trace, NEW), hk.evaluate(hk.open_run(tmp_path / "run"), NEW)
    assert of_chains.n_states == of_run.n_states == 2
    assert scores(of_chains) == pytest.approx(scores(of_run), abs=1e-12)


def test_completion_with_a_discount_is_by_gibbs():
    found = hk.evaluate(three_levels(), corpus([0, 1], groups={"journal": ["A"]}))
    assert (found.fit, found.particles) == ("gibbs", 20)
    assert hk.evaluate(two_levels(), NEW).fit == "em"
    with pytest.raises(errors.ParameterError, match="discount"):
        hk.evaluate(three_levels(), corpus([0, 1], groups={"journal": ["A"]}), fit="em")


def test_densities_of_numbers_are_on_their_scale():
    """Values in other units change log densities by the log of the unit, in each method."""
    for unit in (1.0, 1000.0):
        data = hk.Groups.from_arrays([np.array([1.0, 1.1]) * unit, np.array([-1.0]) * unit])
        new = hk.Groups.from_arrays([np.array([1.05, -0.9, 1.2]) * unit])
        measure = hk.NormalGamma(0.0, 0.5, 2.0, 0.5 * unit**2)
        franchise = hk.Franchise(
            hk.Restaurant(hk.Restaurant(measure, concentration=1.0), concentration=1.0, each="group"), data
        )
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=0, init="sequential")
        found = [hk.evaluate(franchise, new), hk.evaluate(franchise, new, method="left-to-right")]
        if unit == 1.0:
            first = found
        for before, after in zip(first, found, strict=True):
            shift = before.log_probability - after.log_probability
            assert shift == pytest.approx(before.n_tokens * math.log(unit), abs=1e-6)


@pytest.mark.parametrize("apart", [0.01, 0.003])
@pytest.mark.parametrize("prior", [0.001, 0.01])
@pytest.mark.parametrize("size", [1_000, 100_000])
def test_topics_that_are_nearly_the_same(apart, prior, size):
    shift = np.array([[0, 0, 0], [1, -1, 0], [0, 1, -1]])
    phi = [0.5, 0.3, 0.2] + apart * shift
    counts = size * np.array([0.5, 0.3, 0.2]) + [5, -3, 0]
    topics = FixedTopics.of(phi[:2], phi[2], np.full(3, prior))
    compiled = topics.fit(sp.csr_array(counts[None]), 1e-6)[0]
    for theta in (fit_proportions(phi, np.full(3, prior), counts), compiled):
        assert theta.sum() == pytest.approx(1)
        step = (prior + theta * (phi @ (counts / (theta @ phi)))) / (3 * prior + counts.sum())
        assert np.abs(step - theta).max() <= 1e-6


def test_extrapolation_that_goes_in_a_circle_ends():
    same = np.array([0.803, 1.213, 1.045, 1.262, 1.041, 1.142, 1.163, 1.268, 1.27]) * 1e-4
    phi = np.vstack(
        [[6.71e-4, 2.904e-4], [0.993e-4, 0.331e-4], [2.948e-4, 6.486e-4], [0.859e-4, 2.576e-4],
         np.column_stack([same, same])]
    )  # fmt: skip
    phi = np.column_stack([phi, 1 - phi.sum(axis=1)])
    prior = np.array([0.151059, 0.038172, 0.012106, 0.006035])
    prior = np.append(
        prior, [0.00685, 4.72e-4, 0.002787, 5.9e-5, 0.002764, 0.001098, 0.001122, 1.2e-5, 1.1e-5]
    )
    counts = np.array([1, 1, 0])
    compiled = FixedTopics.of(phi[:-1], phi[-1], prior).fit(sp.csr_array(counts[None]), 1e-4)[0]
    assert compiled == pytest.approx(fit_proportions(phi, prior, counts), abs=2e-3)


def test_topics_that_are_given():
    phi, half = [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], sp.csr_array([[2, 0, 1, 0]])
    perplexity = completion_perplexity(phi, [1.0, 0.5], half, np.array([[0, 1, 0, 2]]))
    assert perplexity == pytest.approx(108 ** (1 / 3), rel=1e-12)
