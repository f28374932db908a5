"""Discounts and concentrations with priors: declared, set, drawn, recorded, saved."""

import numpy as np
import pytest
from scipy import stats

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.starts import start
from hdpkit.posterior.simulate import draw_hyperparameters
from hdpkit.random import STARTS, Streams

MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
ALARM = 1e-7  # the seeds are fixed; a right program would fail with one seed in ten million


def corpus():
    return hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)


def two_levels(root=None, **below):
    return hk.Restaurant(hk.Restaurant(MEASURE, **(root or {})), each="document", **below)


def started(restaurant):
    franchise = hk.Franchise(restaurant, corpus())
    start(franchise, "sequential", Streams(1).source(STARTS))
    return franchise


def test_log_prior_adds_up_over_restaurants():
    beta, gamma = hk.Beta(2.0, 5.0), hk.Gamma(2.0, 1.0)
    d, theta = np.array([0.1, 0.4, 0.8]), np.array([0.5, -0.3, 2.0])
    franchise = hk.Franchise(
        two_levels({"discount": beta}, concentration=hk.Each(hk.Shifted(gamma)), discount=hk.Each(beta)),
        corpus(),
    )
    franchise.set_discount("document", d)
    franchise.set_concentration("document", theta)
    expected = beta.log_density(beta.mean)
    expected += sum(map(beta.log_density, d)) + sum(map(gamma.log_density, theta + d))
    assert franchise.log_prior() == pytest.approx(expected)


def test_a_fixed_concentration_below_zero_goes_with_a_prior_of_the_discount():
    franchise = hk.Franchise(two_levels(concentration=-0.2, discount=hk.Beta(1.0, 1.0)), corpus())
    assert franchise.concentration("document") == -0.2
    with pytest.raises(errors.ParameterError, match="above -concentration"):
        franchise.set_discount("document", 0.1)
    with pytest.raises(errors.ParameterError, match="above -discount"):
        franchise.set_concentration("document", -0.5)
    assert (franchise.concentration("document"), franchise.discount("document")) == (-0.2, 0.5)


def draws(restaurant, n):
    franchise = hk.Franchise(restaurant, corpus())
    source = Streams(3).source(0)
    drawn = []
    for _ in range(n):
        draw_hyperparameters(franchise, source)
        drawn.append((franchise.concentration("document"), franchise.discount("document")))
    theta, d = (np.array(values) for values in zip(*drawn, strict=True))
    return theta, d


def test_draws_of_a_shifted_prior_and_a_discount():
    gamma, beta = hk.Gamma(0.7, 2.0), hk.Beta(2.0, 1.0)
    for wrap in (lambda prior: prior, hk.Each):
        theta, d = draws(two_levels(concentration=wrap(hk.Shifted(gamma)), discount=wrap(beta)), 3000)
        theta, d = theta.ravel(), d.ravel()
        assert (theta > -d).all()
        assert (theta < 0).any()
        assert stats.kstest(theta + d, stats.gamma(0.7, scale=0.5).cdf).pvalue > ALARM
        assert stats.kstest(d, stats.beta(2.0, 1.0).cdf).pvalue > ALARM
        assert stats.spearmanr(theta + d, d).pvalue > ALARM


def test_a_discount_is_drawn_above_minus_a_fixed_concentration():
    law = stats.beta(1.0, 2.0)
    for wrap in (lambda prior: prior, hk.Each):
        theta, d = draws(two_levels(concentration=-0.3, discount=wrap(hk.Beta(1.0, 2.0))), 3000)
        assert (theta == -0.3).all()
        assert d.min() > 0.3
        assert stats.kstest((law.cdf(d.ravel()) - law.cdf(0.3)) / law.sf(0.3), "uniform").pvalue > ALARM


def test_a_prior_without_mass_where_it_is_wanted_is_an_error():
    class Low:
        mean, support = 0.5, (0.0, 1.0)

        def log_density(self, x):
            return 0.0

        def draw(self, generator, size=None):
            return 0.1 * generator.random(size)

    with pytest.raises(errors.DeclarationError, match="mass"):
        draws(two_levels(concentration=-0.4, discount=Low()), 1)


def test_draws_stay_above_minus_the_discount_where_the_sum_underflows():
    theta, d = draws(two_levels(concentration=hk.Shifted(hk.Gamma(0.01, 0.01)), discount=0.5), 200)
    assert (theta > -d).all()
    assert (theta + d < 1e-15).any()


def test_a_concentration_outside_its_prior_is_an_error_not_a_wrong_draw():
    declared = two_levels(concentration=hk.Gamma(1.0, 1.0), discount=hk.Beta(1.0, 1.0))
    franchise = started(declared)
    franchise.set_concentration("document", -0.1)
    source = Streams(1).source(3)
    for move in (moves.Concentration(), moves.Concentration("slice"), moves.Discount("auxiliary")):
        with pytest.raises(errors.StateError):
            move.apply(franchise, source)
    moves.Discount().apply(franchise, source)  # by slice, which asks no more than d > -theta
    assert franchise.discount("document") > 0.1
    assert franchise.discount("document") != 0.5
