"""Coherence, diversity and exclusivity of topics, against gensim's and by hand."""

import itertools

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors
from hdpkit.summaries import coherence, diversity, exclusivity

RNG = np.random.default_rng(3)
WORDS = [f"w{v}" for v in range(12)]
TEXTS = [
    [WORDS[v] for v in RNG.integers(0, 12, n)] for n in (0, 1, 4, 9, 10, 11, 25, 109, 110, 111, 112, 160)
]
TOPICS = [["w1", "w5", "w3", "w7"], ["w0", "w2", "w9"], ["w3", "w1"]]
MEASURES = {"u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("window", [None, 3])
def test_it_is_gensims(measure, window):
    gensim_models = pytest.importorskip("gensim.models")
    from gensim.corpora import Dictionary

    if measure == "u_mass" and window is not None:
        return
    dictionary = Dictionary(TEXTS)
    of_gensim = gensim_models.CoherenceModel(
        topics=TOPICS, texts=TEXTS, dictionary=dictionary, coherence=measure, processes=1,
        **({} if measure == "u_mass" else {"window_size": window}),
    )  # fmt: skip
    found = coherence(TOPICS, TEXTS, measure, window=window)
    assert np.allclose(found, of_gensim.get_coherence_per_topic(), rtol=0, atol=1e-9)


def windows(window, text):
    return [set(text[s : s + window]) for s in range(max(len(text) - window + 1, 1))]


@pytest.mark.parametrize("window", [1, 3, 10, 110])
def test_windows_by_the_definition(window):
    sets = [one for text in TEXTS for one in windows(window, text)]
    found = coherence(TOPICS, TEXTS, "c_uci", window=window, as_gensim=False)
    for k, topic in enumerate(TOPICS):
        values = []
        for a, b in itertools.combinations(topic, 2):
            pa, pb, both = (np.mean([s >= w for s in sets]) for w in ({a}, {b}, {a, b}))
            values.append(np.log((both + 1e-12) / (pa * pb)))
        assert found[k] == pytest.approx(np.mean(values), abs=1e-9)


def test_references_of_any_kind_agree():
    filled = [text for text in TEXTS if text]
    corpus = hk.Corpus.from_documents(TEXTS, vocabulary=WORDS)
    ids = [[int(w[1:]) for w in text] for text in TEXTS]
    numbers = [[int(w[1:]) for w in topic] for topic in TOPICS]
    for measure in MEASURES:
        expected = coherence(TOPICS, TEXTS, measure)
        assert np.array_equal(coherence(TOPICS, corpus, measure), expected)
        assert np.array_equal(coherence(numbers, corpus, measure), expected)
        assert np.array_equal(coherence(numbers, ids, measure), expected)
        assert np.array_equal(coherence(numbers, TEXTS, measure, vocabulary=WORDS), expected)
    counts = np.array([[text.count(w) for w in WORDS] for text in filled])
    of_counts = hk.Corpus.from_counts(counts, vocabulary=WORDS)
    assert np.allclose(coherence(TOPICS, of_counts, "u_mass"), coherence(TOPICS, filled, "u_mass"))
    for measure in ("c_uci", "c_npmi", "c_v"):
        with pytest.raises(errors.DataError, match="corpus of counts"):
            coherence(TOPICS, of_counts, measure)


def test_a_folder_of_counts_is_seen_through(tmp_path):
    counts = RNG.integers(0, 3, (5, 12))
    corpus = hk.Corpus.from_counts(counts, vocabulary=WORDS)
    corpus.save(tmp_path / "counts")
    with pytest.raises(errors.DataError, match="order"):
        coherence(TOPICS, hk.Corpus.open(tmp_path / "counts"))
    hk.Corpus.from_documents(TEXTS, vocabulary=WORDS).save(tmp_path / "texts")
    found = coherence(TOPICS, hk.Corpus.open(tmp_path / "texts"))
    assert np.array_equal(found, coherence(TOPICS, TEXTS))


def test_weights_and_franchises_have_first_terms():
    weights = np.full((2, 12), 0.01)
    weights[0, [1, 5, 3]] = [3.0, 2.0, 1.0]
    weights[1, [0, 2, 9]] = [3.0, 2.0, 1.0]
    lists = [["w1", "w5", "w3"], ["w0", "w2", "w9"]]
    found = coherence(weights, TEXTS, "c_npmi", n_terms=3, vocabulary=WORDS)
    assert np.array_equal(found, coherence(lists, TEXTS, "c_npmi"))
    corpus = hk.Corpus.from_documents(TEXTS, vocabulary=WORDS)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 2, rng=0)
    topics = franchise.dish_parameters()
    assert np.array_equal(
        coherence(franchise, TEXTS, n_terms=5), coherence(topics, corpus, n_terms=5), equal_nan=True
    )


def test_terms_that_the_reference_lacks_give_nan():
    found = coherence([["w1", "w5"], ["w1", "unseen"]], TEXTS, "c_npmi")
    assert np.isfinite(found[0])
    assert np.isnan(found[1])
    corpus = hk.Corpus.from_documents(TEXTS, vocabulary=WORDS)
    assert np.isnan(coherence([["w1", "unseen"]], corpus, "u_mass")).all()


def test_diversity_and_exclusivity_by_hand():
    weights = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 4.0, 2.0, 3.0]])
    assert diversity(weights, n_terms=2) == pytest.approx(3 / 4)
    assert diversity(np.ones((3, 4)), n_terms=2) == pytest.approx(1 / 3)
    assert exclusivity(weights, n_terms=2, measure="share") == pytest.approx(
        [(4 / 5 + 3 / 7) / 2, (4 / 7 + 3 / 4) / 2]
    )
    own, frequent = [1.0, 0.5], [1.0, 0.75]  # of terms 0 and 1 in the first topic
    frex = np.mean([1 / (0.7 / e + 0.3 / f) for e, f in zip(own, frequent, strict=True)])
    assert exclusivity(weights, n_terms=2)[0] == pytest.approx(frex)
