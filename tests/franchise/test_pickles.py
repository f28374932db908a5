"""Franchises with pickle, deep copies and additional documents; chains continue from there."""

import copy
import pickle

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError, DeclarationError

WORDS = np.random.default_rng(0).integers(0, 6, size=(12, 20)).tolist()
SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]


def documents(base=None, gamma=None, **options):
    root = hk.Restaurant(
        base=base or hk.DirichletMultinomial(eta=0.5), concentration=gamma or hk.Gamma(1.0, 1.0)
    )
    return hk.Restaurant(base=root, each="document", **{"concentration": hk.Gamma(1.0, 1.0), **options})


def made(restaurant, corpus=None, schedule=SCHEDULE, **options):
    franchise = hk.Franchise(restaurant, corpus or hk.Corpus.from_documents(WORDS, n_terms=6), **options)
    hk.Scheduler(schedule).run(franchise, 5, rng=1, init="sequential")
    return franchise


CASES = {
    "histogram": lambda: made(documents()),
    "explicit, discount": lambda: made(documents(discount=hk.Beta(1, 1)), store="explicit"),
    "each its own": lambda: made(documents(concentration=hk.Each(hk.Gamma(1, 1)))),
    "readable": lambda: made(documents(), store="histogram-reference", kernel="reference"),
    "sparse": lambda: made(
        documents(hk.SparseDirichletMultinomial()), schedule=[moves.TableGibbs(), moves.DishGibbs()]
    ),
    "by cell": lambda: made(
        documents(gamma=1.0),
        hk.Corpus.from_counts([np.bincount(words, minlength=6) for words in WORDS]),
        [moves.CountGibbs(), moves.Concentration()],
        store="counts", root=hk.FixedWeights(4),
    ),
    "weights": lambda: made(
        documents(), schedule=[moves.SliceGibbs(), moves.RootWeights()], store="counts", root="weights"
    ),
    "prior of eta": lambda: made(
        documents(hk.DirichletMultinomial(eta=hk.Gamma(1, 1))),
        schedule=[*SCHEDULE, moves.BaseMeasureParameters()],
    ),
}  # fmt: skip


def same_states(one, other):
    assert pickle.dumps(one.freeze()) == pickle.dumps(other.freeze())


@pytest.fixture(params=CASES)
def franchise(request):
    return CASES[request.param]()


def test_a_pickle_and_a_deep_copy_go_on_bit_for_bit(franchise):
    twins = [pickle.loads(pickle.dumps(franchise)), copy.deepcopy(franchise), copy.copy(franchise)]
    schedule = [moves.TableGibbs()] if franchise.store_type is not hk.stores["counts"].thing else None
    schedule = schedule or ([moves.CountGibbs()] if franchise.root.kind == "fixed" else [moves.SliceGibbs()])
    before = franchise.freeze()
    for twin in twins:
        same_states(twin, franchise)
        twin.audit()
        hk.Scheduler(schedule).run(twin, 3, init=None)
        assert pickle.dumps(franchise.freeze()) == pickle.dumps(before)
    hk.Scheduler(schedule).run(franchise, 3, init=None)
    for twin in twins:
        assert np.array_equal(twin.dishes, franchise.dishes)


def test_documents_join(franchise):
    before, dishes = franchise.freeze(), franchise.dishes
    new = [[0, 1, 2], [], [5] * 7]
    if franchise.data.cells is None:
        more = franchise.data.plus(hk.Corpus.from_documents(new, n_terms=6))
    else:
        more = franchise.data.plus(hk.Corpus.from_counts([np.bincount(d, minlength=6) for d in new]))
        assert more.cells is not None
    joined = franchise.with_documents(more, rng=3)
    assert pickle.dumps(franchise.freeze()) == pickle.dumps(before)
    joined.audit()
    n = len(dishes)
    assert len(joined.data) == n + 10
    assert (joined.dishes >= 0).all()
    assert pickle.dumps(franchise.with_documents(more, rng=3).freeze()) == pickle.dumps(joined.freeze())
    # Those who were there stay together as they were.
    pairs = {(a, b) for a, b in zip(dishes.tolist(), joined.dishes[:n].tolist(), strict=True)}
    assert len(pairs) == len(set(dishes.tolist()))
    assert joined.sweep == franchise.sweep
    assert joined.streams.seed == franchise.streams.seed
    for name in ("root", "document"):
        old, now = (np.ravel(one.concentration(name)) for one in (franchise, joined))
        assert np.array_equal(now[: len(old)], old)
    assert joined.base_parameters == franchise.base_parameters


def test_documents_join_authors_who_were_there_and_new_ones():
    groups = {"author": ["bob" if i % 2 else "eve" for i in range(12)]}
    corpus = hk.Corpus.from_documents(WORDS, n_terms=6, groups=groups, names=[f"d{i}" for i in range(12)])
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    author = hk.Restaurant(base=root, each="author", concentration=hk.Each(hk.Gamma(1, 1)))
    franchise = made(hk.Restaurant(base=author, each="document"), corpus)
    franchise.set_concentration("author", [2.0, 3.0])
    new = hk.Corpus.from_documents(
        [[0, 1], [2, 3], [4]], n_terms=6, groups={"author": ["ann", "eve", None]}, names=["n0", "n1", "n2"]
    )
    joined = franchise.with_documents(corpus.plus(new), rng=0)
    joined.audit()
    assert set(joined.keys("author")) == {"ann", "bob", "eve"}
    assert joined.keys("document")[-3:] == ["n0", "n1", "n2"]
    for name in ("bob", "eve"):
        old = franchise.concentration("author")[franchise.keys("author").index(name)]
        assert joined.concentration("author")[joined.keys("author").index(name)] == old
    assert joined.restaurant("author", "ann").n_customers >= 1
    with pytest.raises(DataError, match="names"):
        corpus.plus(corpus)


@pytest.mark.parametrize("store", ["histogram", "counts", "explicit"])
def test_points_join_groups_that_were_there_and_new_ones(store):
    data = hk.Groups.from_labels([0.0, 5.0, 0.1, 5.1], {"site": ["b", "a", None, "b"]})
    root = hk.Restaurant(base=hk.NormalGamma(0, 1, 1, 1), concentration=1.0)
    site = hk.Restaurant(base=root, each="site", concentration=hk.Each(hk.Gamma(1, 1)))
    franchise = hk.Franchise(site, data, store=store)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=5, rng=0)
    franchise.set_concentration("site", [2.0, 3.0])
    more = data.plus(hk.Groups.from_labels([5.2, 0.2, 0.3], {"site": ["c", None, "a"]}))
    joined = franchise.with_documents(more, rng=1)
    joined.audit()
    assert joined.keys("site") == ["b", "a", "c"]
    assert joined.concentration("site")[:2].tolist() == [2.0, 3.0]
    assert (joined.dishes >= 0).all()
    pairs = set(zip(franchise.dishes.tolist(), joined.dishes[:4].tolist(), strict=True))
    assert len(pairs) == len(set(franchise.dishes.tolist()))
    assert joined.restaurant("site", "c").n_customers == 1


def test_what_cannot_be_joined():
    franchise = made(documents())
    other = hk.Corpus.from_documents([[6]], n_terms=7)
    with pytest.raises(DataError, match="vocabulary"):
        franchise.data.plus(other)
    for data in (other, None, hk.Corpus.from_documents(WORDS[1:], n_terms=6)):
        with pytest.raises(DataError, match=r"data\.plus"):
            franchise.with_documents(data)
    values = hk.Groups.from_labels(np.zeros(3))
    flat = hk.Franchise(hk.Restaurant(base=hk.NormalGamma(0, 1, 1, 1)), values)
    for data in (other, hk.Groups.from_labels(np.ones(3)), hk.Groups.from_labels(np.zeros(2))):
        with pytest.raises(DataError, match=r"data\.plus"):
            flat.with_documents(data)
    root = hk.Restaurant(base=hk.NormalGamma(0, 1, 1, 1))
    chain = hk.Restaurant(root, each=hk.PreviousDish())
    sequences = hk.Sequences.from_arrays([[0.0, 1.0]])
    with pytest.raises(DeclarationError, match="over a Corpus or Groups"):
        hk.Franchise(chain, sequences).with_documents(sequences)


class Ages(hk.Part):
    """Births of dishes, counted; it knows its franchise, as a user's part may."""

    def __init__(self, franchise):
        self.franchise, self.births = franchise, 0

    def born(self, slot, source, customers):
        self.births += 1

    def clone(self, state):
        twin = Ages(state)
        twin.births = self.births
        return twin


def test_a_part_that_knows_its_franchise():
    franchise = hk.Franchise(documents(), hk.Corpus.from_documents(WORDS, n_terms=6))
    franchise.register("ages", Ages(franchise))
    hk.Scheduler(SCHEDULE).run(franchise, 2, rng=0)
    twin = pickle.loads(pickle.dumps(franchise))
    assert twin.components["ages"].franchise is twin
    assert twin.components["ages"].births >= franchise.components["ages"].births > 0
