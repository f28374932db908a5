"""`hk.TopicModel`: scikit-learn's rules, new documents, copies, folders."""

import collections
import pickle
import sys

import numpy as np
import pandas
import pytest
import scipy
import scipy.sparse as sp
from cvb0 import learned_probabilities
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_extraction.text import TfidfVectorizer

import hdpkit as hk
from hdpkit import moves
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.errors import DataError, MissingExtraError, ParameterError, RunError
from hdpkit.evaluation import fit_proportions
from hdpkit.kinds.topics import Topics
from hdpkit.posterior.evaluation import completion
from hdpkit.posterior.evaluation.completion import halves

SEA, BREAD = ["ship", "sail", "salt", "wave"], ["bread", "wine", "oven", "salt"]


def made_texts(n=30, seed=0, length=25):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(SEA if i % 2 else BREAD, length)) for i in range(n)]


TEXTS = made_texts()
COUNTS = TextCounter().fit(TEXTS).count(TEXTS)


def model(**options):
    return hk.TopicModel(**{"purpose": "prediction", "sweeps": 15, "random_state": 0, **options})


def by_size(fitted):
    """Numbers of the dishes of a single state, the largest first."""
    return np.argsort(-fitted.franchise_.sample().sizes, kind="stable")


@pytest.fixture(scope="module")
def fitted():
    return model().fit(COUNTS)


@pytest.fixture(scope="module")
def of_texts():
    return model(text=TextOptions(stop_words=["wave"])).fit(TEXTS)


def test_what_is_not_given_is_chosen_by_the_purpose():
    kind, prediction = Topics(), Topics(purpose="prediction")
    assert (kind.usual("eta"), kind.usual("bursty")) == (0.2, True)
    assert (prediction.usual("eta"), prediction.usual("bursty")) == (0.05, False)
    assert kind.run_settings({"sweeps": None}) == {"chains": 2, "sweeps": 500, "until": "readable"}
    assert kind.run_settings({"sweeps": 5, "chains": 1}) == {"chains": 1, "sweeps": 5, "until": None}
    assert kind.run_settings({"samples": hk.Samples(after=3)})["until"] is None
    assert Topics(sparse=True).usual("bursty") is False
    assert prediction.run_settings({"until": "quotable"})["until"] == "quotable"
    fitted = hk.TopicModel(sweeps=2, random_state=0).fit(COUNTS)
    assert len(fitted.franchises_) == 2
    assert isinstance(fitted.franchise_.measure, hk.Bursty)
    assert fitted.franchise_.measure.measure.eta == 0.2
    with pytest.raises(ParameterError, match=r"^purpose = 'reeding'"):
        hk.TopicModel(purpose="reeding").fit(COUNTS)


@pytest.mark.quick
def test_topics_are_found(fitted):
    assert fitted.n_components_ >= 2
    assert fitted.components_.shape == (fitted.n_components_, COUNTS.shape[1])
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    assert (np.diff(fitted.component_shares_) <= 0).all()
    assert fitted.component_shares_.sum() == pytest.approx(1.0 - fitted.aligned_.rest)
    assert fitted.aligned_.rest < 0.05
    last = model(samples=0).fit(COUNTS)
    np.testing.assert_allclose(last.components_, last.franchise_.dish_parameters()[by_size(last)])
    assert last.component_shares_.sum() == pytest.approx(1.0)
    shares = fitted.transform(COUNTS)
    assert shares.shape == (30, fitted.n_components_)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    first = shares.argmax(axis=1)
    assert set(first[::2]).isdisjoint(first[1::2])
    names = fitted.get_feature_names_out()
    assert names.tolist() == [f"topicmodel{k}" for k in range(fitted.n_components_)]
    assert str(fitted.diagnosis_)
    assert fitted.n_iter_ == 15 == fitted.trace_.n_draws


def test_the_same_seed_gives_the_same_model(fitted):
    again = model().fit(COUNTS.toarray())
    assert np.array_equal(again.components_, fitted.components_)
    assert np.array_equal(model().fit(hk.Corpus.from_counts(COUNTS)).components_, fitted.components_)
    state = np.random.RandomState(3)
    one, other = (model(sweeps=3, random_state=state).fit(COUNTS) for _ in range(2))
    assert one.trace_.seed != other.trace_.seed
    assert model(sweeps=2, random_state=np.random.default_rng(0)).fit(COUNTS).trace_.seed > 2**32


def test_proportions_by_em_are_those_of_the_readable_fixed_point(fitted):
    rng = np.random.default_rng(0)
    for eta in (0.1, rng.uniform(0.05, 0.5, COUNTS.shape[1])):
        one = model(eta=eta, transform_tolerance=1e-9, sweeps=8, samples=0).fit(COUNTS)
        franchise = one.franchise_
        weights, rest = franchise.root_weights()
        prior = franchise.concentration("document") * np.append(weights, rest)
        mean = franchise.measure.eta_vector / franchise.measure.eta_vector.sum()
        phi = np.vstack([franchise.dish_parameters(), mean])
        counts = sp.csr_array(rng.poisson(1.0, size=(6, COUNTS.shape[1])) * 1.0)
        counts.data *= 0.7  # fractions are taken as they are
        found = one.transform(counts)
        for d in range(6):
            terms = counts[[d]].indices
            theta = fit_proportions(phi[:, terms], prior, counts[[d]].data, 1e-10)[:-1][by_size(one)]
            np.testing.assert_allclose(found[d], theta / theta.sum(), atol=1e-6)
    empty = one.transform(np.zeros((1, COUNTS.shape[1])))
    np.testing.assert_allclose(empty[0], weights[by_size(one)] / weights.sum())


@pytest.mark.quick
def test_scores_are_those_of_evaluate(fitted):
    observed, held = halves(COUNTS, 0)
    assert ((observed + held) != sp.csr_array(COUNTS)).nnz == 0
    assert observed.sum() == 30 * 12
    exact = clone(fitted).set_params(transform_tolerance=1e-8, samples=0, score_method="fixed").fit(COUNTS)
    corpora = [hk.Corpus.from_counts(half) for half in (observed, held)]
    expected = hk.evaluate(exact.franchise_, corpora[0], held_out=corpora[1], tolerance=1e-8)
    assert exact.perplexity(observed, held) == pytest.approx(expected.perplexity, rel=1e-5)
    assert exact.perplexity(COUNTS) == pytest.approx(expected.perplexity, rel=1e-5)
    assert exact.score(COUNTS) == pytest.approx(-np.log(expected.perplexity), rel=1e-5)
    states = [one.franchise_ for one in (model(sweeps=n, samples=0).fit(COUNTS) for n in (13, 15))]
    several = model(sweeps=15, samples=hk.Samples(after=11, every=2), score_method="fixed").fit(COUNTS)
    expected = hk.evaluate(states, corpora[0], held_out=corpora[1])
    assert [sample.sweep for sample in several.samples_] == [13, 15]
    assert several.perplexity(observed, held) == pytest.approx(expected.perplexity, rel=1e-3)
    with pytest.raises(DataError, match="held_out"):
        exact.perplexity(observed, held[:3])
    with pytest.raises(DataError, match="no token"):
        exact.score(COUNTS * 0)


def test_a_large_document_is_divided_by_counts_with_the_same_law(monkeypatch):
    monkeypatch.setattr(completion, "_TOKENS", 1)
    counts, n = np.array([[3, 2, 4]]), 4000
    rng = np.random.default_rng(0)
    found = collections.Counter(tuple(halves(counts, rng)[0].toarray()[0].tolist()) for _ in range(n))
    law = scipy.stats.multivariate_hypergeom(counts[0], 4)
    cells = [(i, j, 4 - i - j) for i in range(4) for j in range(3) if i + j <= 4]
    expected = n * np.array([law.pmf(cell) for cell in cells])
    assert set(found) <= set(cells)
    assert scipy.stats.chisquare([found[cell] for cell in cells], expected).pvalue > 1e-4


def test_topics_learn_the_observed_words_of_a_document():
    one = model(eta=0.2, transform_tolerance=1e-12, sweeps=8, samples=0).fit(COUNTS)
    sample, rng = one.franchise_.sample(), np.random.default_rng(3)
    observed, held = (sp.csr_array(rng.poisson(0.7, size=(5, COUNTS.shape[1]))) for _ in range(2))
    n_terms, n_tokens = COUNTS.shape[1], np.append(sample.sizes, 0)
    phi = np.vstack([sample.topics(), np.full(n_terms, 1 / n_terms)])
    prior = float(one.franchise_.concentration("document")) * sample.root_weights
    logs = []
    for d in range(5):
        terms, counts = observed[[d]].indices, observed[[d]].data.astype(float)
        theta = fit_proportions(phi[:, terms], prior, counts, 1e-12)
        mass = n_tokens + 0.2 * n_terms
        found = learned_probabilities(phi, prior, mass, theta, terms, counts, held[[d]].indices)
        logs.append(held[[d]].data @ np.log(found))
    assert one.score(observed) == one.score(observed)
    assert -np.log(one.perplexity(observed, held)) == pytest.approx(sum(logs) / held.sum(), rel=1e-6)
    # Documents don't influence each other.
    alone = [-np.log(one.perplexity(observed[[d]], held[[d]])) * held[[d]].sum() for d in range(5)]
    np.testing.assert_allclose(alone, logs, rtol=1e-6)


def test_a_joint_score_is_that_of_a_model_with_the_observed_halves():
    counts = np.random.default_rng(0).poisson(0.8, size=(40, 25))
    train, observed, held = counts[:25], counts[25:35], counts[25:35] + counts[:10]
    observed = np.vstack([observed, np.zeros((1, 25), int)])  # a document without words is scored, too
    held = np.vstack([held, counts[39]])
    one = hk.TopicModel(
        purpose="prediction", sweeps=10, partial_sweeps=6, samples=3, score_method="joint", random_state=0
    ).fit(train)
    before = one.franchise_.freeze()
    score = one.perplexity(observed, held)
    assert one.perplexity(observed, held) == score  # the model itself does not change
    assert np.array_equal(one.franchise_.freeze()["seating"]["dish"], before["seating"]["dish"])
    grown = clone(one).fit(train).partial_fit(observed)
    shares = [
        sample.group_weights(slice(25, None)) @ np.vstack([sample.topics(), np.full(25, 1 / 25)])
        for sample in grown.samples_
    ]
    logs = np.log(np.mean(shares, axis=0))
    assert score == pytest.approx(np.exp(-(held * logs).sum() / held.sum()), rel=1e-9)
    nothing = np.zeros_like(observed)
    fixed = clone(one).set_params(score_method="learned").fit(train)
    assert one.perplexity(nothing, held) == pytest.approx(fixed.perplexity(nothing, held))


def test_texts_need_a_counter_and_a_string_in_each_row(fitted, of_texts):
    with pytest.raises(DataError, match="texts"):
        fitted.transform(TEXTS)
    with pytest.raises(DataError, match="text 1"):
        of_texts.transform(pandas.Series(["ship", None]))
    with pytest.raises(DataError, match="text 0"):
        of_texts.transform(pandas.Series([None, "ship"]))
    with pytest.raises(ValueError, match="1D"):
        model().fit(np.arange(5))
    counter = TextCounter(vocabulary=["bread", "ship"])
    assert model(text=counter, sweeps=2).fit(TEXTS).terms_ == ("bread", "ship")


def test_data_frames_and_corpora_bring_names(fitted):
    frame = pandas.DataFrame(COUNTS.toarray(), columns=TextCounter().fit(TEXTS).vocabulary)
    one = model(sweeps=2).fit(frame)
    assert one.feature_names_in_.tolist() == list(frame.columns)
    assert one.terms_ == tuple(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        one.transform(frame[frame.columns[::-1]])
    turned = hk.Corpus.from_counts(frame[frame.columns[::-1]])
    np.testing.assert_allclose(one.transform(turned), one.transform(frame))
    with pytest.raises(DataError, match="terms"):
        fitted.transform(hk.Corpus.from_documents([[0]], n_terms=3))
    assert not hasattr(one.fit(hk.Corpus.from_counts(COUNTS)), "feature_names_in_")
    one.set_output(transform="pandas")
    assert isinstance(one.transform(COUNTS), pandas.DataFrame)


def test_fractions_are_rounded_and_weights_are_refused():
    with pytest.warns(DataConversionWarning, match="fractions were rounded"):
        one = model(sweeps=2).fit(COUNTS.toarray() * 1.1)
    assert one.franchise_.topology.n_customers == np.rint(COUNTS.toarray() * 1.1).sum()
    with pytest.raises(DataError, match="CountVectorizer, not TfidfVectorizer"):
        model().fit(TfidfVectorizer(norm="l1").fit_transform(TEXTS))


@pytest.mark.parametrize("options", [{}, {"sparse": True}, {"n_components": 4}])
def test_new_documents_join(options):
    one = model(sweeps=5, partial_sweeps=3, **options).partial_fit(COUNTS[:20])
    trace, before = one.trace_, one.franchise_.freeze()
    old = one.franchise_
    one.partial_fit(COUNTS[20:])
    assert one.franchise_.topology.n_customers == COUNTS.sum()
    assert one.n_iter_ == 8
    for franchise in one.franchises_:
        franchise.audit()
    assert one.trace_ is not trace
    assert pickle.dumps(old.freeze()) == pickle.dumps(before)  # another franchise
    again = model(sweeps=5, partial_sweeps=3, **options).fit(COUNTS[:20]).partial_fit(COUNTS[20:])
    assert np.array_equal(again.components_, one.components_)
    one.partial_fit(COUNTS[:2] * 0)
    assert one.n_iter_ == 11
    with pytest.raises(ValueError, match="features"):
        one.partial_fit(COUNTS[:, :3])


def split(text):
    return text.split()


CASES = {
    "counts": lambda: model(sweeps=4, eta=hk.Gamma(1.0, 1.0), init=hk.init.Random(5)).fit(COUNTS),
    "texts": lambda: model(sweeps=4, text=TextOptions(min_documents=2, ngrams=(1, 2))).fit(TEXTS),
    "sparse": lambda: hk.SparseTopicModel(
        chains=1, sweeps=4, smoothing=hk.Each(hk.Gamma(1.0, 1.0)), random_state=1
    ).fit(COUNTS),
    "schedule": lambda: model(
        sweeps=4, schedule=[moves.SliceGibbs(), moves.RootWeights().every(2)], store="counts", root="weights"
    ).fit(COUNTS),
    "frame": lambda: model(sweeps=4, n_components=3).fit(pandas.DataFrame(COUNTS.toarray()).add_prefix("w")),
    "after partial_fit": lambda: model(sweeps=4, partial_sweeps=4).fit(COUNTS[:20]).partial_fit(COUNTS[20:]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_folder_is_the_model_again(case, tmp_path):
    one = CASES[case]()
    one.save(tmp_path / "model")
    again = type(one).load(tmp_path / "model")
    assert repr(again.get_params()) == repr(one.get_params())
    new = made_texts(3, seed=4) if one.counter_ is not None else COUNTS[:3].toarray()
    if hasattr(one, "feature_names_in_"):
        new = pandas.DataFrame(new, columns=one.feature_names_in_)
    assert np.array_equal(again.transform(new), one.transform(new))
    assert again.terms_ == one.terms_
    assert np.array_equal(again.trace_["log_joint"], one.trace_["log_joint"])
    assert [sample.sweep for sample in again.samples_] == [sample.sweep for sample in one.samples_]
    assert len(one.samples_) == 2
    for kept, read in zip(one.samples_, again.samples_, strict=True):
        assert np.array_equal(kept.ids, read.ids)
        assert (kept.counts != read.counts).nnz == 0
    for model_of in (one, again):
        model_of.set_params(partial_sweeps=2).partial_fit(new)
    assert np.array_equal(again.components_, one.components_)
    run = hk.open_run(tmp_path / "model")
    assert run.resume(sweeps=2).n_draws == 2 + hk.open_run(tmp_path / "model").trace.n_draws - 2
    with pytest.raises(RunError, match="holds no run"):
        one.save(tmp_path / "model")


def test_a_tokenizer_needs_leave(tmp_path):
    model(sweeps=2, text=TextOptions(tokenizer=split)).fit(TEXTS).save(tmp_path / "model")
    with pytest.raises(RunError, match="allow"):
        hk.TopicModel.load(tmp_path / "model")
    again = hk.TopicModel.load(tmp_path / "model", allow=[split])
    assert again.text.tokenizer is split
    assert again.transform(["ship"]).shape[0] == 1


def test_scikit_learn_is_imported_when_it_is_needed(monkeypatch):
    assert "TopicModel" in dir(hk)
    with pytest.raises(AttributeError, match="TopicModels"):
        hk.TopicModels  # noqa: B018
    monkeypatch.delitem(vars(hk), "SparseTopicModel", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"hdpkit\[text\]"):
        hk.SparseTopicModel  # noqa: B018


def test_known_topics_are_the_first_dishes_and_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(12, 0.3), size=3)
    X = np.array([rng.multinomial(40, row) for row in rng.dirichlet(np.ones(3), size=20) @ topics])
    known = hk.Known(topics, counts=50, frozen=[True, False, False])
    model = hk.TopicModel(purpose="prediction", sweeps=20, samples=4, random_state=0, known=known).fit(X)
    first = np.flatnonzero((model.aligned_.ids_by_sample == 0).all(axis=0))[0]
    assert model.components_[first] == pytest.approx(topics[0])
    shares = model.transform(X)
    assert shares.shape == (20, model.n_components_)
    assert np.isfinite(model.score(X))
    model.save(tmp_path / "model")
    again = hk.TopicModel.load(tmp_path / "model")
    assert again.franchise_.known.n_components == 3
    assert again.transform(X) == pytest.approx(shares)
    model.partial_fit(X[:5])
    assert model.franchise_.dish_ids[:3].tolist() == [0, 1, 2]
