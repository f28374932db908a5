"""A kernel, a store and a verb are added by registration alone."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.random import RandomStream
from hdpkit.steps import kernels, sweeps
from hdpkit.steps.kernels import Row, Verb, register_kernel, register_verb, remove_kernel, remove_verb
from hdpkit.stores import HistogramReference, HistogramStore, stores
from hdpkit.testing import ExactModel, check_exact, check_move, check_store, tiny_franchise
from hdpkit.testing.combinations import stores_and_kernels

DATA = hk.Corpus.from_documents([[0, 1], [1]], n_terms=2)
TINY = hk.DirichletMultinomial(0.5)
TREES = ("flat 3", "2+1", "three levels of three")


class Counted(HistogramReference):
    """A store that counts how often customers join."""

    joined = 0

    def join(self, *arguments):
        type(self).joined += 1
        return super().join(*arguments)


def declared():
    root = hk.Restaurant(TINY, concentration=0.8)
    return hk.Restaurant(root, concentration=1.2, each="document")


def franchise(store="histogram"):
    return hk.Franchise(declared(), DATA, store=store)


@pytest.fixture
def store():
    stores.register("counted", Counted)
    yield "counted"
    stores.remove("counted")


@pytest.fixture
def kernel(store):
    """Table Gibbs over the new store, which visits customers one by one."""
    called = []

    def reseat(walk, bank, first, last, source):
        called.append((first, last))
        for i in range(first, last):
            sweeps.reseat(walk, bank, i, i + 1, source)

    row = register_kernel(Row("reference", SimpleNamespace(reseat=reseat), frozenset({Counted})))
    yield called
    remove_kernel(row)


@pytest.fixture
def verb():
    """Table Gibbs in the opposite order, as a verb of its own."""

    def backwards(walk, bank, first, last, source):
        for i in reversed(range(first, last)):
            sweeps.reseat(walk, bank, i, i + 1, source)
        if (first, last) == (0, 0):
            raise ArithmeticError("nobody to reseat")
        return last - first

    register_verb("reseat_backwards", Verb(draws_tables=True))
    row = register_kernel(Row("reference", SimpleNamespace(reseat_backwards=backwards)))
    yield "reseat_backwards"
    remove_kernel(row)
    remove_verb("reseat_backwards")


class Backwards(moves.Move):
    """A move over the new verb."""

    verbs = ("reseat_backwards",)

    def n_steps(self, state):
        return 1

    def apply(self, state, rng, steps=None):
        n = state.run_verb("reseat_backwards", 0, state.topology.n_customers, source=rng)
        return moves.MoveInfo(n, n)


def test_a_registered_store_is_a_store(store):
    check_store(Counted)
    made = franchise(store)
    hk.Scheduler([moves.TableGibbs()]).run(made, sweeps=3, rng=0, init="sequential")
    assert isinstance(made.store, Counted)
    assert Counted.joined > 0


def test_a_registered_kernel_is_chosen(store, kernel):
    made, twin = franchise(store), franchise("histogram-reference")
    for one in (made, twin):
        hk.Scheduler([moves.TableGibbs()]).run(one, sweeps=5, rng=0, init="sequential")
    assert kernel
    assert made.log_joint() == twin.log_joint()
    assert franchise("histogram").kernel("reseat") != "reference"  # not for another store


def test_a_registered_kernel_is_exact(store, kernel):
    check_exact(ExactModel(franchise(store)), moves.TableGibbs())
    assert kernel


@pytest.mark.parametrize("kind", ["histogram", "explicit", "histogram-reference"])
def test_a_move_over_a_registered_verb_is_exact(verb, kind):
    check_exact(ExactModel(franchise(kind)), Backwards())


def half_way(made, verb):
    with made.transaction():
        made.run_verb(verb, 0, 3, source=RandomStream((1, 0)))
        made.run_verb(verb, 0, 0, source=RandomStream((1, 0)))


def test_a_registered_verb_that_fails_closes_the_franchise(verb):
    made = franchise()
    hk.Scheduler([Backwards()]).run(made, sweeps=2, rng=0, init="sequential")
    before = made.freeze()
    with pytest.raises(ArithmeticError, match="nobody"):
        made.run_verb(verb, 0, 0, source=RandomStream((1, 0)))
    with pytest.raises(errors.ClosedError):
        made.freeze()
    made.thaw(before)
    with pytest.raises(ArithmeticError):
        half_way(made, verb)
    assert np.array_equal(made.freeze()["seating"]["dish"], before["seating"]["dish"])


def test_a_schedule_over_an_unknown_verb_is_refused():
    with pytest.raises(errors.HdpkitError, match="verb"):
        hk.Scheduler([Backwards()]).run(franchise(), sweeps=1, rng=0)


def test_bad_registrations_are_refused(verb):
    run = SimpleNamespace(reseat=sweeps.reseat)
    with pytest.raises(errors.RegistryError, match="not taken"):
        register_verb("reseat")
    with pytest.raises(errors.ParameterError, match="name"):
        register_verb(5)
    with pytest.raises(errors.ParameterError, match="verb"):
        register_verb("new", "reseat")
    with pytest.raises(errors.ParameterError, match="row"):
        register_kernel("fused")
    with pytest.raises(errors.ParameterError, match=r"row\.name"):
        register_kernel(Row("mine", run))
    with pytest.raises(errors.ParameterError, match=r"row\.verbs"):
        register_kernel(Row("reference", SimpleNamespace(unknown=sweeps.reseat)))
    with pytest.raises(errors.ParameterError, match=r"row\.verbs"):
        register_kernel(Row("reference", SimpleNamespace(reseat=5)))
    with pytest.raises(errors.RegistryError, match="registered kernel"):
        remove_kernel(Row("reference", run))
    with pytest.raises(errors.RegistryError, match="without kernels"):
        remove_verb(verb)
    assert "new" not in kernels.VERBS


def test_a_registered_kernel_in_python_is_not_faster_than_compiled_ones():
    def reseat(walk, bank, first, last, source):
        raise AssertionError

    row = register_kernel(Row("reference", SimpleNamespace(reseat=reseat), frozenset({HistogramStore})))
    try:
        assert franchise().kernel("reseat") == "fused"
        readable = hk.Franchise(declared(), DATA, kernel="reference")
        assert readable._kernel_of("reseat") == ("reference", reseat)
        assert readable._kernel_of("leave") == ("reference", sweeps.leave)
    finally:
        remove_kernel(row)
    assert hk.Franchise(declared(), DATA, kernel="reference")._kernel_of("reseat")[1] is sweeps.reseat


def chosen_or_refused(made, verb):
    try:
        return made._kernel_of(verb)
    except errors.HdpkitError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_does_not_depend_on_the_order_of_registration(seed, monkeypatch):
    """Modules register kernels when they are imported: in whatever order, the same kernel is chosen."""

    terms = TINY.for_data(DATA)
    cells = [
        (tree, name, kernel, "restaurant")
        for tree in TREES
        for name, kernel in stores_and_kernels(terms, shape=tree)
    ]
    cells += [(tree, "counts", kernel, "weights") for tree in TREES[1:] for kernel in kernels.KERNELS]

    def chosen():
        found = []
        for tree, store, kernel, root in cells:
            made = tiny_franchise(tree, terms, store=store, kernel=kernel, root=root)
            for verb in kernels.VERBS:
                found.append(chosen_or_refused(made, verb))
        return found

    before, rows = chosen(), list(kernels.TABLE)
    monkeypatch.setattr(kernels, "TABLE", [])
    for number in np.random.default_rng(seed).permutation(len(rows)):
        register_kernel(rows[number])
    assert rows != kernels.TABLE
    assert chosen() == before


def test_other_threads_wait_for_no_registered_verb():
    """While a registered verb runs, another thread gets a BusyError."""
    made, seen = franchise(), []
    hk.Scheduler([moves.TableGibbs()]).run(made, sweeps=1, rng=0, init="sequential")

    def looks(walk, bank, source):
        thread = threading.Thread(target=lambda: seen.append(error_of(made.freeze)))
        thread.start()
        thread.join()

    register_verb("looks")
    row = register_kernel(Row("reference", SimpleNamespace(looks=looks)))
    try:
        made.run_verb("looks", source=RandomStream((1, 0)))
    finally:
        remove_kernel(row)
        remove_verb("looks")
    assert [type(error) for error in seen] == [errors.BusyError]


def error_of(call):
    try:
        call()
    except errors.HdpkitError as error:
        return error
    return None


def test_a_move_over_a_registered_verb_passes_the_contract(verb):
    report = check_move(Backwards(), shapes=["2+1"], corners=["middle"])
    assert any("histogram-reference" in line for line in report)
