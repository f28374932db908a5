"""`Franchise.fold_in`: words and labels, results, errors, and that it doesn't change the franchise."""

import numpy as np
import pytest
from evaluation_checks import row_of, three_levels, two_levels

import hdpkit as hk
from hdpkit.base_measures import base_measures
from hdpkit.franchise.starts import start
from hdpkit.posterior.fold_in import new_group_model
from hdpkit.random import STARTS, Streams
from hdpkit.testing.cases import repeated


def begun(restaurant, data, **options):
    franchise = hk.Franchise(restaurant, data, **options)
    start(franchise, "sequential", Streams(0).source(STARTS))
    return franchise


def topics(corpus, each="document", **options):
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0, name="root")
    return begun(hk.Restaurant(root, concentration=0.7, each=each, name="group"), corpus, **options)


def named(documents, **options):
    return hk.Corpus.from_documents(documents, **options)


ANIMALS = [["cat", "dog", "cat"], ["cow", "dog"], ["hen", "hen", "cow"]]


def test_what_it_returns():
    franchise = two_levels()
    new = named([[0, 1, 2, 2], [], [1]], n_terms=3, names=["a", "b", "c"])
    found = franchise.fold_in(new, 5, burn_in=2, rng=0)
    K = franchise.n_dishes
    assert (found.label, found.names, found.n_groups, found.n_dishes) == ("document", ("a", "b", "c"), 3, K)
    assert (found.sweeps, found.burn_in) == (5, 2)
    assert found.proportions.shape == (3, K + 1)
    assert found.proportions.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-13)
    assert found.proportions.min() > 0
    assert found.proportions[1] == pytest.approx(row_of(franchise, ("root", None)), abs=1e-15)
    assert found.group.tolist() == [0, 0, 0, 0, 2]
    assert found.dishes.min() >= 0
    assert found.dishes.max() <= K
    counts = found.to_counts().toarray()
    assert counts.shape == (3, K + 1)
    assert counts.sum(axis=1).tolist() == [4, 0, 1]
    assert counts[2, found.dishes[4]] == 1
    for array in (found.proportions, found.dishes, found.group):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        found.sweeps = 3
    assert repr(found).startswith(f"<FoldIn: 3 groups (document), 5 customers, {K} dishes and a new one")


def test_customers_in_any_order_come_back_in_that_of_the_data():
    values, labels = [5.0, -5.0, 5.1, -5.1, 4.9], ["x", "y", "x", "y", "x"]
    data = hk.Groups.from_labels(values, {"place": labels})
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 1.0), concentration=1.0)
    franchise = begun(hk.Restaurant(root, concentration=1.0, each="place"), data)
    franchise.reseat(0, 5, Streams(1).source(1))
    new = hk.Groups.from_labels([-5.0, 5.0, -5.0, 5.0], {"place": ["q", "p", "q", "p"]})
    found = franchise.fold_in(new, 40, rng=0)
    assert found.names == ("q", "p")
    assert found.group.tolist() == [0, 1, 0, 1]
    dish_of = dict(zip(values, franchise.dishes.tolist(), strict=True))
    assert np.mean(found.dishes == [dish_of[-5.0], dish_of[5.0]] * 2) >= 0.5


def test_words_are_matched_by_the_vocabularies():
    franchise = topics(named(ANIMALS))
    new = [["hen", "dog"], ["cow", "cow", "cat"]]
    same = franchise.fold_in(named(new, vocabulary=franchise.data.vocabulary), 3, rng=2)
    own = franchise.fold_in(named(new), 3, rng=2)  # a vocabulary in another order
    numbers = {word: i for i, word in enumerate(franchise.data.vocabulary)}
    ids = franchise.fold_in(named([[numbers[w] for w in document] for document in new]), 3, rng=2)
    assert own.proportions.tobytes() == same.proportions.tobytes() == ids.proportions.tobytes()


def test_labels_of_inner_levels_name_restaurants():
    franchise = three_levels()
    documents, journals = [[], [0, 1], []], ["B", "A", None]
    new = named(documents, n_terms=3, groups={"journal": journals})
    found = franchise.fold_in(new, 2, rng=0)
    for row, key in ((0, "B"), (2, None)):
        path = [("root", None)] + ([("journal", key)] if key else [])
        assert found.proportions[row] == pytest.approx(row_of(franchise, *path), abs=1e-14)


EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}")
    for name, entry in base_measures.items()
    for number, example in enumerate(entry.examples())
    if example.conjugate and not example.atomic
]


@pytest.mark.parametrize("measure", EXAMPLES)
def test_every_measure_has_densities_and_scores(measure):
    """Densities of the bank, scaled, are those of the measure's own methods; scores are finite."""
    examples = measure.example_values()
    values = repeated([0, 1, 2] if examples is None else examples, 9)
    arrays = [values[:4], values[4:7]]
    root = hk.Restaurant(measure, concentration=1.0)
    franchise = begun(
        hk.Restaurant(root, concentration=0.7, discount=0.2, each="group"), hk.Groups.from_arrays(arrays)
    )
    new = hk.Groups.from_arrays([values[7:], values[:1]])
    fixed = new_group_model(franchise, new, scaled=True)
    ready = franchise.measure
    dishes = [ready.make() for _ in range(franchise.n_dishes + 1)]
    for value, dish in zip(franchise.data.values, franchise.dishes.tolist(), strict=True):
        ready.add(dishes[dish], value)
    for i, value in enumerate(new.values):
        row = fixed.row[i]
        expected = np.asarray(ready.log_predictive(value, dishes))
        found = np.log(fixed.density[row]) + fixed.log_scale[row]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert franchise.fold_in(new, 3, rng=0).proportions.sum(axis=1) == pytest.approx(np.ones(2))
    for method in ("completion", "left-to-right"):
        assert np.isfinite(hk.evaluate(franchise, new, method=method, particles=2).log_probability)
