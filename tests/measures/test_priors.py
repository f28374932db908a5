"""Priors: densities against SciPy's, draws against their law, errors."""

import math
import pickle
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from hdpkit.errors import ParameterError
from hdpkit.priors import Above, Beta, Each, Gamma, Normal, Prior, draw_from
from hdpkit.random import RandomStream

positive = st.floats(1e-3, 1e3)
inside = st.floats(1e-6, 1.0 - 1e-6)

# The seeds are fixed; a right program would fail with one seed in ten million.
ALARM = 1e-7


@given(positive, positive, st.floats(1e-6, 1e4))
def test_gamma_density_is_by_rate(shape, rate, x):
    expected = stats.gamma.logpdf(x, shape, scale=1.0 / rate)
    assert Gamma(shape, rate).log_density(x) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(positive, positive, inside)
def test_beta_density(a, b, x):
    assert Beta(a, b).log_density(x) == pytest.approx(stats.beta.logpdf(x, a, b), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("prior", "end"), [(Gamma(2.5, 3.0), math.inf), (Beta(2.0, 3.5), 1.0)])
def test_density_integrates_to_one_and_to_the_mean(prior, end):
    def density(x):
        return math.exp(prior.log_density(x))

    assert integrate.quad(density, 0, end)[0] == pytest.approx(1.0)
    assert integrate.quad(lambda x: x * density(x), 0, end)[0] == pytest.approx(prior.mean)


@pytest.mark.parametrize(
    ("prior", "outside"),
    [(Gamma(1.0, 1.0), [-1.0, 0.0, math.inf, -math.inf]), (Beta(1.0, 1.0), [-0.1, 0.0, 1.0, 2, -math.inf])],
)
def test_density_outside_the_support(prior, outside):
    assert all(prior.log_density(x) == -math.inf for x in outside)
    assert math.isnan(prior.log_density(math.nan))


@pytest.mark.parametrize(
    ("prior", "law"),
    [
        (Gamma(2.0, 5.0), stats.gamma(2.0, scale=0.2)),
        (Gamma(0.3, 0.1), stats.gamma(0.3, scale=10.0)),
        (Beta(2.0, 5.0), stats.beta(2.0, 5.0)),
    ],
)
def test_draws_have_the_law(prior, law):
    draws = prior.draw(np.random.default_rng(1), 20_000)
    assert stats.kstest(draws, law.cdf).pvalue > ALARM


@pytest.mark.parametrize("prior", [Gamma(1.0, 2.0), Beta(1.0, 2.0)])
def test_draw_shapes_and_reproduction(prior):
    one = prior.draw(np.random.default_rng(0))
    assert type(one) is float
    assert one == prior.draw(np.random.default_rng(0))
    assert prior.draw(np.random.default_rng(0), 3).shape == (3,)
    assert prior.draw(np.random.default_rng(0), (2, 3)).shape == (2, 3)


@pytest.mark.parametrize("prior", [Gamma(1e-3, 1.0), Beta(1e-3, 1.0), Beta(1.0, 1e-3)])
def test_draws_stay_in_the_support(prior):
    draws = prior.draw(np.random.default_rng(0), 10_000)
    assert all(math.isfinite(prior.log_density(x)) for x in draws)


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.int64(2), np.uint8(2), Fraction(2)])
@pytest.mark.parametrize("family", [Gamma, Beta])
def test_numbers_become_floats(family, number):
    prior = family(number, number)
    assert prior == family(2.0, 2.0)
    assert all(type(value) is float for value in attrs.astuple(prior))


@pytest.mark.parametrize(
    "bad",
    [0, -1.0, math.nan, math.inf, -math.inf, True, np.True_, "1", b"1", None, 1j, [1.0], np.ones(1), 10**400],
)
@pytest.mark.parametrize(("family", "first", "second"), [(Gamma, "shape", "rate"), (Beta, "a", "b")])
def test_bad_parameters(family, first, second, bad):
    for arguments, name in (((bad, 1.0), first), ((1.0, bad), second)):
        with pytest.raises(ParameterError) as caught:
            family(*arguments)
        assert caught.value.parameter.endswith(" " + name)
        assert caught.value.value is bad


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        (Gamma, (1e300, 1e-300)),
        (Gamma, (1e-300, 1e300)),
        (Beta, (1e20, 1.0)),
        (Beta, (1e308, 1e308)),
        (Beta, (1e-300, 1e300)),
    ],
)
def test_means_must_be_usable_starts(family, parameters):
    with pytest.raises(ParameterError, match="closer"):
        family(*parameters)


def test_priors_are_values():
    assert Gamma(1, 2) == Gamma(1.0, 2.0) != Gamma(2, 1)
    assert hash(Beta(1, 2)) == hash(Beta(1, 2))
    assert repr(Gamma(1, 2)) == "Gamma(shape=1.0, rate=2.0)"
    assert Gamma(shape=1, rate=2).mean == 0.5
    assert Beta(a=1, b=3).mean == 0.25
    assert pickle.loads(pickle.dumps(Gamma(1, 2))) == Gamma(1, 2)
    assert attrs.evolve(Gamma(1, 2), rate=4) == Gamma(1, 4)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Gamma(1, 2).shape = 3.0


def test_each_takes_a_prior_only():
    class Mine:
        mean = 1.0

        def log_density(self, x):
            return 0.0

        def draw(self, generator, size=None):
            return 1.0

    assert Each(Gamma(1, 2)) == Each(Gamma(1, 2)) != Gamma(1, 2)
    assert Each(prior=Beta(1, 2)).prior == Beta(1, 2)
    assert isinstance(Each(Mine()).prior, Prior)
    for bad in (1.0, None, "Gamma", Gamma, Each(Gamma(1, 1))):
        with pytest.raises(ParameterError, match="Wrap a prior"):
            Each(bad)


# ------------------------------------------------------------------ what priors draw from

OWN = [
    (Gamma(2.0, 4.0), lambda source: source.gamma(2.0) / 4.0),
    (Beta(0.5, 3.0), lambda source: source.beta(0.5, 3.0)),
    (Normal(1.0, 3.0), lambda source: 1.0 + 3.0 * source.normal()),
]


@pytest.mark.parametrize(("prior", "same"), OWN, ids=lambda one: getattr(type(one), "__name__", ""))
def test_the_package_draws_from_its_priors_by_its_own_draws(prior, same):
    assert draw_from(prior, RandomStream((3, 4))) == same(RandomStream((3, 4)))
    several = draw_from(prior, RandomStream((3, 4)), 5)
    assert several.shape == (5,)
    assert several[0] == same(RandomStream((3, 4)))
    assert prior.draw(RandomStream((3, 4)), (2, 3)).shape == (2, 3)


def test_priors_of_a_users_own_are_given_a_numpy_generator():
    generators = []

    class Truncated(Gamma):
        def draw(self, generator, size=None):
            generators.append(generator)
            return min(float(generator.gamma(2.0)), 1.0)

    class Plain:
        mean = 0.5

        def log_density(self, x):
            return 0.0

        def draw(self, generator, size=None):
            generators.append(generator)
            return float(generator.random())

    for prior in (Truncated(1.0, 1.0), Plain()):
        draw_from(prior, RandomStream((3, 4)))
    assert len(generators) == 2
    assert all(isinstance(one, np.random.Generator) for one in generators)


@pytest.mark.parametrize("shape", [5e-324, 1e-305, 1e-100, 1e200, 1e300])
def test_draws_at_the_ends_of_the_shapes(shape):
    source = RandomStream((5, 6))
    assert 0.0 < Gamma(shape, shape).draw(source) < math.inf
    assert 0.0 < Beta(shape, shape).draw(source) < 1.0


def test_a_bound_moves_a_prior():
    """Also one with finitely many values, which a move enumerates by its `choose`."""
    above, inner = Above(Gamma(2.0, 3.0), 0.5), Gamma(2.0, 3.0)
    assert above.mean == inner.mean + 0.5
    assert above.log_density(1.25) == inner.log_density(0.75)
    assert above.log_density(0.5) == -math.inf
    assert (
        above.draw(RandomStream((1, 2)), 3).tolist() == (0.5 + inner.draw(RandomStream((1, 2)), 3)).tolist()
    )

    class Two:
        mean, support = 1.5, (0.0, 3.0)

        def log_density(self, x):
            return math.log(0.5) if x in (1.0, 2.0) else -math.inf

        def draw(self, generator, size=None):
            return generator.choice([1.0, 2.0], size=size)

        def choose(self, source):
            return [1.0, 2.0][source.index(2)]

    assert {draw_from(Above(Two(), 0.5), RandomStream((seed, 2))) for seed in range(20)} == {1.5, 2.5}
