"""Merging of similar components; exposures by group with intervals."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sp

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.sample import Level, Sample, TermMeans
from hdpkit.posterior.alignment import merged_sample
from hdpkit.summaries import components

V, GROUPS, ETA = 40, 6, 0.1
LAWS = np.random.default_rng(2).dirichlet(np.full(V, 0.1), size=4)


def planted(chain, sweep, topics, rng, noise=0):
    """A sample with a dish for each entry of ``topics``; a component may have several. Noise is a new one."""
    laws = [LAWS[t] for t in topics] + [rng.dirichlet(np.full(V, 0.1)) for _ in range(noise)]
    by_group = rng.integers(200, 600, size=(GROUPS, len(laws)))
    sizes = by_group.sum(axis=0)
    counts = np.array([rng.multinomial(n, law) for n, law in zip(sizes, laws, strict=True)])
    scale = 1.0 / (sizes + V * ETA)
    return Sample(
        chain=chain, sweep=sweep, ids=np.arange(len(laws)) + 10, sizes=sizes, counts=sp.csr_array(counts),
        root_weights=np.append(sizes, 1.0) / (sizes.sum() + 1.0), label="tumour", names=range(GROUPS),
        group_counts=sp.csr_array(by_group), term_means=TermMeans(smoothing=np.array(ETA), inside=scale,
        outside=scale),
    )  # fmt: skip


def extracted(samples, similar=0.1, apart=0, **options):
    """The components that enough chains have, after similar ones were merged."""
    found = components(samples, threshold=similar, similar=similar, apart=apart, min_occurrence=0.0)
    return found.selected(found.agreed(**options))


@pytest.fixture(scope="module")
def split():
    """Samples in which the first component has one, two or three dishes."""
    rng = np.random.default_rng(0)
    rows = ([0, 1, 2, 3], [0, 0, 1, 2, 3], [3, 0, 2, 1, 0, 0])
    return [planted(chain, sweep, rows[(chain + sweep) % 3], rng, noise=sweep == 3) for chain in range(2)
            for sweep in range(5)]  # fmt: skip


def test_merged_dishes_have_all_customers():
    sample = planted(0, 0, [0, 1, 0, 2], np.random.default_rng(1))
    merged = merged_sample(sample, np.array([7, 3, 7, 5]))
    assert merged.sizes.tolist() == [sample.sizes[1], sample.sizes[3], sample.sizes[0] + sample.sizes[2]]
    assert merged.ids[2] == sample.ids[0 if sample.sizes[0] >= sample.sizes[2] else 2]
    both = (sample.counts[[0]] + sample.counts[[2]]).toarray()[0]
    np.testing.assert_array_equal(merged.counts.toarray()[2], both)
    np.testing.assert_allclose(merged.topics()[2], (both + ETA) / (both.sum() + V * ETA), rtol=1e-12)
    np.testing.assert_allclose(merged.root_weights.sum(), sample.root_weights.sum())
    np.testing.assert_array_equal(merged.group_counts.sum(axis=1), sample.group_counts.sum(axis=1))
    assert merged_sample(sample, np.arange(4)) is sample


def test_exposures_are_shares_times_customers(split):
    """Of samples with the same groups; in few of many groups are most customers of one component."""
    samples = []
    for sample in split:
        level = Level(
            name="tumour", parent=np.zeros(GROUPS, dtype=int), counts=sample.group_counts, tables=None,
            concentration=np.array(1.0), discount=np.array(0.0),
        )  # fmt: skip
        samples.append(attrs.evolve(sample, levels=[level]))
    found = extracted(samples)
    assert found.exposures.shape == (GROUPS, 5)
    totals = split[0].group_counts.sum(axis=1)
    np.testing.assert_array_equal(found.group_totals, totals)
    np.testing.assert_allclose(found.exposures, found.group_shares * totals[:, None])
    np.testing.assert_allclose(found.exposures_upper, found.group_shares_upper * totals[:, None])
    each = []
    for sample in found.samples:
        labels = found.which(sample)
        dishes = [int(np.flatnonzero(labels == k)[0]) for k in range(4)]
        counts = sample.group_counts.toarray()
        each.append(counts[:, dishes] / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.group_shares[:, :4], np.mean(each, axis=0), atol=1e-3)
    assert found.present[:, :4].all()
    assert not found.present[:, 4].any()  # the rest is in two samples of ten
    rank = np.cumsum(-np.sort(-found.exposures[:, :4], axis=0), axis=0) / found.exposures[:, :4].sum(axis=0)
    assert found.most_in.tolist() == [1 + int(np.sum(column < 0.8)) for column in rank.T]
    assert not found.in_few.any()
    twice = found.of_run(found.data, (), 2 * np.asarray(totals))
    np.testing.assert_allclose(twice.exposures, 2 * found.group_shares * totals[:, None])


def test_known_components_are_never_merged_with_each_other():
    rng = np.random.default_rng(3)
    # Dishes 10 and 11 are both of the first component, and so is 13: with ids below 12 they are known.
    samples = [planted(0, sweep, [0, 0, 1, 0], rng) for sweep in range(4)]
    assert [sample.n_dishes for sample in extracted(samples).samples] == [2] * 4
    merged = extracted(samples, apart=12).samples
    assert [sorted(sample.ids.tolist()) for sample in merged] == [[10, 11, 12]] * 4
    found = extracted(samples, apart=12)
    assert len(found) == 3
    assert sorted(found.ids_by_sample[0].tolist()) == [10, 11, 12]


def test_rows_of_merged_states_are_one():
    rng = np.random.default_rng(0)
    values = rng.normal(np.repeat([0.0, 5.0, 0.0, 10.0], 30), 0.5)
    rule = hk.PreviousDish(sticky=2.0)
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.5))
    franchise = hk.Franchise(
        hk.Restaurant(root, each=rule), hk.Sequences.from_arrays([values]), store="counts", root="weights"
    )
    dishes = np.repeat([0, 1, 2, 3], 30)  # the first and the third are alike
    hk.Scheduler([moves.RootWeights()]).run(franchise, 1, rng=0, init=dishes)
    sample = franchise.sample()
    of = np.array([0, 1, 0, 2])
    merged = merged_sample(sample, of)
    assert merged.n_dishes == 3
    assert merged.names == ("start", 0, 1, 2)
    own = of[dishes]
    counted = np.zeros((4, 3), dtype=np.int64)
    counted[0, own[0]] = 1
    np.add.at(counted, (own[:-1] + 1, own[1:]), 1)
    np.testing.assert_array_equal(merged.levels[-1].counts.toarray(), counted)
    np.testing.assert_array_equal(merged.group_counts.toarray(), counted)
    rows = merged.transitions()
    assert rows.shape == (3, 4)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert merged.draw_transitions(0).shape == (4, 4)


def test_merged_topics_have_summed_counts(split):
    sample = split[0]
    labels = np.array([1, 0, 1, 0])
    merged = merged_sample(sample, labels)
    assert merged.n_dishes == 2
    np.testing.assert_array_equal(
        merged.counts.toarray(), [sample.counts.toarray()[labels == k].sum(axis=0) for k in (0, 1)]
    )
    aligned = hk.summaries.components(split, min_occurrence=0.0)
    to = np.full(len(aligned), -1)
    to[:4] = [5, 2, 5, 2]  # any labels
    fewer = aligned.merged(to)
    assert len(fewer) == 2
    sums = np.array([aligned.shares_by_sample[:, :4][:, to[:4] == k].sum(axis=1) for k in (2, 5)])
    order = np.argsort(-sums.mean(axis=1))
    np.testing.assert_allclose(fewer.shares_by_sample[:, :2].T, sums[order])
    both = fewer.group_shares[:, :2]
    pairs = [aligned.group_shares[:, :4][:, to[:4] == k].sum(axis=1) for k in (2, 5)]
    np.testing.assert_allclose(both.T, np.array(pairs)[order], rtol=1e-9)
    assert (fewer.rows_lower <= fewer.rows).all()
    assert fewer.spread.shape == (2,)
