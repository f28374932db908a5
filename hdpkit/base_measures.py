"""Base measures: priors over dishes with their likelihoods."""

from hdpkit.kinds.spelling import Spelling
from hdpkit.measures.atomic import AtomicMeasure, Categorical, Uniform
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.beta_bernoulli import BetaBernoulli, BetaBernoulliReference
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial, DirichletMultinomialReference
from hdpkit.measures.gamma_poisson import GammaPoisson, GammaPoissonReference
from hdpkit.measures.non_conjugate import Finite, NonConjugate
from hdpkit.measures.normal_gamma import NormalGamma, NormalGammaReference
from hdpkit.measures.normal_inverse_wishart import NormalInverseWishart, NormalInverseWishartReference
from hdpkit.measures.protocol import BaseMeasure, Resampled, base_measures, parameter
from hdpkit.measures.sparse_dirichlet_multinomial import (
    SparseDirichletMultinomial,
    SparseDirichletMultinomialReference,
)
from hdpkit.measures.von_mises_fisher import VonMisesFisher, VonMisesFisherReference

__all__ = [
    "AtomicMeasure",
    "BaseMeasure",
    "BetaBernoulli",
    "BetaBernoulliReference",
    "Bursty",
    "ByRestaurant",
    "Categorical",
    "DirichletMultinomial",
    "DirichletMultinomialReference",
    "Finite",
    "GammaPoisson",
    "GammaPoissonReference",
    "NonConjugate",
    "NormalGamma",
    "NormalGammaReference",
    "NormalInverseWishart",
    "NormalInverseWishartReference",
    "Placed",
    "Resampled",
    "SparseDirichletMultinomial",
    "SparseDirichletMultinomialReference",
    "Spelling",
    "StatisticsBank",
    "Uniform",
    "VonMisesFisher",
    "VonMisesFisherReference",
    "base_measures",
    "parameter",
]
