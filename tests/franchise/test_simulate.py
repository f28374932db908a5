"""Data that `Franchise.simulate` draws: laws by cell and for given dishes; the same draws in place."""

import collections
import itertools

import numpy as np
import pytest
import scipy.stats
from parameter_cases import normal_means

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import StateError
from hdpkit.posterior.simulate import simulate_in_place
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.geweke import apply_moves
from hdpkit.testing.machines import same

COUNTS = np.array([[2, 1, 0], [1, 0, 3], [0, 2, 1], [4, 1, 0]])
GROUPS = {"type": ["a", "a", "b", "b"]}
DRAWS = 600


def declare(levels, concentration=0.8):
    above = hk.Restaurant(base=hk.DirichletMultinomial(0.4), concentration=concentration, name="root")
    if levels == 3:
        above = hk.Restaurant(base=above, concentration=1.5, each="type")
    return hk.Restaurant(base=above, concentration=0.9, each="document")


def franchise(levels, root, kernel, concentration=0.8):
    corpus = hk.Corpus.from_counts(COUNTS, groups=GROUPS)
    made = hk.Franchise(declare(levels, concentration), corpus, store="counts", root=root, kernel=kernel)
    gibbs = moves.TableGibbs() if kernel == "generic" else moves.CountGibbs()
    hk.Scheduler([gibbs]).run(made, 3, rng=0, init="one")
    assert made.population.single is (kernel == "generic")
    return made


def facts(state):
    tables = [state.seating.customers(0, slot) for slot in state.slots.occupied_slots().tolist()]
    counts = np.asarray(state.data.to_counts().toarray())
    return {
        "dishes": state.n_dishes,
        "tables": state.n_tables,
        "largest": max(tables),
        "cells": np.count_nonzero(counts),
        "pairs": int(np.sum(counts * (counts - 1))) // 4,
    }


@pytest.mark.parametrize(
    ("levels", "root"),
    [(3, "weights"), pytest.param(2, "weights", marks=pytest.mark.long), (2, hk.FixedWeights(3))],
)
def test_data_by_cell_have_the_law_of_data_by_customer(levels, root):
    columns = []
    for number, kernel in enumerate(("auto", "generic")):
        source, given = RandomStream((7, number)), franchise(levels, root, kernel)
        drawn = [given.simulate(source, keep="hyperparameters") for _ in range(DRAWS)]
        assert all(one.population.single is given.population.single for one in drawn[:3])
        columns.append([facts(one) for one in drawn])
    for name in columns[0][0]:
        counted = [collections.Counter(one[name] for one in column) for column in columns]
        keys = sorted(set(counted[0]) | set(counted[1]))
        table = np.array([[column[key] for key in keys] for column in counted])
        rare = table.sum(axis=0) < 20
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] > 1:
            assert scipy.stats.chi2_contingency(table).pvalue > 1e-4, name


MEASURES = {
    "topics": (hk.DirichletMultinomial(0.5, n_terms=3), {}),
    "sparse": (hk.SparseDirichletMultinomial(0.5, selection=0.6, n_terms=3), {}),
    "bits": (hk.BetaBernoulli(0.5, 0.7), {"bits": True}),
}


@pytest.mark.parametrize("case", ["topics", "sparse", pytest.param("bits", marks=pytest.mark.long)])
def test_values_drawn_again_have_the_law_of_new_values_of_the_dishes(case):
    measure, options = MEASURES[case]
    if options:
        data = hk.Groups.from_arrays([np.array([0, 1, 1]), np.array([1])])
    else:
        data = hk.Corpus.from_documents([[0, 1, 1], [1]], n_terms=3)
    root = hk.Restaurant(base=measure, concentration=1.0)
    each = "group" if options else "document"
    state = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each=each), data)
    hk.Scheduler([moves.TableGibbs()]).run(state, 1, rng=0, init=[0, 0, 1, 0])
    dishes = state.dishes.tolist()
    slots = state.slots.occupied_slots()
    values = range(2 if options else 3)
    law = {}
    for new in itertools.product(values, repeat=4):
        there, logs = {slot: state.measure.make() for slot in slots.tolist()}, 0.0
        for slot, value in zip(state.seating.dishes().tolist(), state.data.values.tolist(), strict=True):
            state.measure.add(there[slot], value)
        for slot, value in zip(state.seating.dishes().tolist(), new, strict=True):
            logs += float(state.measure.log_predictive(value, [there[slot]])[0])
            state.measure.add(there[slot], value)
        law[new] = np.exp(logs)
    assert sum(law.values()) == pytest.approx(1.0)
    source, n = RandomStream((1, 2)), 3000
    drawn = collections.Counter(
        tuple(int(v) for v in state.simulate(source, keep="dishes").data.values) for _ in range(n)
    )
    expected = np.array([n * law[new] for new in law])
    found = np.array([drawn[new] for new in law], dtype=float)
    rare = expected < 5
    expected, found = (np.append(one[~rare], one[rare].sum()) for one in (expected, found))
    kept = expected > 0
    assert scipy.stats.chisquare(found[kept], expected[kept]).pvalue > 1e-4
    made = state.simulate(5, keep="dishes")
    assert made.dishes.tolist() == dishes
    assert state.data.values.tolist() == data.values.tolist()
    made.audit()
    again = simulate_in_place(state.copy(), RandomStream((3, 3)), keep="dishes")
    other = state.simulate(RandomStream((3, 3)), keep="dishes")
    assert np.asarray(again.data.values).tolist() == np.asarray(other.data.values).tolist()


def test_data_by_cell_are_complete_states():
    given = franchise(3, "weights", "auto", hk.Gamma(1.0, 1.0))
    schedule = hk.Scheduler([moves.CountGibbs(), moves.RootWeights(), moves.Concentration()])
    for keep in (None, "hyperparameters", "seating", "dishes"):
        made = given.simulate(3, keep=keep)
        made.audit()
        again = given.simulate(3, keep=keep)
        assert np.array_equal(made.data.to_counts().toarray(), again.data.to_counts().toarray())
        assert np.array_equal(made.data.document_lengths, given.data.document_lengths)
        same = np.array_equal(made.concentration("root"), given.concentration("root"))
        assert same is (keep is not None)
        schedule.run(made, 3, rng=0, init=None)
        made.audit()
    given.hold([0])
    with pytest.raises(StateError, match="held"):
        given.simulate(3, keep="hyperparameters")


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
