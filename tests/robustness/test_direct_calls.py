"""Measures, readable stores, sources and moves called by hand: what they can't use is named."""

import numpy as np
import pytest
from bad_values import tiny
from call_cases import exact_model, known_signatures

import hdpkit as hk
from hdpkit import moves, signatures
from hdpkit.base_measures import DirichletMultinomialReference, SparseDirichletMultinomialReference
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
        with pytest.raises(ParameterError, match="n_nodes"):
            store(4, 2).grow(4, bad)
        with pytest.raises(ParameterError, match="n_customers"):
            store(4, 2).grow(bad, 2)
    with pytest.raises(ParameterError, match="doesn't shrink"):
        store(4, 2).grow(3, 2)


@pytest.mark.parametrize("store", READABLE)
def test_verbs_of_readable_stores(store):
    made = store(4, 2)
    for call in (
        lambda: made.customers("a", 0),
        lambda: made.open(0, 0, "a"),
        lambda: made.open("a", 0, 0),
    ):
        with pytest.raises(ParameterError):
            call()


MEASURES = {
    "DirichletMultinomial": lambda: hk.DirichletMultinomial(0.5, n_terms=3),
    "DirichletMultinomialReference": lambda: DirichletMultinomialReference(0.5, n_terms=3),
    "SparseDirichletMultinomial": lambda: hk.SparseDirichletMultinomial(0.5, n_terms=3),
    "SparseDirichletMultinomialReference": lambda: SparseDirichletMultinomialReference(0.5, n_terms=3),
    "NormalGamma": hk.NormalGamma,
    "GammaPoisson": hk.GammaPoisson,
    "BetaBernoulli": hk.BetaBernoulli,
    "Categorical": lambda: hk.Categorical([0.5, 0.5]),
    "NonConjugate": lambda: hk.NonConjugate(lambda x, p: 0.0, hk.Finite([1.0, 2.0]), examples=[0.5]),
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("bad", [None, 5, "a", [0], {"a": 1}, np.zeros(3), hk.Corpus])
def test_data_and_banks_of_measures(name, bad):
    measure = MEASURES[name]()
    for call in (measure.bank, measure.readable_bank):
        with pytest.raises(ParameterError, match="data = "):
            call(bad)
    calls = (measure.log_marginals, measure.posterior_means, measure.draw_many)
    for call in () if name == "Categorical" else calls:  # it looks at no bank
        source = (RandomStream(),) if call.__name__ == "draw_many" else ()
        with pytest.raises(HdpkitError):
            call(bad, np.array([0], np.int32), np.array([0], np.int32), *source)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("bad", [None, 5, "", "slice", ["a"], np.array([]), 1j])
def test_names_of_optional_methods(name, bad):
    with pytest.raises(ParameterError, match="method"):
        MEASURES[name]().supports(bad)
    assert MEASURES[name]().supports("simulate") in (True, False)


def test_methods_that_a_measure_lacks():
    with pytest.raises(MissingMethodError, match=r"tempered\(\)"):
        hk.NormalGamma().tempered(0.5)
    with pytest.raises(NotImplementedError):
        hk.Uniform(3).log_marginal(hk.Uniform(3).make())


@pytest.mark.parametrize("given", [5, "a", (0.1,), (1, "a"), [[]]])
def test_sums_over_selections(given):
    with pytest.raises(ParameterError, match=r"given|log_pi"):
        hk.SparseDirichletMultinomial(0.5, n_terms=3).law(given)


def test_functions_of_a_user_raise_what_they_like():
    def likelihood(value, parameter):
        raise KeyError("mine")

    measure = hk.NonConjugate(likelihood, hk.Finite([1.0, 2.0]), examples=[0.5])
    with pytest.raises(KeyError, match="mine"):
        measure.log_predictive(0.5, [1.0])
    with pytest.raises(ParameterError, match="many"):
        measure.log_predictive(0.5, None)


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


def test_moves_that_do_not_fit():
    with pytest.raises(HdpkitError, match="DishParameters"):
        moves.DishParameters().apply(tiny(), RandomStream())
    for bad in (None, 5, "a"):
        with pytest.raises(ParameterError, match="state"):
            moves.CountGibbs().begin(bad, RandomStream())
        with pytest.raises(ParameterError, match="rng"):
            moves.CountGibbs().begin(tiny(), bad)


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
