"""Priors: densities against SciPy's, draws against their law, errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hdpkit.priors import Above, Beta, Gamma, draw_from
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
