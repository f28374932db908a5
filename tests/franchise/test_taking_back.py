"""Proposals: their log ratio, falling back exactly at the cost of the change, and misuse."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proposal_checks import change, frozen, run_random_changes
from remembered import Remembered

import hdpkit as hk
from hdpkit.errors import ClosedError, DataError, HdpkitError, StateError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.known import Known
from hdpkit.franchise.starts import start
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.random import RandomStream
from hdpkit.stores import stores
from hdpkit.testing.cases import CORNERS, example_measures, tiny_franchise
from hdpkit.testing.machines import same

MEASURE = DirichletMultinomial(0.5, n_terms=3)
SHAPES = ("flat 4", "2+2", "2+1 with one at the root", "three levels", "three levels, inner customers")
ROOTS = ("restaurant", "weights", FixedWeights(3))


def source(seed=0):
    return RandomStream((seed, 9))


def tiny(shape="2+2", measure=MEASURE, store="explicit", seed=1, **options):
    state = tiny_franchise(shape, measure, store=store, **options)
    for _ in range(3):
        state.reseat(0, state.topology.n_customers, source(seed))
    return state


@settings(max_examples=150)
@given(
    measure=st.sampled_from([measure for measure in example_measures() if measure.conjugate]),
    shape=st.sampled_from(SHAPES),
    store=st.sampled_from(sorted(stores)),
    root=st.sampled_from(ROOTS),
    corner=st.sampled_from(sorted(CORNERS)),
    seed=st.integers(0, 2**31),
)
def test_the_ratio_is_that_of_the_joint_density_and_rejection_leaves_no_trace(
    measure, shape, store, root, corner, seed
):
    try:
        state = tiny_franchise(shape, measure, store=store, root=root, corner=corner)
    except HdpkitError:
        return  # these don't combine
    run_random_changes(state, seed)


def test_known_components_are_customers_of_the_root():
    known = Known([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], counts=5, frozen=[True, False])
    for seed in range(6):
        run_random_changes(tiny("2+2", known=known), seed)
    state = tiny("2+2", known=known)
    units = state.units(1, with_customers=True)
    (component,) = [u for u in range(len(units)) if units.customers(u)[0] == state.topology.n_customers]
    with state.proposal() as p, pytest.raises(StateError, match="known components"):
        p.move_units(units, [component])


def documents():
    """Words of documents over a store of cells, which are expanded for a labelled seating."""
    corpus = hk.Corpus.from_counts([[2, 1, 0], [0, 2, 2], [0, 0, 0], [1, 0, 0]])
    root = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(1.0, 1.0)), concentration=hk.Gamma(1.0, 1.0))
    state = hk.Franchise(hk.Restaurant(root, each="document"), corpus, store="counts", root="weights")
    start(state, "sequential", source())
    return state


def sentences():
    """Contexts of words: restaurants are deeper where contexts were seen."""
    data = hk.NGrams.from_sentences([["a", "b", "a"], ["b", "b"], ["a", "b", "b"]], order=3)
    restaurant = hk.Restaurant(hk.Uniform(), concentration=0.4, discount=0.2)
    for label in ("context 1", "context 2"):
        restaurant = hk.Restaurant(restaurant, concentration=0.5, discount=0.3, each=label)
    state = hk.Franchise(restaurant, data)
    start(state, "sequential", source())
    return state


@pytest.mark.parametrize("state", [documents, sentences])
def test_cells_and_contexts(state):
    for seed in range(4):
        run_random_changes(state(), seed)


def test_parts_are_set_and_come_back():
    state = tiny()
    state.register("mark", Remembered())
    with state.proposal(source()) as p:
        p.move_units(state.units(1), [0])
        p.accept()
    joint, before = state.log_joint(), frozen(state)
    for seed in range(5):
        with state.proposal(source(seed)) as p:
            p.set_part("mark", dict.fromkeys(state.parts["mark"].freeze(), 0.1))
            change(state, p, source(seed))
            p.set_part("mark", dict.fromkeys(state.parts["mark"].freeze(), 0.7))
            assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
            with pytest.raises(DataError, match="mark"):
                p.set_part("mark", {"no slot": 1.0})
            assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
        assert same(frozen(state), before)
    with state.proposal() as p:
        p.set_part("mark", dict.fromkeys(state.parts["mark"].freeze(), 0.2))
        p.accept()
    assert set(state.parts["mark"].of.values()) == {0.2}


def test_units_that_a_proposal_moved_remain_valid():
    for store in ("explicit", "explicit-reference"):
        state = tiny(store=store)
        units = state.units(1)
        dishes = state.unit_dishes(units)
        for accepted in (False, True):
            with state.proposal() as p:
                slot = p.move_units(units, [0])
                assert state.unit_dishes(units)[0] == slot
                if accepted:
                    p.accept()
            assert (state.unit_dishes(units)[0] == dishes[0]) is not accepted


def test_a_failed_change_closes_the_franchise_and_a_transaction_goes_back():
    class Failing(DirichletMultinomial):
        broken = False

        def add(self, statistics, value):
            if Failing.broken:
                Failing.broken = False
                raise OSError("on purpose")
            super().add(statistics, value)

    state = tiny(measure=Failing(0.5, n_terms=3), kernel="reference")
    before = frozen(state)

    def fail():
        with state.proposal() as p:
            p.unseat(0)
            Failing.broken = True
            p.seat(0)

    with pytest.raises(OSError, match="on purpose"), state.transaction():
        fail()
    assert same(frozen(state), before)
    with pytest.raises(OSError, match="on purpose"):
        fail()
    with pytest.raises(ClosedError):
        state.n_dishes  # noqa: B018
    state.thaw(before)
    with state.proposal() as p:
        p.unseat(0)
    assert same(frozen(state), before)


def test_a_proposal_ends_with_accept_or_its_block():
    state = tiny()
    with state.proposal() as p:
        p.unseat(0)
        p.seat(0)
        p.accept()
        after = frozen(state)
        for use in (p.accept, lambda: p.unseat(0), lambda: p.log_ratio):
            with pytest.raises(StateError, match="proposal"):
                use()
        state.reseat(0, 1, source())  # the state may change again
    with state.proposal() as q:
        pass
    for use in (
        q.accept,
        lambda: q.unseat(0),
        lambda: q.set_hyperparameters("root", 1.0),
        lambda: q.log_ratio,
    ):
        with pytest.raises(StateError, match="proposal"):
            use()
    state.thaw(after)
    assert same(frozen(state), after)


def test_nothing_else_changes_a_state_within_a_proposal():
    state = tiny()
    before, rng, units = frozen(state), source(), state.units(1)
    others = [
        lambda: state.proposal().__enter__(),
        lambda: state.reseat(0, 1, rng),
        lambda: state.resample_dish(units, 0, 1, rng),
        lambda: state.move_units(units, [0], 0, rng),
        lambda: state.open_dish(),
        lambda: state.set_concentration("root", 2.0),
        lambda: state.thaw(before),
        lambda: state.clear(),
        lambda: state.settle(),
        lambda: state.restaurant("document", 0).unseat(0),
        lambda: state.register("mark", Remembered()),
        lambda: state.parts_integrated(rng),
        lambda: state.root.integrated(rng),
        lambda: state.transaction(),
    ]
    with state.proposal() as p:
        p.move_units(units, [0])
        for other in others:
            with pytest.raises(StateError, match="proposal"):
                other()
        with state.reserved(2) as slots:
            state.add_units(units, np.array([0]), slots[0])
        assert state.n_dishes > 0
    assert same(frozen(state), before)


def test_a_proposal_ends_with_the_labelled_seating_in_which_it_began():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 2, rng=0)
    source, before = RandomStream((0, 0)), franchise.dishes.tolist()
    with contextlib.ExitStack() as outer, franchise.labelled_seating(source):
        outer.enter_context(franchise.proposal(source)).unseat(0)
    franchise.audit()
    assert franchise.dishes.tolist() == before
