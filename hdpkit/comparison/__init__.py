"""Schedules compared: effective draws a second, convergence and time by move of several schedules."""

from hdpkit.comparison.candidates import Candidate
from hdpkit.comparison.compare import compare_schedules
from hdpkit.comparison.convergence import ConvergenceRule
from hdpkit.comparison.result import Comparison, ScheduleResult

__all__ = ["Candidate", "Comparison", "ConvergenceRule", "ScheduleResult", "compare_schedules"]
