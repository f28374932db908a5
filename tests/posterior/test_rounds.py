"""Runs in rounds, judged in between: until a verdict is green, or no time is left."""

import numpy as np

import hdpkit as hk
from hdpkit.posterior.rounds import Until, samples_of_round

WORDS = np.array([[6, 5, 4, 3, 0, 0, 0, 0], [0, 0, 0, 1, 4, 5, 4, 4]]) / 18
COUNTS = np.array([np.random.default_rng(d).multinomial(25, WORDS[d % 2]) for d in range(30)])


def test_samples_of_a_round():
    first = samples_of_round(10, 0, 100)
    assert list(first.sweeps(100)) == list(range(55, 101, 5))
    # The next round is the second half; that of the first round stays, its first half doesn't.
    later = samples_of_round(10, 100, 100)
    assert later.after == 50
    assert [sweep for sweep in later.sweeps(200) if sweep > 100] == list(range(110, 201, 10))
    assert samples_of_round(0, 0, 100) is None


class Found:
    """A diagnosis with these lights and numbers."""

    def __init__(self, light, shared=0.5, settled=0.5):
        figures = {"shared": shared, "settled": settled}
        self.readable = self.quotable = hk.summaries.Verdict(light=light, sentence="", figures=figures)


def rounds_until(verdict, *found, at_most="1h"):
    """The sweeps after which a run with these diagnoses ended."""
    trace, ends = hk.Trace(), []
    answers = iter(found)

    def step(begun, sweeps):
        ends.append(begun + sweeps)
        return trace, ends[-1]

    Until(verdict, at_most, 100).run(0, step, lambda trace: next(answers))
    return ends[-1]


def test_a_run_ends_when_the_verdict_is_green_or_two_rounds_brought_nothing():
    red = [Found("red", shared) for shared in (0.3, 0.4, 0.5, 0.51, 0.51)]
    assert rounds_until("readable", *red[:3], Found("green")) == 80
    assert rounds_until("readable", *red) == 160
    # Rounds without a verdict yet don't count.
    assert rounds_until("readable", *[Found("grey", np.nan)] * 5, Found("green")) == 320
    better = [Found("red", settled=share) for share in (0.1, 0.2, 0.5, 0.51, 0.51)]
    assert rounds_until("quotable", *better) == 160
    assert rounds_until("quotable", *better[:3], *better[:2], Found("green")) == 320
    assert rounds_until("readable", *red[:1], at_most=1e-6) == 10


def test_an_interrupted_round_is_the_last():
    trace = hk.Trace()
    trace.interrupted = True
    found = Until("readable", None, 100).run(0, lambda begun, n: (trace, n), lambda trace: None)
    assert found is trace


def model(**options):
    return hk.TopicModel(**{"random_state": 0, "eta": 0.5, "bursty": False, **options})


def test_a_topic_model_runs_until_it_is_readable():
    fitted = model(until="readable", at_most="5min", sweeps=400, samples=6).fit(COUNTS)
    assert fitted.diagnosis_.readable.light == "green"
    assert len(fitted.franchises_) == 2  # a single chain can't show it
    reached = fitted.n_iter_
    assert reached in (40, 80, 160, 320, 640)
    assert fitted.trace_["sweep"].tolist() == [list(range(1, reached + 1))] * 2
    # The same seed and number of sweeps give the same chains.
    plain = model(chains=2, sweeps=reached).fit(COUNTS)
    np.testing.assert_array_equal(plain.trace_["log_joint"], fitted.trace_["log_joint"])
    for one, other in zip(plain.franchises_, fitted.franchises_, strict=True):
        np.testing.assert_array_equal(one.dish_parameters(), other.dish_parameters())
    later = [one.sweep for one in fitted.samples_ if one.sweep > fitted.diagnosis_.after]
    assert len(later) >= 12


def test_a_model_that_ran_until_a_verdict_is_saved_and_loaded(tmp_path):
    fitted = model(until="readable", at_most="5min", sweeps=100, samples=4).fit(COUNTS)
    fitted.save(tmp_path / "model")
    loaded = hk.TopicModel.load(tmp_path / "model")
    assert (loaded.until, loaded.at_most) == ("readable", "5min")
    assert loaded.n_iter_ == fitted.n_iter_
