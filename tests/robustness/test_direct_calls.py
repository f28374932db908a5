"""Measures, readable stores, sources and moves called by hand: what they can't use is named."""

import numpy as np
import pytest
from bad_values import tiny
from call_cases import exact_model, known_signatures

import hdpkit as hk
from hdpkit import moves, signatures
from hdpkit.errors import HdpkitError, MissingMethodError, ParameterError
from hdpkit.franchise.state_homes import HomeState
from hdpkit.random import RandomStream, Streams
from hdpkit.stores import CountsReference, ExplicitReference, HistogramReference
from hdpkit.testing import step_matrices

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


@pytest.mark.parametrize("bad", [None, 5, "a", moves.TableGibbs, object()])
def test_steps_of_a_move(bad):
    with pytest.raises(ParameterError, match="move"):
        step_matrices(exact_model(), bad)
    with pytest.raises(ParameterError, match="model"):
        step_matrices(bad, moves.TableGibbs())
    if bad is not moves.TableGibbs:
        with pytest.raises(ParameterError, match="apply"):
            exact_model().matrix(bad)


@pytest.mark.parametrize("bad", [None, 5, "one", ["none"], [[]], [np.array([1, 2])]])
def test_names_of_known_signatures(bad):
    with pytest.raises(ParameterError, match="names"):
        known_signatures().chosen(bad)
    if bad is not None:
        with pytest.raises(HdpkitError):
            signatures.channels_of(["a"], known=bad)


def test_snapshots_and_homes():
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
    with pytest.raises(ParameterError, match="eaten"):
        HomeState(None, None, 0, 0)


def test_what_is_known():
    for counts in (np.array(3.0), 4, [4.0]):
        assert hk.Known([[0.5, 0.5]], counts=counts).n_components == 1
    for options in ({"counts": hk.Trace()}, {"frozen": [[True], []]}, {"names": np.array("a")}):
        with pytest.raises(ParameterError):
            hk.Known([[0.5, 0.5]], **options)


def test_texts_that_are_no_paths(tmp_path):
    (tmp_path / "c.ldac").write_text("1 0:1\n")
    for bad in ("a\0b", "\ud800"):
        with pytest.raises(HdpkitError):
            hk.Corpus.from_ldac(tmp_path / "c.ldac", vocabulary=bad)
    with pytest.raises(ParameterError, match="kernel"):
        tiny().walk(np.array([]))
    for allow in (object, 5):
        with pytest.raises(HdpkitError):
            hk.NGramModel.open(tmp_path, allow)
