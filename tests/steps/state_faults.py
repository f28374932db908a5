"""Checks of compiled steps over states, which planted faults name."""

import state_homes_checks
from state_homes_checks import StateHomesModel, sticky_franchise

import hdpkit as hk
from hdpkit import moves
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


def check_sequences():
    state_homes_checks.check_sequences()
