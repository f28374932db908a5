"""The fused steps of whole tables: the generic kernel's law at every table, and decisions of production."""

import itertools

import numpy as np
import pytest
from block_cases import (
    STORES,
    Watched,
    check_units,
    side_by_side,
    state_number,
    twin_of,
)
from choice_sources import AskedSource
from fused_cases import many_dishes, p_of

from hdpkit import moves
from hdpkit.random import RandomStream
from hdpkit.testing.machines import same
from hdpkit.testing.pvalues import SampledTests

NEW = -1
SEEDS = range(15)
AGREES = 1e-11  # seen: 3e-14


def test_units_that_were_kept_are_those_found_anew():
    check_units()


def agreement(move, store, seed, times):
    """The largest difference of a branch's probability, and the numbers of dishes, over some applications."""
    franchise = state_number(seed, store)
    twin, generator = twin_of(franchise), np.random.default_rng(seed)
    for step in ("resample_dish", "scan_units"):
        assert (franchise.kernel(step), twin.kernel(step)) == ("fused", "generic")
    differences, dishes = [], [franchise.n_dishes]
    for _ in range(times):
        differences.append(side_by_side(move, franchise, twin, generator))
        dishes.append(franchise.n_dishes)
    franchise.audit()
    twin.audit()
    return max(differences), dishes


@pytest.mark.parametrize("store", STORES)
def test_dish_gibbs_has_the_generic_law_at_every_table(store):
    histories = []
    for seed in SEEDS:
        difference, dishes = agreement(moves.DishGibbs(), store, seed, 3)
        assert difference <= AGREES, seed
        histories.append(np.diff(dishes))
    assert np.min(np.concatenate(histories)) < 0 < np.max(np.concatenate(histories))


@pytest.mark.parametrize("store", [*STORES, "counts"])
def test_dish_gibbs_under_weights_has_the_generic_law_at_every_table(store):
    histories = []
    for seed in SEEDS:
        franchise, generator = state_number(seed, store, "weights"), np.random.default_rng(seed)
        twin = twin_of(franchise)
        assert (franchise.kernel("resample_dish"), twin.kernel("resample_dish")) == ("fused", "generic")
        dishes = [franchise.n_dishes]
        for _ in range(3):
            assert side_by_side(moves.DishGibbs(), franchise, twin, generator) <= AGREES, seed
            dishes.append(franchise.n_dishes)
        franchise.audit()
        histories.append(np.diff(dishes))
    assert np.min(np.concatenate(histories)) < 0 < np.max(np.concatenate(histories))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("scans", [None, 0, 2])
def test_split_merge_has_the_generic_proposals(scans, store):
    histories = []
    for seed in SEEDS:
        difference, dishes = agreement(Watched(scans=scans), store, seed, 8)
        assert difference <= AGREES, seed
        histories.append(np.diff(dishes))
    assert {-1, 0, 1} == set(np.concatenate(histories).tolist())


@pytest.mark.parametrize("seed", [1, 3, 4, 9])
def test_dish_gibbs_in_pieces_is_the_sweep(seed):
    whole = state_number(seed, "explicit")
    pieces, generator = whole.copy(), np.random.default_rng(seed)
    sources = [RandomStream((6, seed)) for _ in range(2)]
    n = whole.topology.n_customers
    for _ in range(3):
        moves.DishGibbs().apply(whole, sources[0])
        cuts = [0, *sorted(generator.choice(np.arange(1, n), size=n // 3, replace=False).tolist()), n]
        for first, last in itertools.pairwise(cuts):
            moves.DishGibbs().apply(pieces, sources[1], (first, last))
        assert same(whole.freeze(), pieces.freeze())
    whole.audit()


SITES = {"any table": 1, "a table of several customers": 3}
# Held against the law of planted faults (tokens for tables, term counted twice, ...) 20 of 20 runs failed.
DRAWS = 20_000
FAMILY = SampledTests()
for name_ in SITES:
    FAMILY.register(name_)


def law_at(franchise, unit):
    """Probability of each dish, by slot, and of a new one, for a table that others of its dish outlive."""
    asked = []

    def ask(weights):
        asked.append(weights / weights.sum())
        return 0

    twin = franchise.copy()
    live = [*twin.slots.occupied_slots().tolist(), NEW]
    twin.resample_dish(twin.units(1), unit, unit + 1, AskedSource(ask))
    return dict(zip(live, asked[0].tolist(), strict=True))


def uncertain(franchise, size):
    """The table of this size or larger whose dish is least certain."""
    units = franchise.units(1)
    dishes = franchise.unit_dishes(units)
    these = [
        u
        for u, dish in enumerate(dishes)
        if franchise.store.customers(0, dish) > 1 and len(units.customers(u)) >= size
    ]
    return min(these, key=lambda u: max(law_at(franchise, u).values()))


def drawn(franchise, unit, draws, seed):
    """How often production takes each dish: independent draws, for a table's own dish is no matter."""
    units, store, counts = franchise.units(1), franchise.store, {}
    first, source = int(units.firsts[unit]), RandomStream()
    for draw in range(draws):
        source.rekey(seed, unit, 0, draw, 0)
        franchise.resample_dish(units, unit, unit + 1, source)
        dish = int(store.dish_of(first))
        code = dish if store.customers(0, dish) > 1 else NEW
        counts[code] = counts.get(code, 0) + 1
    return counts


@pytest.mark.parametrize("name", SITES)
def test_one_step_of_production(name):
    franchise = many_dishes("explicit")
    assert franchise.n_dishes > 48  # several lines of slots
    unit = uncertain(franchise, SITES[name])
    law = law_at(franchise, unit)
    assert max(law.values()) < 0.7
    FAMILY.check(name, lambda more, seed: [p_of(drawn(franchise, unit, more * DRAWS, seed), law)])
