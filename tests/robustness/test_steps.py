"""Steps refuse what doesn't fit, before anything is done; kernels serve the classes that they name."""

import re
from pathlib import Path

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.errors import BusyError, HdpkitError, ParameterError, StateError
from hdpkit.random import ChoiceSource, RandomStream, ScriptedSource

PACKAGE = Path(__file__).resolve().parents[2] / "hdpkit"
STORES = ("histogram", "explicit")
KERNELS = ("auto", "generic", "reference")


def topics(store, kernel="auto"):
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 6, size=5) for _ in range(8)]
    corpus = hk.Corpus.from_documents(documents, n_terms=6)
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), discount=0.1)
    documents = hk.Restaurant(root, each="document", discount=0.1)
    return hk.Franchise(documents, corpus, store=store, kernel=kernel)


def numbers(store, kernel="auto"):
    rng = np.random.default_rng(2)
    values = rng.normal(size=30)
    labels = {"group": rng.integers(0, 4, size=30)}
    labels["half"] = labels["group"] // 2
    data = hk.Groups.from_labels(values, {name: code.tolist() for name, code in labels.items()})
    restaurant = hk.Restaurant(hk.NormalGamma(), name="root")
    for label in ("half", "group"):
        restaurant = hk.Restaurant(restaurant, each=label, name=label)
    return hk.Franchise(restaurant, data, store=store, kernel=kernel)


def words(store):
    sentences = [["a", "b", "c"], ["b", "b", "a"], ["c", "a", "a", "b"], ["a"]]
    data = hk.NGrams.from_sentences(sentences, order=3)
    restaurant = hk.Restaurant(hk.Uniform(), name="root", discount=0.3)
    for depth in (1, 2):
        restaurant = hk.Restaurant(restaurant, each=f"context {depth}", name=f"context {depth}", discount=0.3)
    return hk.Franchise(restaurant, data, store=store)


def go_on(state):
    """A little of a chain."""
    rng = RandomStream((1, 2))
    n = state.topology.n_customers
    seated = state.seating.dishes() >= 0
    for customer in np.flatnonzero(~seated).tolist():
        state.enter(customer, customer + 1, rng)
    state.reseat(0, n, rng)
    if state.topology.n_levels > 1:
        with state.labelled_seating(rng), state.root_integrated(rng):
            found = state.units(1)
            state.resample_dish(found, 0, len(found), rng)
            if not state.measure.atomic:
                state.reseat_groups(state.groups(), 0, 1, 1, rng)
    state.settle()
    state.log_joint()
    state.root_weights()
    state.audit()


class Liar(RandomStream):
    """A source whose answers are no options."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def choose(self, weights):
        return self.answer

    def index(self, n):
        return self.answer

    def bernoulli(self, p):
        return True


class Unmade(ChoiceSource):
    """A source that was never initialised."""

    def __init__(self):
        pass


class Thief(RandomStream):
    """A source that raises."""

    def choose(self, weights):
        raise RuntimeError("no choice")


def started(build, *arguments, **options):
    state = build(*arguments, **options)
    state.enter(0, state.topology.n_customers, RandomStream())
    return state


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


SOURCES = {
    **{
        f"answers {answer}": (Liar(answer), StateError, "Liar")
        for answer in (10**6, -1, None, 2**63, "a", 0.5, True)
    },
    "raises": (Thief(), RuntimeError, "no choice"),
    "was never made": (Unmade(), HdpkitError, None),
    "is none": (None, ParameterError, None),
    "is beyond its script": (ScriptedSource([10**6]), HdpkitError, None),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_fails_or_answers_out_of_range(store, kernel, name):
    source, error, told = SOURCES[name]
    state = started(topics, store, kernel)
    with pytest.raises(error, match=told), state.transaction():
        state.reseat(0, 40, source)
    state.audit()
    go_on(state)


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
