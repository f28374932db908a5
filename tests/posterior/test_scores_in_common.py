"""The log joint for comparisons of schedules: the same number for stores of counts, sizes and seats."""

import math

import numpy as np
import pytest
from hdpkit.stores._stirling import logs_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.scores import dish_sizes, log_joint_of_counts
from hdpkit.random import Streams

CORPUS = hk.Corpus.from_documents([[0, 0, 1, 3, 3, 3], [1, 2, 2, 2], [2, 2, 0, 1, 1]], n_terms=4)


def restaurants(discounts=(0.0, 0.0)):
    root = hk.Restaurant(
        hk.DirichletMultinomial(hk.Gamma(2.0, 2.0)), discount=discounts[0], concentration=hk.Gamma(1.0, 1.0)
    )
    return hk.Restaurant(root, discount=discounts[1], concentration=0.7, each="document")


def ran(restaurant, store="histogram", root="restaurant", more=(), seed=3):
    franchise = hk.Franchise(restaurant, CORPUS, store=store, root=root)
    schedule = [moves.TableGibbs(), moves.Concentration(), moves.BaseMeasureParameters(), *more]
    hk.Scheduler(schedule).run(franchise, sweeps=5, rng=seed)
    return franchise


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


def test_the_score_is_that_of_a_store_of_counts():
    franchise = ran(restaurants())
    twin = hk.Franchise(restaurants(), CORPUS, store="counts", root="weights")
    twin.thaw(franchise.freeze(), Streams(0).source(1))
    assert log_joint_of_counts(twin) == pytest.approx(
        twin.log_seating() + twin.log_likelihood() + twin.log_prior()
    )
    assert log_joint_of_counts(franchise) == pytest.approx(log_joint_of_counts(twin))


def test_the_score_with_fixed_weights_of_the_root():
    restaurant = hk.Restaurant(
        hk.Restaurant(hk.DirichletMultinomial(0.5)), concentration=0.7, each="document"
    )
    one = hk.Franchise(restaurant, CORPUS, root=hk.FixedWeights(4))
    hk.Scheduler([moves.TableGibbs()]).run(one, sweeps=5, rng=1)
    twin = hk.Franchise(restaurant, CORPUS, root=hk.FixedWeights(4), store="counts")
    twin.thaw(one.freeze(), Streams(0).source(1))
    assert log_joint_of_counts(one) == pytest.approx(log_joint_of_counts(twin))
    assert log_joint_of_counts(twin) == pytest.approx(twin.log_joint())


@pytest.mark.parametrize("discounts", [(0.0, 0.0), (0.4, 0.0), (0.2, 0.6)])
def test_the_score_sums_over_the_seatings_that_have_the_counts(discounts):
    franchise = ran(restaurants(discounts))
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


def test_observed_dishes_have_the_log_joint_of_their_seating():
    words = hk.Groups.from_labels([0, 1, 1, 2, 0, 0], {"context": [0, 0, 1, 1, 2, 2]})
    root = hk.Restaurant(hk.Uniform(3), discount=0.5, concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, discount=0.5, concentration=1.0, each="context"), words)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=0)
    assert log_joint_of_counts(franchise) == pytest.approx(franchise.log_joint())
    assert sorted(dish_sizes(franchise).tolist()) == [1, 2, 3]


def test_three_levels_and_customers_at_inner_restaurants():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], groups={"farm": ["a", "a", "b"]})
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    farm = hk.Restaurant(root, concentration=1.0, each="farm")
    franchise = hk.Franchise(hk.Restaurant(farm, concentration=1.0, each="document"), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0)
    assert dish_sizes(franchise).tolist() == np.bincount(franchise.dishes).tolist()
    assert log_joint_of_counts(franchise) >= franchise.log_joint()


def test_an_empty_pair_list_has_no_logs():
    none = np.array([], dtype=np.int64)
    assert logs_of(none, none, 0.5).shape == (0,)
    assert logs_of(np.array([5, 1]), np.array([5, 1]), 0.2) == pytest.approx([0, 0])
