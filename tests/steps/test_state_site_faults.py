"""Planted faults of compiled table Gibbs over states, each caught by the exact-kernel test."""

import pytest
from bugs import STATE_FAULTS
from bugs.planting import planted_fault
from fused_cases import checks_of
from state_homes_checks import StateHomesModel, sticky_franchise

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import HdpkitError
from hdpkit.testing.exact import check_exact

CASES = ([[0, None], [2]], [[0, 1, 1], [0]])


def check_sites():
    """The smallest case first: many faults show there."""
    for arrays in CASES:
        data = hk.Sequences.from_arrays(arrays, n_terms=3)
        measure = hk.DirichletMultinomial(0.5, n_terms=3)
        options = {"measure": measure, "kernel": "fused", "begin": 5.0, "store": "counts"}
        franchise = sticky_franchise(hk.FixedWeights(3), 1.2, data, **options)
        check_exact(StateHomesModel(franchise), moves.TableGibbs())


CHECKS = checks_of(globals())


@pytest.mark.parametrize("name", CHECKS)
def test_check_passes_without_a_fault(name):
    CHECKS[name]()


@pytest.mark.parametrize("fault", STATE_FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_caught(fault):
    with planted_fault(fault), pytest.raises((AssertionError, HdpkitError)):
        CHECKS[fault.caught_by]()
