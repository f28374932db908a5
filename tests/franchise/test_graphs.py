"""Declarations of several parents, where customers sit, and what a franchise of them offers."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.freezing import Snapshot

SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration(), moves.ParentWeights()]


def root_of(measure=None, **options):
    return hk.Restaurant(measure or hk.DirichletMultinomial(0.5), **options)


def years(n=3, **weights):
    """Topics of years, each from those of the year before and from new ones, over nine documents."""
    gamma = hk.Gamma(1, 1)
    root, G = root_of(concentration=gamma), {}
    for year in range(n):
        new = hk.Restaurant(root, concentration=gamma, name=f"new in {year}")
        base = hk.MixtureOf(G[year - 1], new, **weights) if G else new
        G[year] = hk.Restaurant(base, concentration=gamma, name=f"topics of {year}")
    leaf = hk.Restaurant(hk.OneOf("year", G), concentration=hk.Gamma(2, 1), each="document")
    documents = [[(j + i) % 6 for i in range(5)] for j in range(9)]
    labels = {"year": [j % n for j in range(9)]}
    return leaf, hk.Corpus.from_documents(documents, n_terms=6, groups=labels)


def test_customers_sit_where_their_labels_say():
    root = root_of()
    a, b = hk.Restaurant(root, each="a"), hk.Restaurant(root, each="b")
    c = hk.Restaurant(hk.MixtureOf(a, b), each="c")
    labels = {"a": [0, None, 0, 1, None], "b": [None, 0, 0, 0, None], "c": [None, None, "x", "y", None]}
    franchise = hk.Franchise(c, hk.Groups.from_labels([0, 1, 2, 0, 1], labels))
    homes = {
        (name, key): franchise.restaurant(name, key).customers.tolist()
        for name in ("root", "a", "b", "c")
        for key in franchise.keys(name)
    }
    assert homes == {
        ("root", None): [4], ("a", 0): [0], ("a", 1): [], ("b", 0): [1], ("c", "x"): [2], ("c", "y"): [3],
    }  # fmt: skip
    tree = franchise.topology
    assert [tree.parent[list(tree.arms(tree.node(3, key, "c")))].tolist() for key in "xy"] == [[1, 3], [2, 3]]
    assert tree.n_levels == 3
    assert tree.n_restaurants == 6
    assert tree.n_nodes == 8


def test_without_a_label_a_customer_sits_in_the_lowest_restaurant():
    """Of two bases of which one lies below the other, as a context of the general corpus below its root."""
    root = root_of()
    general = hk.Restaurant(root, each="general")
    domain = hk.Restaurant(hk.MixtureOf(root, general), each="domain")
    data = hk.Groups.from_labels([0, 1], {"general": [5, 5], "domain": [None, 7]})
    franchise = hk.Franchise(domain, data)
    assert franchise.restaurant("general").customers.tolist() == [0]


def bases(root):
    return hk.Restaurant(root, each="a"), hk.Restaurant(root, each="b")


def franchise_of(labels, below=hk.MixtureOf, **options):
    a, b = bases(root_of())
    leaf = hk.Restaurant(below(a, b), each="c")
    return hk.Franchise(leaf, hk.Groups.from_labels([0] * len(labels["a"]), labels), **options)


def by_value(a, b):
    return hk.OneOf("year", {1: a, 2: b})


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: hk.Restaurant(hk.MixtureOf(root_of(), hk.Restaurant(root_of(), name="x")), name="y"),
         errors.DeclarationError, "restaurants with one root"),
        (lambda: franchise_of({"a": [0], "b": [0], "c": [None]}), errors.DataError, "lies below all others"),
        (lambda: franchise_of({"a": [0, 1], "b": [0, 0], "c": [0, 0]}), errors.DataError, "of a"),
        (lambda: franchise_of({"a": [0], "b": [0]}), errors.DeclarationError, "a label of the data"),
        (lambda: franchise_of({"a": [0], "b": [0], "c": [0]}, by_value), errors.DeclarationError, "year"),
        (lambda: franchise_of({"a": [0], "b": [0], "c": [0], "year": [3]}, by_value),
         errors.DataError, "hk.OneOf"),
        (lambda: franchise_of({"a": [0], "b": [0], "c": [0]}, store="counts", root="weights"),
         errors.DeclarationError, "histogram"),
        (lambda: hk.Franchise(hk.Restaurant(hk.MixtureOf(*bases(root_of())), each=hk.PreviousDish()),
                              hk.Groups.from_labels([0], {"a": [0], "b": [0]})),
         errors.DeclarationError, "have one parent"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_views_and_totals_are_sums_over_arms():
    franchise = hk.Franchise(*years(), store="explicit")
    hk.Scheduler(SCHEDULE).run(franchise, sweeps=5, rng=1)
    customers, tables = franchise.totals()
    view = franchise.restaurant("topics of 1")
    assert (view.n_customers, view.n_tables) == (customers[view.node], tables[view.node])
    by_parent = view.tables_by_parent
    assert list(by_parent) == ["topics of 0", "new in 1"]
    assert sum(by_parent.values()) == view.n_tables
    sizes = [view.table_sizes(dish) for dish in view.dishes]
    assert sum(map(len, sizes)) == view.n_tables
    assert np.concatenate(sizes).sum() == view.n_customers
    assert sorted(view.table_sizes().tolist()) == sorted(np.concatenate(sizes).tolist())
    for dish, own in zip(view.dishes, sizes, strict=True):
        assert (view.customers_of(dish), view.tables_of(dish)) == (own.sum(), len(own))
    assert franchise.n_tables == tables[1:].sum() == sum(map(franchise.tables_of, franchise_names(franchise)))
    assert franchise.restaurant("document", 0).tables_by_parent == {
        "topics of 0": franchise.restaurant("document", 0).n_tables
    }
    assert franchise.restaurant("root").tables_by_parent == {}
    view.unseat  # noqa: B018 - it has no data customers
    one = franchise.restaurant("document", 3)
    customer = int(one.customers[0])
    one.unseat(customer, 0)
    one.seat(customer, rng=0)
    franchise.audit()


def franchise_names(franchise):
    return [one.name for one in franchise.declarations[1:]]


def test_new_groups_lie_below_the_restaurant_of_their_value():
    franchise = hk.Franchise(*years())
    hk.Scheduler(SCHEDULE).run(franchise, sweeps=5, rng=1)
    new = hk.Corpus.from_documents([[], [1], []], n_terms=6, groups={"year": [2, 2, 0]})
    found = franchise.fold_in(new, rng=0).proportions[[0, 2]]
    above = [franchise.restaurant(f"topics of {year}").probabilities() for year in (2, 0)]
    assert found == pytest.approx(np.array(above), abs=1e-12)
    with pytest.raises(errors.DataError, match="topics of 0"):
        franchise.fold_in(hk.Corpus.from_documents([[1]], n_terms=6, groups={"year": [7]}), rng=0)


def test_snapshots_of_observed_dishes_keep_their_weights(tmp_path):
    root = root_of(hk.Uniform(3), concentration=0.5, discount=0.3)
    a, b = (hk.Restaurant(root, each=each, concentration=0.5, discount=0.3) for each in "ab")
    leaf = hk.Restaurant(hk.MixtureOf(a, b), each="c", concentration=0.5, discount=0.3)
    labels = {"a": [0, None, 0, 0], "b": [None, 0, 0, 0], "c": [None, None, 0, 1]}
    franchise = hk.Franchise(leaf, hk.Groups.from_labels(np.array([0, 1, 2, 0]), labels))
    hk.Scheduler([moves.TableGibbs(), moves.ParentWeights()]).run(franchise, sweeps=4, rng=0)
    snapshot, node = franchise.snapshot(), franchise.restaurant("c", 1).node
    row = franchise.restaurant("c", 1).probabilities()
    hk.Scheduler([moves.ParentWeights()]).run(franchise, sweeps=3, rng=9, init=None)
    assert snapshot.row(node) == pytest.approx(row, abs=1e-15)
    assert franchise.restaurant("c", 1).probabilities() != pytest.approx(row, abs=1e-6)
    assert row.sum() == pytest.approx(1.0)
    hk.Scheduler([moves.ParentWeights()]).run(franchise, sweeps=3, rng=0, folder=tmp_path / "run", samples=3)
    run = hk.open_run(tmp_path / "run")
    kept = [Snapshot(run.franchise(), sample.arrays).row(node) for sample in run.samples]
    assert kept[0] != pytest.approx(kept[-1], abs=1e-9)  # only the weights have changed


def test_weights_of_a_sparse_prior_are_never_0(tmp_path):
    franchise = hk.Franchise(*years(weights=hk.Dirichlet(1e-5)))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.ParentWeights()])
    trace = schedule.run(franchise, sweeps=20, rng=0, folder=tmp_path / "run")
    assert np.isfinite(trace["log_joint"]).all()
    franchise.copy().audit()
    hk.open_run(tmp_path / "run").resume(sweeps=2)
    franchise.simulate(rng=0).audit()
    with pytest.raises(errors.ParameterError, match="at least 1e-06"):
        hk.Dirichlet(1e-320)


@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_documents_are_added(store):
    franchise = hk.Franchise(*years(), store=store)
    hk.Scheduler(SCHEDULE).run(franchise, sweeps=3, rng=1)
    more = hk.Corpus.from_documents([[5, 5, 1], [2]], n_terms=6, groups={"year": [1, 2]})
    grown = franchise.with_documents(franchise.data.plus(more), rng=0)
    grown.audit()
    n = len(franchise.dishes)
    assert np.array_equal(grown.dishes[:n], franchise.dishes)
    for name in ("topics of 1", "topics of 2"):
        before, after = (one.restaurant(name).tables_by_parent for one in (franchise, grown))
        assert all(after[parent] >= before[parent] for parent in before)
        assert grown.topology.weights_of(4).tolist() == franchise.topology.weights_of(4).tolist()
    hk.Scheduler(SCHEDULE).run(grown, sweeps=2, rng=2, init=None, audit_every=1)
