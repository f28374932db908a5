"""`Franchise.fold_in`: words and labels, results, errors, and that it doesn't change the franchise."""

import threading

import numpy as np
import pytest
from evaluation_checks import row_of, three_levels, two_levels

import hdpkit as hk
from hdpkit import errors
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


# ---------------------------------------------------------------------- what it returns


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


def test_the_same_number_gives_the_same_result_and_nothing_changes():
    franchise, new = two_levels(), named([[0, 1, 2, 2], [1]], n_terms=3)
    before = franchise.freeze()
    first = franchise.fold_in(new, 3, rng=7)
    again, other = franchise.fold_in(new, 3, rng=7), franchise.fold_in(new, 3, rng=8)
    assert first.proportions.tobytes() == again.proportions.tobytes()
    assert first.dishes.tolist() == again.dishes.tolist()
    assert first.proportions.tobytes() != other.proportions.tobytes()
    after = franchise.freeze()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before["seating"][k], after["seating"][k]) for k in before["seating"])
    assert franchise._seeded_calls == 0
    franchise.audit()


def test_documents_do_not_influence_each_other():
    """A document's law is its own; with a stream of words its draws depend on what was drawn before."""
    franchise = two_levels()
    alone = franchise.fold_in(named([[0, 1, 2]], n_terms=3), 4, rng=1)
    first = franchise.fold_in(named([[0, 1, 2], [2, 2]], n_terms=3), 4, rng=1)
    assert first.proportions[0].tobytes() == alone.proportions[0].tobytes()


@pytest.mark.parametrize(
    "options", [{"store": "counts", "root": "weights"}, {"root": "weights"}, {"store": "explicit"}]
)
def test_stores_and_roots(options):
    franchise = two_levels(**options)
    found = franchise.fold_in(named([[0, 1, 2, 2], []], n_terms=3), 5, rng=0)
    weights, rest = franchise.root_weights()
    assert found.proportions[1] == pytest.approx(np.append(weights, rest), abs=1e-14)


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


def test_without_customers_everything_is_new():
    franchise = hk.Franchise(
        hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each="document"), named([[0, 1]])
    )
    found = franchise.fold_in(named([[0, 1, 1]]), 2, rng=0)
    assert found.proportions.tolist() == [[1.0]]
    assert found.dishes.tolist() == [0, 0, 0]


# ---------------------------------------------------------------------- words


def test_words_are_matched_by_the_vocabularies():
    franchise = topics(named(ANIMALS))
    new = [["hen", "dog"], ["cow", "cow", "cat"]]
    same = franchise.fold_in(named(new, vocabulary=franchise.data.vocabulary), 3, rng=2)
    own = franchise.fold_in(named(new), 3, rng=2)  # a vocabulary in another order
    numbers = {word: i for i, word in enumerate(franchise.data.vocabulary)}
    ids = franchise.fold_in(named([[numbers[w] for w in document] for document in new]), 3, rng=2)
    assert own.proportions.tobytes() == same.proportions.tobytes() == ids.proportions.tobytes()


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (named([["cat", "emu", "owl"]]), "'emu', 'owl'"),
        (named([["cat"], list("abcdefg")]), "'a', 'b', 'c', 'd', 'e' and 2 others"),
        (named([[0, 1, 7]]), "7"),
        (named([[0, 1, 2]], n_terms=100, names=["x"]), None),  # terms that no document has
    ],
)
def test_unknown_terms_are_named(new, told):
    franchise = topics(named(ANIMALS))
    if told is None:
        assert franchise.fold_in(new, 1, rng=0).n_groups == 1
        return
    with pytest.raises(errors.DataError, match="unknown terms") as caught:
        franchise.fold_in(new, rng=0)
    assert str(caught.value.value) == told
    assert "vocabulary=franchise.data.vocabulary" in caught.value.remedy


def test_data_of_the_wrong_kind():
    numbers = hk.Groups.from_arrays([[0.5, 1.0]], label="document")
    with pytest.raises(errors.DataError):
        two_levels().fold_in(numbers)
    root = hk.Restaurant(hk.NormalGamma(), concentration=1.0)
    franchise = begun(hk.Restaurant(root, each="document"), numbers)
    with pytest.raises(errors.DataError, match="measure over, not words"):
        franchise.fold_in(named([[0]]))
    with pytest.raises(errors.DataError, match="single numbers"):
        franchise.fold_in(hk.Groups.from_arrays([[[0.5, 1.0]]], label="document"))


def test_a_value_that_nothing_allows():
    class Even(hk.BaseMeasure):
        """Whole numbers that are even, uniform from 0 to 8."""

        def make(self):
            return []

        def add(self, statistics, value):
            statistics.append(value)

        def remove(self, statistics, value):
            statistics.remove(value)

        def log_predictive(self, value, many):
            return np.full(len(many), -np.log(5) if value % 2 == 0 else -np.inf)

    data = hk.Groups.from_arrays([[0, 2], [4]])
    franchise = begun(hk.Restaurant(hk.Restaurant(Even()), each="group"), data)
    assert franchise.fold_in(hk.Groups.from_arrays([[6, 8]]), rng=0).n_groups == 1
    with pytest.raises(errors.DataError, match="positive density") as caught:
        franchise.fold_in(hk.Groups.from_arrays([[6, 8], [2, 3]]), rng=0)
    assert caught.value.value == 3


def test_values_that_a_measure_in_python_takes():
    class Same(hk.BaseMeasure):
        """Strings; a dish prefers those that it has."""

        def make(self):
            return {}

        def add(self, statistics, value):
            statistics[value] = statistics.get(value, 0) + 1

        def remove(self, statistics, value):
            statistics[value] -= 1

        def log_predictive(self, value, many):
            return np.log([(s.get(value, 0) + 0.25) / (sum(s.values()) + 1.0) for s in many])

    data = hk.Groups.from_arrays([["u", "v"], ["w"]])
    franchise = begun(hk.Restaurant(hk.Restaurant(Same()), each="group"), data)
    found = franchise.fold_in(hk.Groups.from_arrays([["w", "w"], ["z"]]), rng=0)
    assert found.proportions.sum(axis=1) == pytest.approx(np.ones(2))


# ---------------------------------------------------------------------- labels


def test_labels_of_inner_levels_name_restaurants():
    franchise = three_levels()
    documents, journals = [[], [0, 1], []], ["B", "A", None]
    new = named(documents, n_terms=3, groups={"journal": journals})
    found = franchise.fold_in(new, 2, rng=0)
    for row, key in ((0, "B"), (2, None)):
        path = [("root", None)] + ([("journal", key)] if key else [])
        assert found.proportions[row] == pytest.approx(row_of(franchise, *path), abs=1e-14)


def test_groups_of_other_labels_than_documents():
    """New authors, each with several documents; the names of the old ones mean nothing."""
    corpus = named([[0, 0], [1], [2, 1]], n_terms=3, groups={"author": ["ann", "ann", "bob"]})
    franchise = topics(corpus, each="author")
    new = named([[0], [1, 2], [2]], n_terms=3, groups={"author": ["cid", "ann", "cid"]})
    found = franchise.fold_in(new, 2, rng=0)
    assert (found.label, found.names) == ("author", ("cid", "ann"))
    assert found.group.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("groups", "kind", "told"),
    [
        ({"journal": ["A", "C"]}, errors.DataError, "'C'"),
        ({"journal": list(range(10))[:2]}, errors.DataError, "0, 1"),
        (None, errors.DeclarationError, "journal"),
    ],
)
def test_labels_that_the_franchise_lacks(groups, kind, told):
    with pytest.raises(kind) as caught:
        three_levels().fold_in(named([[0], [1]], n_terms=3, groups=groups))
    assert str(caught.value.value) == told
    if kind is errors.DataError:
        assert "None" in caught.value.remedy


def test_customers_that_no_group_has():
    data = hk.Groups.from_labels([0.5, 1.0, 2.0], {"place": ["x", "x", "y"]})
    franchise = begun(hk.Restaurant(hk.Restaurant(hk.NormalGamma()), each="place"), data)
    with pytest.raises(errors.DataError, match="given for every customer"):
        franchise.fold_in(hk.Groups.from_labels([0.5, 1.0], {"place": ["x", None]}))
    with pytest.raises(errors.DeclarationError, match="a label of the new data"):
        franchise.fold_in(hk.Groups.from_arrays([[0.5]]))


def test_groups_across_restaurants():
    def groups(values, **labels):
        return hk.Groups.from_labels(values, labels)

    data = groups([0.5, 1.0, 2.0], region=["N", "N", "S"], town=["n1", "n2", "s1"], house=[1, 2, 3])
    restaurant = hk.Restaurant(hk.NormalGamma())
    for each in ("region", "town", "house"):
        restaurant = hk.Restaurant(restaurant, each=each, name=each)
    franchise = begun(restaurant, data)
    fine = groups([0.1, 0.2], region=["N", "N"], town=["n1", "n1"], house=["a", "a"])
    assert franchise.fold_in(fine, rng=0).names == ("a",)
    with pytest.raises(errors.DataError, match="customers of several towns"):
        franchise.fold_in(groups([0.1, 0.2], region=["N", "N"], town=["n1", "n2"], house=["a", "a"]))
    with pytest.raises(errors.DataError, match="below the same region"):
        franchise.fold_in(groups([0.1], region=["S"], town=["n1"], house=["a"]))


# ---------------------------------------------------------------------- models that are refused


def flat():
    return begun(hk.Restaurant(hk.DirichletMultinomial(0.5)), named([[0, 1]]))


def without_label():
    return begun(hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5))), named([[0, 1]]))


def own_concentrations():
    root = hk.Restaurant(hk.DirichletMultinomial(0.5))
    return begun(hk.Restaurant(root, concentration=hk.Each(hk.Gamma(1, 1)), each="document"), named([[0, 1]]))


def observed():
    return begun(hk.Restaurant(hk.Restaurant(hk.Uniform()), each="document"), named([[0, 1]]))


def contexts():
    data = hk.NGrams.from_sentences([["a", "b"]], order=2)
    return begun(hk.Restaurant(hk.Restaurant(hk.Uniform()), each="context 1"), data)


def no_predictive():
    measure = hk.NonConjugate(
        sample_prior=lambda generator: generator.normal(),
        log_likelihood=lambda value, parameters: -0.5 * (value - np.asarray(parameters)) ** 2,
    )
    data = hk.Groups.from_arrays([[0.5, 1.0]], label="document")
    return begun(hk.Restaurant(hk.Restaurant(measure), each="document"), data)


@pytest.mark.parametrize("made", [flat, without_label, own_concentrations, observed, contexts, no_predictive])
def test_models_that_have_no_fold_in(made):
    franchise = made()
    for call in (franchise.fold_in, lambda data: hk.evaluate(franchise, data)):
        with pytest.raises(errors.DeclarationError):
            call(franchise.data)


# ---------------------------------------------------------------------- threads


def test_another_thread_is_refused_while_a_step_runs_and_not_while_groups_are_sampled():
    franchise, new = two_levels(), named([[0, 1, 2] * 50] * 50, n_terms=3)
    caught = []

    def other():
        try:
            franchise.fold_in(new, 1, rng=0)
        except errors.BusyError as error:
            caught.append(error)

    with franchise.lock():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
    assert len(caught) == 1
    thread = threading.Thread(target=lambda: franchise.fold_in(new, 400, rng=0))
    thread.start()
    while thread.is_alive():
        franchise.n_dishes  # noqa: B018 - a BusyError would end the test
    thread.join()


# ---------------------------------------------------------------------- every measure

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
