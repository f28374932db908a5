"""Moves written on proposals have exact kernels, and the harness finds mistakes in them."""

import numpy as np
import pytest
from proposal_checks import AdoptByProposal, SitWith
from split_merge_by_proposals import SplitMergeByProposal

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.testing import check_move
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel, step_matrices

MEASURE = DirichletMultinomial(0.5, n_terms=3)


@pytest.mark.parametrize("move", [AdoptByProposal(), SitWith()], ids=repr)
def test_metropolis_moves_by_proposals_are_exact(move):
    shapes = ["2+1", "2+1 with one at the root", "three levels of three"]
    assert len(check_move(move, shapes=shapes, corners=["discounts"], reversible=True)) > 20


@pytest.mark.parametrize("measure", [hk.NormalGamma(), hk.GammaPoisson()], ids=repr)
def test_statistics_that_are_rounded_give_exact_kernels(measure):
    check_move(AdoptByProposal(), measure=measure, shapes=["2+2"], corners=["middle"], reversible=True)


class NoHastings(AdoptByProposal):
    """A planted error: the proposals are taken to be symmetric."""

    def log_hastings(self, m_from, m_to):
        return 0.0


class NoData(AdoptByProposal):
    """A planted error: the ratio of the seating alone."""

    def apply(self, state, rng, steps=None):
        self.before = state.log_likelihood()
        return super().apply(state, rng, steps)

    def log_ratio(self, state, p):
        return p.log_ratio - (state.log_likelihood() - self.before)


class DataTwice(NoData):
    """A planted error: the likelihood ratio is added to a ratio that has it."""

    def log_ratio(self, state, p):
        return p.log_ratio + (state.log_likelihood() - self.before)


class Inverted(SitWith):
    """A planted error: the ratio of the proposals upside down."""

    def log_hastings(self, before, after):
        return -super().log_hastings(before, after)


class NeverBack(AdoptByProposal):
    """A planted error: a proposal that is rejected is kept."""

    def apply(self, state, rng, steps=None):
        info = super().apply(state, rng, steps)
        if info == moves.MoveInfo(1, 0) and state.n_dishes > 1:
            with state.labelled_seating(rng), state.proposal() as p:
                units = state.units(1, with_customers=True)
                p.move_units(units, [0], state.unit_dishes(units)[-1])
                p.accept()
        return info


@pytest.mark.parametrize("wrong", [NoHastings, NoData, DataTwice, Inverted, NeverBack])
def test_the_harness_finds_planted_errors(wrong):
    with pytest.raises(ExactFailure):
        check_move(wrong(), shapes=["2+2", "flat 4"], corners=["middle"])


@pytest.mark.parametrize("root", ["restaurant", FixedWeights(3)], ids=str)
@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference"])
@pytest.mark.parametrize("shape", ["flat 4", "2+2", "2+1 with one at the root", "three levels"])
def test_split_merge_by_proposals_has_the_kernel_of_the_package(shape, store, root):
    if store == "explicit-reference" and shape == "flat 4":
        shape = "2+1"
    model = ExactModel(tiny_franchise(shape, MEASURE, store=store, corner="discounts", root=root)) if (
        root == "restaurant"
    ) else ExactModel(tiny_franchise(shape, MEASURE, store=store, root=root))  # fmt: skip
    (ours,), (theirs,) = (step_matrices(model, move) for move in (SplitMergeByProposal(), moves.SplitMerge()))
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert np.abs(ours - np.eye(len(ours))).max() > 0.01  # it moves


def test_split_merge_by_proposals_is_exact_in_every_model_that_it_serves():
    lines = check_move(SplitMergeByProposal(), shapes=["2+1"], corners=["discounts"], reversible=True)
    for model in ("fixed weights", "weights", "known", "held"):
        assert any(model in line for line in lines)
