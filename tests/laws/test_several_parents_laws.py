"""Hyperparameters and weights of restaurants with several parents, by Geweke's test."""

import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.geweke import check_together


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
def test_hyperparameters_and_weights(each):
    gamma, beta = hk.Gamma(2.0, 1.0), hk.Beta(1.0, 2.0)
    below = (hk.Each(gamma), hk.Each(beta)) if each else (gamma, beta)
    cases = {
        store: tiny_franchise(
            "a grandparent on two ways", DirichletMultinomial(0.5, n_terms=3), store=store,
            concentration=(gamma, below[0]), discount=(beta, below[1]),
        )
        for store in ("explicit", "histogram")
    }  # fmt: skip
    schedule = [
        moves.TableGibbs(), moves.DishGibbs(), moves.Concentration(), moves.Discount("slice"),
        moves.ParentWeights(),
    ]  # fmt: skip
    assert len(check_together(cases, schedule, replicas=150, rounds=3, seed=11 + each)) == 2
