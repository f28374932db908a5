"""`hk.compare_schedules`: measurements, errors, reports."""

import csv
import io
import math
import signal
import sys
import time

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.posterior.comparison import chains as chains_module
from hdpkit.posterior.comparison.chains import ChainRecord, MoveTotals, Runs
from hdpkit.posterior.comparison.compare import _compared

CORPUS = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2, 0]], n_terms=3)
FIRST = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])


def restaurant(concentration=1.0):
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=concentration)
    return hk.Restaurant(root, concentration=1.0, each="document")


def franchise(concentration=1.0, **options):
    return hk.Franchise(restaurant(concentration), CORPUS, **options)


def compare(schedules, own=None, **options):
    options = {"seconds": 0.1, "chains": 2, **options}
    return hk.compare_schedules(schedules, own or franchise(), **options)


def chain(log_joint, init="one"):
    """A record of ten seconds with these values after the start, at even distances."""
    log_joint = np.concatenate([[-1e6], log_joint])
    n = len(log_joint)
    return ChainRecord(
        init=init, seed=0, sweeps=np.arange(n), seconds=np.linspace(0.0, 10.0, n), log_joint=log_joint,
        n_dishes=np.full(n, 5), shares=np.full((n, 2), 0.5), finished=True, wall_seconds=20.0,
        processor_seconds=10.0, moves={"TableGibbs": MoveTotals(n - 1, 9, 9, 10.0)},
    )  # fmt: skip


def judged(**schedules):
    return _compared(Runs(schedules), 10.0, 0.5, 0.001, hk.ConvergenceRule(), 0, "wall")


def noise(seed, n=1000, level=0.0, persistence=0.0):
    values, rng = np.empty(n), np.random.default_rng(seed)
    now = rng.normal()
    for i in range(n):
        now = persistence * now + math.sqrt(1 - persistence**2) * rng.normal()
        values[i] = now
    return level + values


def test_independent_draws_are_as_many_as_there_are():
    one = judged(a=[chain(noise(0, level=-100)), chain(noise(1, level=-100))])["a"]
    assert one.converged
    assert one.diagnoses["log_joint"].rhat < 1.02
    assert one.ess_per_second["log_joint"] == pytest.approx(100, rel=0.3)  # 1,000 draws of 10 s after burn-in
    assert one.kept_seconds == pytest.approx(10.0)
    assert math.isnan(one.diagnoses["n_dishes"].ess)  # K never changes: it is not judged
    assert one.diagnoses["log_joint"].mean == pytest.approx(-100, abs=0.2)


@pytest.mark.parametrize(
    ("both", "reason"),
    [
        ([noise(0, level=0), noise(1, level=9)], "R-hat above 1.05: log probability"),
        (
            [noise(0, persistence=0.999), noise(0, persistence=0.999)],
            "fewer than 100 effective draws: log probability",
        ),
        (
            [noise(0) + np.linspace(0, 9, 1000), noise(1) + np.linspace(0, 9, 1000)],
            "halves of a chain more than 1 standard deviations apart: log probability",
        ),
        ([np.zeros(1000), np.zeros(1000)], "never changes"),
        ([np.zeros(1000), np.ones(1000)], "is constant in each chain"),
        ([noise(0, 30), noise(1, 30)], "15 states a chain after burn-in"),
    ],
)
def test_what_has_not_converged_says_why(both, reason):
    comparison = judged(a=[chain(own) for own in both])
    one = comparison["a"]
    assert not one.converged
    assert any(reason in why for why in one.reasons), one.reasons
    assert all(math.isnan(rate) for rate in one.ess_per_second.values())
    row = comparison.table().splitlines()[2].split("|")
    assert row[8].strip() == row[9].strip() == row[10].strip() == "-"
    assert row[12].strip() == "no"
    assert f"a has not converged: {one.reasons[0]}" in str(comparison)


def settled(level, seeds):
    return [chain(noise(seed, level=level)) for seed in seeds]


def test_schedules_that_disagree_have_not_all_converged():
    comparison = judged(low=settled(-100, (0, 1)), high=settled(-90, (2, 3)), same=settled(-90, (4, 5)))
    assert comparison["high"].converged
    assert comparison["same"].converged
    assert [why.count("not with those of") for why in comparison["low"].reasons] == [1, 1]


def test_time_to_the_target_is_of_each_chain():
    rising = np.concatenate([np.linspace(-2000, -1000, 500), noise(0, 500, -1000)])
    flat = noise(1, 1000, -2000)
    comparison = judged(a=[chain(rising), chain(flat)])
    assert comparison.best == pytest.approx(-1000, abs=1)
    assert comparison.target == pytest.approx(-1001, abs=1)
    assert comparison.best_chain == ("a", 0)
    first, never = comparison["a"].seconds_to_target
    assert first == pytest.approx(5.0, abs=0.1)
    assert never == math.inf
    assert "> 10" in comparison.table()


@pytest.fixture
def even_clock(monkeypatch):
    """Every sweep takes a thousandth of a second, so that what a comparison finds is always the same."""
    monkeypatch.setattr(chains_module, "seconds_of", lambda draw: 0.001)
    monkeypatch.setattr(chains_module, "_WALL", 1e9)


def test_a_toy_converges(even_clock):
    """Chains from two starts agree, and schemes over different stores agree with each other."""
    own = franchise()
    direct = franchise(store="counts", root="weights")
    schedules = {
        "tables": FIRST,
        "direct": hk.Candidate(direct, [moves.TableGibbs(), moves.RootWeights()]),
        "seats": hk.Candidate(franchise(store="explicit"), FIRST),
        "indicators": hk.Candidate(franchise(store="counts"), FIRST),
    }
    comparison = compare(schedules, own, seconds=0.4)
    assert all(one.converged for one in comparison.values()), str(comparison)
    assert all(one.ess_per_second["log_joint"] > 50 for one in comparison.values())
    means = [one.diagnoses["log_joint"].mean for one in comparison.values()]
    assert np.ptp(means) < 0.4
    assert own.n_dishes == direct.n_dishes == 0  # chains ran on copies
    assert list(comparison) == list(schedules)
    assert "TableGibbs" in comparison.moves_table()


def test_a_chain_is_the_one_that_a_run_makes(even_clock):
    comparison = compare({"a": FIRST}, chains=2, rng=7, inits=["one", hk.init.Random(3)], seconds=0.02)
    for c, (init, record) in enumerate(zip(["one", hk.init.Random(3)], comparison["a"].chains, strict=True)):
        assert record.seed == 7 + c
        n = min(50, len(record.sweeps) - 1)
        trace = FIRST.run(franchise(), n, rng=7 + c, init=init)
        assert record.n_dishes[1 : n + 1].tolist() == trace["n_dishes"].tolist()
        assert record.sweeps[: n + 1].tolist() == list(range(n + 1))


class Slow(moves.Move):
    """A move that takes a hundredth of a second and does nothing."""

    def apply(self, state, rng, steps=None):
        time.sleep(0.01)
        return moves.MoveInfo(2, 1)


def test_processor_time_is_not_that_of_others():
    both = {
        clock: compare({"slow": [Slow()]}, seconds=0.02, chains=1, clock=clock)
        for clock in ("wall", "processor")
    }
    wall, processor = (both[clock]["slow"].chains[0] for clock in ("wall", "processor"))
    assert len(wall.sweeps) == 3  # two hundredths of a second in two sweeps
    assert len(processor.sweeps) > 6  # a process that sleeps has no processor
    assert "(processor time)" in str(both["processor"])
    assert "(by the wall clock)" in str(both["wall"])
    assert processor.processor_seconds < processor.wall_seconds


@pytest.mark.parametrize("how", ["raise", "return"])
def test_ctrl_c_leaves_what_was_done(how):
    seen = []

    def stop(standing):
        seen.append(standing)
        if standing.schedule == "b" and standing.chain == 1:
            signal.raise_signal(signal.SIGINT)

    options = {"progress": stop, "on_interrupt": how, "seconds": 0.05}
    if how == "raise":
        with pytest.raises(KeyboardInterrupt) as caught:
            compare({"a": FIRST, "b": FIRST}, **options)
        comparison = caught.value.comparison
    else:
        with pytest.warns(errors.InterruptedRunWarning):
            comparison = compare({"a": FIRST, "b": FIRST}, **options)
    assert comparison.interrupted
    assert [len(one.chains) for one in comparison.values()] == [2, 1]  # without the one cut short
    assert "Ctrl-C" in str(comparison)
    assert seen[-1].chains == 2
    assert seen[-1].budget == 0.05


def test_ctrl_c_before_anything_is_raised(monkeypatch):
    monkeypatch.setattr(chains_module, "start", lambda *a: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        compare({"a": FIRST})


class Failing(moves.Move):
    """A move that fails in its third turn of a chain."""

    def apply(self, state, rng, steps=None):
        if state.sweep == 2:
            raise ArithmeticError("a third of it")
        return moves.MoveInfo()


def test_a_schedule_that_fails_doesnt_take_the_others_along(even_clock):
    comparison = compare({"good": FIRST, "bad": [moves.TableGibbs(), Failing()]}, seconds=0.05)
    assert list(comparison) == ["good"]
    assert len(comparison["good"].chains) == 2
    assert isinstance(comparison.failures["bad"], ArithmeticError)
    assert "bad failed: ArithmeticError: a third of it" in str(comparison)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: franchise(2.0), "restaurants or base measures"),
        (lambda: hk.Franchise(restaurant(), hk.Corpus.from_documents([[0, 1], [2]], n_terms=3)), "data"),
        (lambda: franchise(root=hk.FixedWeights(5)), "roots"),
    ],
)
def test_other_models_are_refused(other, what):
    with pytest.raises(errors.ParameterError, match=what):
        compare({"a": FIRST, "b": hk.Candidate(other(), FIRST)})


def test_a_model_of_observed_dishes_is_compared_too():
    words = hk.Groups.from_labels([0, 1, 1, 2, 0, 0], {"context": [0, 0, 1, 1, 2, 2]})
    root = hk.Restaurant(hk.Uniform(3), discount=0.5, concentration=1.0)
    own = hk.Franchise(hk.Restaurant(root, discount=0.5, concentration=1.0, each="context"), words)
    one = compare({"a": [moves.TableGibbs()]}, own)["a"]
    assert {record.init for record in one.chains} == {"auto", "sequential"}


@pytest.fixture(scope="module")
def toy():
    both = [chain(noise(seed, level=-100), init=("auto", "one")[seed]) for seed in (0, 1)]
    bad = [chain(noise(0, level=-100)), chain(noise(1, level=-130))]
    return judged(good=both, bad=bad)


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_csv_of_moves_and_states(toy, tmp_path):
    toy.to_csv(tmp_path / "m.csv", rows="moves")
    assert len(rows_of(tmp_path / "m.csv")) == 4
    toy.to_csv(str(tmp_path / "s.csv"), rows="states")
    states = rows_of(tmp_path / "s.csv")
    assert len(states) == 4 * 1001
    assert float(states[1]["log_joint"]) == toy["good"].chains[0].log_joint[1]
    assert list(states[0]) == [
        "schedule", "chain", "sweep", "seconds", "n_dishes", "log_joint", "share_1", "share_2"
    ]  # fmt: skip


def test_the_picture_is_drawn_or_the_extra_named(toy, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    toy.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 2000
    with pytest.raises(errors.ParameterError, match="png"):
        toy.plot(tmp_path / "a.docx")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(errors.MissingExtraError, match=r"hdpkit\[plots\]"):
        toy.plot(tmp_path / "a.png")
