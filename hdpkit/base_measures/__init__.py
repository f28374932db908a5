"""Base measures: priors over dishes with their likelihoods."""

from hdpkit.base_measures.atomic import AtomicMeasure, Categorical, Uniform
from hdpkit.base_measures.bank import StatisticsBank
from hdpkit.base_measures.beta_bernoulli import BetaBernoulli
from hdpkit.base_measures.bursty import Bursty
from hdpkit.base_measures.by_restaurant import ByRestaurant, Placed
from hdpkit.base_measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.base_measures.gamma_poisson import GammaPoisson
from hdpkit.base_measures.non_conjugate import Finite, NonConjugate
from hdpkit.base_measures.normal_gamma import NormalGamma
from hdpkit.base_measures.normal_inverse_wishart import NormalInverseWishart
from hdpkit.base_measures.protocol import BaseMeasure, Resampled, base_measures, check_arguments, parameter
from hdpkit.base_measures.reference.beta_bernoulli import BetaBernoulliReference
from hdpkit.base_measures.reference.dirichlet_multinomial import DirichletMultinomialReference
from hdpkit.base_measures.reference.gamma_poisson import GammaPoissonReference
from hdpkit.base_measures.reference.normal_gamma import NormalGammaReference
from hdpkit.base_measures.reference.normal_inverse_wishart import NormalInverseWishartReference
from hdpkit.base_measures.reference.sparse_dirichlet_multinomial import SparseDirichletMultinomialReference
from hdpkit.base_measures.reference.von_mises_fisher import VonMisesFisherReference
from hdpkit.base_measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.base_measures.von_mises_fisher import VonMisesFisher

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
    "StatisticsBank",
    "Uniform",
    "VonMisesFisher",
    "VonMisesFisherReference",
    "base_measures",
    "parameter",
]

check_arguments(BaseMeasure)
