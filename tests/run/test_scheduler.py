"""The scheduler: time tables, starts, traces, callbacks, and Ctrl-C."""

import os
import signal

import numpy as np
import pytest
from test_run_folders import franchise, two_levels

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import DirichletMultinomialReference


class Noting(moves.Move):
    """Notes the sweeps in which it ran, by the scheduler's own counter."""

    updates = ()

    def __init__(self, tag="noting"):
        self.tag = tag
        self.sweeps = []

    @property
    def name(self):
        return self.tag

    def apply(self, state, rng, steps=None):
        self.sweeps.append(state.sweep + 1)
        return moves.MoveInfo(1, 0)


def ran(schedule, sweeps=12):
    hk.Scheduler([schedule]).run(franchise(), sweeps=sweeps, rng=0)
    inner = schedule
    while isinstance(inner, moves.Scheduled):
        inner = inner.move
    return inner.sweeps


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (lambda m: m, list(range(1, 13))),
        (lambda m: m.until(5), [1, 2, 3, 4, 5]),
        (lambda m: m.until(0), []),
        (lambda m: m.after(9), [10, 11, 12]),
        (lambda m: m.after(0), list(range(1, 13))),
        (lambda m: m.every(4), [4, 8, 12]),
        (lambda m: m.until(2).repeat(3), [1, 1, 1, 2, 2, 2]),
        (lambda m: m.repeat(3).until(2), [1, 1, 1, 2, 2, 2]),
        (lambda m: m.after(3).until(7), [4, 5, 6, 7]),
        (lambda m: m.until(7).after(3), [4, 5, 6, 7]),
        (lambda m: m.every(2).every(3), [6, 12]),
        (lambda m: m.every(3).after(4).until(9).repeat(2), [6, 6, 9, 9]),
        (lambda m: m.repeat(2).repeat(2).until(1), [1, 1, 1, 1]),
    ],
)
def test_time_tables(schedule, expected):
    assert ran(schedule(Noting())) == expected


def test_mixture_takes_its_parts_by_weight():
    often, seldom = Noting("often"), Noting("seldom")
    mixture = hk.Mixture([(often, 3), (seldom, 1.0)])
    trace = hk.Scheduler([mixture.until(800)]).run(franchise(), sweeps=900, rng=2)
    assert len(often.sweeps) + len(seldom.sweeps) == 800
    # 600 +- 12.2: beyond 5.5 standard deviations with probability 4e-8
    assert abs(len(often.sweeps) - 600) < 5.5 * np.sqrt(800 * 3 / 16)
    assert set(trace.moves["move"]) == {"often|seldom"}
    assert len(trace.moves) == 800


NOTHING = [Noting()]


@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference", "histogram-reference"])
@pytest.mark.parametrize("init", ["sequential", "one", "random", "array", "state", "franchise"])
def test_starts_reset_everything(init, store):
    model = franchise(store=store)
    hk.Scheduler([moves.TableGibbs()]).run(model, sweeps=2, rng=4)
    given = {
        "random": hk.init.Random(3),
        "array": np.array([5, 5, 9, 9, 9, 5, 0]),
        "state": model.freeze(),
        "franchise": model,
    }.get(init, init)
    state = franchise(store=store)
    hk.Scheduler([moves.TableGibbs(), moves.Concentration()]).run(state, sweeps=3, rng=0)
    state.set_concentration("document", 123.0)
    trace = hk.Scheduler(NOTHING).run(state, sweeps=1, rng=7, init=given)
    state.audit()
    assert (state.dishes >= 0).all()
    assert state.sweep == 1
    assert trace["concentration/root"].tolist() == [0.5]
    assert trace["concentration/document"].tolist() == [0.7]
    if init == "one":
        assert state.dishes.tolist() == [0] * 7
    elif init == "random":
        assert state.n_dishes <= 3
    elif init == "array":
        assert state.dishes.tolist() == [1, 1, 2, 2, 2, 1, 0]
    elif init in ("state", "franchise"):
        assert np.array_equal(state.dishes, model.dishes)
        assert state.log_seating() == pytest.approx(model.log_seating())
    again = franchise(store=store)
    hk.Scheduler(NOTHING).run(again, sweeps=1, rng=7, init=given)
    assert np.array_equal(again.dishes, state.dishes)
    assert again.log_joint() == state.log_joint()


def test_random_start_is_uniform_on_the_dishes():
    state = hk.Franchise(two_levels(), hk.Corpus.from_documents([[0] * 3000], n_terms=1))
    hk.Scheduler(NOTHING).run(state, sweeps=1, rng=3, init=hk.init.Random(3))
    counts = state.dish_counts[:, 0]
    # Each count is Binomial(3000, 1/3), 1000 +- 25.8; beyond 5.5 standard deviations: 3 x 4e-8
    assert np.abs(counts - 1000).max() < 5.5 * 25.9


def test_trace_keys_and_shapes():
    state = franchise()
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs().every(2), moves.Concentration()])
    trace = scheduler.run(
        state, sweeps=6, rng=0, record={"largest": lambda f: f.dish_counts.sum(axis=1).max(), "pair": pair}
    )
    expected = {"sweep", "n_dishes", "n_tables", "log_likelihood", "log_joint", "base/eta", "largest", "pair"}
    expected |= {"largest_shares"}
    for name in ("root", "document"):
        expected |= {f"n_tables/{name}", f"concentration/{name}", f"discount/{name}"}
    assert set(trace) == expected
    assert all(trace[key].shape == (6,) for key in expected - {"pair", "largest_shares"})
    assert trace["pair"].shape == (6, 2)
    assert trace["n_tables"][-1] == state.n_tables == trace["n_tables/document"][-1]
    assert trace["log_likelihood"][-1] == state.log_likelihood()
    assert trace["log_joint"][-1] == pytest.approx(state.log_joint(), rel=1e-12)
    assert trace["concentration/root"][-1] == state.concentration("root")
    with pytest.raises(KeyError):
        trace["n_topics"]

    records = trace.moves
    assert records.dtype.names == ("move", "sweep", "tried", "accepted", "seconds")
    gibbs = records[records["move"] == "TableGibbs"]
    assert gibbs["sweep"].tolist() == [1, 2, 3, 4, 5, 6]
    assert gibbs["tried"].tolist() == gibbs["accepted"].tolist() == [7] * 6
    assert records[records["move"] == "DishGibbs"]["sweep"].tolist() == [2, 4, 6]
    assert (records["seconds"] >= 0.0).all()


def pair(state):
    return [state.n_dishes, state.n_tables]


def test_an_approximate_move_shows_in_the_trace():
    class Approximate(Noting):
        exact = False

    assert not hk.Scheduler([Approximate().until(3)]).run(franchise(), sweeps=1, rng=0).exact
    assert not hk.Scheduler([hk.Mixture([(Approximate(), 1.0)])]).exact


def test_sample_is_a_generator_of_draws():
    state = franchise()
    draws = hk.Scheduler([moves.TableGibbs()]).sample(state, sweeps=5, rng=0)
    seen = []
    for draw in draws:
        assert draw.franchise is state
        assert draw.values["n_dishes"] == state.n_dishes
        assert [record.move for record in draw.moves] == ["TableGibbs"]
        seen.append(draw.sweep)
        if draw.sweep == 3:
            break
    assert seen == [1, 2, 3]
    draws.close()
    assert state.sweep == 3


def test_audit_every_finds_a_broken_move():
    class Breaks(moves.Move):
        def apply(self, state, rng, steps=None):
            if state.sweep + 1 == 3:
                state.store._customers[0][0] += 1
            return moves.MoveInfo()

    state = franchise(store="histogram-reference")
    with pytest.raises(errors.AuditError):
        hk.Scheduler([Breaks()]).run(state, sweeps=6, rng=0, init="one", audit_every=1)
    assert state.sweep == 2
    state.audit()


def press():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::hdpkit.errors.InterruptedRunWarning")
@pytest.mark.parametrize("where", ["record", "callback", "move", "last move"])
def test_ctrl_c_from_anywhere(where):
    class Presses(Noting):
        def apply(self, state, rng, steps=None):
            if state.sweep + 1 == 3:
                press()
            return super().apply(state, rng, steps)

    def record(state):
        if where == "record" and state.sweep == 3:
            press()
        return state.sweep

    callbacks = [lambda draw: press() if where == "callback" and draw.sweep == 3 else None]
    used = [moves.TableGibbs()]
    used = {"move": [Presses(), *used], "last move": [*used, Presses()]}.get(where, used)
    documents = np.random.default_rng(1).integers(0, 400, size=(20, 50)).tolist()
    state = hk.Franchise(two_levels(), hk.Corpus.from_documents(documents, n_terms=400))
    trace = hk.Scheduler(used).run(state, sweeps=60, rng=0, record={"mine": record}, callbacks=callbacks)
    assert trace.interrupted
    assert {len(trace[key]) for key in trace} == {trace.n_draws}
    assert trace.n_draws == (2 if "move" in where else 3)
    state.audit()
    hk.Scheduler(used[:1] if where != "move" else used[1:]).run(state, sweeps=2, init=None, audit_every=1)


@pytest.mark.filterwarnings("ignore::hdpkit.errors.InterruptedRunWarning")
@pytest.mark.parametrize("init", ["sequential", "one", hk.init.Random(30)])
def test_ctrl_c_during_the_start(init):
    class Slow(DirichletMultinomialReference):
        def add(self, statistics, value):
            super().add(statistics, value)
            self.count.append(value)
            if len(self.count) == 300:
                press()

    measure = Slow(0.5, n_terms=3)
    object.__setattr__(measure, "count", [])
    object.__setattr__(measure, "for_data", lambda data: measure)
    data = hk.Corpus.from_documents([[0, 1, 2] * 200, [1] * 100], n_terms=3)
    state = hk.Franchise(two_levels(measure=measure), data)
    trace = hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=3, rng=0, init=init)
    assert trace.interrupted
    assert trace.n_draws == 0
    state.audit()
    assert (state.dishes == -1).all()  # half a start is none
    assert not hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=1, rng=0, init=init).interrupted


def test_a_handler_of_ones_own_stays():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        trace = hk.Scheduler([moves.TableGibbs()]).run(
            franchise(), sweeps=3, rng=0, callbacks=[lambda draw: press()]
        )
        assert not trace.interrupted
        assert trace.n_draws == len(pressed) == 3
    finally:
        signal.signal(signal.SIGINT, before)
