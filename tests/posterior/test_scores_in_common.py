"""The log joint for comparisons of schedules: the same number for stores of counts, sizes and seats."""

import math

import numpy as np
import pytest
from hdpkit.stores._stirling import logs_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.scores import log_joint_of_counts

CORPUS = hk.Corpus.from_documents([[0, 0, 1, 3, 3, 3], [1, 2, 2, 2], [2, 2, 0, 1, 1]], n_terms=4)


def set_partitions(things):
    """All partitions of a list into blocks."""
    if not things:
        yield []
        return
    for rest in set_partitions(things[1:]):
        yield [[things[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [things[0], *rest[i]], *rest[i + 1 :]]


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.9])
def test_stirling_numbers_are_sums_over_partitions(discount):
    for n in range(1, 7):
        sums = dict.fromkeys(range(1, n + 1), 0.0)
        for partition in set_partitions(list(range(n))):
            weight = math.prod(math.prod(i - discount for i in range(1, len(block))) for block in partition)
            sums[len(partition)] += weight
        ts = np.arange(1, n + 1)
        logs = logs_of(np.full(n, n), ts, discount)
        assert logs == pytest.approx([math.log(sums[t]) for t in ts])


@pytest.mark.parametrize("discounts", [(0.0, 0.0), (0.4, 0.0), (0.2, 0.6)])
def test_the_score_sums_over_the_seatings_that_have_the_counts(discounts):
    prior = hk.Gamma(1.0, 1.0)
    root = hk.Restaurant(
        hk.DirichletMultinomial(hk.Gamma(2.0, 2.0)), discount=discounts[0], concentration=prior
    )
    documents = hk.Restaurant(root, discount=discounts[1], concentration=0.7, each="document")
    franchise = hk.Franchise(documents, CORPUS)
    schedule = [moves.TableGibbs(), moves.Concentration(), moves.BaseMeasureParameters()]
    hk.Scheduler(schedule).run(franchise, sweeps=5, rng=3)
    theta, d = franchise.hyperparameters.concentration, franchise.hyperparameters.discount
    total = franchise.log_likelihood() + franchise.log_prior()
    names = [("root", None), *(("document", j) for j in range(3))]
    for node, (name, key) in enumerate(names):
        view = (
            franchise.restaurant(franchise.declarations[0].name)
            if key is None
            else franchise.restaurant(name, key)
        )
        n, t = view.n_customers, view.n_tables
        total += sum(math.log(theta[node] + i * d[node]) for i in range(1, t))
        total -= sum(math.log(theta[node] + i) for i in range(1, n))
        for dish in view.dishes.tolist():
            k, m = view.customers_of(dish), view.tables_of(dish)
            ways = [p for p in set_partitions(list(range(k))) if len(p) == m]
            total += math.log(
                sum(math.prod(math.prod(i - d[node] for i in range(1, len(b))) for b in p) for p in ways)
            )
    assert log_joint_of_counts(franchise) == pytest.approx(total)
