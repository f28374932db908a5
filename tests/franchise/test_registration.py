"""A kernel, a store and a step are added without a change of the package."""

import pickle

import cloudpickle
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.moves.registry import moves as registered_moves
from hdpkit.random import RandomStream
from hdpkit.steps import sweeps
from hdpkit.steps.step import step
from hdpkit.stores import HistogramReference, stores
from hdpkit.testing import ExactModel, check_exact, check_store

DATA = hk.Corpus.from_documents([[0, 1], [1]], n_terms=2)
TINY = hk.DirichletMultinomial(0.5)


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

    row = sweeps.reseat.kernel("reference", reseat, stores=frozenset({Counted}))
    yield called
    sweeps.reseat.kernels.remove(row)


@step(draws_tables=True)
def backwards(walk, bank, first, last, source):
    """Table Gibbs in the opposite order."""
    for i in reversed(range(first, last)):
        sweeps.reseat(walk, bank, i, i + 1, source)
    if (first, last) == (0, 0):
        raise ArithmeticError("nobody to reseat")
    return last - first


class Backwards(moves.Move):
    """A move over the new step."""

    calls = (backwards,)

    def n_steps(self, state):
        return 1

    def apply(self, state, rng, steps=None):
        n = state.run_step(backwards, 0, state.topology.n_customers, source=rng)
        return moves.MoveInfo(n, n)


def test_a_registered_store_is_a_store(store):
    check_store(Counted)
    made = franchise(store)
    hk.Scheduler([moves.TableGibbs()]).run(made, sweeps=3, rng=0, init="sequential")
    assert isinstance(made.store, Counted)
    assert Counted.joined > 0


def test_a_registered_kernel_is_exact(store, kernel):
    check_exact(ExactModel(franchise(store)), moves.TableGibbs())
    assert kernel


@pytest.mark.parametrize("kind", ["histogram", "explicit", "histogram-reference"])
def test_a_move_over_a_step_of_its_own_is_exact(kind):
    check_exact(ExactModel(franchise(kind)), Backwards())


def half_way(made):
    with made.transaction():
        made.run_step(backwards, 0, 3, source=RandomStream((1, 0)))
        made.run_step(backwards, 0, 0, source=RandomStream((1, 0)))


def test_a_step_that_fails_closes_the_franchise():
    made = franchise()
    hk.Scheduler([Backwards()]).run(made, sweeps=2, rng=0, init="sequential")
    before = made.freeze()
    with pytest.raises(ArithmeticError, match="nobody"):
        made.run_step(backwards, 0, 0, source=RandomStream((1, 0)))
    with pytest.raises(errors.ClosedError):
        made.freeze()
    made.thaw(before)
    with pytest.raises(ArithmeticError):
        half_way(made)
    assert np.array_equal(made.freeze()["seating"]["dish"], before["seating"]["dish"])


def test_a_step_that_needs_tables_runs_where_they_are():
    @step(needs_tables=True)
    def looks(walk, bank, source):
        return type(walk.store).__name__

    made, source = franchise("histogram"), RandomStream((1, 0))
    hk.Scheduler([moves.TableGibbs()]).run(made, sweeps=1, rng=0, init="sequential")
    with pytest.raises(errors.StateError, match="labelled_seating"):
        made.run_step(looks, source=source)
    with made.labelled_seating(source):
        assert made.run_step(looks, source=source) == "ExplicitStore"


@pytest.mark.parametrize("registry", [hk.base_measures, hk.stores, registered_moves])
def test_a_registry_of_the_package_is_itself_after_pickling(registry):
    assert pickle.loads(pickle.dumps(registry)) is registry
    assert cloudpickle.loads(cloudpickle.dumps({"of": registry}))["of"] is registry
