"""Planted faults of compiled code: each is caught by the check that it names."""

import block_faults
import bugs
import labelled_seatings
import new_groups
import observed_faults
import pytest
import state_faults
import test_fused_bursts
import topic_faults
from bugs.planting import planted_fault
from planted import checks_in

from hdpkit.errors import HdpkitError

SWEEPS = {
    "topics": (topic_faults, bugs.FAULTS),
    "blocks": (block_faults, bugs.BLOCK_FAULTS),
    "observed dishes": (observed_faults, bugs.OBSERVED_FAULTS),
    "states": (state_faults, bugs.STATE_FAULTS),
    "new groups": (new_groups, bugs.GROUP_FAULTS),
    "labelled seatings": (labelled_seatings, bugs.SEATING_FAULTS),
    "words that repeat": (test_fused_bursts, bugs.BURST_FAULTS),
}
CHECKS = {
    (of, name): check for of, (module, _) in SWEEPS.items() for name, check in checks_in(module).items()
}
FAULTS = [pytest.param(of, fault, id=fault.name) for of, (_, faults) in SWEEPS.items() for fault in faults]


@pytest.mark.parametrize(("of", "name"), CHECKS)
def test_check_passes_without_a_fault(of, name):
    CHECKS[of, name]()


@pytest.mark.parametrize(("of", "fault"), FAULTS)
def test_planted_fault_is_caught(of, fault):
    with planted_fault(fault), pytest.raises((AssertionError, HdpkitError, FloatingPointError)):
        CHECKS[of, fault.caught_by]()


def test_no_check_catches_nothing():
    assert {(of, fault.caught_by) for of, (_, faults) in SWEEPS.items() for fault in faults} == set(CHECKS)
