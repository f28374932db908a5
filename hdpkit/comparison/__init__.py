"""Chains compared: of several schedules, and over data and copies of them drawn from the model."""

from hdpkit.comparison.candidates import Candidate
from hdpkit.comparison.compare import compare_schedules
from hdpkit.comparison.convergence import ConvergenceRule
from hdpkit.comparison.mixing import CheckedChains, MixingCheck, check_mixing
from hdpkit.comparison.predictive import StatisticCheck
from hdpkit.comparison.result import Comparison, ScheduleResult

__all__ = [
    "Candidate",
    "CheckedChains",
    "Comparison",
    "ConvergenceRule",
    "MixingCheck",
    "ScheduleResult",
    "StatisticCheck",
    "check_mixing",
    "compare_schedules",
]
