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


def started(restaurant, data=None, **more):
    franchise = hk.Franchise(restaurant, data or corpus(), **more)
    start(franchise, "sequential", Streams(1).source(STARTS))
    return franchise


# ---------------------------------------------------------------------- declarations


def test_a_discount_with_a_prior_starts_at_its_mean():
    franchise = hk.Franchise(two_levels({"discount": hk.Beta(1.0, 3.0)}, discount=0.4), corpus())
    assert franchise.discount("root") == 0.25
    assert franchise.discount("document") == 0.4
    franchise.set_discount("root", 0.7)
    assert franchise.discount("root") == 0.7
    franchise.reset_hyperparameters()
    assert franchise.discount("root") == 0.25


def test_concentrations_may_be_tied_where_discounts_are_not_and_the_reverse():
    beta, gamma = hk.Beta(1.0, 1.0), hk.Gamma(2.0, 1.0)
    franchise = hk.Franchise(two_levels(concentration=gamma, discount=hk.Each(beta)), corpus())
    assert franchise.concentration("document") == 2.0
    assert franchise.discount("document").tolist() == [0.5, 0.5, 0.5]
    franchise.set_discount("document", [0.1, 0.2, 0.3])
    assert [franchise.restaurant("document", j).discount for j in range(3)] == [0.1, 0.2, 0.3]
    with pytest.raises(errors.ParameterError, match="one number"):
        franchise.set_concentration("document", [1.0, 2.0, 3.0])
    franchise = hk.Franchise(two_levels(concentration=hk.Each(gamma), discount=beta), corpus())
    assert franchise.concentration("document").tolist() == [2.0, 2.0, 2.0]
    assert franchise.discount("document") == 0.5
    with pytest.raises(errors.ParameterError, match="one number"):
        franchise.set_discount("document", [0.1, 0.2, 0.3])


def test_a_shifted_prior_is_one_of_the_sum():
    franchise = hk.Franchise(
        two_levels(concentration=hk.Shifted(hk.Gamma(2.0, 8.0)), discount=hk.Beta(1.0, 1.0)), corpus()
    )
    assert franchise.concentration("document") == -0.25
    assert franchise.discount("document") == 0.5
    franchise.set_concentration("document", -0.1)
    expected = hk.Gamma(2.0, 8.0).log_density(0.4) + hk.Beta(1.0, 1.0).log_density(0.5)
    assert franchise.log_prior() == pytest.approx(expected)


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


class Anywhere:
    """A prior that doesn't say where it lives."""

    mean = 0.5

    def log_density(self, x):
        return 0.0

    def draw(self, generator, size=None):
        return generator.random(size)


def test_a_fixed_concentration_below_zero_goes_with_a_prior_of_the_discount():
    franchise = hk.Franchise(two_levels(concentration=-0.2, discount=hk.Beta(1.0, 1.0)), corpus())
    assert franchise.concentration("document") == -0.2
    with pytest.raises(errors.ParameterError, match="above -concentration"):
        franchise.set_discount("document", 0.1)
    with pytest.raises(errors.ParameterError, match="above -discount"):
        franchise.set_concentration("document", -0.5)
    assert (franchise.concentration("document"), franchise.discount("document")) == (-0.2, 0.5)


# ---------------------------------------------------------------------- draws


def draws(restaurant, n, data=None):
    franchise = hk.Franchise(restaurant, data or corpus())
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
    class Low(Anywhere):
        support = (0.0, 1.0)

        def draw(self, generator, size=None):
            return 0.1 * generator.random(size)

    with pytest.raises(errors.DeclarationError, match="mass"):
        draws(two_levels(concentration=-0.4, discount=Low()), 1)


def test_draws_stay_above_minus_the_discount_where_the_sum_underflows():
    theta, d = draws(two_levels(concentration=hk.Shifted(hk.Gamma(0.01, 0.01)), discount=0.5), 200)
    assert (theta > -d).all()
    assert (theta + d < 1e-15).any()


def test_simulate_draws_discounts_and_keeps_them_if_asked():
    below = {"concentration": hk.Shifted(hk.Gamma(2.0, 2.0)), "discount": hk.Beta(1.0, 1.0)}
    franchise = started(two_levels(**below))
    anew = franchise.simulate(4)
    anew.audit()
    assert anew.discount("document") != franchise.discount("document")
    kept = franchise.simulate(4, keep="hyperparameters")
    assert kept.discount("document") == franchise.discount("document") == 0.5
    assert kept.concentration("document") == franchise.concentration("document") == 0.5


# ---------------------------------------------------------------------- traces and folders


def all_kinds():
    """Every kind of declaration of a discount and of a concentration, in one franchise."""
    root = hk.Restaurant(MEASURE, concentration=hk.Shifted(hk.Gamma(2.0, 1.0)), discount=hk.Beta(1.0, 2.0))
    author = hk.Restaurant(
        root, concentration=hk.Each(hk.Gamma(1.0, 1.0)), discount=hk.Beta(2.0, 2.0), each="author"
    )
    return hk.Restaurant(
        author,
        concentration=hk.Each(hk.Shifted(hk.Gamma(1.0, 2.0))),
        discount=hk.Each(hk.Beta(1.0, 1.0)),
        each="document",
    )


def authors():
    return hk.Corpus.from_documents(
        [[0, 0, 1], [1, 2], [2, 2, 0, 1], [0]], n_terms=3, groups={"author": ["a", "a", "b", "b"]}
    )


def schedule():
    return hk.Scheduler(
        [moves.TableGibbs(), moves.Concentration(), moves.Discount(), moves.Discount("slice", width=0.5)]
    )


SHAPES_OF_TRACES = {
    "concentration/root": (9,),
    "discount/root": (9,),
    "concentration/author": (9, 2),
    "discount/author": (9,),
    "concentration/document": (9, 4),
    "discount/document": (9, 4),
}


@pytest.mark.parametrize("store", ["histogram", "explicit", "histogram-reference"])
def test_traces_have_every_value(store):
    franchise = started(all_kinds(), authors(), store=store)
    trace = schedule().run(franchise, sweeps=9, rng=1, audit_every=3)
    for key, shape in SHAPES_OF_TRACES.items():
        assert trace[key].shape == shape
        what, name = key.split("/")
        assert np.array_equal(trace[key][-1], getattr(franchise, what)(name))
        assert (trace[key][-1] != trace[key][0]).all()
    assert (trace["concentration/document"] > -trace["discount/document"]).all()
    assert trace["log_joint"][-1] == franchise.log_joint()


# ---------------------------------------------------------------------- moves


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


@pytest.mark.parametrize("method", ["auxiliary", "slice"])
def test_restaurants_without_customers_have_the_prior(method):
    """A label's value without data, and a franchise before its start: p-values of Kolmogorov's test."""
    beta, gamma = hk.Beta(1.0, 2.0), hk.Gamma(1.0, 1.0)
    franchise = hk.Franchise(two_levels(concentration=gamma, discount=hk.Each(beta)), corpus())
    source, drawn = Streams(7).source(1), []
    for _ in range(400):
        draw_hyperparameters(franchise, source)
        moves.Discount(method).apply(franchise, source)
        moves.Concentration(method).apply(franchise, source)
        drawn.append([franchise.concentration("document"), *franchise.discount("document")])
    columns = np.transpose(drawn)
    assert stats.kstest(columns[0], stats.expon.cdf).pvalue > ALARM
    assert all(stats.kstest(own, stats.beta(1.0, 2.0).cdf).pvalue > ALARM for own in columns[1:])
