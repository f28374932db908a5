"""Steps refuse what doesn't fit, before anything is done; kernels serve the classes that they name."""

import re
from pathlib import Path

import numpy as np
import pytest
import step_trials
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from step_trials import Liar, Thief, Unmade, go_on, numbers, topics, words

import hdpkit as hk
from hdpkit.errors import BusyError, HdpkitError, KernelError, ParameterError, StateError
from hdpkit.measures.dirichlet_multinomial import TermCounts
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.steps.step import COMPILED_STORES
from hdpkit.stores import ExplicitStore, HistogramStore

PACKAGE = Path(__file__).resolve().parents[2] / "hdpkit"
STORES = ("histogram", "explicit")
KERNELS = ("auto", "generic", "reference")


def started(build, *arguments, **options):
    state = build(*arguments, **options)
    state.enter(0, state.topology.n_customers, RandomStream())
    return state


# ------------------------------------------------------------------ signatures

DEFINED = re.compile(r"^[ \t]*(?:def|cpdef [\w ]*?)\s*(\w+)\(", re.MULTILINE)
TYPED = re.compile(r"^(?:const )?([A-Za-z_]\w*)(\[[^\]]*\])? +\w+( not None)?( *=.*)?$")
NUMBERS = {"int", "long", "tuple", "dict", "bint", "double", "float", "object", "str", "size_t", "Py_ssize_t"}


def parameters(text):
    for match in DEFINED.finditer(text):
        depth, place = 1, match.end()
        while depth:
            depth += (text[place] in "([") - (text[place] in ")]")
            place += 1
        given = re.sub(r"\[[^\]]*\]", lambda m: m.group().replace(",", ";"), text[match.end() : place - 1])
        yield from ((match.group(1), " ".join(parameter.split())) for parameter in given.split(","))


def test_no_compiled_function_takes_none_for_an_object_of_a_class():
    for path in sorted(PACKAGE.rglob("*.pyx")):
        for function, parameter in parameters(path.read_text(encoding="utf-8")):
            match = TYPED.match(parameter)
            if match is None or (re.fullmatch(r"u?int\d*_t", match.group(1)) and not match.group(2)):
                continue
            if match.group(1) in NUMBERS and not match.group(2):
                continue
            assert match.group(3), f"{path.name}: {function}({parameter})"


# ------------------------------------------------------------------ misuses made from signatures


@pytest.mark.parametrize("store", step_trials.STORES)
def test_some_misuses(store):
    for told in step_trials.campaign(20, 0, 60, store):
        assert not step_trials.is_fault(told), told


@hk.step()
def unseat_twice(walk, bank, source):
    """A user's step with a mistake."""
    dish, home = walk.store.dish_of(0), walk.home(0)
    for _ in range(2):
        walk.unseat(0, home, dish, source)


@pytest.mark.parametrize("store", STORES)
def test_a_mistaken_step_of_a_user_ends_no_process(store):
    state = started(numbers, store)
    kept = state.freeze()
    with pytest.raises(StateError, match=r"seated there|serves"):
        state.run_step(unseat_twice, source=RandomStream((1, 2)))
    state.thaw(kept)
    state.audit()


def test_numbers_that_moves_name():
    state, rng = started(numbers, "explicit"), RandomStream((3, 4))
    with state.labelled_seating(rng):
        units = state.units(1)
        for unit in (-1, len(units), 2**40):
            for call in (units.customers, units.tables, lambda unit: units.gather([unit])):
                with pytest.raises(ParameterError, match="unit"):
                    call(unit)
        for customers in ([0.7], [2**32], [-1]):
            with pytest.raises(ParameterError, match="customers"):
                state.bank.log_block(customers, [])


@pytest.mark.parametrize("bank", [7, [0], object(), type])
def test_slots_take_no_bank_that_is_none(bank):
    state = started(topics, "histogram")
    with pytest.raises(ParameterError, match="bank"):
        state.slots.attach(bank)
    state.audit()


# ------------------------------------------------------------------ units


def moved_since(state, rng):
    n = state.topology.n_customers
    return {
        "reseat": lambda: state.reseat(0, n, rng),
        "leave": lambda: (state.leave(0, 3, rng), state.enter(0, 3, rng)),
        "groups": lambda: state.reseat_groups(state.groups(), 0, len(state.groups()[0]), 1, rng),
        "other units": lambda: state.resample_dish(other := state.units(1), 0, len(other), rng),
    }


@pytest.mark.parametrize("build", [topics, numbers])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("store", STORES)
def test_units_are_those_of_a_seating(store, kernel, build):
    state, rng = started(build, store, kernel), RandomStream((3, 4))
    with state.labelled_seating(rng):
        for name in moved_since(state, rng):
            old = state.units(1, with_customers=True)
            state.unit_dishes(old)
            moved_since(state, rng)[name]()
            if name == "other units" and kernel == "auto" and build is topics:
                continue  # nobody sits at the root: they are the very same units
            calls = [
                lambda old=old: state.unit_dishes(old),
                lambda old=old: state.resample_dish(old, 0, 1, rng),
                lambda old=old: state.move_units(
                    old, np.array([0]), int(state.slots.occupied_slots()[0]), rng
                ),
            ]
            for call in calls:
                with pytest.raises(StateError, match=r"ndex .* again"):
                    call()
            with state.reserved(1) as (slot,), pytest.raises(StateError, match=r"ndex .* again"):
                state.add_units(old, np.array([0]), slot)
            with state.reserved(1) as slots, pytest.raises(StateError, match=r"ndex .* again"):
                state.log_units(old, np.array([0]), slots)
        kept = state.units(1)
    other = started(build, store, kernel)
    with other.labelled_seating(rng), pytest.raises(StateError, match="another seating"):
        other.resample_dish(kept, 0, 1, rng)
    go_on(state)
    go_on(other)


@pytest.mark.parametrize("kernel", KERNELS)
def test_units_stay_good_while_they_are_moved(kernel):
    state, rng = started(numbers, "explicit", kernel), RandomStream((3, 4))
    for level in (2, 1):
        found = state.units(level)
        for u in range(len(found)):
            state.resample_dish(found, u, u + 1, rng)  # tables of the parents close and open
        assert len(state.unit_dishes(found)) == len(found)
    found = state.units(1)
    dish = int(state.slots.occupied_slots()[0])
    for u in range(len(found)):
        state.move_units(found, np.array([u]), dish, rng)
    assert state.n_dishes == 1
    state.move_units(
        found, np.arange(len(found)), dish, rng
    )  # where they are: the dish doesn't die on the way
    state.audit()
    go_on(state)


@pytest.mark.parametrize("after", ["settle", "thaw", "labelled_seating"])
def test_units_don_t_outlive_the_seating(after):
    state, rng = started(topics, "histogram" if after == "labelled_seating" else "explicit"), RandomStream()
    with state.labelled_seating(rng):
        found = state.units(1)
    if after == "thaw":
        state.thaw(state.freeze())
    elif after == "settle":
        state.leave(0, 39, rng)
        state.enter(0, 39, rng)
        state.settle()
    with state.labelled_seating(rng), pytest.raises(StateError):
        state.resample_dish(found, 0, len(found), rng)
    go_on(state)


# ------------------------------------------------------------------ sources


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("answer", [10**6, -1, None, 2**63, "a", 0.5, True])
def test_a_source_that_answers_out_of_range(store, kernel, answer):
    state, liar = started(topics, store, kernel), Liar()
    liar.answer = answer
    with pytest.raises(StateError, match="Liar"), state.transaction():
        state.reseat(0, 40, liar)
    state.audit()
    go_on(state)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("store", STORES)
def test_what_a_source_raises_surfaces(store, kernel):
    state = started(topics, store, kernel)
    with pytest.raises(RuntimeError, match="no choice"), state.transaction():
        state.reseat(0, 40, Thief())
    with pytest.raises(HdpkitError), state.transaction():
        state.reseat(0, 40, Unmade())
    with pytest.raises(ParameterError):
        state.reseat(0, 40, None)
    with pytest.raises(HdpkitError), state.transaction():
        state.reseat(0, 40, ScriptedSource([10**6]))
    go_on(state)


class Counting(RandomStream):
    """Answers like its parent, and counts."""

    def __init__(self):
        super().__init__((5, 6))
        self.asked = 0

    def choose(self, weights):
        self.asked += 1
        return super().choose(weights)


@pytest.mark.parametrize("build", [topics, numbers, words])
@pytest.mark.parametrize("store", STORES)
def test_a_source_in_python_is_asked(store, build):
    state, source = started(build, store), Counting()
    state.reseat(0, state.topology.n_customers, source)
    assert source.asked > 0
    go_on(state)


# ------------------------------------------------------------------ blocks, dishes, calls from inside


@pytest.mark.parametrize("store", STORES)
def test_a_reserved_slot_is_one_only_within_its_block(store):
    state, rng = started(topics, store), RandomStream()
    before = state.freeze()
    with state.labelled_seating(rng):
        found = state.units(1, with_customers=True)
        with state.reserved(1) as (slot,):
            state.add_units(found, np.array([0]), slot)
            alone = state.log_units(found, np.array([0, 1]), (slot,))
            assert alone.shape == (2, 2)
            assert np.array_equal(alone, [state.bank.log_block(found.customers(u), [slot]) for u in (0, 1)])
        with pytest.raises(StateError, match="reserved"):
            state.add_units(found, np.array([0]), slot)
        with pytest.raises(StateError, match="reserved"):
            state.log_units(found, np.array([0]), (slot,))
        with pytest.raises(StateError):
            state.bank.log_block([0], [slot])
        for done in (state.clear, lambda: state.thaw(before), state.freeze, state.copy):
            if store == "histogram":
                with pytest.raises(StateError):
                    done()
    go_on(state)


class Meddler(hk.Part):
    """Calls what it can from inside a step."""

    def __init__(self, state):
        self.state, self.errors = state, []

    def born(self, slot):
        calls = (
            lambda: self.state.reseat(0, 1, RandomStream()),
            lambda: self.state.root_weights(),
            lambda: self.state.clear(),
            lambda: self.state.settle(),
        )
        for call in calls:
            try:
                call()
                self.errors.append(None)
            except BusyError as error:
                self.errors.append(error)

    def died(self, slot):
        pass

    def reset(self, slots):
        pass

    def relabelled(self, mapping):
        pass


@pytest.mark.parametrize("kernel", ["auto", "generic"])
@pytest.mark.parametrize("store", STORES)
def test_calls_from_inside_a_step(store, kernel):
    state = started(topics, store, kernel)
    meddler = Meddler(state)
    state.register("meddler", meddler)
    for sweep in range(30):
        state.reseat(0, 40, RandomStream((sweep, 0)))
    assert meddler.errors
    assert None not in meddler.errors
    go_on(state)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kernel", ["auto", "generic"])
def test_a_dish_opened_outside_a_move_waits_for_customers(store, kernel):
    state = started(topics, store, kernel)
    with pytest.raises(StateError, match="customers"), state.transaction():  # noqa: PT012
        state.open_dish(None)
        state.audit()
        state.log_joint()
        with pytest.raises(StateError, match="open_dish"):
            state.freeze()
        state.reseat(0, 1, RandomStream())
    go_on(state)
    assert not state._waiting


# ------------------------------------------------------------------ moves, and the tree


@pytest.mark.parametrize("build", [topics, words])
def test_numbers_of_restaurants_and_declarations(build):
    tree = started(build, "histogram").topology
    for value in (-1, 10**6, None, "a", 0.5, 2**63, np.inf, [0], True):
        for call in (tree.nodes, tree.keys_of, lambda v: tree.node(v, None, "x")):
            with pytest.raises(ParameterError, match="declaration"):
                call(value)
        with pytest.raises(ParameterError, match="node"):
            tree.path(value)
    for key in (object(), [1], 10**9, None, ("a", "b", "c", "d")):
        with pytest.raises(HdpkitError):
            tree.node(1, key, "x")


# ------------------------------------------------------------------ which classes a kernel serves


def named(kind, module):
    return type("Third", (kind,), {"__module__": module, "asked": 0})


class Proud(DirichletMultinomialBank):
    """A bank in Python that counts what it is asked."""

    asked = 0

    def log_predictive(self, customer, slots):
        type(self).asked += 1
        return super().log_predictive(customer, slots)


@pytest.mark.parametrize("module", ["hdpkit._compiled_mine", "hdpkit.stores.third", "mine"])
@pytest.mark.parametrize("kind", [HistogramStore, ExplicitStore])
def test_a_store_beside_ours_is_asked(kind, module):
    third = named(kind, module)

    def join(self, *arguments):
        third.asked += 1
        return kind.join(self, *arguments)

    third.join = join
    assert third not in COMPILED_STORES
    state = started(topics, third)
    for step in ("reseat", "enter", "resample_dish", "seat_out"):
        assert state.kernel(step) == "reference"
    with pytest.raises(KernelError):
        topics(third, "generic")
    asked = third.asked
    go_on(state)
    assert third.asked > asked


def test_a_store_that_declares_itself_is_compiled():
    third = type("Third", (HistogramStore,), {"COMPILED": True})
    state = started(topics, third)
    assert state.kernel("enter") == "generic"
    go_on(state)
    state.audit()
    assert type("Fourth", (third,), {}) not in COMPILED_STORES


class ProudMeasure(hk.DirichletMultinomial):
    """Its bank is one in Python."""

    def bank(self, data):
        return Proud(np.asarray(data.values, dtype=np.int32), self.eta_vector, TermCounts)


class OwnPredictive(hk.DirichletMultinomial):
    """Overrides what the compiled bank has in C."""

    asked = 0

    def log_predictive(self, value, many):
        type(self).asked += 1
        return super().log_predictive(value, many)


@pytest.mark.parametrize("measure", [ProudMeasure, OwnPredictive])
def test_a_measure_that_derives_from_ours_is_asked(measure):
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    state = hk.Franchise(hk.Restaurant(hk.Restaurant(base=measure(eta=0.5)), each="document"), corpus)
    counter = Proud if measure is ProudMeasure else OwnPredictive
    before = counter.asked
    assert state.kernel("reseat") == ("reference" if measure is ProudMeasure else "generic")
    state.enter(0, len(corpus), RandomStream())
    assert counter.asked > before
    go_on(state)
