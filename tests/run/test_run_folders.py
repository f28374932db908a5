"""Run folders: content, errors, and continuation of runs."""

import json
import sys
import threading

import attrs
import numpy as np
import pytest
from fit_command import done
from full_disk import FullDisk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kill_trials import leaves

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.cli.verification import verify_run


def corpus():
    return hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)


def two_levels(measure=None, concentration=0.7):
    root = hk.Restaurant(measure or hk.DirichletMultinomial(0.5), concentration=hk.Gamma(2.0, 4.0))
    return hk.Restaurant(root, concentration=concentration, each="document")


def franchise(**more):
    return hk.Franchise(two_levels(), corpus(), **more)


def gibbs():
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration()])


def assert_same(one, other):
    assert list(one) == list(other)
    for key in one:
        assert one[key].dtype == other[key].dtype, key
        # One by one: what has as many entries as there are dishes is an array of arrays.
        assert all(np.array_equal(a, b) for a, b in zip(one[key], other[key], strict=True)), key
    assert one.seed == other.seed
    assert one.exact == other.exact
    assert one.interrupted == other.interrupted
    for name in ("move", "sweep", "tried", "accepted"):
        assert np.array_equal(one.moves[name], other.moves[name])
        assert one.moves[name].dtype == other.moves[name].dtype


def assert_same_state(one, other):
    left, right = dict(leaves(one.freeze())), dict(leaves(other.freeze()))
    assert left.keys() == right.keys()
    for path in left:
        assert np.array_equal(left[path], right[path]), path


def largest(state):
    return state.dish_counts.sum(axis=1).max()


def pair(state):
    return np.array([state.n_dishes, state.n_tables], dtype=np.int16)


def sizes(state):
    return state.dish_counts.sum(axis=1)


@pytest.mark.quick
def test_a_folder_holds_the_trace_and_the_state(tmp_path):
    record = {"largest": largest, "pair": pair, "sizes": sizes, "half": lambda f: np.float32(f.n_dishes / 2)}
    state, folder = franchise(), tmp_path / "deep" / "run"
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs().every(2), moves.Concentration()])
    trace = scheduler.run(state, 9, rng=4, folder=folder, thin=2, record=record)
    run = hk.open_run(str(folder))
    assert_same(run.trace, trace)
    assert_same(trace, scheduler.run(franchise(), 9, rng=4, thin=2, record=record))
    assert run.trace.moves["seconds"].tolist() == trace.moves["seconds"].tolist()
    assert_same_state(run.franchise(), state)
    assert run.franchise().streams.seed == 4
    assert trace["pair"].shape == (4, 2)
    assert trace["sizes"].dtype == object  # as many as there are dishes
    assert run.versions["hdpkit"] == hk.__version__
    assert {file.name for file in folder.rglob("*") if file.is_file()} == {
        "run.json", "data.npz", "lock", "trace-000000.npz", "state.npz"
    }  # fmt: skip
    written = json.loads((folder / "run.json").read_text())
    assert written["content"]["settings"]["seed"] == 4
    assert "pickle" not in (folder / "run.json").read_text()


TIMES = [
    lambda m: m,
    lambda m: m.until(3),
    lambda m: m.after(2),
    lambda m: m.every(3),
    lambda m: m.repeat(2).every(2).until(6),
]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_run_n_is_run_k_and_resume_the_rest(data, tmp_path_factory):
    store = data.draw(
        st.sampled_from(["explicit", "histogram", "explicit-reference", "histogram-reference"]), "store"
    )
    kernel = data.draw(st.sampled_from(["auto", "reference"] + ["generic"] * ("ref" not in store)), "kernel")
    n = data.draw(st.integers(2, 9), "n")
    k = data.draw(st.integers(1, n - 1), "k")
    thin = data.draw(st.integers(1, 3), "thin")
    every = data.draw(st.integers(1, 4), "checkpoint")
    init = data.draw(st.sampled_from(["sequential", "one", hk.init.Random(3), [0, 1, 0, 1, 2, 2, 0]]), "init")
    times = st.sampled_from(TIMES)
    kinds = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(scans=1), moves.Concentration()]
    kinds.append(hk.Mixture([(moves.TableGibbs(), 2.0), (moves.SplitMerge(), 1.0)]))
    plan = hk.Scheduler([data.draw(times, "times")(move) for move in kinds])
    seed = data.draw(st.integers(0, 5), "seed")
    folder = tmp_path_factory.mktemp("run") / "run"
    whole_state, state = (franchise(store=store, kernel=kernel) for _ in range(2))
    whole = plan.run(whole_state, n, rng=seed, init=init, thin=thin)
    plan.run(state, k, rng=seed, init=init, thin=thin, folder=folder, checkpoint=hk.Checkpoint(sweeps=every))
    run = hk.open_run(folder)
    resumed = run.resume(sweeps=n - k)
    if n >= thin:
        assert_same(resumed, whole)
    assert_same_state(run.franchise(), whole_state)
    assert_same(run.trace, resumed)


@pytest.mark.parametrize("kind", ["dishes", "state", "franchise", "none", "random"])
def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(kind, tmp_path):
    other = franchise(store="explicit")
    gibbs().run(other, 3, rng=9)
    init = {
        "dishes": np.array([5, 5, 9, 9, 9, 5, 0]), "state": other.freeze(), "franchise": other, "none": None,
        "random": hk.init.Random(4),
    }[kind]  # fmt: skip
    state, whole_state = other.copy(), other.copy()
    rng = None if kind == "none" else 2**70
    whole = gibbs().run(whole_state, 6, rng=rng, init=init)
    gibbs().run(state, 6, rng=rng, init=init, folder=tmp_path / "run")
    for file in (tmp_path / "run" / "chain-000").iterdir():
        file.unlink()
    run = hk.open_run(tmp_path / "run")
    assert run.trace.n_draws == 0
    assert run.trace.interrupted
    with pytest.raises(errors.RunError, match="checkpoint"):
        run.franchise()
    assert_same(run.resume(), whole)
    assert_same_state(run.franchise(), whole_state)
    assert whole["sweep"].tolist() == ([4, 5, 6, 7, 8, 9] if kind == "none" else [1, 2, 3, 4, 5, 6])


class HalfSweep(moves.Move):
    def __init__(self, start=0, *, weights=None):
        self.start = start
        self.weights = weights

    def apply(self, state, rng, steps=None):
        for customer in range(self.start, state.topology.n_customers, 2):
            state.reseat(customer, customer + 1, rng)
        return moves.MoveInfo()


class Halved(DirichletMultinomialReference):
    pass


@attrs.frozen
class Fixed:
    mean: float
    _spread: float = 1.0

    def log_density(self, x):
        return 0.0

    def draw(self, generator, size=None):
        return self.mean


def own_franchise():
    return hk.Franchise(two_levels(Halved(0.5), Fixed(0.6, spread=2.0)), corpus())


def test_ones_own_classes_come_by_leave_only(tmp_path):
    schedule = hk.Scheduler([HalfSweep(1, weights=np.arange(3.0)).until(5), moves.TableGibbs()])
    whole = schedule.run(own_franchise(), 8, rng=0, record={"largest": largest})
    schedule.run(own_franchise(), 4, rng=0, folder=tmp_path / "run", record={"largest": largest})
    run = hk.open_run(tmp_path / "run")
    assert run.trace.n_draws == 4
    for use in (run.franchise, run.resume):
        with pytest.raises(errors.RunError) as caught:
            use()
        assert "allow" in caught.value.remedy
    with pytest.raises(errors.RunError, match=r"Fixed|Halved"):
        hk.open_run(tmp_path / "run", allow=[HalfSweep, largest]).resume()
    with pytest.raises(errors.RunError, match="largest"):
        hk.open_run(tmp_path / "run", allow=[HalfSweep, Halved, Fixed]).resume()
    everything = [HalfSweep, Halved, Fixed, largest]
    assert_same(hk.open_run(tmp_path / "run", allow=everything).resume(sweeps=2), _first(whole, 6))
    by_module = hk.open_run(tmp_path / "run", allow=[__name__])
    assert_same(by_module.resume(sweeps=2), whole)
    assert by_module.franchise().declarations[1].hyperparameters[0].prior == Fixed(0.6, spread=2.0)
    for bad in ("module", [3], 3, [HalfSweep()]):
        with pytest.raises(errors.ParameterError):
            hk.open_run(tmp_path / "run", allow=bad)


def _first(trace, n):
    part = hk.Trace(seed=trace.seed, exact=trace.exact)
    for key, values in trace.columns().items():
        part.columns()[key] = values[:n]
    part.records().extend(record for record in trace.records() if record.sweep <= n)
    return part


def test_a_module_that_a_file_names_is_not_imported(tmp_path):
    path = tmp_path / "path"
    path.mkdir()
    (path / "trap_of_a_run.py").write_text(
        "import hdpkit as hk\nclass Trap(hk.moves.Move):\n    def apply(self, state, rng, steps=None):\n"
        "        return hk.moves.MoveInfo()\n"
    )
    sys.path.insert(0, str(path))
    try:
        from trap_of_a_run import Trap

        hk.Scheduler([Trap()]).run(franchise(), 1, rng=0, folder=tmp_path / "run")
        del sys.modules["trap_of_a_run"]
        with pytest.raises(errors.RunError, match="trap_of_a_run"):
            hk.open_run(tmp_path / "run").resume(sweeps=1)
        checks = list(verify_run(tmp_path / "run"))  # a healthy run doesn't fail for want of leave
        assert all(check.passed for check in checks)
        assert [check.name for check in checks if not check.looked] == ["moves"]
        told = done("verify", tmp_path / "run").stdout
        assert "need --allow" in told
        assert "trap_of_a_run" in told
        assert "trap_of_a_run" not in sys.modules
        assert "all is well\n" in done("verify", tmp_path / "run", "--allow", "trap_of_a_run").stdout
        del sys.modules["trap_of_a_run"]
        assert hk.open_run(tmp_path / "run", allow=["trap_of_a_run"]).resume(sweeps=1).n_draws == 2
        assert "trap_of_a_run" in sys.modules
    finally:
        sys.path.remove(str(path))


class Opaque(moves.Move):
    def __init__(self, thing):
        self.thing = thing

    def apply(self, state, rng, steps=None):
        return moves.MoveInfo()


class Hiding(Opaque):
    def __init__(self, other):
        super().__init__(other)


class Many(Opaque):
    def __init__(self, *things):
        super().__init__(things)


@pytest.mark.parametrize(
    ("move", "place"),
    [
        (Opaque(lambda: 0), r"moves\[1\].thing"),
        (Opaque(threading.Lock()), r"moves\[1\].thing"),
        (Opaque(np.array([object()])), "moves|declaration"),
        (Opaque({1: 2}), r"moves\[1\].thing"),
        (Hiding(1), r"moves\[1\].other"),
        (Many(1), r"moves\[1\]"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_anything_is_written(move, place, tmp_path):
    state = franchise()
    with pytest.raises(errors.RunError, match=place) as caught:
        hk.Scheduler([moves.TableGibbs(), move]).run(state, 2, rng=0, folder=tmp_path / "run")
    assert caught.value.remedy
    assert not (tmp_path / "run").exists()
    assert (state.dishes == -1).all()


def test_lambdas_are_recorded_and_asked_for_again(tmp_path):
    record = {"twice": lambda f: 2 * f.n_dishes, "largest": largest}
    gibbs().run(franchise(), 3, rng=0, folder=tmp_path / "run", record=record)
    run = hk.open_run(tmp_path / "run", allow=[largest])
    with pytest.raises(errors.RunError, match="twice"):
        run.resume(sweeps=2)
    with pytest.raises(errors.RunError, match="largest"):
        run.resume(sweeps=2, record={"twice": record["twice"]})
    assert_same(run.resume(sweeps=2, record=record), gibbs().run(franchise(), 5, rng=0, record=record))


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path):
    gibbs().run(franchise(), 2, rng=0, folder=tmp_path / "run")
    with pytest.raises(errors.RunError, match="resume"):
        gibbs().run(franchise(), 2, rng=0, folder=tmp_path / "run")
    assert hk.open_run(tmp_path / "run").trace.n_draws == 2
    with pytest.raises(errors.RunError, match=r"run\.json"):
        hk.open_run(tmp_path)


@pytest.mark.parametrize("init", ["sequential", "array"])
def test_a_disk_that_is_full_at_any_write_of_a_run(init, tmp_path, monkeypatch):
    """There is no run then, or one that is resumed: bit for bit the run that wasn't interrupted."""
    init = np.zeros(len(corpus()), dtype=int) if init == "array" else init
    whole = gibbs().run(franchise(), 3, rng=0, init=init)
    ends = set()
    for at in range(100):
        where = tmp_path / str(at)
        with monkeypatch.context() as patch:
            disk = FullDisk(patch, at)
            try:
                gibbs().run(franchise(), 3, rng=0, init=init, samples=2, folder=where)
            except errors.StorageError:
                assert disk.found
        if not disk.found:
            break
        ends.add((where / "run.json").exists())
        if (where / "run.json").exists():
            again = hk.open_run(where).resume()
            assert again.samples[-1].sweep == 3
        else:
            again = gibbs().run(franchise(), 3, rng=0, init=init, folder=where)
        assert_same(again, whole)
        assert all(check.passed for check in verify_run(where, ()))
    assert ends == {False, True}
    assert at > 40


def test_checkpoints_come_when_they_are_due(tmp_path, monkeypatch):
    from hdpkit.run import run_folder

    assert [hk.Checkpoint().due(*at) for at in ((10**6, 59.0), (0, 60.0))] == [False, True]
    sweeps = []
    original = run_folder.ChainWriter.checkpoint

    def spy(self, frozen, stopped=False):
        sweeps.append(frozen["sweep"])
        original(self, frozen, stopped)

    monkeypatch.setattr(run_folder.ChainWriter, "checkpoint", spy)
    gibbs().run(franchise(), 10, rng=0, folder=tmp_path / "run", checkpoint=hk.Checkpoint(sweeps=4))
    assert sweeps == [0, 4, 8, 10]
    sweeps.clear()
    gibbs().run(franchise(), 8, rng=0, folder=tmp_path / "even", checkpoint=hk.Checkpoint(sweeps=4))
    assert sweeps == [0, 4, 8]  # the last one isn't written twice
    with pytest.raises(errors.ParameterError):
        gibbs().run(franchise(), 1, folder=tmp_path / "other", checkpoint=60)


def test_another_version_of_a_package_is_said(tmp_path, monkeypatch):
    gibbs().run(franchise(), 1, rng=0, folder=tmp_path / "run")
    monkeypatch.setattr(hk, "__version__", "99")
    with pytest.warns(UserWarning, match="99"):
        hk.open_run(tmp_path / "run").resume(sweeps=1)


def test_the_largest_numbers_are_taken_by_everything_that_reads_a_folder(tmp_path):
    def stop(draw):
        return True

    largest = {"thin": 2**62, "audit_every": 2**62, "samples": hk.Samples(2**62, 2**62), "rng": 2**256 - 1}
    options = {"folder": tmp_path / "run", "callbacks": [stop], "checkpoint": hk.Checkpoint(2**62), **largest}
    gibbs().run(franchise(), 2**62, **options)
    assert all(check.passed for check in verify_run(tmp_path / "run"))
    run = hk.open_run(tmp_path / "run")
    with pytest.raises(errors.ParameterError, match="sweep 1"):
        run.resume(sweeps=2**62)
    assert run.resume(sweeps=2).interrupted is False
    state = run.franchise()
    with pytest.raises(errors.ParameterError):
        gibbs().run(state, 2**62, init=None)
