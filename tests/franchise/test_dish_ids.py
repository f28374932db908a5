"""Permanent ids of dishes: assigned at births, and kept when dishes are renumbered."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves


class Ledger(hk.Part):
    """Numbers births by itself, from what parts are told."""

    def __init__(self):
        self.of_slot, self.births = {}, 0

    def born(self, slot):
        self.of_slot[slot], self.births = self.births, self.births + 1

    def died(self, slot):
        del self.of_slot[slot]

    def relabelled(self, mapping):
        self.of_slot = {int(mapping[slot]): one for slot, one in self.of_slot.items()}

    def ids(self):
        return [self.of_slot[slot] for slot in sorted(self.of_slot)]


TABLES = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge().repeat(5), moves.SplitMerge(scans=1)]
CASES = {
    "fused": (TABLES, {"kernel": "fused"}),
    "generic, explicit": (TABLES, {"kernel": "generic", "store": "explicit"}),
    "reference": (TABLES, {"kernel": "reference"}),
    "groups": ([moves.TableGibbs(), moves.ReseatGroups()], {}),
    "groups, reference": ([moves.TableGibbs(), moves.ReseatGroups()], {"kernel": "reference"}),
    "counts": ([moves.TableGibbs(), moves.DishGibbs()], {"store": "counts"}),
    "counts, weights": ([moves.TableGibbs(), moves.RootWeights()], {"store": "counts", "root": "weights"}),
    "slices": ([moves.SliceGibbs(), moves.RootWeights()], {"store": "counts", "root": "weights"}),
    "cells": ([moves.CountGibbs(), moves.RootWeights()], {"store": "counts", "root": "weights"}),
}


def corpus(seed=0, documents=12, terms=8):
    counts = np.random.default_rng(seed).poisson(0.8, size=(documents, terms))
    counts[:, 0] += 1
    return hk.Corpus.from_counts(counts)


def franchise(seed=0, measure=None, **options):
    base = hk.DirichletMultinomial(0.3) if measure is None else measure
    root = hk.Restaurant(base=base, concentration=3.0)
    return hk.Franchise(hk.Restaurant(base=root, concentration=2.0, each="document"), corpus(seed), **options)


def run(state, schedule, sweeps, rng=0, init="sequential", **options):
    return hk.Scheduler(schedule).run(state, sweeps, rng=rng, init=init, **options)


@pytest.mark.parametrize("case", CASES)
def test_ids_number_the_births_of_the_chain(case):
    schedule, options = CASES[case]
    state, ledger, seen, there = franchise(**options), Ledger(), set(), []
    if case != "cells":  # what is told to parts in Python would be told customer by customer
        state.register("ledger", ledger)

    def look(draw):
        ids = state.dish_ids.tolist()
        assert len(ids) == state.n_dishes == len(set(ids))
        if case != "cells":
            assert ids == ledger.ids()
        if there:
            assert not (set(ids) - set(there)) & seen, "an id is given twice"
        seen.update(ids)
        there[:] = ids

    run(state, schedule, 30, callbacks=[look])
    assert len(seen) > state.n_dishes  # some were born and died
    assert state.dish_ids.dtype == np.int64
    state.audit()


def test_a_split_gives_one_new_id_and_a_merge_gives_none():
    """The side of the first unit keeps the dish; after a merge its dish is the one that lives."""
    state = franchise(1)
    run(state, [moves.TableGibbs()], 10)
    splits = merges = 0
    for _ in range(300):
        before, births = set(state.dish_ids.tolist()), state.freeze()["births"]
        trace = run(state, [moves.SplitMerge()], 1, rng=None, init=None)
        after = set(state.dish_ids.tolist())
        if not trace.moves["accepted"].sum():
            assert after == before
        elif after > before:
            splits += 1
            assert after - before == {births}
        else:
            merges += 1
            assert len(before - after) == 1
            assert after < before
    assert splits > 3
    assert merges > 3
