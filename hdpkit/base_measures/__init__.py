"""Base measures: priors over dishes with their likelihoods."""

from hdpkit.base_measures.bank import PythonBank, StatisticsBank
from hdpkit.base_measures.dirichlet_multinomial import DirichletMultinomial, DirichletMultinomialReference
from hdpkit.base_measures.non_conjugate import Finite, NonConjugate, NonConjugateBank
from hdpkit.base_measures.parameters import Resampled, parameter
from hdpkit.base_measures.protocol import BaseMeasure
from hdpkit.base_measures.registry import base_measures

__all__ = [
    "BaseMeasure",
    "DirichletMultinomial",
    "DirichletMultinomialReference",
    "Finite",
    "NonConjugate",
    "NonConjugateBank",
    "PythonBank",
    "Resampled",
    "StatisticsBank",
    "base_measures",
    "parameter",
]
