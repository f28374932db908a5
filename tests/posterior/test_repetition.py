"""Words that repeat within documents and in most documents: what is counted and said."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.posterior.repetition import boilerplate, repetition


def corpus():
    rng, documents = np.random.default_rng(0), []
    for _ in range(60):
        phi = rng.dirichlet(np.full(40, 3.0 / 40))
        documents.append(rng.choice(40, 30, p=phi).tolist())
    return hk.Corpus.from_documents(documents, n_terms=40)


def sample_of(measure, data, root="restaurant", store="histogram"):
    above = hk.Restaurant(measure, concentration=0.001)
    document = hk.Restaurant(above, concentration=1.0, each="document")
    franchise = hk.Franchise(document, data, root=root, store=store)
    schedule = [moves.TableGibbs(), *([moves.Concentration()] if measure.seats_values else [])]
    hk.Scheduler(schedule).run(franchise, 15, rng=0, init="one")
    return franchise.sample()


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_bursts_explain_pairs(discount):
    data = corpus()
    observed = data.to_counts().nnz
    found = repetition(
        sample_of(hk.Bursty(hk.DirichletMultinomial(0.5), hk.Gamma(1.0, 0.1), discount), data), observed
    )
    assert abs(found.bursty / observed - 1.0) < 0.2
    assert found.plain > 1.5 * observed
    assert f"{observed:,}" in found.sentence()
    assert f"{found.bursty:,} would be expected of this model" in found.sentence()


def test_a_plain_model_has_none():
    data = corpus()
    found = repetition(sample_of(hk.DirichletMultinomial(0.5), data), data.to_counts().nnz)
    assert found.bursty is None
    assert found.plain > 1.5 * found.observed
    assert "as the model assumes" in found.sentence("word", "text")
    assert found == repetition(sample_of(hk.DirichletMultinomial(0.5), data), found.observed)


def test_numbers_have_no_pairs():
    franchise = hk.Franchise(
        hk.Restaurant(hk.NormalGamma(), concentration=1.0), hk.Groups.from_labels([0.1, 0.5])
    )
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0)
    assert repetition(franchise.sample(), 2) is None


def test_the_terms_topics_and_shares_are_counted():
    counts = np.zeros((6, 20), dtype=int)
    counts[:, 0] = 10  # leads all topics
    counts[:, 1] = 1  # common, but leads none
    for k in range(6):
        counts[k, 2 + 3 * k : 5 + 3 * k] = 8
    found = boilerplate(counts, [60, 45, *[10] * 18], 100, [f"w{v}" for v in range(20)])
    assert found.terms == ("w0", "w1")
    assert (found.share, found.n_topics, found.token_share) == (0.45, 6, 1.0)
    assert boilerplate(counts, [29] * 20, 100, None) is None  # no term is common
    assert boilerplate(counts[:4], [60] * 20, 100, None) is None  # few topics
    counts[:, 0] = 0
    assert boilerplate(counts, [60, 45, *[10] * 18], 100, None) is None  # they lead nothing
