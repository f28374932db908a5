"""A part of the bad calls of all public names (`tests/trials/call_trials.py`), and faults that they found."""

import io
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from bad_values import corpus, tiny

import hdpkit as hk
from hdpkit import shards, summaries
from hdpkit.checks import whole_number
from hdpkit.errors import DataError, HdpkitError, ParameterError, StorageError
from hdpkit.random import RandomStream

sys.path.insert(0, str(Path(__file__).parents[1] / "trials"))

import call_trials

# What users have no reason to call may fail by a TypeError or ValueError of Python, but no other error.
INTERNAL = r"^(stores|random|parts|registry|base_measures|franchise|data|init|record)\.\w+\."


def test_a_part_of_the_bad_calls():
    counts, faults = call_trials.run(every=4000, seed=3, verbose=lambda line: None)
    assert counts["typed"] > 10
    for fault in faults:
        loose = fault.get("outcome") == "loose" and re.match(INTERNAL, fault["call"][0])
        assert loose, fault


def test_a_call_that_fails_is_told():
    assert call_trials.judged("Gamma", call_error(lambda: whole_number("n", "a"))) == "typed"
    assert call_trials.judged("Gamma", call_error(lambda: hk.Gamma())) == "signature"
    assert call_trials.judged("a.b", call_error(lambda: hk.Corpus.document_of(5, 1))) == "loose"
    assert call_trials.judged("a.b", call_error(lambda: hk.NGrams.word_id(None, 0))) == "untyped"


def call_error(function):
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("accepted")


def test_arguments_of_draws_and_moves():
    law = tiny().sample().topic_law(0)
    assert law.draw_each([0, 2], 3, RandomStream((1, 2))).shape == (2, 3)
    for arguments in ((None, 1), ([0], -1), ([9], 1), ([0], 1, None)):
        with pytest.raises(ParameterError):
            law.draw_each(*arguments, *(() if len(arguments) == 3 else (RandomStream((1, 2)),)))


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


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    link = tmp_path / "link"
    link.symlink_to(link)
    for path in (tmp_path / "file" / "more", tmp_path / ("a" * 300), link):
        with pytest.raises((StorageError, ParameterError), match="folder"):
            corpus().save(path)
        with pytest.raises(HdpkitError):
            hk.Corpus.open(path)
        with pytest.raises(HdpkitError):
            hk.ShardedCorpus.open(path)


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


def test_a_file_that_is_closed():
    closed = io.StringIO()
    closed.close()
    with pytest.raises(HdpkitError):
        hk.NGramModel(2).fit(closed)
