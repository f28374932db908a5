"""Co-clustering, and the partition of least expected loss."""

import attrs
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.posterior.partitions import expected_loss
from hdpkit.summaries import co_clustering, point_partition

RNG = np.random.default_rng(1)


def partitions(n):
    """Every partition of n items as labels."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, k] for one in found for k in range(max(one) + 2)]
    return np.array(found)


def entropy(*labels):
    _, counts = np.unique(np.stack(labels), axis=1, return_counts=True)
    p = counts / counts.sum()
    return -np.sum(p * np.log(p))


def loss_of(c, s, loss):
    if loss == "vi":
        return 2 * entropy(c, s) - entropy(c) - entropy(s)
    together = [np.equal.outer(one, one) for one in (c, s)]
    return np.mean(together[0] != together[1])


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_the_expected_loss_is_that_of_the_definition(loss):
    samples = RNG.integers(0, 4, (6, 9))
    partition = RNG.integers(0, 3, 9)
    expected = np.mean([loss_of(partition, s, loss) for s in samples])
    assert expected_loss(partition, samples, loss) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("n", [1, 2, 4, 6, 7])
def test_the_search_finds_the_best_of_all_partitions(loss, n):
    for seed in range(1 if n == 7 else 3):
        rng = np.random.default_rng(10 * n + seed)
        centre = rng.integers(0, 3, n)
        samples = np.where(rng.random((12, n)) < 0.6, centre, rng.integers(0, 4, (12, n)))
        every = partitions(n)
        losses = np.array([expected_loss(one, samples, loss) for one in every])
        found = point_partition(samples, loss, runs=4, attempts=3)
        assert found.expected_loss == pytest.approx(losses.min(), abs=1e-10)
        assert expected_loss(found.labels, samples, loss) == pytest.approx(found.expected_loss, abs=1e-12)
        limited = point_partition(samples, loss, max_clusters=2, runs=4, attempts=3)
        assert limited.expected_loss == pytest.approx(losses[every.max(axis=1) < 2].min(), abs=1e-10)


def test_co_clustering_counts_samples():
    samples = RNG.integers(0, 3, (7, 300))
    found = co_clustering(samples)
    assert found[3, 280] == np.mean(samples[:, 3] == samples[:, 280])
    assert np.array_equal(found, found.T)
    assert (np.diag(found) == 1.0).all()
    assert np.array_equal(co_clustering(samples, items=[5, 2]), found[np.ix_([5, 2], [5, 2])])


def test_of_a_flat_mixture_the_customers_are_partitioned(tmp_path):
    values = np.concatenate([RNG.normal(-8.0, 0.3, 12), RNG.normal(8.0, 0.3, 8)])
    flat = hk.Restaurant(hk.NormalGamma(0.0, 0.05, 2.0, 0.5), concentration=1.0)
    franchise = hk.Franchise(flat, hk.Groups.from_arrays([values]))
    record = {"dishes": lambda state: state.dishes}
    run = {"rng": 0, "samples": hk.Samples(after=10), "record": record, "folder": tmp_path / "run"}
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, 30, **run)
    dishes = trace["dishes"][10:]
    stored = hk.open_run(tmp_path / "run").samples
    for samples in (trace.samples, list(trace.samples), stored):
        assert np.array_equal(co_clustering(samples), co_clustering(dishes))
        found = point_partition(samples)
        assert np.array_equal(found.labels, point_partition(dishes).labels)
        assert found.sizes.tolist() == [12, 8]
    apart = lambda a, b: np.abs(a[:, None, 0] - b[None, :, 0])  # noqa: E731
    merged = hk.summaries.components(trace, threshold=100.0, similar=100.0, distance=apart)
    assert all(np.array_equal(one.dishes, np.zeros(20)) for one in merged.samples)
    without = [attrs.evolve(one, dishes=None) for one in trace.samples]
    with pytest.raises(errors.DataError, match="record"):
        point_partition(without)
