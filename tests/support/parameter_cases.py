"""Base measures whose parameters have priors: one for every parameter that may have one."""

import math
from typing import Any

import attrs
import numpy as np
from hdpkit.numerics import log

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomialReference


@attrs.frozen(eq=False)
class Grid(hk.Finite):
    """A `Finite` prior of positive numbers that can be declared: hk.Each(Grid([0.2, 1.5]))."""

    @property
    def mean(self) -> float:
        """Expectation."""
        weights = np.asarray(self.weights, dtype=float)
        return float(np.dot(weights, self.values) / weights.sum())

    def log_density(self, x: float) -> float:
        """Log probability of a value."""
        if x not in self.values:
            return -math.inf
        return log(self.weights[list(self.values).index(x)]) - log(math.fsum(self.weights))

    def draw(self, generator: np.random.Generator, size: Any = None) -> Any:
        """Draw one value, or an array of them."""
        weights = np.asarray(self.weights, dtype=float)
        return generator.choice(np.asarray(self.values), size=size, p=weights / weights.sum())


MEASURES = {
    "dirichlet-multinomial": hk.DirichletMultinomial(hk.Gamma(2.0, 2.0), n_terms=3),
    "dirichlet-multinomial-reference": DirichletMultinomialReference(hk.Gamma(2.0, 2.0), n_terms=3),
    "sparse-dirichlet-multinomial": hk.SparseDirichletMultinomial(
        hk.Gamma(2.0, 2.0), hk.Beta(hk.Gamma(3.0, 2.0), hk.Gamma(3.0, 2.0)), n_terms=3
    ),
    "stored selections": hk.SparseDirichletMultinomial(
        hk.Gamma(2.0, 2.0), hk.Beta(hk.Gamma(3.0, 2.0), 1.0), "stored", n_terms=3
    ),
    "normal-gamma": hk.NormalGamma(
        hk.Normal(0.3, 1.0), hk.Gamma(3.0, 3.0), shape=hk.Gamma(8.0, 2.0), rate=hk.Gamma(3.0, 3.0)
    ),
    "normal-inverse-wishart": hk.NormalInverseWishart(
        [0.0, 0.5], hk.Gamma(3.0, 6.0), hk.Gamma(20.0, 2.0), [[2.0, 0.3], [0.3, 1.0]], hk.Gamma(3.0, 3.0)
    ),
    "normal-gamma, multiplier": hk.NormalGamma(
        [0.3, -0.5], 0.7, shape=[4.0, 5.0], rate=[3.0, 6.0], multiplier=hk.Above(hk.Gamma(3.0, 4.0), 0.25)
    ),
    "von-mises-fisher": hk.VonMisesFisher(hk.Gamma(4.0, 1.0), [0.6, 0.8], 1.5),
    "gamma-poisson": hk.GammaPoisson(hk.Gamma(3.0, 2.0), hk.Gamma(3.0, 3.0)),
    "beta-bernoulli": hk.BetaBernoulli(hk.Gamma(3.0, 3.0), hk.Gamma(3.0, 2.0)),
}


def log_normal(value, mean):
    """Log density of a normal observation with standard deviation 0.8."""
    return -0.5 * ((value - mean) / 0.8) ** 2 - math.log(0.8 * math.sqrt(2 * math.pi))


def draw_mean(generator):
    """Draw from the standard normal prior of a mean."""
    return float(generator.normal())


def log_prior_of_mean(mean):
    """Its log density, up to a constant."""
    return -0.5 * mean**2


def posterior_draw(mean, values, generator):
    """Draw a mean from its conditional, exactly."""
    precision = 1.0 + len(values) / 0.64
    return float(generator.normal(sum(values) / 0.64 / precision, precision**-0.5))


def draw_value(mean, generator):
    """Draw an observation."""
    return float(generator.normal(mean, 0.8))


def normal_means(**options):
    """Unknown means, as if the prior were not conjugate."""
    examples = (0.3, 0.1, -1.2, 2.0, 0.4)
    return hk.NonConjugate(log_normal, draw_mean, simulate_value=draw_value, examples=examples, **options)


NON_CONJUGATE = {
    "by proposals from the prior": normal_means(auxiliary=1),
    "by slices": normal_means(log_prior=log_prior_of_mean),
    "by an update of one's own": normal_means(update=posterior_draw),
}
