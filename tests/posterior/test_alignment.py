"""Topics aligned over samples and chains, and merged: known topics are found, and intervals cover."""

import attrs
import numpy as np
import pytest
import scipy
from planted_topics import sample_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError, ReturnValueError, StateError
from hdpkit.posterior.alignment import merged_sample
from hdpkit.posterior.intervals import SPREAD
from hdpkit.summaries import components

N_TERMS, N_TOPICS, N_GROUPS, ETA = 60, 8, 12, 0.05
TRUTH = np.random.default_rng(1).dirichlet(np.full(N_TERMS, 0.08), size=N_TOPICS)
SHARES = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.06, 0.04, 0.03])
DRAWS, ERROR = 3_600, 0.05  # of 600 draws from each half of a chain: more than five standard errors


def consensus(found, **options):
    """The components that enough chains have."""
    return found.selected(found.agreed(**options))


def planted(chain, sweep, topics, rng, ids=None, tokens=20_000):
    """A sample whose dish k has tokens of the planted topic topics[k], or of a new one where that is -1."""
    laws = [TRUTH[t] if t >= 0 else rng.dirichlet(np.full(N_TERMS, 0.05)) for t in topics]
    sizes = [max(5, int(tokens * (SHARES[t] if t >= 0 else 0.01))) for t in topics]
    groups = np.array([rng.multinomial(n, np.full(N_GROUPS, 1 / N_GROUPS)) for n in sizes]).T
    return sample_of(chain, sweep, laws, sizes, groups, rng, ETA, ids)


@pytest.fixture(scope="module")
def chains():
    """Samples of three chains, each with an order of its own, and the planted topic of each dish."""
    rng = np.random.default_rng(0)
    samples, planted_topics = [], []
    for chain in range(3):
        order = rng.permutation(N_TOPICS)
        for sweep in range(6):
            samples.append(planted(chain, sweep, order, rng, tokens=3000))
            planted_topics.append(order)
    return samples, planted_topics


@pytest.fixture(scope="module")
def fitted():
    """Three short chains over a tiny corpus with five planted topics, and halves of held-out documents."""
    rng = np.random.default_rng(0)
    laws, documents = rng.dirichlet(np.full(30, 0.05), size=5), []
    for _ in range(60):
        topics = rng.choice(5, size=60, p=rng.dirichlet(np.full(5, 0.3)))
        documents.append([int(rng.choice(30, p=laws[k])) for k in topics])
    corpus = hk.Corpus.from_documents(documents[:40], n_terms=30)
    halves = [hk.Corpus.from_documents([d[i::2] for d in documents[40:]], n_terms=30) for i in range(2)]
    root = hk.Restaurant(base=hk.DirichletMultinomial(0.1), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each="document"), corpus)
    schedule = [moves.TableGibbs(), moves.DishGibbs()]
    trace = hk.Scheduler(schedule).run(franchise, 60, rng=0, samples=10, chains=3)
    return trace, halves


@pytest.mark.quick
def test_permuted_labels_are_recovered(chains):
    samples, topics = chains
    aligned = components(samples)
    assert len(aligned) == N_TOPICS
    for sample, own in zip(samples, topics, strict=True):
        assert np.array_equal(aligned.which(sample), own)  # planted topics are in order of their shares, too
    assert np.allclose(aligned.occurrence, 1.0)
    assert aligned.occurrence_by_chain.shape == (3, N_TOPICS)
    assert np.allclose(aligned.shares, SHARES, atol=0.01)
    assert np.abs(aligned.rows - TRUTH).sum(axis=1).max() < 0.4
    assert np.allclose(aligned.rows.sum(axis=1), 1.0)
    assert aligned.rest == pytest.approx(0.0, abs=1e-12)


def halves(samples):
    """Numbers of the samples in each half of each chain."""
    own = [[i for i, one in enumerate(samples) if one.chain == c] for c in sorted({s.chain for s in samples})]
    return [part for one in own for part in (one[: (len(one) + 1) // 2], one[(len(one) + 1) // 2 :])]


def ends_of(samples, values):
    """The outermost quantiles of halves, moved out by what their samples don't explain of their distance."""
    parts = [values[part] for part in halves(samples)]
    own = np.mean([part.var(axis=0, ddof=1) / len(part) for part in parts], axis=0)
    beyond = np.var([part.mean(axis=0) for part in parts], axis=0, ddof=1) - own
    out = SPREAD * np.sqrt(np.maximum(beyond, 0.0))
    lower = np.min([np.quantile(part, 0.05, axis=0) for part in parts], axis=0) - out
    upper = np.max([np.quantile(part, 0.95, axis=0) for part in parts], axis=0) + out
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def test_means_and_intervals_are_those_of_the_topics(chains):
    samples, _ = chains
    aligned = components(samples)
    each = np.array([s.topics()[np.argsort(aligned.which(s))] for s in samples])
    assert np.allclose(aligned.rows, each.mean(axis=0), rtol=1e-12)
    shares = np.array([s.shares()[np.argsort(aligned.which(s))] for s in samples])
    lower, upper = ends_of(samples, shares)
    assert np.allclose(aligned.shares_lower, lower)
    assert np.allclose(aligned.shares_upper, upper)
    weights = np.array([s.group_weights()[:, [*np.argsort(aligned.which(s)), -1]] for s in samples])
    assert np.allclose(aligned.group_shares, weights.mean(axis=0))


def check_ends(samples, lower, upper, a, b, error):
    """Ends are the outermost quantiles of mixtures of beta distributions, one of each half of a chain."""
    for ends, level, outermost in ((lower, 0.05, np.max), (upper, 0.95, np.min)):
        below = [scipy.stats.beta.cdf(ends, a[part], b[part]).mean(axis=0) for part in halves(samples)]
        assert np.abs(outermost(below, axis=0) - level).max() < error


def test_intervals_of_topics_are_quantiles_of_the_posterior(chains, monkeypatch):
    """Each sample's topics are Dirichlet, so that the interval is one of a mixture of beta distributions."""
    monkeypatch.setattr("hdpkit.posterior.components._DRAWS", DRAWS)
    monkeypatch.setattr("hdpkit.posterior.intervals.SPREAD", 0.0)  # tests/posterior/test_intervals.py
    samples, _ = chains
    aligned = components(samples)
    for topic in range(N_TOPICS):
        laws = [s.topic_law(int(np.argmax(aligned.which(s) == topic))) for s in samples]
        totals = np.array([law.total for law in laws])
        counts = np.array([s.counts[[np.argmax(aligned.which(s) == topic)]].toarray()[0] for s in samples])
        a = counts + ETA
        check_ends(
            samples, aligned.rows_lower[topic], aligned.rows_upper[topic], a, totals[:, None] - a, ERROR
        )


def test_samples_that_have_only_means_have_intervals_of_means(chains):
    samples, _ = chains
    of_means = [attrs.evolve(s, term_means=None, parameters={"mean": s.topics()}) for s in samples]
    aligned = components(of_means)
    each = np.array([s.topics()[np.argsort(aligned.which(s))] for s in of_means])
    lower, upper = ends_of(of_means, each)
    assert np.allclose(aligned.rows_lower, lower, rtol=1e-9, atol=1e-15)
    assert np.allclose(aligned.rows_upper, upper, rtol=1e-9, atol=1e-15)
    with pytest.raises(StateError, match="means"):
        of_means[0].draw_topics(0)


def test_intervals_of_shares_are_quantiles_of_the_posterior(chains, monkeypatch):
    monkeypatch.setattr("hdpkit.posterior.components._DRAWS", DRAWS)
    monkeypatch.setattr("hdpkit.posterior.intervals.SPREAD", 0.0)  # tests/posterior/test_intervals.py
    samples, _ = chains
    aligned = components(samples)
    lower, upper = aligned.group_shares_lower, aligned.group_shares_upper
    for topic in range(N_TOPICS):
        parameters = [
            (row[topic] * (n + 2.0), (1.0 - row[topic]) * (n + 2.0))
            for sample in samples
            for row, n in [
                (sample.group_weights()[0, np.argsort(aligned.which(sample))], sample.group_counts[[0]].sum())
            ]
        ]
        a, b = np.array(parameters).T
        # The share of a topic in a group given a state is beta distributed; the posterior is their mixture.
        check_ends(samples, lower[0, topic], upper[0, topic], a, b, ERROR)
    assert np.array_equal(components(samples).group_shares_lower, lower)  # the same each time


def test_the_consensus_scores_held_out_documents_as_well_as_the_median_chain(fitted):
    trace, halves = fitted
    agreed = consensus(components(trace))
    scores = [
        hk.evaluate(one, halves[0], held_out=halves[1], fit="em").perplexity for one in trace.franchises
    ]
    assert agreed.perplexity(*halves) <= np.median(scores)
    shares = agreed.fold_in(halves[0])
    assert shares.shape == (20, len(agreed) + 1)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert agreed.perplexity(halves[0].to_counts(), halves[1].to_counts()) == agreed.perplexity(*halves)


def test_topics_that_come_and_go():
    """A topic that dies and is born again has another id and is the same topic; rare ones go to the rest."""
    rng = np.random.default_rng(2)
    orders = [([0, 1, 2], [0, 1, 2]), ([0, 1], [0, 1]), ([0, 1, 2], [0, 1, 5]), ([0, 1, 2, -1], [0, 1, 5, 6])]
    samples = [planted(0, i, topics, rng, ids) for i, (topics, ids) in enumerate(orders)]
    aligned = components(samples, min_occurrence=0.3)
    assert aligned.occurrence.tolist() == [1.0, 1.0, 0.75]
    assert aligned.ids_by_sample[:, 2].tolist() == [2, -1, 5, 5]
    assert aligned.which(samples[3]).tolist() == [0, 1, 2, -1]
    assert aligned.shares_by_sample.sum(axis=1) == pytest.approx(1.0)
    assert aligned.shares_by_sample[1, 2] == 0.0
    assert aligned.rest > 0
    assert len(components(samples, min_occurrence=0.0)) == 4


def test_components_of_any_measure():
    """Means of a Gaussian mixture by a distance that is given."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(mean, 0.3, 40) for mean in (-5.0, 0.0, 5.0)])
    data = hk.Groups.from_arrays(list(rng.permutation(values).reshape(6, 20)), label="patient")
    root = hk.Restaurant(base=hk.NormalGamma(0.0, 0.1, 2.0, 0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each="patient"), data)
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, 20, rng=0, samples=5, chains=2)

    def apart(a, b):
        return np.abs(a[:, None, 0] - b[None, :, 0])

    aligned = components(trace, distance=apart, threshold=1.0, min_occurrence=0.5)
    assert sorted(aligned.rows[:3, 0]) == pytest.approx([-5.0, 0.0, 5.0], abs=0.3)
    assert (aligned.rows_lower[:, 0] <= aligned.rows_upper[:, 0]).all()
    assert aligned.group_shares.shape == (6, len(aligned) + 1)
    kept = consensus(aligned)
    assert len(kept) >= 2
    with pytest.raises(StateError, match="cosine"):
        kept.fold_in(np.ones((1, 3)))
    with pytest.raises(StateError, match="terms"):
        aligned.to_pandas()
    assert len(aligned.to_pandas("shares")) == len(aligned)
    with pytest.raises(ParameterError, match="function"):
        components(trace, distance="euclidean")
    with pytest.raises(ParameterError, match="function"):
        components([attrs.evolve(one, dishes=None) for one in trace.samples])
    with pytest.raises(ParameterError, match="threshold"):
        components(trace, distance=apart)
    for wrong in (lambda a, b: apart(a, b)[:, :0], lambda a, b: -apart(a, b), lambda a, b: "far"):
        with pytest.raises(ReturnValueError, match="distance"):
            components(trace, distance=wrong, threshold=1.0)


def test_traces_as_tables(fitted):
    trace, _ = fitted
    table = trace.to_pandas()
    assert len(table) == 180
    assert table[table.chain == 2].log_joint.to_numpy() == pytest.approx(trace["log_joint"][2])
    one = trace.chains[1].to_pandas()
    assert (one.chain == 0).all()
    assert one.n_dishes.to_numpy() == pytest.approx(trace["n_dishes"][1])
    recorded = hk.Trace()
    recorded.columns().update(
        sweep=[1, 2], pair=[np.arange(2), np.arange(2)], ragged=[np.arange(1), np.arange(2)]
    )
    assert list(recorded.to_pandas().columns) == ["chain", "sweep", "pair[0]", "pair[1]", "ragged"]
    assert hk.Trace().to_pandas().empty


def test_parameters_have_names_and_intervals():
    """Of a run over four clusters in the plane."""
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [6, 0], [0, 6], [6, 6]])
    X = centres[rng.integers(4, size=160)] + rng.normal(0, 0.7, size=(160, 2))
    root = hk.Restaurant(hk.NormalInverseWishart.weakly_informative(X), concentration=1.0)
    franchise = hk.Franchise(root, hk.Groups.from_labels(X, {}))
    steps = [moves.TableGibbs(), moves.SplitMerge()]
    trace = hk.Scheduler(steps).run(franchise, sweeps=40, rng=0, chains=2, samples=10)
    found = consensus(components(trace, partition=False), chains=1.0)
    measure = trace.franchises[0].measure
    named = found.named_parameters(measure, ["x", "y"])
    assert list(named) == ["mean[x]", "mean[y]", "sd[x]", "sd[y]", "correlation[x,y]"]
    for values in named.values():
        assert values.shape == (4, 3)
        assert ((values[:, 1] <= values[:, 0]) & (values[:, 0] <= values[:, 2])).all()
    np.testing.assert_allclose(named["mean[x]"][:, 0], found.rows[:, 0, 0])
    table = found.to_pandas("parameters", measure=measure)
    assert list(table.columns) == ["topic", "parameter", "value", "lower", "upper"]
    assert len(table) == 4 * 5
    row = table[(table["topic"] == 3) & (table["parameter"] == "sd[1]")].iloc[0]
    assert row["value"] == named["sd[y]"][2, 0]
    with pytest.raises(ParameterError, match="measure"):
        found.to_pandas("parameters")


def test_means_lie_within_their_intervals():
    """A topic that one of 40 samples lacks, with nearly the same share in the others: a long tail."""
    rng = np.random.default_rng(3)
    samples = [planted(0, sweep, range(N_TOPICS - (sweep == 20)), rng, tokens=10**6) for sweep in range(40)]
    found = components(samples)
    low = np.quantile(found.shares_by_sample[:, :-1], 0.05, axis=0)
    assert (found.shares < low).any()  # the mean is below the quantile
    for point, lower, upper in (
        (found.shares, found.shares_lower, found.shares_upper),
        (found.rows, found.rows_lower, found.rows_upper),
        (found.group_shares, found.group_shares_lower, found.group_shares_upper),
        (found.exposures, found.exposures_lower, found.exposures_upper),
    ):
        assert (lower <= point).all()
        assert (point <= upper).all()


def merged(samples, apart=0):
    """The components after similar ones were merged."""
    found = components(samples, threshold=0.1, similar=0.1, apart=apart, min_occurrence=0.0)
    return found.selected(found.agreed())


@pytest.fixture(scope="module")
def split():
    """Samples in which the first component has one, two or three dishes; some have a dish of noise."""
    rng = np.random.default_rng(0)
    rows = ([0, 1, 2, 3], [0, 0, 1, 2, 3], [3, 0, 2, 1, 0, 0])
    return [
        planted(chain, sweep, [*rows[(chain + sweep) % 3], *[-1] * (sweep == 3)], rng)
        for chain in range(2)
        for sweep in range(5)
    ]


def test_merged_dishes_have_all_customers():
    sample = planted(0, 0, [0, 1, 0, 2], np.random.default_rng(1))
    of = np.array([7, 3, 7, 5])
    found = merged_sample(sample, of)
    summed = np.array([sample.counts.toarray()[of == k].sum(axis=0) for k in (3, 5, 7)])
    np.testing.assert_array_equal(found.counts.toarray(), summed)
    np.testing.assert_array_equal(found.sizes, summed.sum(axis=1))
    assert found.ids[2] == sample.ids[0 if sample.sizes[0] >= sample.sizes[2] else 2]
    np.testing.assert_allclose(found.topics()[2], (summed[2] + ETA) / (summed[2].sum() + N_TERMS * ETA))
    np.testing.assert_allclose(found.root_weights.sum(), sample.root_weights.sum())
    np.testing.assert_array_equal(found.group_counts.sum(axis=1), sample.group_counts.sum(axis=1))
    assert merged_sample(sample, np.arange(4)) is sample


def test_exposures_are_shares_times_customers(split):
    """In few of many groups are most customers of one component."""
    found = merged(split)
    totals = split[0].group_counts.sum(axis=1)
    np.testing.assert_array_equal(found.group_totals, totals)
    np.testing.assert_allclose(found.exposures, found.group_shares * totals[:, None])
    np.testing.assert_allclose(found.exposures_upper, found.group_shares_upper * totals[:, None])
    rank = np.cumsum(-np.sort(-found.exposures[:, :4], axis=0), axis=0) / found.exposures[:, :4].sum(axis=0)
    assert found.most_in.tolist() == [1 + int(np.sum(column < 0.8)) for column in rank.T]
    assert not found.in_few.any()
    twice = found.of_run(found.data, (), 2 * np.asarray(totals))
    np.testing.assert_allclose(twice.exposures, 2 * found.group_shares * totals[:, None])


def test_known_components_are_never_merged_with_each_other():
    rng = np.random.default_rng(3)
    # Dishes 10, 11 and 13 are of the first component: with ids below 12 they are known.
    samples = [planted(0, sweep, [0, 0, 1, 0], rng, ids=range(10, 14)) for sweep in range(4)]
    assert [sample.n_dishes for sample in merged(samples).samples] == [2] * 4
    found = merged(samples, apart=12)
    assert len(found) == 3
    assert [sorted(sample.ids.tolist()) for sample in found.samples] == [[10, 11, 12]] * 4
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
    found = merged_sample(sample, of)
    assert found.n_dishes == 3
    assert found.names == ("start", 0, 1, 2)
    own = of[dishes]
    counted = np.zeros((4, 3), dtype=np.int64)
    counted[0, own[0]] = 1
    np.add.at(counted, (own[:-1] + 1, own[1:]), 1)
    np.testing.assert_array_equal(found.levels[-1].counts.toarray(), counted)
    np.testing.assert_array_equal(found.group_counts.toarray(), counted)
    rows = found.transitions()
    assert rows.shape == (3, 4)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert found.draw_transitions(0).shape == (4, 4)


def test_merged_topics_have_summed_shares(split):
    aligned = components(split, min_occurrence=0.0)
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
