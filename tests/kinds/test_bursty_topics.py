"""Topic models whose terms repeat within documents, through `TopicModel`."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.base_measures import Bursty
from hdpkit.kinds.topics import Topics, default_moves, topic_measure
from hdpkit.moves import BaseMeasureParameters, Concentration, Discount


def counts():
    """Documents in which each of two topics uses few of its terms, over and over."""
    rng, made = np.random.default_rng(3), np.zeros((10, 8), dtype=int)
    for d in range(len(made)):
        first = 4 * (d % 2)
        own = rng.choice(np.arange(first, first + 4), 2, replace=False)
        np.add.at(made[d], rng.choice(own, 9), 1)
    return made


def model(**options):
    given = {"purpose": "prediction", "bursty": True, "sweeps": 8, "samples": 2, "random_state": 0, **options}
    return hk.TopicModel(**given).fit(counts())


def test_topics_are_those_of_tables():
    fitted = model(samples=0)
    franchise, measure = fitted.franchise_, fitted.franchise_.measure
    assert isinstance(measure, Bursty)
    assert repr(measure.concentration.prior) == "Gamma(shape=1.0, rate=0.01)"
    assert len(set(fitted.trace_["concentration/bursts"])) > 1
    own = fitted.aligned_.which(franchise.sample())  # near duplicates are one
    tables = np.array([franchise.topic_counts[own == k].sum(axis=0) for k in range(fitted.n_components_)])
    assert (own >= 0).all()
    assert tables.sum() < counts().sum()
    expected = (tables + 0.05) / (tables.sum(axis=1, keepdims=True) + 0.05 * 8)
    assert np.allclose(fitted.components_, expected)
    assert np.isclose(fitted.component_shares_.sum(), 1.0)  # of tokens
    assert fitted.transform(counts()[:3]).shape == (3, fitted.n_components_)
    plain = hk.DirichletMultinomial(0.1)
    assert type(Bursty(plain, np.inf).for_data(franchise.data)) is type(plain)


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (topic_measure(0.1, False, True), ["Concentration"]),
        (topic_measure(0.1, False, 2.0), []),
        (topic_measure(hk.Gamma(1.0, 1.0), False, 2.0), ["BaseMeasureParameters"]),
        (hk.Bursty(hk.DirichletMultinomial(0.1), 2.0, hk.Beta(1.0, 1.0)), ["Discount"]),
    ],
)
def test_the_default_schedule_updates_what_has_a_prior(measure, names):
    restaurant = Topics(concentration=1.0, root_concentration=1.0).restaurants(measure, "document")
    kinds = (BaseMeasureParameters, Concentration, Discount)
    found = [move.name for move in default_moves(restaurant) if isinstance(move, kinds)]
    assert found == names
