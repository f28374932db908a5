"""Typical mistakes of new users: wrong data, wrong names, wrong order."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import AtomicMeasure
from hdpkit.testing.cases import example_measures

SENTENCES = [["the", "lord", "said"], ["the", "lord", "went"]]


def words():
    return hk.Corpus.from_documents(SENTENCES)


# ---------------------------------------------------------------------- measures and kinds of data

DATA = {
    "words": words,
    "term ids": lambda: hk.Corpus.from_documents([[0, 1, 2], [1, 1]]),
    "n-grams": lambda: hk.NGrams.from_sentences(SENTENCES, order=2),
    "whole numbers": lambda: hk.Groups.from_labels([0, 1, 1, 2, 0]),
    "numbers": lambda: hk.Groups.from_labels([0.5, -1.2, 3.0, 2.2, 0.1]),
    "vectors": lambda: hk.Groups.from_labels(np.arange(10.0).reshape(5, 2) / 7),
    "counts": lambda: hk.Groups.from_labels([[3, 0], [1, 2], [0, 4]]),
    "bits": lambda: hk.Groups.from_labels([[1, 0], [1, 1], [0, 0]]),
    "strings": lambda: hk.Groups.from_labels(["the", "lord", "said"]),
    "objects": lambda: hk.Groups.from_labels([{"a": 1}, None, 3.0]),
    "bools": lambda: hk.Groups.from_labels([True, False, True]),
    "dates": lambda: hk.Groups.from_labels(np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")),
    "complex numbers": lambda: hk.Groups.from_labels([1j, 2j]),
}
WORDS = ("words", "term ids", "n-grams")


@pytest.mark.parametrize("kind", list(DATA))
@pytest.mark.parametrize(
    "measure", [m for m in example_measures() if type(m).__module__.startswith("hdpkit.")], ids=repr
)
def test_a_measure_runs_over_its_own_kind_of_data_or_says_which_it_takes(measure, kind):
    data = DATA[kind]()
    if isinstance(measure, hk.NonConjugate):
        return  # any likelihood is a user's
    of_words = isinstance(measure, AtomicMeasure) or "Dirichlet" in repr(measure)
    refused = None
    try:
        franchise = hk.Franchise(hk.Restaurant(measure), data)
    except (errors.DataError, errors.DeclarationError) as error:
        refused = error
    if refused is not None:
        assert refused.remedy
        assert not (of_words and kind in WORDS and getattr(measure, "n_terms", None) is None), refused
        return
    assert of_words or kind not in WORDS
    assert kind not in ("strings", "objects", "dates", "complex numbers")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, audit_every=1)


# ---------------------------------------------------------------------- tables of counts


def test_a_table_of_pandas_brings_words_and_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[2, 0], [1, 3]], columns=["lord", "said"], index=["genesis", "exodus"])
    corpus = hk.Corpus.from_counts(table)
    assert tuple(corpus.vocabulary) == ("lord", "said")
    assert list(corpus.keys("document")) == ["genesis", "exodus"]
    corpus = hk.Corpus.from_counts(table, vocabulary=["a", "b"], names=["c", "d"])
    assert tuple(corpus.vocabulary) == ("a", "b")
    assert list(corpus.keys("document")) == ["c", "d"]
    plain = hk.Corpus.from_counts(pandas.DataFrame([[2, 0], [1, 3]]))
    assert plain.vocabulary is None
    assert list(plain.keys("document")) == list(hk.Corpus.from_counts([[2, 0], [1, 3]]).keys("document"))
    some = hk.Corpus.from_counts(table.loc[["exodus"], ["said"]])
    assert tuple(some.vocabulary) == ("said",)
    numbered = hk.Corpus.from_counts(pandas.DataFrame([[2, 1]], columns=[1990, 1991], index=[7]))
    assert tuple(numbered.vocabulary) == ("1990", "1991")
    assert list(numbered.keys("document")) == ["7"]
    for wrong in (
        pandas.DataFrame([[2, 1]], columns=["a", "a"]),
        pandas.DataFrame([[2], [1]], columns=["a"], index=["x", "x"]),
        pandas.DataFrame([[2, 1]], columns=["a", None]),
        pandas.DataFrame([["x", 1]], columns=["name", "a"]),
    ):
        with pytest.raises(errors.DataError):
            hk.Corpus.from_counts(wrong)


# ---------------------------------------------------------------------- labels that cross


def two_levels(data, outer, inner):
    upper = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each=outer)
    return hk.Franchise(hk.Restaurant(upper, each=inner), data)


def test_the_advice_on_labels_that_cross_helps():
    authors, years = ["ann", "ann", "bob", "bob"], [1, 2, 1, 2]
    documents = [[0, 1], [1, 1], [2], [0]]
    data = hk.Corpus.from_documents(documents, groups={"author": authors, "year": years})
    for outer, inner in (("author", "year"), ("year", "author")):
        with pytest.raises(errors.DataError) as caught:
            two_levels(data, outer, inner)
        assert "list(zip(" in caught.value.remedy
        above, below = (authors, years) if outer == "author" else (years, authors)
        pairs = list(zip(above, below, strict=True))
        assert f"zip({outer}, {inner})" in caught.value.remedy
        followed = hk.Corpus.from_documents(documents, groups={outer: above, inner: pairs})
        two_levels(followed, outer, inner).audit()


# ---------------------------------------------------------------------- traces in ArviZ


def traced():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2, 2], [0, 2]])
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration()]).run(franchise, sweeps=20, rng=0)


def test_no_total_is_taken_for_a_pointwise_log_likelihood():
    arviz = pytest.importorskip("arviz")
    data = traced().to_arviz()
    assert "log_likelihood_total" in data.sample_stats
    assert "log_likelihood" not in data.sample_stats
    assert not hasattr(data, "log_likelihood")
    with pytest.raises(TypeError, match="log likelihood"):
        arviz.loo(data)


# ---------------------------------------------------------------------- a sentence is no file


@pytest.mark.parametrize("text", ["the lord said", "lord", "the lord\nsaid"])
def test_a_sentence_as_a_string_is_no_file(text):
    model = hk.NGramModel(2).fit(SENTENCES, sweeps=2, burn_in=1, samples=1, rng=0)
    for act in (model.perplexity, model.score, model.add, hk.NGramModel(2).fit):
        with pytest.raises(errors.DataError) as caught:
            act(text)
        assert "path" in str(caught.value)
        assert "[['the', 'lord', 'said']]" in caught.value.remedy
    assert model.perplexity(SENTENCES) > 0


# ---------------------------------------------------------------------- depth


def test_a_thousand_levels():
    data = hk.Groups.from_labels([0, 1, 1, 0, 2], {"document": [0, 0, 1, 1, 2]})
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5, n_terms=3))
    for level in range(1000):
        restaurant = hk.Restaurant(restaurant, name=f"level {level}")
    assert len(restaurant.chain()) == 1001
    franchise = hk.Franchise(hk.Restaurant(restaurant, each="document"), data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    assert "level 500" in repr(franchise)
    assert repr(restaurant)
    franchise.audit()


def test_a_thousand_levels_in_a_folder_or_in_chains(tmp_path):
    restaurant = hk.Restaurant(hk.NormalGamma())
    for level in range(1000):
        restaurant = hk.Restaurant(restaurant, name=f"level {level}")
    franchise = hk.Franchise(restaurant, hk.Groups.from_labels([0.1, 0.2, 3.0]))
    scheduler = hk.Scheduler([moves.TableGibbs()])
    for where in ({"folder": tmp_path / "run"}, {"chains": 1}):
        with pytest.raises(errors.HdpkitError):
            scheduler.run(franchise, sweeps=1, rng=0, **where)
    assert not (tmp_path / "run").exists()


def test_mixtures_that_are_nested_too_deep():
    def nested(move):
        for _ in range(1000):
            move = hk.Mixture([(move.repeat(1), 1.0)])

    with pytest.raises(errors.ScheduleError, match="nested"):
        nested(moves.TableGibbs())


def test_a_thousand_time_tables(tmp_path):
    move = moves.TableGibbs()
    for _ in range(500):
        move = move.until(5).every(1)
    assert repr(move)
    assert move.name == "TableGibbs"
    franchise = hk.Franchise(hk.Restaurant(hk.NormalGamma()), hk.Groups.from_labels([0.1, 0.2, 3.0]))
    trace = hk.Scheduler([move]).run(franchise, sweeps=6, rng=0, folder=tmp_path / "run")
    assert trace.moves["sweep"].tolist() == [1, 2, 3, 4, 5]
    assert hk.open_run(tmp_path / "run").trace.n_draws == 6
