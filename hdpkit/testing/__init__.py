"""Checks that every move, store, base measure and part of the state must pass.

`check_move`, `check_base_measure`, `check_store` and `check_part` test your own classes. They raise an
AssertionError that names the step, the franchise and the error. They need the extra ``hdpkit[testing]``.
"""

from hdpkit.testing.cases import CORNERS, SHAPES, Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactFailure, ExactModel, check_exact, step_matrices
from hdpkit.testing.measure_contract import check_base_measure
from hdpkit.testing.move_contract import check_move, check_part
from hdpkit.testing.pvalues import SampledTests
from hdpkit.testing.store_contract import check_store

__all__ = [
    "CORNERS",
    "SHAPES",
    "Corner",
    "ExactFailure",
    "ExactModel",
    "SampledTests",
    "TinyShape",
    "check_base_measure",
    "check_exact",
    "check_move",
    "check_part",
    "check_store",
    "step_matrices",
    "tiny_franchise",
]
