"""The sparse Dirichlet-multinomial as a measure: its parameters, parts and saved states."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference
from hdpkit.errors import DataError, StateError
from hdpkit.random import RandomStream

NAME = "selection proportions"
KINDS = [hk.SparseDirichletMultinomial, SparseDirichletMultinomialReference]


def documents(measure, store="histogram", **options):
    corpus = hk.Corpus.from_documents([[0, 0, 1, 5], [1, 2, 2], [], [3, 3, 4]], n_terms=7)
    root = hk.Restaurant(base=measure, concentration=1.0)
    return hk.Franchise(
        hk.Restaurant(base=root, concentration=0.8, each="document"), corpus, store=store, **options
    )


def schedule(*more):
    return hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), *more])


@pytest.mark.parametrize("scheme", ["integrated", "stored"])
@pytest.mark.parametrize("kind", KINDS)
def test_topics_are_predictives(kind, scheme):
    franchise = documents(kind(0.4, hk.Beta(1.3, 0.8), scheme))
    schedule().run(franchise, sweeps=20, rng=0)
    rows, counts = franchise.dish_parameters(), franchise.dish_counts
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    slots = franchise.slots.occupied_slots()
    for customer, term in enumerate(franchise.data.values.tolist()):
        row = np.asarray(franchise.bank.log_predictive(customer, slots))[:-1]
        assert np.exp(row) == pytest.approx(rows[:, term], rel=1e-12)
    unseen = np.where(counts == 0, rows, np.nan)
    spread = np.nanmax(unseen, axis=1) - np.nanmin(unseen, axis=1)
    assert np.all(spread < 1e-15)  # terms that a dish doesn't have are all alike


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_from_one_scheme_to_the_other(kind):
    stored = documents(kind(0.5, proportions="stored"))
    integrated = documents(kind(0.5))
    schedule().run(integrated, sweeps=5, rng=0)
    state = integrated.freeze()
    with pytest.raises(StateError, match=NAME):
        stored.thaw(state)
    stored.thaw(state, RandomStream((1, 2)))
    assert np.array_equal(stored.dishes, integrated.dishes)
    stored.audit()
    integrated.thaw(stored.freeze())
    integrated.audit()
    broken = stored.freeze()
    broken["components"] = {NAME: {"logs": broken["components"][NAME]["logs"][:, :1]}}
    with pytest.raises(DataError, match=NAME):
        stored.thaw(broken)


@pytest.mark.parametrize(
    "selection", [hk.Beta(1.0, 1.0), hk.Beta(0.01, 50.0), 0.3, 1e-6], ids=["uniform", "few", "fixed", "tiny"]
)
@pytest.mark.parametrize("smoothing", [0.02, 3.0])
def test_blocks_of_every_size_as_in_the_reference(selection, smoothing):
    generator = np.random.default_rng(3)
    topics = generator.dirichlet(np.full(40, 0.2), size=4)
    terms = np.concatenate([generator.choice(40, size=120, p=topic) for topic in topics])
    data = hk.Corpus.from_documents([terms.tolist()], n_terms=40)
    banks = [kind(smoothing, selection, n_terms=40).bank(data) for kind in KINDS]
    dishes = np.repeat(np.arange(4, dtype=np.int32), 120)
    for bank in banks:
        bank.rebuild(dishes, np.arange(4, dtype=np.int32))
    for size in (1, 2, 7, 24, 25, 60):
        for dish in (0, 3):
            block = np.sort(generator.choice(np.flatnonzero(dishes == dish), size=size, replace=False))
            block = block.astype(np.int32)
            for bank in banks:
                bank.remove(dish, block)
            found = [bank.log_block(block, [0, 1, 2, 3]) for bank in banks]
            assert found[0] == pytest.approx(found[1], rel=1e-10, abs=1e-10)
            assert found[0].tolist() == banks[0].log_block(block, [0, 1, 2, 3]).tolist()
            for bank in banks:
                bank.add(dish, block)
