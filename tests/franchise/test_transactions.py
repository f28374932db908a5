"""A change that fails leaves the franchise closed, or, within a run or a transaction, as it was before."""

import numpy as np
import pytest
from states import same_state

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ClosedError
from hdpkit.random import RandomStream


class Fails(hk.BaseMeasure):
    """Counts of three terms; ``left`` calls of `add` succeed."""

    left = -1

    def make(self):
        return np.zeros(3)

    def add(self, counts, value):
        self.left -= 1
        if self.left == 0:
            raise ValueError("on purpose")
        counts[int(value)] += 1

    def remove(self, counts, value):
        counts[int(value)] -= 1

    def log_predictive(self, value, many):
        return np.array([np.log((one[int(value)] + 0.5) / (one.sum() + 1.5)) for one in many])


class Move(moves.Move):
    """A move that calls a function of the franchise and the source."""

    def __init__(self, function):
        self.function = function

    def apply(self, state, rng, steps=None):
        self.function(state, rng)
        return moves.MoveInfo()


CORPUS = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2, 1]], n_terms=3)
TABLES = hk.Scheduler([moves.TableGibbs()])
CASES = {
    "histogram": {"store": "histogram"},
    "explicit": {"store": "explicit"},
    "readable": {"store": "explicit", "kernel": "reference"},
    "counts": {"store": "counts"},
    "weights": {"store": "counts", "root": "weights"},
}


def franchise(measure=None, **options):
    root = hk.Restaurant(measure or hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), CORPUS, **options)


def source():
    return RandomStream((1, 1))


@pytest.fixture(params=CASES)
def failed(request):
    """A franchise whose next added value fails, its measure, and its state."""
    measure = Fails()
    made = franchise(measure, **CASES[request.param])
    TABLES.run(made, 3, rng=0)
    before = made.freeze()
    made.measure.left = 4
    return made, before


def test_a_step_that_fails_outside_a_run_closes_the_franchise(failed):
    made, before = failed
    with pytest.raises(ValueError, match="on purpose"):
        made.reseat(0, 8, source())
    for use in (
        lambda: made.n_dishes,
        lambda: made.dishes,
        lambda: made.store,
        lambda: made.freeze(),
        lambda: made.copy(),
        lambda: made.audit(),
        lambda: made.look(timeout=1.0),
        lambda: made.restaurant("document", 0).n_tables,
        lambda: made.reseat(0, 1, source()),
        lambda: TABLES.run(made, 1, rng=0),
        lambda: made.labelled_seating(source()).__enter__(),
        lambda: made.transaction().__enter__(),
    ):
        with pytest.raises(ClosedError, match="transaction"):
            use()
    assert "closed" in repr(made)
    made.thaw(before)
    assert same_state(made.freeze(), before)
    made.audit()
    TABLES.run(made, 1, init=None)


def test_a_closed_franchise_can_be_cleared(failed):
    made, _ = failed
    with pytest.raises(ValueError, match="on purpose"):
        made.reseat(0, 8, source())
    made.clear()
    assert made.n_dishes == 0
    TABLES.run(made, 2, rng=1)
    made.audit()


def test_a_transaction_goes_back(failed):
    made, before = failed
    with pytest.raises(ValueError, match="on purpose"), made.transaction() as inside:  # noqa: PT012
        assert inside is made
        made.set_concentration("root", 7.0)
        made.reseat(0, 8, source())
    assert same_state(made.freeze(), before)
    made.audit()
    with made.transaction():
        made.reseat(0, 8, source())
    made.audit()


def test_a_transaction_within_another_one():
    made = franchise()
    TABLES.run(made, 3, rng=0)
    with made.transaction():
        made.reseat(0, 8, source())
        middle = made.freeze()
        with pytest.raises(KeyError), made.transaction():  # noqa: PT012
            made.reseat(0, 8, source())
            raise KeyError
        assert same_state(made.freeze(), middle)
    assert same_state(made.freeze(), middle)


def test_a_sweep_that_fails_is_undone(failed):
    made, before = failed
    with pytest.raises(ValueError, match="on purpose"):
        TABLES.run(made, 5, init=None)
    assert same_state(made.freeze(), before)
    twin = franchise(Fails(), store=made.store_type, kernel=made.forced_kernel, root=made.root.declared)
    TABLES.run(twin, 3, rng=0)
    for one in (made, twin):
        TABLES.run(one, 5, init=None)
    assert same_state(made.freeze(), twin.freeze())


def test_a_move_cannot_go_on_after_a_step_that_failed(failed):
    made, before = failed

    def careless(state, rng):
        try:
            state.reseat(0, 8, rng)
        except ValueError:
            state.reseat(0, 8, rng)

    with pytest.raises(ClosedError):
        hk.Scheduler([Move(careless)]).run(made, 2, init=None)
    assert same_state(made.freeze(), before)


def test_a_move_may_go_back_itself(failed):
    made, before = failed

    def careful(state, rng):
        try:
            with state.transaction():
                state.reseat(0, 8, rng)
        except ValueError:
            assert same_state({**state.freeze(), "sweep": before["sweep"]}, before)

    hk.Scheduler([Move(careful)]).run(made, 1, init=None)
    made.audit()


def test_a_thawed_state_has_no_error_of_before():
    """A part's error waits for the end of a step: here there was none before the state was thawed."""
    state = franchise(**CASES["weights"])
    TABLES.run(state, sweeps=1, rng=0)
    before = state.freeze()
    state.slots.open([0])  # the weight of a new dish can't be drawn without a source
    state.thaw(before)
    state.reseat(0, state.topology.n_customers, RandomStream((1, 2)))
    state.audit()


def test_states_go_from_a_restaurant_to_weights_and_back():
    plain, weighted = franchise(), franchise(root="weights")
    TABLES.run(plain, 5, rng=1)
    weighted.thaw(plain.freeze(), RandomStream((1, 5)))
    weighted.audit()
    assert not np.allclose(weighted.root_weights()[0], plain.root_weights()[0])
    before = weighted.freeze()
    with pytest.raises(hk.errors.StateError, match="source"):
        weighted.thaw(plain.freeze())
    assert same_state(weighted.freeze(), before)
    plain.thaw(weighted.freeze())
    plain.audit()
