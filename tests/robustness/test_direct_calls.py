"""Measures, readable stores, sources and moves called by hand: what they can't use is named."""

import pickle

import numpy as np
import pytest
from bad_values import corpus, tiny

import hdpkit as hk
from hdpkit import shards, summaries
from hdpkit.errors import DataError, HdpkitError, MissingMethodError
from hdpkit.random import RandomStream, Streams
from hdpkit.stores import ExplicitReference, HistogramReference

WHOLE = (-1, 2**64, 10**400, 0.5, None, "a", np.nan)
WORDS = (-1, 2**64, 10**400, None, "a", np.nan, [1])
PRIOR = hk.Above(hk.Gamma(1.0, 1.0), 0.5)


def at(place, bad, n):
    """Arguments of which one is bad."""
    return [bad if i == place else 1 for i in range(n)]


# A call with a bad value, what the error names, and the values.
CALLS = {
    **{f"{store.__name__}, {name}": (lambda bad, store=store, i=i: store(*at(i, bad, 2)), name, WHOLE)
       for store in (ExplicitReference, HistogramReference)
       for i, name in enumerate(("n_customers", "n_nodes"))},
    "key": (RandomStream, "key", (3, (3,), (-1, 0), (0, 2**64), ("a", 0), None, (1, 2, 3), (0, np.nan))),
    "words": (lambda bad: RandomStream((1, 2), (bad, 0, 0)), "word", (-1,)),
    **{f"rekey, {name}": (lambda bad, place=place: RandomStream().rekey(*at(place, bad, 5)), name, WORDS)
       for place, name in enumerate(("key0", "key1", "word1", "word2", "word3"))},
    **{f"source {place}": (lambda bad, place=place: Streams(3).source(*at(place, bad, 3)), "", WORDS)
       for place in range(3)},
    "chain": (lambda bad: Streams(3, chain=bad), "chain", WHOLE),
    "member": (lambda bad: Streams(3, member=bad), "member", WHOLE),
    "nodes": (lambda bad: tiny().snapshot().probabilities(bad, [0], [0.5]), "", (None, "a", [[0]], [10**6])),
    "values": (lambda bad: tiny().snapshot().probabilities([0], bad, [0.5]), "", (None, "a", [[0]], [0, 0])),
    "above": (lambda bad: tiny().snapshot().probabilities([0], [0], bad), "", (None, "a", [1.0, 1.0])),
    "row": (lambda bad: tiny().snapshot().row(bad), "node", (-1, 10**6, 2**40, None, 0.5)),
    "size": (lambda bad: PRIOR.draw(RandomStream((1, 2)), bad), "size",
             (-1, 1.5, "a", [1], (1, -1), 2**62, (2**40, 2**40), 10**400)),
    "generator": (PRIOR.draw, "generator", (None, 5, "a", hk.Gamma, np.random)),
    "x": (PRIOR.log_density, "x", ("a", None, [1.0], 1j)),
    "groups": (lambda bad: tiny().sample().group_weights(groups=bad), "groups",
               (5, "a", [0], slice("a", None), np.uint64(2**64 - 1))),
    "shard": (lambda bad: shards.cut(corpus(), 2).shard(bad), "i = ",
              (2**31, -1, 2, "a", np.uint64(2**64 - 1))),
    **{f"path of {read.__name__}": (read, "must be a path", ("", "a\0b", "a\ud800", None, 5))
       for read in (hk.Corpus.from_ldac, hk.Corpus.from_uci)},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_cannot_use_is_named(name):
    call, told, values = CALLS[name]
    for bad in values:
        with pytest.raises(HdpkitError, match=told or None):
            call(bad)


@pytest.mark.parametrize("prior", [hk.Gamma(1.0, 1.0), hk.Beta(1.0, 1.0), hk.Normal(0.0, 1.0), PRIOR])
def test_draws_and_densities_of_good_values(prior):
    for source in (RandomStream((1, 2)), np.random.default_rng(0)):
        assert np.shape(prior.draw(source, (2, 3))) == (2, 3)
    assert np.isnan(prior.log_density(np.nan))
    assert prior.log_density(10**400) == -np.inf
    assert tiny().snapshot().probabilities([0], [0], [1.0]).shape == (1,)


def test_methods_that_a_class_lacks():
    with pytest.raises(MissingMethodError, match=r"tempered\(\)"):
        hk.Uniform(3).tempered(0.5)
    with pytest.raises(NotImplementedError):
        hk.Uniform(3).log_marginal(hk.Uniform(3).make())
    with pytest.raises(MissingMethodError, match="state"):
        _ = RandomStream().bit_generator.state


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


def test_a_damaged_pickle_of_a_franchise():
    function, arguments, _ = tiny().__reduce__()
    for damaged in ({}, {"components": 5, "frozen": {}}, {"components": {}}, 5, None, [1]):
        with pytest.raises(HdpkitError):
            function(*arguments).__setstate__(damaged)
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
