"""Draws from the model in place are those of `Franchise.simulate`, number by number."""

import numpy as np
import pytest
from parameter_cases import normal_means

import hdpkit as hk
from hdpkit import moves
from hdpkit.posterior.simulate import simulate_in_place
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.geweke import apply_moves
from hdpkit.testing.machines import same

PRIOR = hk.Gamma(2.0, 1.0)
WORDS = hk.DirichletMultinomial(hk.Gamma(1.0, 1.0), n_terms=3)
STORED = hk.SparseDirichletMultinomial(0.5, proportions="stored", n_terms=3)
GIBBS = [moves.TableGibbs(), moves.Concentration()]
CASES = {
    "terms": (WORDS, {}, [*GIBBS, moves.BaseMeasureParameters()]),
    "weights": (WORDS, {"root": "weights", "store": "explicit"}, [*GIBBS, moves.RootWeights()]),
    "documents": (WORDS, {"root": "weights", "store": "counts"}, [moves.SliceGibbs(), *GIBBS]),
    "cells": (WORDS, {"root": "weights", "store": "counts"}, [moves.CountGibbs(), *GIBBS]),
    "parts": (STORED, {"store": "explicit"}, [*GIBBS, moves.Selectors()]),
    "parameters": (normal_means(), {"values": [0.1, 0.2, 1.5, -1.0]}, [*GIBBS, moves.DishParameters()]),
    "observed": (hk.Uniform(3), {"values": [0, 1, 1, 2]}, GIBBS),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_draws_as_those_of_new_franchises(case):
    measure, options, schedule = CASES[case]
    given = tiny_franchise("2+2", measure, concentration=(PRIOR, PRIOR), **options)
    sources = [RandomStream((8, 8)) for _ in range(2)]
    state = given.copy()
    for _ in range(3):
        new, state = given.simulate(sources[0]), simulate_in_place(state, sources[1])
        for sweep in range(1, 4):
            for one, source in ((new, sources[0]), (state, sources[1])):
                apply_moves(one, schedule, source, sweep)
                one.audit()
            new = new.simulate(sources[0], keep="seating")
            state = simulate_in_place(state, sources[1], keep="seating")
            assert np.array_equal(np.asarray(new.data.values), np.asarray(state.data.values))
            frozen = [one.freeze() for one in (new, state)]
            for name in ("seating", "concentration", "measure", "bank", "components"):
                assert same(frozen[0][name], frozen[1][name]), name
