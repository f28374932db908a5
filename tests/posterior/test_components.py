"""The number of components that people see: of all samples of all chains, near duplicates as one."""

import json

import numpy as np
import pytest
from fit_command import call

import hdpkit as hk
from hdpkit import moves
from hdpkit.summaries import components


def test_topics_of_a_few_words_are_not_near_duplicates():
    """By the prior alone all of them are nearly the same."""
    rng = np.random.default_rng(5)
    corpus = hk.Corpus.from_documents([rng.choice(2000, 4, replace=False) for _ in range(60)], n_terms=2000)
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(5.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    start = np.repeat(np.arange(60), 4)
    hk.Scheduler([moves.Concentration()]).run(franchise, 1, rng=0, init=start)
    assert len(components(franchise)) == 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two chains over documents of four topics."""
    rng = np.random.default_rng(3)
    words = [[f"{name}{v}" for v in "abcdef"] for name in ("salt", "ship", "wine", "corn")]
    documents = [
        [str(rng.choice(words[(d + int(rng.random() < 0.5)) % 4])) for _ in range(40)] for d in range(40)
    ]
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), hk.Corpus.from_documents(documents))
    place = tmp_path_factory.mktemp("components") / "run"
    schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()])
    schedule.run(franchise, 60, rng=0, chains=2, samples=8, folder=place)
    return place


def weeks(n=30, seed=0):
    """Documents of two topics."""
    rng = np.random.default_rng(seed)
    return np.array(
        [rng.multinomial(40, np.roll([0.3, 0.3, 0.3, 0.1, 0, 0, 0, 0], 4 * (d % 2))) for d in range(n)]
    )


@pytest.mark.parametrize("options", [{"chains": 2, "samples": 6}, {"samples": 0}, {"samples": 4}], ids=str)
def test_a_topic_model_shows_the_components_of_all_samples(options, tmp_path):
    model = hk.TopicModel(
        purpose="prediction", sweeps=20, random_state=0, transform_tolerance=1e-6, **options
    ).fit(weeks())
    found = components(model)
    model.save(tmp_path / "run")
    told = json.loads(call("topics", tmp_path / "run", "--format", "json"))
    assert model.n_components_ == len(found) == told["n_topics"] == len(model.labels_)
    places = [[(one.chain, one.sweep) for one in of.samples] for of in (found, components(tmp_path / "run"))]
    assert places[0] == places[1]
    assert len(places[0]) >= max(options["samples"], 1) * options.get("chains", 1)
    assert model.component_shares_.tolist() == [topic["share"] for topic in told["topics"]]
    assert list(model.labels_) == [topic["label"] for topic in told["topics"]]
    np.testing.assert_allclose(model.components_, found.rows)
    np.testing.assert_allclose(model.component_shares_, found.shares)
    assert model.get_feature_names_out().shape == (len(found),)
    new = weeks(5, seed=1)
    new[4] = 0
    folded = found.fold_in(new)
    for method in ("em", "gibbs"):
        shares = model.set_params(transform_method=method).transform(new)
        assert shares.shape == (5, len(found))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        if method == "em":
            expected = folded[:, :-1] / folded[:, :-1].sum(axis=1, keepdims=True)
            np.testing.assert_allclose(shares, expected, atol=0.02)
    np.testing.assert_allclose(shares[4], found.weights[:-1] / found.weights[:-1].sum(), atol=0.1)
    again = hk.TopicModel.load(tmp_path / "run")
    np.testing.assert_array_equal(again.components_, model.components_)


def group_of(data, name):
    return data[name] if hasattr(data, "children") else getattr(data, name)


def test_components_over_chains_and_draws_for_arviz(folder):
    pytest.importorskip("arviz")
    found = components(folder)
    data = found.to_inference_data()
    posterior = group_of(data, "posterior")
    n, T, V = len(found.samples) // 2, len(found), found.n_terms
    assert posterior["share"].shape == posterior["occurrence"].shape == (2, n, T)
    assert posterior["row"].shape == (2, n, T, V)
    assert posterior["component"].values.tolist() == list(range(1, T + 1))
    assert posterior["term"].values.tolist() == list(found.data.vocabulary)
    assert posterior["draw"].values.tolist() == [one.sweep for one in found.samples if one.chain == 0]
    np.testing.assert_allclose(posterior["share"].mean(("chain", "draw")), found.shares)
    np.testing.assert_allclose(posterior["rest"].mean(), found.rest)
    np.testing.assert_allclose(posterior["occurrence"].mean("draw"), found.occurrence_by_chain)
    np.testing.assert_allclose(posterior["row"].mean(("chain", "draw")), found.rows, atol=1e-12)
    absent = posterior["occurrence"].values == 0
    assert np.isnan(posterior["row"].values[absent]).all()
    without = group_of(found.to_inference_data(rows=False), "posterior")
    assert "row" not in without
    assert "share" in without
