"""Proposals: their log ratio, falling back exactly at the cost of the change, and misuse."""

import contextlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proposal_checks import change, frozen, predictives, run_random_changes

import hdpkit as hk
from hdpkit.errors import BusyError, ClosedError, DataError, HdpkitError, ParameterError, StateError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.known import Known
from hdpkit.franchise.starts import start
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.random import RandomStream
from hdpkit.stores import ExplicitReference, stores
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


# ------------------------------------------------------------------------------- the ratio, and falling back


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


@pytest.mark.parametrize("seed", range(4))
def test_priors_of_hyperparameters_are_part_of_the_ratio(seed):
    priors = hk.Gamma(1.0, 1.0), hk.Each(hk.Gamma(2.0, 1.0))
    state = tiny("2+2", concentration=(priors[0], priors[1]), discount=(hk.Beta(1.0, 1.0), 0.2))
    joint, before = state.log_joint(), frozen(state)
    with state.proposal() as p:
        p.set_hyperparameters("document", [0.3, 2.0])
        p.set_hyperparameters("root", concentration=0.4, discount=0.7)
        change(state, p, source(seed))
        assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
    assert same(frozen(state), before)


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


class Mark(hk.Part):
    """A number for each dish, drawn at its birth."""

    def __init__(self):
        self.of = {}

    def born(self, slot, source, customers):
        self.of[slot] = source.uniform()

    def died(self, slot):
        del self.of[slot]

    def reset(self, slots):
        self.of = dict.fromkeys(slots.tolist(), 0.5)

    def freeze(self):
        return {str(slot): value for slot, value in self.of.items()}

    def thaw(self, frozen):
        self.of = {int(slot): float(value) for slot, value in frozen.items()}

    def log_density(self, state):
        return sum(3.0 * value for value in self.of.values())


def test_parts_are_set_and_come_back():
    state = tiny()
    state.register("mark", Mark())
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


def test_weights_of_the_root_are_a_part():
    state = tiny(root="weights")
    joint, before, name = state.log_joint(), frozen(state), "root weights"
    weights = state.parts[name].freeze()["weights"]
    with state.proposal() as p:
        p.set_part(name, {"weights": (weights + 0.1) / (weights + 0.1).sum()})
        assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
    assert same(frozen(state), before)
    units = state.units(1)
    with state.proposal() as p, pytest.raises(StateError, match="weight of the dish"):
        p.move_units(units, [0])
    with (
        state.parts_integrated(source()),
        state.proposal() as p,
        pytest.raises(StateError, match="integrated"),
    ):
        p.set_part(name, {"weights": weights})


def test_an_exception_in_the_block_falls_back():
    state = tiny(measure=hk.NormalGamma(), corner="discounts")
    before, bits = frozen(state), predictives(state)

    def fail():
        with state.proposal() as p:
            change(state, p, source(3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert same(frozen(state), before)
    assert predictives(state) == bits
    with state.proposal() as p:
        p.unseat(0)


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
    with state.proposal() as p:
        p.unseat(0)
    assert same(frozen(state), before)
    with pytest.raises(OSError, match="on purpose"):
        fail()
    with pytest.raises(ClosedError):
        state.n_dishes  # noqa: B018
    state.thaw(before)
    with state.proposal() as p:
        p.unseat(0)
    assert same(frozen(state), before)


# ------------------------------------------------------------------------------------------------- the cost


def calls_of(function):
    """Number of calls, of Python and of C, that a function makes."""
    n = 0

    def count(frame, event, argument):
        nonlocal n
        n += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return n


class Counted:
    """A bank that counts the dishes whose statistics are used."""

    def __init__(self, bank):
        self.bank, self.slots = bank, []

    def __getattr__(self, name):
        return getattr(self.bank, name)

    def remove(self, slot, customers):
        self.slots.append(slot)
        self.bank.remove(slot, customers)

    def add(self, slot, customers):
        self.slots.append(slot)
        self.bank.add(slot, customers)


def large(n_documents, n_dishes, measure, values):
    """Documents of three customers, with this many dishes."""
    data = hk.Groups.from_labels(values(3 * n_documents), {"document": np.repeat(np.arange(n_documents), 3)})
    root = hk.Restaurant(measure, concentration=1.0)
    state = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), data, store="explicit")
    start(state, np.arange(3 * n_documents) % n_dishes, source())
    return state


@pytest.mark.parametrize(
    ("measure", "values"),
    [(hk.NormalGamma(), lambda n: np.arange(n) / n), (MEASURE, lambda n: np.arange(n) % 3)],
    ids=["rounded", "counts"],
)
def test_the_cost_is_that_of_the_change(measure, values):
    calls, slots = [], []
    for n_documents, n_dishes in ((4, 3), (400, 300)):
        state = large(n_documents, n_dishes, measure, values)
        before = frozen(state)

        def propose(state=state):
            with state.proposal() as p:
                p.unseat(0)
                p.seat(0)
                p.unseat(1)
                p.seat(1, table=state.seating.table_at(2))
                assert np.isfinite(p.log_ratio)

        propose()  # what is done once in a process isn't counted
        calls.append(calls_of(propose))
        counted = Counted(state.bank)
        vars(state)["bank"] = counted
        propose()
        vars(state)["bank"] = counted.bank
        slots.append(len(set(counted.slots)))
        assert same(frozen(state), before)
    assert calls[0] == calls[1]
    assert slots[0] == slots[1] <= 4


# ------------------------------------------------------------------------------------------------- misuse


def test_misuse_is_a_typed_error_and_the_proposal_goes_on():
    state = tiny("three levels")
    joint, before, n = state.log_joint(), frozen(state), state.topology.n_customers
    of_other = state.seating.table_at(3)  # author b
    with state.proposal() as p:
        for bad in (-1, n, 1.5, None, "0"):
            with pytest.raises(ParameterError, match="customer"):
                p.unseat(bad)
        with pytest.raises(StateError, match="customer"):
            p.seat(0)  # who is seated
        p.unseat(0)
        with pytest.raises(StateError, match="customer"):
            p.unseat(0)
        for table in (of_other, 10**6):
            with pytest.raises(StateError, match="table"):
                p.seat(0, table=table)
        with pytest.raises(StateError, match="dish"):
            p.seat(0, dish=99)
        with pytest.raises(StateError, match="table"):
            p.seat(0, table=state.seating.table_at(1), dish=98)
        with pytest.raises(StateError, match="customers"):
            p.accept()
        with pytest.raises(StateError, match="which"):
            p.move_units(state.units(1), [])
        units = state.units(1)
        p.seat(0, table=state.seating.table_at(1))
        with pytest.raises(StateError, match="out of date"):
            p.move_units(units, [0])
        with pytest.raises(ParameterError, match="name"):
            p.set_hyperparameters("nobody", 1.0)
        with pytest.raises(ParameterError, match="name"):
            p.set_part("nobody", {})
        assert abs(p.log_ratio - (state.log_joint() - joint)) < 1e-9
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
        lambda: state.register("mark", Mark()),
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


def test_what_cant_be_taken_back_is_refused():
    with pytest.raises(StateError, match="labelled_seating"), tiny(store="histogram").proposal():
        pass
    chain = hk.Franchise(
        hk.Restaurant(hk.Restaurant(MEASURE), each=hk.PreviousDish()),
        hk.Sequences.from_arrays([[0, 1, 1]], n_terms=3), store="explicit",
    )  # fmt: skip
    start(chain, "one", source())
    with pytest.raises(StateError, match="hidden Markov"), chain.proposal():
        pass
    for measure in example_measures():
        if not measure.conjugate:
            with pytest.raises(StateError, match="measure"), tiny(measure=measure).proposal():
                pass
    bursty = tiny(measure=hk.Bursty(MEASURE, discount=0.3))
    with pytest.raises(StateError, match="measure"), bursty.proposal():
        pass

    class Plain(ExplicitReference):
        sit = None

    with pytest.raises(StateError, match="TakesBack"), tiny(store=Plain).proposal():
        pass

    class Rounded(Counted):
        """As of a measure in C."""

        def __getattr__(self, name):
            if name == "copy_of":
                raise AttributeError(name)
            return super().__getattr__(name)

    state = tiny(measure=hk.NormalGamma())
    vars(state)["bank"] = Rounded(state.bank)
    with pytest.raises(StateError, match="exact_statistics"), state.proposal():
        pass
    with pytest.raises(ParameterError, match="source"), tiny().proposal(0):
        pass


def test_finite_models_have_no_further_dish():
    state = tiny("flat 4", root=FixedWeights(2))
    with state.proposal() as p:
        units = state.units(1, with_customers=True)
        while state.n_dishes < 2:
            p.move_units(units, [0])
        with pytest.raises(StateError, match="unused"):
            p.move_units(units, [1])


def test_held_customers_stay():
    state = tiny()
    state.hold([0])
    with state.proposal() as p:
        with pytest.raises(StateError, match="held"):
            p.unseat(0)
        with pytest.raises(StateError, match="held"):
            p.move_units(state.units(1), [0])


def test_observed_dishes_are_given():
    state = tiny(measure=hk.Uniform(3))
    values = state.data.values.tolist()
    other = next(i for i, value in enumerate(values) if value != values[0])
    with state.proposal() as p:
        p.unseat(0)
        with pytest.raises(StateError, match="dish"):
            p.seat(0, dish=values[other])
        with pytest.raises(StateError):
            p.seat(0, table=state.seating.table_at(other))
        assert p.seat(0) == values[0]
        with pytest.raises(StateError, match="observed"):
            p.move_units(state.units(1), [0])


def test_a_part_cant_use_the_franchise():
    class Nosy(Mark):
        def born(self, slot, source, customers):
            self.of[slot] = 0.5
            state.log_joint()
            state.reseat(0, 1, source)

    state = tiny()
    state.register("nosy", Nosy())
    with pytest.raises((BusyError, StateError)), state.transaction(), state.proposal(source()) as p:
        p.move_units(state.units(1), [0])
    state.audit()


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


def test_statistics_that_cannot_be_copied_are_named():
    franchise = tiny_franchise("2+1", hk.NormalGamma(), store="explicit")
    with franchise.at_power(0.5), pytest.raises(StateError, match="whose statistics can be copied"):
        franchise.proposal().__enter__()
