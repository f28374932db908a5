"""Separate smoothings for each dish of a sparse Dirichlet-multinomial: states, reports, errors."""

import math

import numpy as np
import pytest
from parameter_cases import Grid

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

GAMMA = hk.Gamma(2.0, 4.0)


@pytest.mark.parametrize("size", [2, 30])
def test_a_block_of_many_customers_under_one_dish(size):
    """By the marginals of the dish with the block and without, and of the auxiliary dishes."""
    corpus = hk.Corpus.from_documents([[0, 1, 2] * size, [3, 3, 0] * size], n_terms=30)
    root = hk.Restaurant(base=hk.SparseDirichletMultinomial(hk.Each(GAMMA)), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each="document"), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0, init="one")
    bank, measure = franchise.bank, franchise.measure
    block = np.arange(size, dtype=np.int32)
    bank.prepare(RandomStream((1, 2)))
    slots = franchise.slots.occupied_slots()
    row = np.asarray(bank.log_block(block, slots))
    values = franchise.data.values[block].tolist()
    begun = bank.statistics(slots, franchise.seating.dishes())
    assert row[:-1] == pytest.approx(measure.log_block(values, begun), rel=1e-11)
    source = RandomStream((1, 2))
    offered = [measure.begun(measure.draw(source)) for _ in range(measure.auxiliary)]
    mean = np.log(np.mean(np.exp(measure.log_block(values, offered))))
    assert row[-1] == pytest.approx(mean, rel=1e-11)


SELECTIONS = {
    "uniform": hk.Beta(1.0, 1.0),
    "few": hk.Beta(0.01, 50.0),
    "none or all": hk.Beta(1e-3, 1e-3),
    "many": hk.Beta(50.0, 0.02),
    "many, a tail": hk.Beta(10.0, 1.0),
    "a narrow law": hk.Beta(300.0, 1e5),
    "hardly any": hk.Beta(1e-6, 1e6),
    "fixed": 0.3,
    "fixed, tiny": 1e-6,
}


@pytest.mark.parametrize("n_terms", [3, 40, 100_000])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_nodes_serve_for_all_smoothings(monkeypatch, selection, n_terms):
    """Against sums that are computed for the one smoothing."""
    monkeypatch.setattr(hk.SparseDirichletMultinomial, "auxiliary", 1)
    sizes = [
        (n, a) for n in (1, 2, 3, 9, 33, 127, 129) for a in {1, 2, n // 2, n} if 1 <= a <= min(n, n_terms)
    ]
    data = hk.Corpus.from_documents([[i % a for i in range(n)] for n, a in sizes], n_terms=n_terms)
    firsts = np.cumsum([0, *(n for n, _ in sizes)])
    for smoothing in (1e-6, 1e-3, 0.9, 1e4, 1e6):
        prior = hk.Each(Grid([smoothing]))
        measure = hk.SparseDirichletMultinomial(prior, SELECTIONS[selection], n_terms=n_terms)
        bank = measure.bank(data)
        bank.prepare(RandomStream((1, 1)))
        for (n, a), first in zip(sizes, firsts.tolist(), strict=False):
            found = bank.log_block(np.arange(first, first + n, dtype=np.int32), np.empty(0, np.int32))[-1]
            counts = np.bincount(np.arange(n) % a)
            of_counts = sum(math.log(smoothing + i) for count in counts.tolist() for i in range(count))
            expected = measure.law(None, smoothing).log_sum(a, n) + of_counts
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
