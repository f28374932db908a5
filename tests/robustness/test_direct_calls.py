"""Measures, readable stores, sources and moves called by hand: what they can't use is named."""

import pickle

import numpy as np
import pytest
from bad_values import corpus, tiny

import hdpkit as hk
from hdpkit import shards, summaries
from hdpkit.errors import DataError, HdpkitError, MissingMethodError, ParameterError
from hdpkit.random import RandomStream, Streams
from hdpkit.stores import CountsReference, ExplicitReference, HistogramReference

READABLE = (ExplicitReference, HistogramReference, CountsReference)
WHOLE = (-1, 2**31, 2**63, 10**19, 0.5, np.nan, None, "a")


@pytest.mark.parametrize("store", READABLE)
def test_sizes_of_readable_stores(store):
    for bad in WHOLE:
        with pytest.raises(ParameterError, match="n_nodes"):
            store(4, bad)
        with pytest.raises(ParameterError, match="n_customers"):
            store(bad, 2)


def test_methods_that_a_measure_lacks():
    with pytest.raises(MissingMethodError, match=r"tempered\(\)"):
        hk.Uniform(3).tempered(0.5)
    with pytest.raises(NotImplementedError):
        hk.Uniform(3).log_marginal(hk.Uniform(3).make())


@pytest.mark.parametrize("key", [3, (3,), (-1, 0), (0, 2**64), ("a", 0), None, (1, 2, 3), (0, np.nan)])
def test_keys_of_streams(key):
    with pytest.raises(ParameterError, match="key"):
        RandomStream(key)
    with pytest.raises(ParameterError, match="word"):
        RandomStream((1, 2), (-1, 0, 0))


@pytest.mark.parametrize("bad", [-1, 2**64, 10**400, None, "a", np.nan, [1]])
def test_words_of_streams(bad):
    stream, streams = RandomStream(), Streams(3)
    for place, name in enumerate(("key0", "key1", "word1", "word2", "word3")):
        words = [1, 2, 3, 4, 5]
        words[place] = bad
        with pytest.raises(ParameterError, match=name):
            stream.rekey(*words)
    for place in range(3):
        with pytest.raises(ParameterError):
            streams.source(*[bad if i == place else 1 for i in range(3)])
    for arguments in ({"chain": bad}, {"member": bad}):
        with pytest.raises(ParameterError, match=next(iter(arguments))):
            Streams(3, **arguments)
    with pytest.raises(MissingMethodError, match="state"):
        _ = stream.bit_generator.state


def test_snapshots():
    snapshot = tiny().snapshot()
    for place in range(3):
        for bad in (None, "a", [[0]], [2**40], [object()]):
            given = [[0], [0], [0.5]]
            given[place] = bad
            if place == 2 and bad in ([2**40], [[0]]):
                continue
            with pytest.raises(HdpkitError):
                snapshot.probabilities(*given)
    assert snapshot.probabilities([0], [0], [1.0]).shape == (1,)
    for given in (([10**6], [0], [1.0]), ([0, 0], [0], [1.0]), ([0], [0], [1.0, 1.0])):
        with pytest.raises(ParameterError):
            snapshot.probabilities(*given)
    for bad in (-1, 10**6, 2**40, None, 0.5):
        with pytest.raises(ParameterError, match="node"):
            snapshot.row(bad)


@pytest.mark.parametrize("read", [hk.Corpus.from_ldac, hk.Corpus.from_uci])
def test_paths_that_cannot_be_read(read, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "none", link, tmp_path / "file" / "more", "/proc/self/mem"):
        with pytest.raises(DataError, match="file"):
            read(path)
        with pytest.raises(DataError):
            read(tmp_path / "file", vocabulary=path)
    for path in ("", "a\0b", "a\ud800", None, 5):
        with pytest.raises(ParameterError, match="must be a path"):
            read(path)


def test_a_damaged_pickle_of_a_franchise():
    function, arguments, _ = tiny().__reduce__()
    for damaged in ({}, {"components": 5, "frozen": {}}, {"components": {}}, 5, None, [1]):
        made = function(*arguments)
        with pytest.raises(HdpkitError):
            made.__setstate__(damaged)
    for place in range(1, len(arguments)):
        with pytest.raises((HdpkitError, TypeError)):
            function(*arguments[:place], object(), *arguments[place + 1 :])
    assert pickle.loads(pickle.dumps(tiny())).n_dishes == tiny().n_dishes


def test_nested_and_endless_lists():
    nested = []
    for _ in range(20_000):
        nested = [nested]
    itself = [1.0]
    itself.append(itself)
    for bad in (nested, itself, [10**400]):
        for call in (summaries.diversity, summaries.group_topics, hk.Corpus.from_counts):
            with pytest.raises(HdpkitError):
                call(bad)
        for names in ("names", "vocabulary"):
            with pytest.raises(HdpkitError):
                hk.Corpus.from_documents([[0]], **{names: bad})


@pytest.mark.parametrize(
    "prior", [hk.Gamma(1.0, 1.0), hk.Beta(1.0, 1.0), hk.Normal(0.0, 1.0), hk.Above(hk.Gamma(1.0, 1.0), 0.5)]
)
def test_draws_of_a_prior(prior):
    for source in (RandomStream((1, 2)), np.random.default_rng(0)):
        assert np.shape(prior.draw(source, (2, 3))) == (2, 3)
        for size in (-1, 1.5, "a", [1], (1, -1), 2**62, (2**40, 2**40), 10**400):
            with pytest.raises(ParameterError, match="size"):
                prior.draw(source, size)
    for bad in (None, 5, "a", hk.Gamma, np.random):
        with pytest.raises(ParameterError, match="generator"):
            prior.draw(bad)
    for bad in ("a", None, [1.0], 1j):
        with pytest.raises(ParameterError, match="x = "):
            prior.log_density(bad)
    assert np.isnan(prior.log_density(np.nan))
    assert prior.log_density(10**400) == -np.inf


def test_numbers_of_groups_shards_and_parts():
    sample = tiny().sample()
    for bad in (5, "a", [0], slice("a", None), np.uint64(2**64 - 1)):
        for method in (sample.group_weights, lambda groups: sample.draw_group_weights(0, groups)):
            with pytest.raises(ParameterError, match="groups"):
                method(groups=bad)
    assert sample.group_weights(slice(0, 2)).shape[0] == 2
    for bad in (2**31, -1, 2, "a", np.uint64(2**64 - 1)):
        with pytest.raises(ParameterError, match="i = "):
            shards.cut(corpus(), 2).shard(bad)
